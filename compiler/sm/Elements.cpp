// SPDX-License-Identifier: MIT
#include "compiler/sm/Elements.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace tegula::sm {

std::optional<MmaElement> mmaElement(Type type) {
  if (type.isBF16() || type.isF16())
    return MmaElement{.bytes = 2, .depth = 16, .mustBeKMajor = false};
  if (type.isF32())
    return MmaElement{.bytes = 4, .depth = 8, .mustBeKMajor = true};
  return std::nullopt;
}

int64_t panelColumns(Type element) { return kPanelBytes * 8 / element.getIntOrFloatBitWidth(); }

} // namespace tegula::sm
