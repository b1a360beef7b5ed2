// SPDX-License-Identifier: MIT
#include "compiler/sm/Elements.h"

#include "compiler/sm/Hopper.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace tegula::sm {

std::optional<MmaElement> mmaElement(Type type) {
  if (type.isBF16())
    return MmaElement{.name = "bf16", .bytes = 2, .depth = 16, .mustBeKMajor = false};
  if (type.isF16())
    return MmaElement{.name = "f16", .bytes = 2, .depth = 16, .mustBeKMajor = false};
  if (type.isF32())
    return MmaElement{.name = "tf32", .bytes = 4, .depth = 8, .mustBeKMajor = true};
  if (isa<Float8E4M3FNType>(type))
    return MmaElement{.name = "e4m3", .bytes = 1, .depth = 32, .mustBeKMajor = true};
  return std::nullopt;
}

bool hidesRounding(Type element) {
  constexpr unsigned coarse = 8; // Bits of a significand, with the leading one.
  return cast<FloatType>(element).getFPMantissaWidth() <= coarse;
}

double largestPower(Type element) {
  return std::ldexp(1.0, llvm::APFloat::semanticsMaxExponent(cast<FloatType>(element).getFloatSemantics()));
}

int64_t panelColumns(Type element) { return kPanelBytes * 8 / element.getIntOrFloatBitWidth(); }

int64_t wholePanels(int64_t columns, Type element) {
  return static_cast<int64_t>(llvm::alignTo(columns, panelColumns(element)));
}

std::string obstacleToTransposing(int64_t bytes) {
  if (bytes <= kMostTransposed)
    return {};
  return "a role transposes tiles of at most " + std::to_string(kMostTransposed) + " bytes, in registers";
}

} // namespace tegula::sm
