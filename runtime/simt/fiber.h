// SPDX-License-Identifier: MIT
// Stacks for lanes, and the switch from one stack to another.
#pragma once

#include <cstddef>

namespace tegula::simt {

/// The point at which a computation stopped and at which it resumes.
class Fiber {
public:
  /// Makes the first switch to this fiber call entry(argument) on the stack that ends at `top`. `entry` must not
  /// return.
  void prepare(void *top, void (*entry)(void *), void *argument);
  /// Stops the running computation, which `this` then stands for, and resumes `next`.
  void switchTo(Fiber &next);

private:
  void *stackPointer_ = nullptr;
};

/// Stacks of equal size. Below each stack lies a page that traps overflow, unless the process has very many stacks.
class Stacks {
public:
  /// Allocates `count` stacks. Throws std::bad_alloc if the memory cannot be mapped.
  explicit Stacks(size_t count);
  ~Stacks();
  Stacks(const Stacks &) = delete;
  Stacks &operator=(const Stacks &) = delete;

  void *top(size_t index) const;

private:
  char *memory_;
  size_t bytes_;
  size_t traps_ = 0;
};

} // namespace tegula::simt
