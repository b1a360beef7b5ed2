// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/status.h"

#include <string>
#include <string_view>

namespace llvm {
class Module;
} // namespace llvm

namespace tegula::ptx_fuzz {

/// Returns true if this LLVM can print PTX. A static build has no back end but that of the cpu.
bool hasLlvmPrinter();

/// Returns the PTX that Tegula prints for the module's kernel.
Expected<std::string> tegulaPtx(const llvm::Module &module, std::string_view arch);

/// Returns the PTX that LLVM's NVPTX back end prints for it, always for sm_90a. For sm_80, LLVM 22 rounds twice where
/// it converts an integer to bf16.
std::string llvmPtx(const llvm::Module &module);

} // namespace tegula::ptx_fuzz
