// SPDX-License-Identifier: MIT
// A CUDA driver that needs no GPU: it keeps the books, records what it is asked, and fails when told to. Memory is the
// host's, kernels do nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stand_in {

/// One GPU with working entry points, nothing recorded, nothing alive.
void reset();

void setGpus(int count);
void setCapability(int major, int minor);
/// Of every function that is loaded from now on.
void setFunction(int registers, int maxThreads, int staticSharedBytes);

/// The `nth` call from now on of this entry point fails. Calls that free something do so all the same.
void fail(const std::string &entryPoint, int result, int nth = 1);

/// The entry points called since the last reset or forget, in order.
std::vector<std::string> calls();
void forgetCalls();

/// What has been made and not been freed.
struct Alive {
  int contexts = 0;
  int allocations = 0;
  int modules = 0;
  int events = 0;

  bool operator==(const Alive &) const = default;
};
Alive alive();

/// The GPU whose context is current in the calling thread, and what was pushed before it; -1: none.
std::vector<int> currentGpus();
/// What a host does that uses CUDA too.
void pushContext(int gpu);
void popContext();

/// Arguments of the last launch.
struct Launch {
  std::string function;
  int gpu = -1;
  std::vector<unsigned> grid, block;
  unsigned sharedBytes = 0;
  void *stream = nullptr;
  /// The parameter block, or the 64 bits at each of the addresses up to a null one.
  std::vector<int64_t> words;
};
Launch lastLaunch();

} // namespace stand_in
