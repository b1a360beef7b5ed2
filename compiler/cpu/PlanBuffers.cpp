// SPDX-License-Identifier: MIT
#include "compiler/cpu/Passes.h"
#include "compiler/cpu/TileOrder.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

namespace tegula::cpu {
#define GEN_PASS_DEF_PLANBUFFERS
#include "compiler/cpu/Passes.h.inc"

using namespace mlir;

bool isElementwise(Operation *op) {
  return op->getNumResults() == 1 && tileType(op->getResult(0)) && op->hasTrait<OpTrait::Elementwise>();
}

namespace {

// Prices in vector instructions; a loop body counts as if it ran this often.
constexpr double kTripsOfALoop = 16;
constexpr double kStridedElement = 6;
constexpr double kHorizontalReduction = 0.2;

double frequency(Operation *op) {
  double result = 1;
  for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
    if (isa<scf::ForOp>(parent))
      result *= kTripsOfALoop;
  return result;
}

double elements(Value tile) { return static_cast<double>(tileType(tile).getNumElements()); }

bool isMatrix(Value value) {
  auto type = tileType(value);
  return type && type.getRank() == 2;
}

//===-- Orders -----------------------------------------------------------------------------------------------------===//

/// Matrices that must share an order because one nest computes one from the other, found by union-find. A transpose
/// between two of them is a parity: their orders are opposite.
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
    if (isElementwise(op) || isa<tile::GatherOp>(op)) {
      for (Value operand : op->getOperands())
        if (operand.getType() != op->getResult(0).getType() ? isMatrix(operand) : true)
          join(operand, op->getResult(0));
    } else if (auto transpose = dyn_cast<tile::TransposeOp>(op)) {
      join(transpose.getSource(), transpose.getResult(), /*flipped=*/true);
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

/// The operand that vectors run along, and whether its buffer must be row-major for that.
struct VectorOperand {
  OpOperand *operand;
  Order required;
};

VectorOperand vectorOperand(tile::DotOp dot, Order result) {
  if (result == Order::Row)
    return {&dot.getRhsMutable(), dot.getTransposeRhs() ? Order::Column : Order::Row};
  return {&dot.getLhsMutable(), dot.getTransposeLhs() ? Order::Row : Order::Column};
}

/// A choice of one order per group, and its price.
class OrderSearch {
public:
  explicit OrderSearch(func::FuncOp function) : function_(function), groups_(function) {
    function.walk([&](Operation *op) {
      for (Value value : op->getResults())
        if (isMatrix(value))
          groups_.groupOf(value);
      if (isa<tile::LoadOp, tile::StoreOp, tile::AtomicAddOp, tile::ReduceOp, tile::DotOp>(op))
        priced_.push_back(op);
    });
  }

  /// Tries every assignment; beyond 2^12 of them only the first 12 groups vary, the others stay row-major.
  void solve() {
    unsigned bits = std::min(groups_.size(), 12);
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
    bool column = (assignment_ >> groups_.groupOf(value)) & 1;
    return column != groups_.flippedInGroup(value) ? Order::Column : Order::Row;
  }

private:
  double totalPrice() {
    double price = 0;
    for (Operation *op : priced_)
      price += priceOf(op) * frequency(op);
    return price;
  }

  double priceOf(Operation *op) {
    if (auto dot = dyn_cast<tile::DotOp>(op)) {
      auto [operand, required] = vectorOperand(dot, order(dot.getResult()));
      return priceOfOperand(operand->get(), required) * (operandFrequency(operand->get()) / frequency(op));
    }
    if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
      int64_t contiguous = order(reduce.getSource()) == Order::Row ? tileType(reduce.getSource()).getRank() - 1 : 0;
      return contiguous == static_cast<int64_t>(reduce.getAxis()) ? kHorizontalReduction * elements(reduce.getSource()) : 0;
    }
    Value tile = isa<tile::LoadOp>(op) ? op->getResult(0) : op->getOperand(0);
    if (isa<tile::LoadOp>(op) && onlyFeedsDots(tile))
      return 0; // priced at the dots: it is cloned for each order
    return order(tile) == Order::Column ? kStridedElement * elements(tile) : 0;
  }

  double priceOfOperand(Value value, Order required) {
    bool wrong = value.getDefiningOp<tile::LoadOp>() ? required == Order::Column : order(value) != required;
    return wrong ? kStridedElement * elements(value) : 0;
  }

  // A load is copied where it stands, a computed tile where the dot stands (inside its loop).
  static double operandFrequency(Value value) {
    Operation *load = value.getDefiningOp<tile::LoadOp>();
    return load ? frequency(load) : kTripsOfALoop * (value.getDefiningOp() ? frequency(value.getDefiningOp()) : 1);
  }

  static bool onlyFeedsDots(Value value) {
    return llvm::all_of(value.getUsers(), [](Operation *user) { return isa<tile::DotOp>(user); });
  }

  func::FuncOp function_;
  OrderGroups groups_;
  SmallVector<Operation *> priced_;
  unsigned assignment_ = 0, chosen_ = 0;
};

/// Gives each dot's vector operand the order that it needs: a load is cloned, anything else is packed.
void fixVectorOperands(func::FuncOp function, OrderSearch &orders, DenseMap<Value, Order> &loadOrders) {
  SmallVector<tile::DotOp> dots;
  function.walk([&](tile::DotOp dot) { dots.push_back(dot); });
  DenseMap<std::pair<Value, int>, Value> clones;
  for (tile::DotOp dot : dots) {
    auto [operand, required] = vectorOperand(dot, orders.order(dot.getResult()));
    auto load = operand->get().getDefiningOp<tile::LoadOp>();
    if (!load) {
      if (orders.order(operand->get()) != required)
        dot->setAttr(kPackAttr, UnitAttr::get(dot.getContext()));
      continue;
    }
    Value &clone = clones[{load.getResult(), static_cast<int>(required)}];
    if (!clone)
      clone = OpBuilder(load).clone(*load)->getResult(0);
    loadOrders[clone] = required;
    operand->set(clone);
  }
}

/// Dots that may take a loaded operand in any order share a clone that exists anyway.
void shareClones(func::FuncOp function, const DenseMap<Value, Order> &loadOrders) {
  function.walk([&](tile::DotOp dot) {
    for (OpOperand *operand : {&dot.getLhsMutable(), &dot.getRhsMutable()}) {
      auto load = operand->get().getDefiningOp<tile::LoadOp>();
      if (!load || loadOrders.contains(load.getResult()))
        continue;
      for (auto [clone, order] : loadOrders)
        if (clone.getDefiningOp()->getBlock() == load->getBlock() && clone.getType() == load.getType() &&
            clone.getDefiningOp()->getOperands() == load->getOperands() &&
            clone.getDefiningOp()->getLoc() == load->getLoc()) {
          operand->set(clone);
          break;
        }
    }
  });
}

//===-- Buffer or recompute ----------------------------------------------------------------------------------------===//

bool feedsDotOperand(Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    auto dot = dyn_cast<tile::DotOp>(use.getOwner());
    return dot && use.get() != dot.getAcc();
  });
}

bool isYielded(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) { return isa<scf::YieldOp>(user); });
}

double ownCost(Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (isa<arith::ConstantOp, tile::BroadcastOp, tile::ReshapeOp, tile::TransposeOp, tile::IotaOp>(op))
    return 0.5;
  if (name.starts_with("math.exp") || name.starts_with("math.log") || name.starts_with("math.tanh"))
    return 15;
  if (name.starts_with("arith.div") || name.starts_with("arith.rem") || name == "math.sqrt")
    return 10;
  return 1;
}

/// Decides buffer or recompute for every op, operands first.
class BufferDecision {
public:
  explicit BufferDecision(OrderSearch &orders, const DenseMap<Value, Order> &loadOrders)
      : orders_(orders), loadOrders_(loadOrders) {}

  void decide(Operation *op) {
    if (isa<scf::ForOp, scf::IfOp>(op))
      return setOrders(op);
    if (op->getNumResults() != 1 || !tileType(op->getResult(0)) || op->hasAttr(kBufferAttr))
      return;
    if (mustBuffer(op) || cheaperInBuffer(op))
      op->setAttr(kBufferAttr, StringAttr::get(op->getContext(), toWord(orderOf(op->getResult(0)))));
  }

private:
  Order orderOf(Value value) {
    auto it = loadOrders_.find(value);
    return it != loadOrders_.end() ? it->second : orders_.order(value);
  }

  void setOrders(Operation *op) {
    SmallVector<Attribute> words;
    for (Value result : op->getResults())
      words.push_back(StringAttr::get(op->getContext(), toWord(orderOf(result))));
    if (!op->hasAttr(kBuffersAttr) && llvm::any_of(op->getResults(), [](Value v) { return tileType(v) != nullptr; }))
      op->setAttr(kBuffersAttr, ArrayAttr::get(op->getContext(), words));
  }

  static bool mustBuffer(Operation *op) {
    if (isa<tile::LoadOp, tile::GatherOp, tile::DotOp, tile::ReduceOp>(op))
      return true;
    return feedsDotOperand(op->getResult(0)) || (isYielded(op->getResult(0)) && isElementwise(op));
  }

  bool cheaperInBuffer(Operation *op) {
    double cost = costOf(op->getResult(0));
    double uses = 0;
    for (Operation *user : op->getResult(0).getUsers())
      uses += frequency(user) / frequency(op);
    return uses * cost > cost + 1 + uses;
  }

  // Of computing one vector of `value` where it is used.
  double costOf(Value value) {
    Operation *op = value.getDefiningOp();
    if (!tileType(value) || !op || op->hasAttr(kBufferAttr) || op->getNumRegions())
      return tileType(value) ? 1 : 0;
    auto [it, inserted] = costs_.try_emplace(value, 0);
    if (!inserted)
      return it->second;
    double cost = ownCost(op);
    for (Value operand : op->getOperands())
      cost += costOf(operand);
    return costs_[value] = cost;
  }

  OrderSearch &orders_;
  const DenseMap<Value, Order> &loadOrders_;
  DenseMap<Value, double> costs_;
};

//===-- In place ---------------------------------------------------------------------------------------------------===//

/// Whether every computation that reads `value`, directly or through recomputed values, is `last` or comes before it.
/// `last` itself must read only the element that it is about to write.
bool isReadOnlyUpTo(Value value, Operation *last, bool samePosition) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isa<scf::YieldOp>(user))
      return false;
    if (user == last) {
      auto dot = dyn_cast<tile::DotOp>(user);
      if (!samePosition || (dot && use.get() != dot.getAcc()) || (!dot && !isElementwise(user)))
        return false;
      continue;
    }
    bool recomputed = user->getNumRegions() == 0 && user->getNumResults() == 1 && !user->hasAttr(kBufferAttr);
    if (recomputed) {
      if (!isReadOnlyUpTo(user->getResult(0), last, samePosition && isElementwise(user)))
        return false;
      continue;
    }
    Operation *ancestor = last->getBlock()->findAncestorOpInBlock(*user);
    if (!ancestor || !ancestor->isBeforeInBlock(last))
      return false;
  }
  return true;
}

void markInPlace(scf::ForOp loop) {
  for (auto [arg, yielded] : llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues())) {
    Operation *op = yielded.getDefiningOp();
    if (!tileType(arg) || !op || op->getBlock() != loop.getBody() || !op->hasAttr(kBufferAttr))
      continue;
    if (!isElementwise(op) && !isa<tile::DotOp>(op))
      continue;
    if (llvm::count_if(yielded.getUses(), [](OpOperand &use) { return isa<scf::YieldOp>(use.getOwner()); }) == 1 &&
        isReadOnlyUpTo(arg, op, /*samePosition=*/true))
      op->setAttr(kInPlaceAttr, UnitAttr::get(loop.getContext()));
  }
}

struct PlanBuffersPass : impl::PlanBuffersBase<PlanBuffersPass> {
  void runOnOperation() override {
    OrderSearch orders(getOperation());
    orders.solve();
    DenseMap<Value, Order> loadOrders;
    fixVectorOperands(getOperation(), orders, loadOrders);
    shareClones(getOperation(), loadOrders);
    eraseUnusedLoads();
    BufferDecision decision(orders, loadOrders);
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) { decision.decide(op); });
    getOperation().walk([](scf::ForOp loop) { markInPlace(loop); });
  }

  void eraseUnusedLoads() {
    getOperation().walk([](tile::LoadOp load) {
      if (load->use_empty())
        load->erase();
    });
  }
};

} // namespace

} // namespace tegula::cpu
