// SPDX-License-Identifier: MIT
#pragma once

namespace llvm {
class Function;
} // namespace llvm

namespace tegula::ptx {

/// Rewrites what the GPU has a better instruction for, where the assembler does not see it.
void applyPeepholes(llvm::Function &function);

} // namespace tegula::ptx
