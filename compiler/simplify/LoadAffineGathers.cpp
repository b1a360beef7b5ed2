// SPDX-License-Identifier: MIT
#include "compiler/simplify/AffineTile.h"
#include "compiler/simplify/Passes.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tegula::simplify {
#define GEN_PASS_DEF_LOADAFFINEGATHERS
#include "compiler/simplify/Passes.h.inc"
} // namespace tegula::simplify

using namespace mlir;
using namespace tegula;
using namespace tegula::simplify;

/// Returns the position of the rectangle of the view that `gather` reads. Returns nothing if it does not read a
/// rectangle.
static std::optional<SmallVector<AffineTile>> boxOf(tile::GatherOp gather, AffineTiles &tiles) {
  auto type = dyn_cast<RankedTensorType>(gather.getType());
  if (!type || static_cast<size_t>(type.getRank()) != gather.getIndices().size())
    return std::nullopt;
  SmallVector<AffineTile> box;
  for (auto [dim, index] : llvm::enumerate(gather.getIndices())) {
    std::optional<AffineTile> position = tiles.find(index);
    if (!position || !position->countsAlong(dim, type.getShape()))
      return std::nullopt;
    box.push_back(*position);
  }
  return box;
}

static void loadBox(tile::GatherOp gather, ArrayRef<AffineTile> box) {
  ImplicitLocOpBuilder b(gather.getLoc(), gather);
  auto position = llvm::map_to_vector(box, [&](const AffineTile &index) { return index.first(b); });
  auto load = tile::LoadOp::create(b, gather.getType(), gather.getView(), position, TypedAttr());
  tile::inheritAttributes(load, gather);
  gather.replaceAllUsesWith(load.getResult());
  gather.erase();
}

namespace {
struct LoadAffineGathers : simplify::impl::LoadAffineGathersBase<LoadAffineGathers> {
  void runOnOperation() override {
    AffineTiles tiles;
    getOperation()->walk([&](tile::GatherOp gather) {
      if (std::optional<SmallVector<AffineTile>> box = boxOf(gather, tiles))
        loadBox(gather, *box);
    });
  }
};
} // namespace
