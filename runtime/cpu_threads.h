// SPDX-License-Identifier: MIT
// What a thread brings along: the cores it may use, its floating-point environment, its scratch memory.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace tegula {

/// A set of cores, of any number.
class CoreSet {
public:
  /// The cores that the calling thread may use; empty if the system does not say.
  static CoreSet ofThisThread();

  int count() const;
  /// Lets the calling thread use exactly these cores. An empty set, or one that the system refuses, changes nothing.
  void applyToThisThread() const;

private:
  std::vector<unsigned long> bits_;
};

/// While it exists, the calling thread computes as a C program does at its start: round to nearest, subnormals kept,
/// no traps. Results then do not depend on which thread runs an instance.
class DefaultFloats {
public:
  DefaultFloats() noexcept;
  ~DefaultFloats();
  DefaultFloats(const DefaultFloats &) = delete;
  DefaultFloats &operator=(const DefaultFloats &) = delete;

private:
  unsigned previous_;
};

struct Free {
  void operator()(void *memory) const noexcept { std::free(memory); }
};

/// At least `bytes` bytes, 64-byte aligned and uninitialised; null if there is no memory. `bytes` is at least 0.
void *allocateAligned(int64_t bytes) noexcept;

/// The calling thread's scratch: at least `bytes` bytes, 64-byte aligned, kept until the thread ends. Null if there is
/// no memory; never null for 0 bytes.
void *threadScratch(int64_t bytes) noexcept;

} // namespace tegula
