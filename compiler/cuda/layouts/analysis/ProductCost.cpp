// SPDX-License-Identifier: MIT
#include "compiler/cuda/layouts/analysis/ProductCost.h"

#include "compiler/sm/Elements.h"
#include "compiler/sm/Rates.h"
#include "compiler/tile/Settings.h"

#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tegula::cuda {

//===-- Obstacles -------------------------------------------------------------------------------------------------===//

std::string obstacleToWarpgroups(const Product &product) {
  const Type lhs = product.lhsType.getElementType(), rhs = product.rhsType.getElementType();
  if (lhs != rhs)
    return "its operands have different element types; cast both operands to bf16 or f16";
  if (!sm::mmaElement(lhs) || !onTensorCores(product))
    return llvm::formatv(
        "wgmma multiplies bf16, f16 and e4m3, and f32 if the dot allows tf32, and the operands are {0}; cast the "
        "operands to bf16 or f16",
        lhs);
  if (product.op->hasAttr(tile::warpLocal))
    return "each warp computes its own rows";
  return {};
}

/// Returns what warpgroups compute.
static Product computed(const Product &product, const ProductPlan &plan) {
  return plan.flipped ? product.flipped() : product;
}

/// Returns the columns that each warpgroup computes.
static int64_t columnsOf(const Product &product, const ProductPlan &plan) {
  const Product ofGroups = computed(product, plan);
  return columnsOfWarpgroup(ofGroups.rhs, ofGroups.transposesRhs, shapeOf(ofGroups).n, plan.columns);
}

/// Returns the sizes of what warpgroups compute, with the columns of the padding.
static MmaShape padded(const Product &product, const ProductPlan &plan) {
  MmaShape shape = shapeOf(computed(product, plan));
  shape.n = plan.columns * columnsOf(product, plan);
  return shape;
}

/// Returns why warpgroups that divide the columns of the result cannot have equal parts; empty if they can.
static std::string obstacleToDivision(const Product &product, const ProductPlan &plan) {
  const Product ofGroups = computed(product, plan);
  if (plan.columns == 1 || hasColumnsInRows(ofGroups.rhs, ofGroups.transposesRhs))
    return {};
  const int64_t n = shapeOf(ofGroups).n, columns = columnsOf(product, plan);
  const int64_t ofPanel = sm::panelColumns(product.rhsType.getElementType());
  const bool isWhole = ofPanel % columns == 0 || columns % ofPanel == 0;
  const bool isKMajor = ofGroups.transposesRhs && ofGroups.rhs.getDefiningOp<tile::LoadOp>();
  if (n == plan.columns * columns && (isWhole || isKMajor))
    return {};
  return llvm::formatv("{0} {1} cannot be divided among {2} warpgroups", n, plan.flipped ? "rows" : "columns",
                       plan.columns);
}

std::string obstacleTo(const Product &product, const ProductPlan &plan) {
  const MmaShape shape = shapeOf(computed(product, plan));
  const int64_t rows = sm::kRowsPerWarpgroup * plan.rows, columns = columnsOf(product, plan);
  if (shape.m % rows)
    return llvm::formatv("{0} {1} are no multiple of {2}, which is 64 for each of {3} warpgroups", shape.m,
                         plan.flipped ? "columns" : "rows", rows, plan.rows);
  if (columns > sm::kMaxMmaColumns)
    return llvm::formatv("a warpgroup would compute {0} {1}; at most {2} are possible", columns,
                         plan.flipped ? "rows" : "columns", sm::kMaxMmaColumns);
  const Type element = product.rhsType.getElementType();
  const int64_t ofPanel = sm::panelColumns(element);
  if (sm::mmaElement(element)->mustBeKMajor && (shape.k % ofPanel != 0 || shape.n % ofPanel != 0))
    return llvm::formatv("its depth of {0} and its {1} {2} must be multiples of {3} for operands of {4}", shape.k,
                         shape.n, plan.flipped ? "rows" : "columns", ofPanel, element);
  return obstacleToDivision(product, plan);
}

int64_t accumulatorsOf(const Product &product, const ProductPlan &plan) {
  const MmaShape shape = padded(product, plan);
  return shape.m * shape.n;
}

//===-- Cost ------------------------------------------------------------------------------------------------------===//

namespace {
struct Clocks {
  double tensor = 0, shared = 0, exchanges = 0;

  double sum() const { return std::max(tensor, shared) + exchanges; }
};

class CostModel {
public:
  CostModel(const ProductGroups &groups, const GroupPlans &plans) : groups_(groups), plans_(plans) {}

  void add(tile::DotOp dot) {
    const ProductPlan plan = plans_.lookup(groups_.of(dot.getResult()));
    const bool isPossible = obstacleTo(dot, plan).empty();
    const Product ofGroups = computed(dot, plan);
    const MmaShape shape = isPossible ? padded(dot, plan) : shapeOf(ofGroups);
    const double words = static_cast<double>(bytesOf(dot.getRhs())) / kBytesOfWord; // Tensor cores read 16-bit words.
    const double tensorClocks = words * shape.m * shape.n * shape.k / kRates.multiplyAdds;
    Clocks &clocks = loops_[dot->getParentOfType<LoopLikeOpInterface>()];
    preferences_ += kPreference * ((plan.flipped ? 2.0 : 0.0) + (plan.columns > 1 ? 1.0 : 0.0));
    if (!isPossible) {
      clocks.tensor += kSlowdownOfWarps * tensorClocks;
      return;
    }
    if (reducesAcrossWarps(dot, plan))
      clocks.exchanges += kCrossWarpReduction;
    if (isAddedByLanes(dot, plan))
      clocks.exchanges += static_cast<double>(dot.getType().getNumElements()) / sm::kWarpSize;
    clocks.tensor += tensorClocks;
    addOperand(clocks, ofGroups.lhs, shape.m * shape.k * plan.columns, isInRegisters(dot, plan));
    addOperand(clocks, ofGroups.rhs, shape.n * shape.k * (shape.m / sm::kRowsPerWarpgroup), false);
  }

  double cost() const {
    double sum = preferences_;
    for (auto [loop, clocks] : loops_)
      sum += weightOf(loop) * clocks.sum();
    return sum;
  }

private:
  static constexpr sm::Rates kRates = *sm::ratesOf(90);
  static constexpr double kExchange = 100;
  /// MMAs of single warps and their reads of operands, compared with those of warpgroups.
  static constexpr double kSlowdownOfWarps = 4;
  static constexpr double kCrossWarpReduction = 1e6;
  /// Only decides between plans of equal cost.
  static constexpr double kPreference = 1e-3;
  static constexpr double kIterations = 16;
  static constexpr int64_t kBytesOfWord = 2;

  static int64_t bytesOf(Value tile) { return cast<RankedTensorType>(tile.getType()).getElementTypeBitWidth() / 8; }

  static double weightOf(Operation *loop) {
    double weight = 1;
    for (; loop; loop = loop->getParentOfType<LoopLikeOpInterface>())
      weight *= kIterations;
    return weight;
  }

  /// Adds the reads of `elements` from shared memory and, once for each tile, the way of a result to shared memory.
  void addOperand(Clocks &clocks, Value tile, int64_t elements, bool inRegisters) {
    if (inRegisters)
      return;
    clocks.shared += static_cast<double>(elements * bytesOf(tile)) / kRates.sharedBytes;
    if (tile.getDefiningOp<tile::LoadOp>() || !staged_.insert(tile))
      return;
    const int64_t written = cast<RankedTensorType>(tile.getType()).getNumElements();
    clocks.shared += static_cast<double>(written * bytesOf(tile)) / kRates.sharedBytes;
    clocks.exchanges += kExchange;
  }

  /// Returns true if each thread holds its part of the left operand.
  bool isInRegisters(tile::DotOp dot, const ProductPlan &plan) const {
    const Product ofGroups = computed(dot, plan);
    auto known = plans_.find(groups_.of(ofGroups.lhs));
    if (ofGroups.lhs.getDefiningOp<tile::LoadOp>() || known == plans_.end())
      return false;
    const ProductPlan &operand = known->second;
    return operand.flipped == ofGroups.transposesLhs && operand.rows == plan.rows && operand.columns == 1 &&
           plan.columns == 1;
  }

  /// Returns true if TMA would add the result to a tensor, but not as the threads of this plan hold it.
  static bool isAddedByLanes(tile::DotOp dot, const ProductPlan &plan) {
    return llvm::any_of(dot->getUsers(), llvm::IsaPred<tile::AtomicAddOp>) &&
           tile::scheduleOf(dot).add_by_tma == true &&
           (plan.flipped ||
            (plan.columns > 1 && columnsOf(dot, plan) % sm::panelColumns(dot.getType().getElementType()) != 0));
  }

  static bool reducesAcrossWarps(tile::DotOp dot, const ProductPlan &plan) {
    const int64_t rows = plan.flipped ? 1 : 0;
    return isReducedAlong(dot.getResult(), rows) || (plan.columns > 1 && isReducedAlong(dot.getResult(), 1 - rows));
  }

  const ProductGroups &groups_;
  const GroupPlans &plans_;
  llvm::MapVector<Operation *, Clocks> loops_;
  llvm::SetVector<Value> staged_;
  double preferences_ = 0;
};
} // namespace

double costOf(ArrayRef<tile::DotOp> dots, const ProductGroups &groups, const GroupPlans &plans) {
  CostModel model(groups, plans);
  for (tile::DotOp dot : dots)
    model.add(dot);
  return model.cost();
}

} // namespace tegula::cuda
