// SPDX-License-Identifier: MIT
#include "tegula/checks.h"

#include "recorder.h"
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
  std::vector<Note> notes;
  if (made.line() != expectation.given.line())
    notes.push_back({expectation.given, "the function is given here"});
  return r.value(
      r.fail(made,
             expectation.function + " returned " + describe(type) + "; it must return " + expectation.rule + shape,
             std::move(notes), {expectation.dtypes.front(), expectation.shape}),
      made);
}

} // namespace tegula
