// SPDX-License-Identifier: MIT
#include "compiler/cuda/shared/Passes.h"

#include "compiler/sm/Layout.h"
#include "compiler/sm/Sm.h"
#include "compiler/tile/Walks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_ARRANGEADDITIONS
#include "compiler/cuda/shared/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

namespace {
/// An addition to memory and the MMAs that come after it, with only ops without memory effects between them.
class Arrangement {
public:
  explicit Arrangement(tile::AtomicAddOp add) : add_(add) {
    for (Operation *op = add->getNextNode(); op; op = op->getNextNode())
      if (auto product = dyn_cast<sm::MmaOp>(op)) {
        otherSums_ += registersOf(product);
        lastMma_ = op;
      } else if (op->getNumRegions() != 0 || !isMemoryEffectFree(op)) {
        break;
      }
  }

  void apply() {
    if (!lastMma_)
      return;
    if (registersOf(add_.getTile()) + otherSums_ <= kAmple)
      return add_->moveAfter(lastMma_);
    int64_t count = parts();
    if (count == 1)
      return;
    for (int64_t part = 0; part < count; ++part)
      addPart(part, count);
    Operation *product = add_.getTile().getDefiningOp();
    add_.erase();
    product->erase();
  }

private:
  /// The largest numbers of accumulator registers, out of 255 for each thread, that leave enough for the operands of
  /// several MMAs at once (`kAmple`), or of one MMA (`kJustEnough`).
  static constexpr int64_t kAmple = 192, kJustEnough = 224;

  static RankedTensorType typeOf(Value tile) { return cast<RankedTensorType>(tile.getType()); }
  static int64_t registersOf(Value tile) { return sm::countOf(sm::layoutOf(typeOf(tile)).getRegisters()); }
  static int64_t warpsAlong(RankedTensorType tile, unsigned dim) {
    return sm::countAlong(sm::layoutOf(tile).getWarps(), dim);
  }

  /// Returns the number of groups of columns in which the MMA is to be computed.
  int64_t parts() {
    auto product = add_.getTile().getDefiningOp<sm::MmaOp>();
    if (!product || !product->hasOneUse() || product.getAcc() || product.getTransposeRhs() ||
        product.getRhs().getType().getPanel() == 0 || typeOf(product).getRank() != 2)
      return 1;
    sm::SharedType rhs = product.getRhs().getType();
    int64_t columns = typeOf(product).getDimSize(1);
    int64_t unit = std::lcm(16 * warpsAlong(typeOf(product), 1), rhs.getPanel() / rhs.elementBytes());
    int64_t parts = 1;
    while (registersOf(product) / parts + otherSums_ > kJustEnough && columns % (2 * parts * unit) == 0)
      parts *= 2;
    return parts;
  }

  void addPart(int64_t part, int64_t parts) {
    auto product = add_.getTile().getDefiningOp<sm::MmaOp>();
    RankedTensorType whole = typeOf(product);
    sm::SharedType rhs = product.getRhs().getType();
    int64_t rows = whole.getDimSize(0), columns = whole.getDimSize(1) / parts, first = part * columns;
    ImplicitLocOpBuilder b(product.getLoc(), add_);
    auto layout = sm::accumulatorLayout(b.getContext(), rows, columns, warpsAlong(whole, 0), warpsAlong(whole, 1));
    auto type = RankedTensorType::get({rows, columns}, whole.getElementType(), layout);
    auto some = sm::SharedType::get(b.getContext(), {rhs.getShape()[0], columns}, rhs.getElementType(), rhs.getPanel());
    Value right = sm::ColumnsOp::create(b, some, product.getRhs(), first);
    auto sums = sm::MmaOp::create(b, type, product.getLhs(), right, product.getDepth(), Value(),
                                  product.getTransposeLhs(), /*transpose_rhs=*/false, product.getAllowTf32());
    tile::inheritAttributes(sums, product);
    SmallVector<Value> position(add_.getPosition());
    position.back() = b.createOrFold<arith::AddIOp>(position.back(), arith::ConstantIndexOp::create(b, first));
    const bool isLast = part + 1 == parts; // Which passes the turn on.
    auto add = tile::AtomicAddOp::create(b, add_.getLoc(), sums, add_.getView(), position, add_.getTurn(),
                                         add_.getTurns(), add_.getPlace(), isLast ? add_.getNext() : add_.getTurn());
    tile::inheritAttributes(add, add_);
  }

  tile::AtomicAddOp add_;
  Operation *lastMma_ = nullptr;
  int64_t otherSums_ = 0;
};

struct ArrangeAdditions : cuda::impl::ArrangeAdditionsBase<ArrangeAdditions> {
  void runOnOperation() override {
    for (auto add : tile::allOps<tile::AtomicAddOp>(*getOperation()))
      Arrangement(add).apply();
  }
};
} // namespace
