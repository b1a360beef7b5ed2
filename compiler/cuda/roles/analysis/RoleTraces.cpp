// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/analysis/RoleTraces.h"

#include "compiler/tile/Walks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SetVector.h"

#include <array>

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

namespace {
constexpr size_t kMaxSteps = 128;
constexpr int64_t kMaxIterations = 1024;

bool containsEvent(Operation *op) {
  return tile::anyOp(*op, [](sm::RoleEventOpInterface) { return true; });
}

/// The values on which the events of a role depend, and the loops and branches around events.
class Needs {
public:
  explicit Needs(Region &role) {
    role.walk([&](Operation *op) {
      if (isa<sm::RoleEventOpInterface>(op))
        for (Value operand : op->getOperands())
          if (operand.getType().isInteger(32))
            values_.insert(operand);
      if (op->getNumRegions() != 0 && containsEvent(op)) {
        withEvents_.insert(op);
        values_.insert_range(op->getOperands());
        if (auto loop = dyn_cast<scf::WhileOp>(op))
          values_.insert(loop.getConditionOp().getCondition());
      }
    });
    for (size_t i = 0; i < values_.size(); ++i)
      addSources(values_[i]);
  }

  bool hasEvents(Operation *op) const { return withEvents_.contains(op); }
  bool needsAnyResult(Operation *op) const {
    return llvm::any_of(op->getResults(), [&](Value result) { return values_.contains(result); });
  }

private:
  void addSources(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      op = value.getParentBlock()->getParentOp(); // A loop, or the function.
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      for (Region &region : branch->getRegions())
        if (!region.empty())
          values_.insert_range(region.front().getTerminator()->getOperands());
    } else if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
      for (Region *region : loop.getLoopRegions())
        values_.insert_range(region->front().getTerminator()->getOperands());
    }
    if (!isa<sm::RolesOp>(op))
      values_.insert_range(op->getOperands());
  }

  SetVector<Value> values_;
  DenseSet<Operation *> withEvents_;
};

/// Runs the scalar part of a role.
class Tracer {
public:
  Tracer(Region &role, unsigned scenario) : role_(role), needs_(role), scenario_(scenario) {}

  RoleTrace run() {
    trace_.isCut = !runAll();
    return std::move(trace_);
  }

private:
  /// Returns false if the role makes too many steps.
  bool runAll() {
    Block &function = *role_.getParentOp()->getBlock();
    for (BlockArgument argument : function.getArguments())
      if (isScalar(argument))
        values_[argument] = chosen(argument.getType(), argument.getArgNumber());
    for (Operation &before : function) {
      if (&before == role_.getParentOp())
        break;
      run(&before);
    }
    return run(role_.front());
  }

  bool run(Block &block) {
    for (Operation &op : block.without_terminator())
      if (!run(&op))
        return false;
    return trace_.steps.size() <= kMaxSteps;
  }

  static bool isScalar(Value value) { return isa<IntegerType, IndexType>(value.getType()); }

  bool run(Operation *op) {
    if (auto events = dyn_cast<sm::RoleEventOpInterface>(op)) {
      addSteps(events);
      return true;
    }
    if (!needs_.hasEvents(op) && !needs_.needsAnyResult(op))
      return true;
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return run(loop);
    if (auto loop = dyn_cast<scf::WhileOp>(op))
      return run(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return run(branch);
    for (Value result : op->getResults())
      if (isScalar(result))
        values_[result] = evaluate(op, result);
    return true;
  }

  //===-- Steps --------------------------------------------------------------------------------------------------===//

  /// Adds what `op` does. A number that it returns is a work index, a condition that of a channel that stays open.
  void addSteps(sm::RoleEventOpInterface op) {
    for (const sm::RoleEvent &event : op.getEvents())
      trace_.steps.push_back({event.kind, op, event.channel ? sm::channelOf(event.channel) : sm::ChannelOp(),
                              values_.lookup(event.slot), values_.lookup(event.phase)});
    for (Value result : op->getResults())
      if (isScalar(result))
        values_[result] = result.getType().isInteger(1) ? 1 : drawn_++;
  }

  //===-- Control flow -------------------------------------------------------------------------------------------===//

  void assign(ValueRange to, ValueRange from) {
    SmallVector<int64_t> values = llvm::map_to_vector(from, [&](Value value) { return values_.lookup(value); });
    for (auto [value, is] : llvm::zip_equal(to, values))
      values_[value] = is;
  }

  bool run(scf::ForOp loop) {
    const int64_t end = values_.lookup(loop.getUpperBound()), step = values_.lookup(loop.getStep());
    int64_t at = values_.lookup(loop.getLowerBound()), iterations = 0;
    assign(loop.getRegionIterArgs(), loop.getInitArgs());
    for (; step > 0 && at < end; at += step) {
      values_[loop.getInductionVar()] = at;
      if (++iterations > kMaxIterations || !run(*loop.getBody()))
        return false;
      assign(loop.getRegionIterArgs(), loop.getYieldedValues());
    }
    assign(loop.getResults(), loop.getRegionIterArgs());
    return true;
  }

  bool run(scf::WhileOp loop) {
    assign(loop.getBeforeArguments(), loop.getInits());
    for (int64_t iterations = 0; iterations < kMaxIterations; ++iterations) {
      if (!run(*loop.getBeforeBody()))
        return false;
      scf::ConditionOp condition = loop.getConditionOp();
      if (values_.lookup(condition.getCondition()) == 0) {
        assign(loop.getResults(), condition.getArgs());
        return true;
      }
      assign(loop.getAfterArguments(), condition.getArgs());
      if (!run(*loop.getAfterBody()))
        return false;
      assign(loop.getBeforeArguments(), loop.getYieldOp().getOperands());
    }
    return false;
  }

  bool run(scf::IfOp branch) {
    Region &region = values_.lookup(branch.getCondition()) != 0 ? branch.getThenRegion() : branch.getElseRegion();
    if (region.empty())
      return true;
    if (!run(region.front()))
      return false;
    assign(branch.getResults(), region.front().getTerminator()->getOperands());
    return true;
  }

  //===-- Scalars ------------------------------------------------------------------------------------------------===//

  /// Returns the result of an op on numbers; a number of the scenario's choice if the op reads anything else.
  int64_t evaluate(Operation *op, Value result) {
    if (auto limit = dyn_cast<sm::RowLimitOp>(op))
      return values_.lookup(limit.getBound());
    if (auto opaque = dyn_cast<sm::OpaqueOp>(op))
      return values_.lookup(opaque.getSource());
    Builder b(op->getContext());
    SmallVector<Attribute> operands;
    if (isa<arith::ArithDialect>(op->getDialect()) && llvm::all_of(op->getOperands(), isScalar)) {
      for (Value operand : op->getOperands())
        operands.push_back(b.getIntegerAttr(operand.getType(), values_.lookup(operand)));
      SmallVector<OpFoldResult> folded;
      if (succeeded(op->fold(operands, folded)) && folded.size() == 1) {
        if (auto number = dyn_cast_if_present<IntegerAttr>(dyn_cast<Attribute>(folded.front())))
          return number.getType().isInteger(1) ? int64_t(number.getValue().getZExtValue())
                                               : number.getValue().getSExtValue();
        if (auto same = dyn_cast<Value>(folded.front()))
          return values_.lookup(same);
      }
    }
    return chosen(result.getType(), keyOf(op));
  }

  /// Returns a number of the scenario's choice: large in the first one, 0 in the second.
  int64_t chosen(Type type, size_t key) const {
    constexpr std::array<int64_t, 6> sizes = {400, 0, 130, 1, 260, 70};
    const size_t choice = llvm::hash_combine(scenario_, key);
    if (type.isInteger(1))
      return choice & 1;
    return scenario_ < 2 ? sizes[scenario_] : sizes[choice % sizes.size()];
  }

  /// Returns a number that two ops share if they read the same.
  size_t keyOf(Operation *op) {
    size_t key = llvm::hash_combine(op->getName().getAsOpaquePointer(), op->getAttrDictionary().getAsOpaquePointer());
    for (Value operand : op->getOperands()) {
      size_t next = 0;
      if (isScalar(operand))
        next = llvm::hash_value(values_.lookup(operand));
      else if (auto argument = dyn_cast<BlockArgument>(operand))
        next = argument.getArgNumber();
      else if (isa<tile::ViewType>(operand.getType()))
        next = keyOf(operand.getDefiningOp());
      key = llvm::hash_combine(key, next);
    }
    return key;
  }

  Region &role_;
  const Needs needs_;
  unsigned scenario_;
  int64_t drawn_ = 0; ///< Work indices, as if one program instance drew all of them.
  DenseMap<Value, int64_t> values_;
  RoleTrace trace_;
};
} // namespace

RoleTrace cuda::traceOf(Region &role, unsigned scenario) { return Tracer(role, scenario).run(); }
