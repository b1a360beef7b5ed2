// SPDX-License-Identifier: MIT
// The properties of a thread: its cores, its floating-point environment, its scratch memory.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace tegula {

/// A set of any number of cores.
class CoreSet {
public:
  /// Returns the cores that the calling thread may use; an empty set if the system does not say.
  static CoreSet ofThisThread();

  int count() const;
  /// Lets the calling thread use exactly these cores. An empty set, or one that the system refuses, changes nothing.
  void applyToThisThread() const;

private:
  std::vector<unsigned long> bits_;
};

/// A scope in which the calling thread computes as a C program does at its start: round to nearest, subnormals kept, no
/// traps. Results then do not depend on the thread that runs an instance.
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

/// Allocates at least `bytes` bytes, 64-byte aligned and uninitialised. Returns null if there is no memory. `bytes`
/// must be at least 0.
void *allocateAligned(int64_t bytes) noexcept;

/// Returns the calling thread's scratch: at least `bytes` bytes, 64-byte aligned, kept until the thread ends. Returns
/// null if there is no memory, but never for 0 bytes.
void *threadScratch(int64_t bytes) noexcept;

} // namespace tegula
