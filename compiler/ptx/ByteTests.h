// SPDX-License-Identifier: MIT
#pragma once

namespace llvm {
class BasicBlock;
} // namespace llvm

namespace tegula::ptx {

/// Replaces comparisons of the bytes of a word with a limit, such as `(word & 0xff00) < 0x1200`. Bytes 0 and 2, or 1
/// and 3, become the halves of a word. Integers below 256 are the bits of f16 numbers in the same order, and one
/// instruction compares two f16.
void testBytesInPairs(llvm::BasicBlock &block);

} // namespace tegula::ptx
