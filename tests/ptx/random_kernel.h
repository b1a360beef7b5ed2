// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace tegula::ptx_fuzz {

/// Returns a module with one random kernel, the same for the same seed. The kernel ends, accesses only the memory of
/// its first two parameters, and what it writes is defined: no two correct compilers differ in a bit of it.
std::unique_ptr<llvm::Module> randomKernel(llvm::LLVMContext &context, uint64_t seed);

} // namespace tegula::ptx_fuzz
