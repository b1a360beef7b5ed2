// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>

namespace llvm {
class Module;
} // namespace llvm

namespace tegula::ptx_fuzz {

/// Returns a kernel with fewer instructions for which `fails` still holds. Values are replaced by their operands or by
/// constants, stores are dropped, and branches are no longer conditional. Guards stay, so that no value becomes
/// undefined.
std::unique_ptr<llvm::Module> shrink(const llvm::Module &module,
                                     const std::function<bool(const llvm::Module &)> &fails);

} // namespace tegula::ptx_fuzz
