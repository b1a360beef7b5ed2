// SPDX-License-Identifier: MIT
// What each element type is to the tensor cores and to rounding, and the columns of a panel.
#pragma once

#include "mlir/IR/Types.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tegula::sm {

/// Bytes of a row of a panel: the widest swizzle of TMA and wgmma.
constexpr int64_t kPanelBytes = 128;

/// An element type whose products the tensor cores sum in f32.
struct MmaElement {
  llvm::StringLiteral name; ///< In the names of instructions.
  int64_t bytes;            ///< Size of an element.
  int64_t depth;            ///< The depth that one wgmma sums: 32 bytes of each operand.
  /// True if an operand in shared memory must be K-major: neighbours along the depth are neighbours in memory.
  bool mustBeKMajor;

  int64_t panelColumns() const { return kPanelBytes / bytes; }
};

/// Returns the row of bf16, f16, f32 or e4m3. For f32, the tensor cores read only the bits of tf32. For all other
/// types, no lowering emits wgmma, and the result is empty.
std::optional<MmaElement> mmaElement(mlir::Type type);

/// Returns true if rounding a probability of at most 1 to `element` hides the error of a fused exponent. bf16 does.
bool hidesRounding(mlir::Type element);

/// Returns the largest power of two that `element`, a floating-point type, holds.
double largestPower(mlir::Type element);

/// Returns the columns of a panel of 128 bytes.
int64_t panelColumns(mlir::Type element);
/// Returns `columns`, rounded up to whole panels: the columns of a tile in shared memory that `sm.wgmma` reads.
int64_t wholePanels(int64_t columns, mlir::Type element);

/// Returns why no role transposes a tile of `bytes` bytes, as an operand that must be K-major may need; empty if one
/// can.
std::string obstacleToTransposing(int64_t bytes);

} // namespace tegula::sm
