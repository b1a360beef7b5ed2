// SPDX-License-Identifier: MIT
// A CUDA driver that needs no GPU. It counts objects, records calls, and fails if a test tells it to. Its memory is the
// host's, and its kernels do nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stand_in {

/// Resets the driver: one GPU with working entry points, no recorded calls and no live objects.
void reset();

void setGpus(int count);
void setCapability(int major, int minor);
/// Sets the attributes of every function that is loaded after this call.
void setFunction(int registers, int maxThreads, int staticSharedBytes);

/// Lets the `nth` call of this entry point after this one fail. Calls that free something free it all the same.
void fail(const std::string &entryPoint, int result, int nth = 1);

/// Returns the entry points that were called since the last reset or forget, in order.
std::vector<std::string> calls();
void forgetCalls();

/// Numbers of objects that were made and not freed.
struct Alive {
  int contexts = 0;
  int allocations = 0;
  int modules = 0;
  int events = 0;

  bool operator==(const Alive &) const = default;
};
Alive alive();

/// Returns the GPU whose context is current in the calling thread, and the GPUs of contexts that were pushed before;
/// -1: none.
std::vector<int> currentGpus();
/// Pushes a context, as a host does that also uses CUDA.
void pushContext(int gpu);
void popContext();

/// The arguments of the last launch.
struct Launch {
  std::string function;
  int gpu = -1;
  std::vector<unsigned> grid, block;
  unsigned sharedBytes = 0;
  void *stream = nullptr;
  /// The parameter block, or the 64 bits at each of the addresses before the first null one.
  std::vector<int64_t> words;
};
Launch lastLaunch();

} // namespace stand_in
