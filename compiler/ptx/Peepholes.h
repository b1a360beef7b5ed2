// SPDX-License-Identifier: MIT
#pragma once

namespace llvm {
class Function;
} // namespace llvm

namespace tegula::ptx {

/// Rewrites code for which the GPU has a better instruction that ptxas does not find.
void applyPeepholes(llvm::Function &function);

} // namespace tegula::ptx
