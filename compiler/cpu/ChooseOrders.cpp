// SPDX-License-Identifier: MIT
#include "compiler/cpu/ChooseOrders.h"
#include "compiler/cpu/Costs.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tegula::cpu {

using namespace mlir;

namespace {

// Prices are in vector instructions.
constexpr double kStridedElement = 6;
constexpr double kHorizontalReduction = 0.2;
/// The instructions for each sum of a dot along its depth: a reduction of as many accumulators as a vector has lanes.
constexpr double kSumOfLanes = 3;
/// The groups of a function whose orders are searched. There are 2^12 assignments.
constexpr int kVariedGroups = 12;

/// The form of a dot whose vectors run along its result, in the order of the result.
VectorOperand alongResult(tile::DotOp dot, Order result) {
  if (result == Order::Row)
    return {&dot.getRhsMutable(), dot.getTransposeRhs() ? Order::Column : Order::Row};
  return {&dot.getLhsMutable(), dot.getTransposeLhs() ? Order::Row : Order::Column};
}

/// The form of a dot whose vectors run along its depth.
SmallVector<VectorOperand, 2> alongDepth(tile::DotOp dot) {
  return {{&dot.getLhsMutable(), dot.getTransposeLhs() ? Order::Column : Order::Row},
          {&dot.getRhsMutable(), dot.getTransposeRhs() ? Order::Row : Order::Column}};
}

double elements(Value tile) { return static_cast<double>(tileType(tile).getNumElements()); }

bool isMatrix(Value value) {
  auto type = tileType(value);
  return type && type.getRank() == 2;
}

/// Groups of matrices that must share an order, because one nest computes one matrix from another. Groups are found by
/// union-find. A transpose between two matrices is a parity: their orders are opposite.
class OrderGroups {
public:
  explicit OrderGroups(func::FuncOp function) {
    function.walk([&](Operation *op) { link(op); });
  }

  int groupOf(Value value) {
    auto [root, parity] = find(value);
    auto [it, inserted] = groups_.try_emplace(root, static_cast<int>(groups_.size()));
    (void)inserted;
    return it->second;
  }
  bool flippedInGroup(Value value) { return find(value).second; }
  int size() const { return static_cast<int>(groups_.size()); }

private:
  void join(Value a, Value b, bool flipped = false) {
    if (!isMatrix(a) || !isMatrix(b))
      return;
    auto [rootA, parityA] = find(a);
    auto [rootB, parityB] = find(b);
    if (rootA != rootB)
      parent_[rootA] = {rootB, parityA != (parityB != flipped)};
  }

  std::pair<Value, bool> find(Value value) {
    bool parity = false;
    for (auto it = parent_.find(value); it != parent_.end(); it = parent_.find(value)) {
      parity = parity != it->second.second;
      value = it->second.first;
    }
    return {value, parity};
  }

  void link(Operation *op) {
    if (isElementwise(op) || isa<tile::GatherOp, tile::CumsumOp>(op)) {
      for (Value operand : op->getOperands())
        if (operand.getType() != op->getResult(0).getType() ? isMatrix(operand) : true)
          join(operand, op->getResult(0));
    } else if (auto transpose = dyn_cast<tile::TransposeOp>(op)) {
      join(transpose.getSource(), transpose.getResult(), /*flipped=*/true);
    } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
      if (store.getCondition())
        join(store.getCondition(), store.getTile());
    } else if (auto dot = dyn_cast<tile::DotOp>(op)) {
      if (dot.getAcc())
        join(dot.getAcc(), dot.getResult());
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [init, arg, yielded, result] :
           llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getYieldedValues(), loop.getResults()))
        join(init, arg), join(yielded, arg), join(result, arg);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      for (Block *block : {branch.thenBlock(), branch.elseBlock()})
        if (block && branch.getNumResults())
          for (auto [yielded, result] : llvm::zip(block->getTerminator()->getOperands(), branch.getResults()))
            join(yielded, result);
    }
  }

  DenseMap<Value, std::pair<Value, bool>> parent_;
  DenseMap<Value, int> groups_;
};

/// A choice of one order per group, and its price.
class OrderSearch {
public:
  explicit OrderSearch(func::FuncOp function)
      : function_(function), groups_(function), lanes_(tile::setting(function, kLanesSetting, kDefaultLanes)) {
    function.walk([&](Operation *op) {
      for (Value value : op->getResults())
        if (isMatrix(value))
          groups_.groupOf(value);
    });
    function.walk([&](Operation *op) {
      if (isa<tile::LoadOp, tile::StoreOp, tile::AtomicAddOp, tile::ReduceOp, tile::DotOp>(op) ||
          (isElementwise(op) && isMatrix(op->getResult(0))))
        addPrices(pricesOf(op));
    });
  }

  /// Marks the dots that cost less along their depth than along their result.
  void markDots() {
    function_.walk([&](tile::DotOp dot) {
      if (priceAlongDepth(dot) < priceAlongResult(dot))
        dot->setAttr(kAlongDepthAttr, UnitAttr::get(dot.getContext()));
    });
  }

  /// Returns the order of every matrix.
  DenseMap<Value, Order> orders() {
    DenseMap<Value, Order> result;
    auto add = [&](Value value) {
      if (isMatrix(value))
        result[value] = order(value);
    };
    function_.walk([&](Operation *op) {
      llvm::for_each(op->getResults(), add);
      for (Region &region : op->getRegions())
        for (Block &block : region)
          llvm::for_each(block.getArguments(), add);
    });
    return result;
  }

  /// Tries every assignment of the groups that vary. The others stay row-major.
  void solve() {
    unsigned bits = std::min(groups_.size(), kVariedGroups);
    double best = std::numeric_limits<double>::infinity();
    for (unsigned candidate = 0; candidate < (1u << bits); ++candidate) {
      assignment_ = candidate;
      if (double price = totalPrice(); price < best)
        best = price, chosen_ = candidate;
    }
    assignment_ = chosen_;
  }

  Order order(Value value) {
    if (!isMatrix(value))
      return Order::Row;
    int group = groups_.groupOf(value);
    bool column = group < kVariedGroups && (assignment_ >> group & 1);
    return column != groups_.flippedInGroup(value) ? Order::Column : Order::Row;
  }

private:
  /// The prices of an operation, and the groups on whose orders they depend. Bit n of an index of `prices` is the order
  /// of `groups[n]`.
  struct Prices {
    SmallVector<int, 3> groups;
    SmallVector<double, 8> prices;
  };

  Prices pricesOf(Operation *op) {
    Prices result;
    auto add = [&](Value value) {
      if (isMatrix(value) && groups_.groupOf(value) < kVariedGroups &&
          !llvm::is_contained(result.groups, groups_.groupOf(value)))
        result.groups.push_back(groups_.groupOf(value));
    };
    llvm::for_each(op->getOperands(), add);
    llvm::for_each(op->getResults(), add);
    for (unsigned index = 0; index < (1u << result.groups.size()); ++index) {
      assignment_ = 0;
      for (auto [bit, group] : llvm::enumerate(result.groups))
        assignment_ |= (index >> bit & 1) << group;
      result.prices.push_back(priceOf(op) * frequency(op));
    }
    return result;
  }

  /// Adds prices to those that depend on the same groups.
  void addPrices(const Prices &added) {
    auto *known = llvm::find_if(prices_, [&](const Prices &prices) { return prices.groups == added.groups; });
    if (known == prices_.end())
      return prices_.push_back(added);
    for (auto [sum, price] : llvm::zip(known->prices, added.prices))
      sum += price;
  }

  double totalPrice() const {
    double total = 0;
    for (const auto &[groups, prices] : prices_) {
      unsigned index = 0;
      for (auto [bit, group] : llvm::enumerate(groups))
        index |= (assignment_ >> group & 1) << bit;
      total += prices[index];
    }
    return total;
  }

  double priceOf(Operation *op) {
    if (auto dot = dyn_cast<tile::DotOp>(op))
      return std::min(priceAlongResult(dot), priceAlongDepth(dot));
    if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
      int64_t contiguous = order(reduce.getSource()) == Order::Row ? tileType(reduce.getSource()).getRank() - 1 : 0;
      return contiguous == static_cast<int64_t>(reduce.getAxis()) ? kHorizontalReduction * elements(reduce.getSource())
                                                                  : 0;
    }
    if (isElementwise(op))
      return ownCost(op) * vectors(op->getResult(0));
    Value tile = isa<tile::LoadOp>(op) ? op->getResult(0) : op->getOperand(0);
    if (isa<tile::LoadOp>(op) && isOperandOfDotsOnly(tile))
      return 0; // It is priced at the dots, because it is cloned for each order.
    return order(tile) == Order::Column ? kStridedElement * elements(tile) : 0;
  }

  double priceAlongResult(tile::DotOp dot) {
    auto [operand, required] = alongResult(dot, order(dot.getResult()));
    double copy = priceOfOperand(operand->get(), required) * (operandFrequency(operand->get()) / frequency(dot));
    return copy + static_cast<double>(depthOf(dot)) * vectors(dot.getResult());
  }

  /// Returns infinity if the dot has many rows and columns, or if a factor has another order and would be packed.
  double priceAlongDepth(tile::DotOp dot) {
    constexpr double impossible = std::numeric_limits<double>::infinity();
    if (llvm::none_of(tileType(dot.getResult()).getShape(), [](int64_t size) { return size <= kFewRows; }))
      return impossible;
    double price = elements(dot.getResult()) * (llvm::divideCeil(depthOf(dot), lanes_) + kSumOfLanes);
    for (auto [operand, required] : alongDepth(dot)) {
      Value factor = operand->get();
      if (!factor.getDefiningOp<tile::LoadOp>() && order(factor) != required)
        return impossible;
      price += priceOfOperand(factor, required) * (operandFrequency(factor) / frequency(dot));
    }
    return price;
  }

  static int64_t depthOf(tile::DotOp dot) { return tileType(dot.getLhs()).getDimSize(dot.getTransposeLhs() ? 0 : 1); }

  /// Returns the number of vectors that hold a matrix. A vector holds elements of one row or column.
  double vectors(Value matrix) {
    auto type = tileType(matrix);
    const int contiguous = order(matrix) == Order::Row ? 1 : 0;
    return static_cast<double>(type.getDimSize(1 - contiguous) * llvm::divideCeil(type.getDimSize(contiguous), lanes_));
  }

  double priceOfOperand(Value value, Order required) {
    bool wrong = value.getDefiningOp<tile::LoadOp>() ? required == Order::Column : order(value) != required;
    return wrong ? kStridedElement * elements(value) : 0;
  }

  // A load is copied where it stands. A computed tile is copied at the dot, inside the dot's loop.
  static double operandFrequency(Value value) {
    Operation *load = value.getDefiningOp<tile::LoadOp>();
    return load ? frequency(load) : kTripsOfALoop * (value.getDefiningOp() ? frequency(value.getDefiningOp()) : 1);
  }

  static bool isOperandOfDotsOnly(Value value) {
    return llvm::all_of(value.getUsers(), [](Operation *user) { return isa<tile::DotOp>(user); });
  }

  func::FuncOp function_;
  OrderGroups groups_;
  int64_t lanes_;
  SmallVector<Prices> prices_;
  unsigned assignment_ = 0, chosen_ = 0;
};

} // namespace

SmallVector<VectorOperand, 2> vectorOperands(tile::DotOp dot, Order result) {
  return dot->hasAttr(kAlongDepthAttr) ? alongDepth(dot) : SmallVector<VectorOperand, 2>{alongResult(dot, result)};
}

DenseMap<Value, Order> chooseOrders(func::FuncOp function) {
  OrderSearch search(function);
  search.solve();
  search.markDots();
  return search.orders();
}

} // namespace tegula::cpu
