// SPDX-License-Identifier: MIT
// Device control flow.
#pragma once

#include "tegula/view.h"

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tegula {

struct Steps;

/// The result of range(). Its iterator runs the body once: `begin()` opens the device loop, `++` closes it.
class Range {
public:
  class Iterator {
  public:
    Value operator*() const;
    Iterator &operator++();
    bool operator!=(const Iterator &) const { return !range_->ran_; }

  private:
    friend class Range;
    explicit Iterator(Range *range) : range_(range) {}
    Range *range_;
  };

  Range(const Range &) = delete;
  ~Range();
  Iterator begin();
  Iterator end() { return Iterator(this); }

private:
  friend Range range(Operand begin, Operand end, Operand step, Location where);
  friend Range range(Operand begin, Operand end, Operand step, std::vector<Steps> steps, Location where);
  friend Range parallelRange(Operand begin, Operand end, Operand step, Location where);
  friend Range dynamicRange(View counter, Operand end, Location where);
  Range(std::function<uint32_t()> open, Location where);

  std::function<uint32_t()> openLoop_;
  Location where_;
  uint32_t recording_, loop_ = 0;
  bool open_ = false, ran_ = false;
};

/// Makes a device loop: `for (Value key : range(0, end, block)) { ... }`. The body runs once, while recording. Leaving
/// it by `break`, `return` or an exception is an error of the program. Positions are of type index, and do not wrap
/// around. A step of 0 or less gives no iterations, and is an error if it is a literal.
Range range(Operand begin, Operand end, Operand step = 1, Location where = Location::current());
/// The order in which a role starts the dots and other labelled operations of a loop, as a step list, such as
/// Steps("s o@1"): in each iteration the dot with the label "s", together with the dot "o" of the iteration before.
/// Steps("page k@1", "load") is the order of the role "load". docs/design/step_lists.md has the grammar. It matters on
/// sm_90a with roles; other targets ignore it.
struct Steps {
  std::string list, role;
  explicit Steps(std::string list, std::string role = "compute") : list(std::move(list)), role(std::move(role)) {}
};
/// The same loop in the order of `steps`. The compiler refuses a list that contradicts the program.
Range range(Operand begin, Operand end, Operand step, Steps steps, Location where = Location::current());
/// The same loop with the step lists of several roles.
Range range(Operand begin, Operand end, Operand step, std::vector<Steps> steps, Location where = Location::current());
/// Makes a device loop with a promise: no iteration accesses an element of a tensor that another iteration writes. As
/// with program instances, accesses to memory of different iterations then need no order.
Range parallelRange(Operand begin, Operand end, Operand step = 1, Location where = Location::current());
/// Makes a device loop that shares the iterations 0 to end - 1, of type i32, among the program instances of a launch:
/// an instance that is free runs the next iteration. Iterations make the promise of a parallelRange, and assign to no
/// Var from outside the loop. `counter` is a tensor argument of type i32, rank 1 and one element. A launch sets it to
/// 0; nothing else accesses it. `end` is the same for all instances. The loop is not inside another loop.
Range dynamicRange(View counter, Operand end, Location where = Location::current());

/// A reference to a function object `void()` that outlives the call; may be absent.
class Block {
public:
  Block() = default;
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, Block> && std::invocable<F &>)
  Block(F &&function)
      : object_(const_cast<void *>(static_cast<const void *>(&function))),
        call_([](void *object) { (*static_cast<std::remove_reference_t<F> *>(object))(); }) {}
  void operator()() const {
    if (call_)
      call_(object_);
  }

private:
  void *object_ = nullptr;
  void (*call_)(void *) = nullptr;
};

/// Makes a device branch on a scalar condition. Vars assigned inside keep the value of the branch that ran.
void when(Operand condition, Block then, Block otherwise = {}, Location where = Location::current());

/// Gives the only store or addition of `effect` a name for step lists and remarks, as label(name, x) does for a result.
void label(std::string_view name, Block effect, Location where = Location::current());

/// Gives a scalar or a tile to the host, which prints it after `label`, with the line and the program instance. Each
/// execution of the statement prints once. A host that wants no text has a kernel without the statement. The label has
/// printable ASCII characters without quotes and backslashes.
void print(std::string_view label, Operand x, Location where = Location::current());
/// The same in program instances, or iterations, in which the scalar `condition` is true.
void print(std::string_view label, Operand x, Operand condition, Location where = Location::current());

/// Makes a launch fail in which `condition`, or an element of it, is false. The message has the line, `label`, the
/// scalar or tile `x`, and the program instance. The label is as for print(). Only hosts that ask for it
/// (KernelCacheOptions::device_asserts) have a kernel with the statement, which is slow.
void deviceAssert(Operand condition, std::string_view label, Operand x, Location where = Location::current());

} // namespace tegula
