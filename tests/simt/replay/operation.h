// SPDX-License-Identifier: MIT
// Operations: one instruction on given operands, as code of the executor's lanes and as PTX, to be run on both.
#pragma once

#include "lanes.h"
#include "tegula/device.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tegula::test {

struct Operation {
  std::string name;
  bool needs_sm_90a = false;
  SimtKernel lanes = nullptr;
  std::string body; ///< See ptxOf.
  std::vector<int32_t> in;
  size_t out_words = 0;
  int32_t fill = -1; ///< The words of `out` before the run.
  uint32_t threads = 32, shared_bytes = 16384;
  double tolerance = 0; ///< Relative tolerance of f32 results; 0: the bits must be the same.
  /// Sets the state that `lanes` reads. The executor's run calls it first.
  std::function<void()> prepare = [] {};
  /// Changes the operands for a GPU on which the tensors are at these addresses.
  std::function<Status(Device &gpu, std::vector<int32_t> &in, uint64_t in_address, uint64_t out_address)> for_gpu = {};
};

std::vector<Operation> warpOperations();
std::vector<Operation> warpgroupOperations();
std::vector<Operation> bulkOperations();

/// Returns a module with a kernel `operation`. In the body, `pin` and `pout` are the addresses of the tensors, `tid` is
/// the thread index, and `sh` is the address of shared memory. Registers are called r0, f0, rd0, p0 and so on.
std::string ptxOf(const Operation &operation);
/// Loads r`first` to r`first + count - 1` from the thread's words of `pin`, which begin after `skip` words.
std::string loadWords(uint32_t first, uint32_t count, uint32_t skip = 0);
std::string storeWords(uint32_t first, uint32_t count);
/// Returns `{PREFIXfirst, ...}`.
std::string registerList(const std::string &prefix, uint32_t first, uint32_t count);
/// Moves words to f32 registers, or f32 registers to words.
std::string toFloats(uint32_t firstFloat, uint32_t firstWord, uint32_t count);
std::string toWords(uint32_t firstWord, uint32_t firstFloat, uint32_t count);

} // namespace tegula::test
