// SPDX-License-Identifier: MIT
// Loops, branches and print().
#include "names.h"
#include "operands.h"

#include "tegula/control.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>

namespace tegula_python {

using namespace tegula;
using namespace nb::literals;

namespace {

/// A device loop as an iterator of Python, which gives one position. If Python drops it before the end of the body, the
/// Range reports that the loop was left.
class Loop {
public:
  explicit Loop(Range *range) : range_(range) {}

  void begin() {
    if (state_ == State::done)
      state_ = State::ready;
  }
  Value next() {
    if (state_ == State::ready) {
      state_ = State::open;
      names_.begin();
      return *range_->begin();
    }
    if (std::exchange(state_, State::done) == State::open) {
      ++range_->end();
      names_.end();
    }
    throw nb::stop_iteration();
  }

private:
  enum class State : uint8_t { ready, open, done };
  std::unique_ptr<Range> range_;
  LoopNames names_;
  State state_ = State::ready;
};

/// Calls a function of Python, or nothing.
auto block(nb::handle function) {
  return [function] {
    if (!function.is_none())
      function();
  };
}

/// Returns the step lists of None, of Steps, or of a sequence of Steps.
std::vector<Steps> listsOf(nb::handle steps) {
  if (steps.is_none())
    return {};
  return nb::isinstance<Steps>(steps) ? std::vector{nb::cast<Steps>(steps)} : nb::cast<std::vector<Steps>>(steps);
}

} // namespace

void bindControl(nb::module_ &module) {
  nb::class_<Loop>(module, "Loop", "A device loop, for one `for` statement.")
      .def("__iter__",
           [](nb::object self) {
             nb::cast<Loop &>(self).begin();
             return self;
           })
      .def("__next__", &Loop::next);
  nb::class_<Steps>(module, "Steps", "The order in which a role starts the labelled operations of a loop.")
      .def(nb::init<std::string, std::string>(), "list"_a, "role"_a = "compute");
  module.def(
      "range",
      [](Operand begin, Operand end, Operand step, nb::object steps) {
        return new Loop(new Range(range(begin, end, step, listsOf(steps), here())));
      },
      "begin"_a, "end"_a, "step"_a = 1, "steps"_a = nb::none());
  module.def(
      "parallel_range",
      [](Operand begin, Operand end, Operand step) {
        return new Loop(new Range(parallelRange(begin, end, step, here())));
      },
      "begin"_a, "end"_a, "step"_a = 1);
  module.def(
      "dynamic_range",
      [](const View &counter, Operand end) { return new Loop(new Range(dynamicRange(counter, end, here()))); },
      "counter"_a, "end"_a);
  module.def(
      "when",
      [](Operand condition, nb::callable then, nb::object otherwise) {
        when(condition, block(then), block(otherwise), here());
      },
      "condition"_a, "then"_a, "otherwise"_a = nb::none());
  module.def(
      "label", [](const std::string &name, nb::callable effect) { label(name, block(effect), here()); }, "name"_a,
      "effect"_a);
  // As a decorator: the function below it is `then`.
  module.def(
      "when",
      [](Operand condition, nb::object otherwise) {
        const Location where = here();
        return nb::cpp_function([=](nb::callable then) { when(condition, block(then), block(otherwise), where); });
      },
      "condition"_a, nb::kw_only(), "otherwise"_a = nb::none());
  module.def(
      "print",
      [](const std::string &name, Operand x, nb::handle condition) {
        if (condition.is_none())
          print(name, x, here());
        else
          print(name, x, operandOf(condition), here());
      },
      "label"_a, "x"_a, "condition"_a = nb::none());
  module.def(
      "device_assert",
      [](Operand condition, const std::string &label, Operand x) { deviceAssert(condition, label, x, here()); },
      "condition"_a, "label"_a, "x"_a);
}

} // namespace tegula_python
