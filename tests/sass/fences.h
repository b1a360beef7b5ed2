// SPDX-License-Identifier: MIT
// Programs for sm_90a without one of the fences of their MMAs. No run in the simt executor detects the loss of a fence
// if another MMA has fenced the same registers; ptxas notices it, or makes the same machine code.
#pragma once

#include "tegula/artifact.h"

#include <string>
#include <vector>

namespace tegula::testing {

/// A program as ptxas makes it. The report's assembler is empty if there is no ptxas.
struct Assembled {
  std::string cubin;
  AssemblerReport report;
};

/// Assembles PTX for sm_90a.
Expected<Assembled> assemble(const std::string &ptx);
/// Returns true if this machine has ptxas.
bool hasAssembler();

/// Returns the opcodes of the instructions that access shared memory or order its accesses. The error has the output of
/// ptxas or nvdisasm.
Expected<std::vector<std::string>> sharedOpcodes(const std::string &ptx);

/// Returns the program without one fence, for each MMA that starts while another one runs.
std::vector<std::string> withoutAFence(const std::string &ptx);

/// The consequence of a missing fence.
enum class FenceLoss {
  unnoticed,
  noticed,        ///< ptxas says C7519: it serializes MMAs.
  oneArrivalLess, ///< The machine code has one arrival of a warpgroup less, and is the same otherwise.
};

/// Compares a program with the same program without one fence.
Expected<FenceLoss> lossOf(const std::string &ptx, const std::string &withoutFence);

} // namespace tegula::testing
