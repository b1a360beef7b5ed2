// SPDX-License-Identifier: MIT
#include "compiler/sm/Steps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace llvm;
using namespace tegula::sm;

static Error refuse(const Twine &why) { return createStringError(why); }

static bool isLabel(StringRef word) {
  return !word.empty() && !isDigit(word.front()) && all_of(word, [](char c) { return isAlnum(c) || c == '_'; });
}

static Expected<Step> parseStep(StringRef word) {
  if (word == "<" || word == ">")
    return Step{word == "<" ? Step::Kind::takeTurn : Step::Kind::passTurn};
  StringRef rest = word;
  const bool isDelayed = rest.consume_back("@1");
  const Step::Kind kind = rest.consume_back(".end")   ? Step::Kind::end
                          : rest.consume_back(".lhs") ? Step::Kind::lhs
                          : rest.consume_back(".rhs") ? Step::Kind::rhs
                                                      : Step::Kind::start;
  const bool mayBeDelayed = kind == Step::Kind::start || kind == Step::Kind::end;
  if (!isLabel(rest) || (isDelayed ? !mayBeDelayed : kind == Step::Kind::end))
    return refuse("'" + word + "' is no step; legal are LABEL, LABEL@1, LABEL.end@1, LABEL.lhs, LABEL.rhs, < and >");
  return Step{kind, rest.str(), isDelayed};
}

/// Checks that turns alternate and are not empty, and that no step comes twice.
static Error check(ArrayRef<Step> steps) {
  bool hasTurn = false;
  for (const auto &[i, step] : enumerate(steps)) {
    const bool isTurn = step.isTurn();
    if (isTurn && hasTurn == (step.kind == Step::Kind::takeTurn))
      return refuse("a turn begins with < and ends with >, and turns do not nest");
    if (step.kind == Step::Kind::passTurn && steps[i - 1].kind == Step::Kind::takeTurn)
      return refuse("a turn has at least one step between < and >");
    hasTurn = isTurn ? step.kind == Step::Kind::takeTurn : hasTurn;
    auto isSame = [&](const Step &other) { return other.kind == step.kind && other.label == step.label; };
    if (!isTurn && any_of(steps.take_front(i), isSame))
      return refuse("the step '" + step.label + "' comes twice");
  }
  return hasTurn ? refuse("the last turn has no >") : Error::success();
}

Expected<StepList> tegula::sm::parseSteps(StringRef text) {
  StepList steps;
  SmallVector<StringRef> words;
  SplitString(text, words);
  for (StringRef word : words) {
    Expected<Step> step = parseStep(word);
    if (!step)
      return step.takeError();
    steps.push_back(*step);
  }
  if (Error error = check(steps))
    return error;
  return steps;
}

static std::string toString(const Step &step) {
  switch (step.kind) {
  case Step::Kind::takeTurn:
    return "<";
  case Step::Kind::passTurn:
    return ">";
  case Step::Kind::lhs:
    return step.label + ".lhs";
  case Step::Kind::rhs:
    return step.label + ".rhs";
  case Step::Kind::start:
  case Step::Kind::end:
    return step.label + (step.kind == Step::Kind::end ? ".end" : "") + (step.isDelayed ? "@1" : "");
  }
  llvm_unreachable("a step of no kind");
}

std::string tegula::sm::toString(ArrayRef<Step> steps) {
  return join(map_range(steps, [](const Step &step) { return ::toString(step); }), " ");
}
