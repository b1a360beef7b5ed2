// SPDX-License-Identifier: MIT
#include "tegula/checks.h"

#include "convert.h"
#include "dependence.h"
#include "text.h"

#include <algorithm>

namespace tegula {
namespace {

bool repeatsTo(const Shape &from, const Shape &to) {
  if (from.empty() || from == Shape{1})
    return true;
  auto fits = [](int64_t size, int64_t wanted) { return size == wanted || size == 1; };
  return std::equal(from.begin(), from.end(), to.begin(), to.end(), fits);
}

/// Returns a note if the error is not where the function is given.
std::vector<Note> whereGiven(const Expectation &expectation, Location error) {
  if (error.line() == expectation.given.line())
    return {};
  return {{expectation.given, "the function is given here"}};
}

} // namespace

Value checkReturned(Value value, const Expectation &expectation) {
  Recorder &r = Recorder::current();
  const Location made = Recorder::madeAt(value);
  const NodeId id = r.use(value, made);
  const Type &type = r.type(id);
  const bool legal = std::ranges::find(expectation.dtypes, type.dtype) != expectation.dtypes.end();
  if (r.poisoned(id) || (legal && repeatsTo(type.shape, expectation.shape)))
    return r.value(id, made);
  const std::string shape = expectation.shape.empty() ? "" : " that repeats to " + listText(expectation.shape);
  return r.value(
      r.fail(made,
             expectation.function + " returned " + describe(type) + "; it must return " + expectation.rule + shape,
             whereGiven(expectation, made), {expectation.dtypes.front(), expectation.shape}),
      made);
}

Value checkElementwise(Value value, Value input, const Expectation &expectation) {
  Recorder &r = Recorder::current();
  const Location made = Recorder::madeAt(value);
  const Type wanted{expectation.dtypes.front(), expectation.shape};
  const NodeId id = r.use(checkReturned(value, expectation), made), source = r.use(input, made);
  if (r.poisoned(id) || r.poisoned(source))
    return r.value(r.poison(wanted), made);
  if (const std::optional<NodeId> mixing = findMixing(r.graph(), source, id)) {
    const Node &node = r.node(*mixing);
    return r.value(r.fail(node.where,
                          expectation.function + " combines elements of a tile by " + nameOf(node) +
                              "; each element must depend on one element of the input only, because a tile may have "
                              "any size",
                          whereGiven(expectation, node.where), wanted),
                   made);
  }
  const Term term{.id = id, .made = made};
  return r.value(Converter(r, expectation.function, made).to(term, wanted.dtype, wanted.shape), made);
}

bool dependsOn(Value output, Value input) {
  Recorder &r = Recorder::current();
  const Location made = Recorder::madeAt(output);
  return dependsOn(r.graph(), r.use(input, made), r.use(output, made));
}

} // namespace tegula
