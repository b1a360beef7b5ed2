// SPDX-License-Identifier: MIT
// Stacks to run lanes on, and the switch from one to another.
#pragma once

#include <cstddef>

namespace tegula::simt {

/// The place at which a computation stopped, to be resumed there.
class Fiber {
public:
  /// Lets the first switch to this fiber call entry(argument) on the stack that ends at `top`; it must not return.
  void prepare(void *top, void (*entry)(void *), void *argument);
  /// Stops here, as `this`, and resumes `next`.
  void switchTo(Fiber &next);

private:
  void *stackPointer_ = nullptr;
};

/// Stacks of equal size, each behind a page that traps overflow.
class Stacks {
public:
  /// Throws std::bad_alloc.
  explicit Stacks(size_t count);
  ~Stacks();
  Stacks(const Stacks &) = delete;
  Stacks &operator=(const Stacks &) = delete;

  void *top(size_t index) const;

private:
  char *memory_;
  size_t bytes_;
};

} // namespace tegula::simt
