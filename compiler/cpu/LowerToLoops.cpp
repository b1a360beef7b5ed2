// SPDX-License-Identifier: MIT
#include "compiler/cpu/Lowering.h"
#include "compiler/cpu/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/SaveAndRestore.h"

namespace tegula::cpu {
#define GEN_PASS_DEF_LOWERTOLOOPS
#include "compiler/cpu/Passes.h.inc"

using namespace mlir;

//===-- Small helpers --------------------------------------------------------------------------------------------===//

Lowering::Lowering(func::FuncOp source, int64_t lanes)
    : source_(source), builder_(source.getContext()), loc_(source.getLoc()), lanes_(lanes) {}

Value Lowering::index(int64_t value) { return arith::ConstantIndexOp::create(builder_, loc(), value); }

Value Lowering::plus(Value x, Value y) { return arith::AddIOp::create(builder_, loc(), x, y); }

Value Lowering::splat(Value scalar) {
  return vector::BroadcastOp::create(builder_, loc(), VectorType::get({lanes_}, scalar.getType()), scalar);
}

Value Lowering::word(int64_t position) {
  return memref::LoadOp::create(builder_, loc(), words_, ValueRange{index(position)});
}

//===-- Structure ------------------------------------------------------------------------------------------------===//

namespace {

int64_t wordsOf(Type type) {
  auto view = dyn_cast<tile::ViewType>(type);
  return view ? 2 * view.getRank() : 1;
}

} // namespace

/// Creates the body function. Its arguments are one base per tensor, the words, program id 0, 1, 2, the number of
/// programs 0, 1, 2, then one buffer per buffered tile. Buffers are added when the lowering meets their tiles.
void Lowering::buildSignature() {
  SmallVector<Type> types;
  int64_t words = 0;
  for (Type type : source_.getArgumentTypes()) {
    if (auto view = dyn_cast<tile::ViewType>(type))
      types.push_back(MemRefType::get({1}, memoryType(view.getElementType())));
    words += wordsOf(type);
  }
  size_t tensors = types.size();
  types.push_back(MemRefType::get({std::max<int64_t>(words, 1)}, builder_.getI64Type()));
  types.append(6, builder_.getIndexType());
  builder_.setInsertionPoint(source_);
  body_ = func::FuncOp::create(builder_, loc(), source_.getName().str(), builder_.getFunctionType(types, {}));
  Block *entry = body_.addEntryBlock();
  builder_.setInsertionPointToStart(entry);
  auto end = func::ReturnOp::create(builder_, loc());
  builder_.setInsertionPoint(end);
  words_ = entry->getArgument(tensors);
  programId_.assign(entry->args_begin() + tensors + 1, entry->args_begin() + tensors + 4);
  numPrograms_.assign(entry->args_begin() + tensors + 4, entry->args_begin() + tensors + 7);

  int64_t nextWord = 0;
  size_t nextTensor = 0;
  for (Value argument : source_.getArguments()) {
    if (auto view = dyn_cast<tile::ViewType>(argument.getType())) {
      views_[argument] = kernelArgument(entry->getArgument(nextTensor++), view.getRank(), nextWord);
    } else {
      Value value = word(nextWord);
      if (auto type = dyn_cast<FloatType>(argument.getType())) {
        value = arith::TruncIOp::create(builder_, loc(), builder_.getI32Type(), value);
        value = arith::BitcastOp::create(builder_, loc(), type, value);
      } else if (argument.getType().isIndex()) {
        value = arith::IndexCastOp::create(builder_, loc(), argument.getType(), value);
      } else if (!argument.getType().isInteger(64)) {
        value = arith::TruncIOp::create(builder_, loc(), argument.getType(), value);
      }
      scalars_.map(argument, value);
    }
    nextWord += wordsOf(argument.getType());
  }
}

LogicalResult Lowering::run() {
  buildSignature();
  if (failed(lowerBlock(source_.getBody().front())) || failed_)
    return failure();
  body_.setType(builder_.getFunctionType(body_.getBody().getArgumentTypes(), {}));
  auto module = body_->getParentOfType<ModuleOp>();
  module->setAttr("tile.scratch", builder_.getDenseI64ArrayAttr(bufferBytes_));
  source_.erase();
  return success();
}

LogicalResult Lowering::lowerBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(lowerOp(&op)))
      return failure();
  return success();
}

LogicalResult Lowering::lowerOp(Operation *op) {
  loc_ = op->getLoc();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return lowerFor(loop);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return lowerWhile(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return lowerIf(branch);
  if (auto view = dyn_cast<tile::ViewOpInterface>(op)) {
    lowerView(view);
  } else if (auto load = dyn_cast<tile::LoadOp>(op)) {
    lowerLoad(load);
  } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
    lowerStore(op, store.getTile(), store.getView(), store.getPosition(), store.getCondition());
  } else if (auto add = dyn_cast<tile::AtomicAddOp>(op)) {
    if (add.getTurn())
      lowerAddInTurn(add);
    else
      lowerStore(op, add.getTile(), add.getView(), add.getPosition());
  } else if (auto gather = dyn_cast<tile::GatherOp>(op)) {
    lowerGather(gather);
  } else if (auto scatter = dyn_cast<tile::ScatterOp>(op)) {
    lowerScatter(op, scatter.getTile(), scatter.getView(), scatter.getIndices());
  } else if (auto scatter = dyn_cast<tile::ScatterAddOp>(op)) {
    lowerScatter(op, scatter.getTile(), scatter.getView(), scatter.getIndices());
  } else if (auto arrive = dyn_cast<tile::ArriveOp>(op)) {
    lowerArrive(arrive);
  } else if (auto work = dyn_cast<tile::NextWorkOp>(op)) {
    lowerNextWork(work);
  } else if (auto dot = dyn_cast<tile::DotOp>(op)) {
    lowerDot(dot);
  } else if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
    lowerReduce(reduce);
  } else if (auto cumsum = dyn_cast<tile::CumsumOp>(op)) {
    lowerCumsum(cumsum);
  } else if (isa<tile::ColumnsOp, tile::JoinOp>(op)) {
    lowerColumns(op);
  } else if (auto any = dyn_cast<tile::AnyOp>(op)) {
    lowerAny(any);
  } else if (op->getNumResults() == 1 && tileType(op->getResult(0))) {
    bool computed = isElementwise(op) ||
                    isa<arith::ConstantOp, tile::IotaOp, tile::BroadcastOp, tile::ReshapeOp, tile::TransposeOp>(op);
    if (!computed)
      return op->emitError("the cpu target cannot lower this op on tiles");
    if (op->hasAttr(kBufferAttr)) {
      Buffer target = bufferFor(op);
      materialize(op->getResult(0), target);
      buffers_[op->getResult(0)] = target;
    }
  } else {
    return lowerScalar(op);
  }
  return success(!failed_);
}

LogicalResult Lowering::lowerScalar(Operation *op) {
  if (auto id = dyn_cast<tile::ProgramIdOp>(op)) {
    scalars_.map(id.getResult(), programId_[id.getAxis()]);
    return success();
  }
  if (auto count = dyn_cast<tile::NumProgramsOp>(op)) {
    scalars_.map(count.getResult(), numPrograms_[count.getAxis()]);
    return success();
  }
  if (auto dim = dyn_cast<tile::DimOp>(op)) {
    scalars_.map(dim.getResult(), views_[dim.getView()].sizes[dim.getAxis()]);
    return success();
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    TypedAttr value = constant.getValue();
    if (auto number = dyn_cast<FloatAttr>(value))
      value = builder_.getF32FloatAttr(static_cast<float>(number.getValueAsDouble()));
    scalars_.map(constant.getResult(), Value(arith::ConstantOp::create(builder_, loc(), value)));
    return success();
  }
  if (op->getNumResults() != 1 || op->getNumRegions() || !isMemoryEffectFree(op))
    return op->emitError("the cpu target cannot lower this op");
  SmallVector<Value, 4> operands;
  for (Value operand : op->getOperands())
    operands.push_back(scalars_.lookup(operand));
  scalars_.map(op->getResult(0), arithmetic(op, operands, op->getResult(0).getType(), /*vector=*/false));
  return success();
}

//===-- Control flow ---------------------------------------------------------------------------------------------===//

namespace {

SmallVector<Order> ordersOf(Operation *op) {
  SmallVector<Order> orders;
  auto words = op->getAttrOfType<ArrayAttr>(kBuffersAttr);
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    orders.push_back(words ? toOrder(cast<StringAttr>(words[i]).getValue()) : Order::Row);
  return orders;
}

} // namespace

/// Copies the tiles that `yield` yields to `targets`. All of them are computed before any target is overwritten,
/// because they may read the targets' old contents.
void Lowering::copyYielded(Operation *yield, ArrayRef<Buffer> targets) {
  llvm::SaveAndRestore ofOthers(buffers_); // What this yield copies is not there for other blocks.
  SmallVector<std::pair<Value, Buffer>> moves;
  for (auto [yielded, target] : llvm::zip(yield->getOperands(), targets)) {
    if (!tileType(yielded) || buffers_.lookup(yielded).memory == target.memory)
      continue;
    moves.push_back({yielded, target});
  }
  for (auto &[yielded, target] : moves) {
    Operation *op = yielded.getDefiningOp();
    bool isOwn = op && op->getBlock() == yield->getBlock() && buffers_.contains(yielded);
    if (moves.size() == 1 || isOwn)
      continue;
    Buffer copy = allocate(tileType(yielded), target.order);
    materialize(yielded, copy);
    buffers_[yielded] = copy;
  }
  for (auto &[yielded, target] : moves)
    materialize(yielded, target);
}

LogicalResult Lowering::lowerFor(scf::ForOp loop) {
  SmallVector<Value> scalarInits;
  SmallVector<Buffer> targets;
  SmallVector<Order> orders = ordersOf(loop);
  for (auto [i, init] : llvm::enumerate(loop.getInitArgs())) {
    if (!tileType(init)) {
      scalarInits.push_back(scalars_.lookup(init));
      targets.push_back({});
      continue;
    }
    Buffer target = allocate(tileType(init), orders[i]);
    materialize(init, target);
    targets.push_back(target);
    buffers_[loop.getRegionIterArg(i)] = target;
    buffers_[loop.getResult(i)] = target;
  }
  auto lowered =
      scf::ForOp::create(builder_, loc(), scalars_.lookup(loop.getLowerBound()), scalars_.lookup(loop.getUpperBound()),
                         scalars_.lookup(loop.getStep()), scalarInits);
  OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToStart(lowered.getBody());
  // A loop without carried scalars has a terminator already.
  Operation *end = scalarInits.empty() ? lowered.getBody()->getTerminator()
                                       : scf::YieldOp::create(builder_, loc(), scalarInits).getOperation();
  builder_.setInsertionPoint(end);
  scalars_.map(loop.getInductionVar(), lowered.getInductionVar());
  for (unsigned i = 0, scalar = 0; i < loop.getNumResults(); ++i)
    if (!tileType(loop.getResult(i))) {
      scalars_.map(loop.getRegionIterArg(i), lowered.getRegionIterArg(scalar));
      scalars_.map(loop.getResult(i), lowered.getResult(scalar++));
    }
  if (failed(lowerBlock(*loop.getBody())))
    return failure();
  copyYielded(loop.getBody()->getTerminator(), targets);
  SmallVector<Value> yielded;
  for (Value value : loop.getYieldedValues())
    if (!tileType(value))
      yielded.push_back(scalars_.lookup(value));
  end->setOperands(yielded);
  return success();
}

/// Lowers a loop that carries only scalars.
LogicalResult Lowering::lowerWhile(scf::WhileOp loop) {
  if (llvm::any_of(loop->getOperands(), tileType) || llvm::any_of(loop->getResults(), tileType))
    return loop->emitError("the cpu target cannot carry tiles through this loop");
  SmallVector<Type> types = llvm::map_to_vector(loop.getResultTypes(), computeType);
  auto lowered = scf::WhileOp::create(builder_, loc(), types, scalars(loop.getInits()), nullptr, nullptr);
  scalars_.map(loop.getResults(), lowered.getResults());
  OpBuilder::InsertionGuard guard(builder_);
  auto lowerInto = [&](Block &from, Block &to) {
    scalars_.map(from.getArguments(), to.getArguments());
    builder_.setInsertionPointToEnd(&to);
    return lowerBlock(from);
  };
  if (failed(lowerInto(*loop.getBeforeBody(), *lowered.getBeforeBody())))
    return failure();
  scf::ConditionOp condition = loop.getConditionOp();
  scf::ConditionOp::create(builder_, loc(), scalars_.lookup(condition.getCondition()), scalars(condition.getArgs()));
  if (failed(lowerInto(*loop.getAfterBody(), *lowered.getAfterBody())))
    return failure();
  scf::YieldOp::create(builder_, loc(), scalars(loop.getYieldOp().getOperands()));
  return success();
}

LogicalResult Lowering::lowerBranchBody(Block *from, Block *to, ArrayRef<Buffer> results) {
  builder_.setInsertionPointToEnd(to);
  if (!to->empty())
    builder_.setInsertionPoint(to->getTerminator());
  Operation *end = to->empty() ? scf::YieldOp::create(builder_, loc()).getOperation() : to->getTerminator();
  builder_.setInsertionPoint(end);
  if (failed(lowerBlock(*from)))
    return failure();
  copyYielded(from->getTerminator(), results);
  SmallVector<Value> yielded;
  for (Value value : from->getTerminator()->getOperands())
    if (!tileType(value))
      yielded.push_back(scalars_.lookup(value));
  end->setOperands(yielded);
  return success();
}

LogicalResult Lowering::lowerIf(scf::IfOp branch) {
  SmallVector<Buffer> results;
  SmallVector<Type> scalarTypes;
  SmallVector<Order> orders = ordersOf(branch);
  for (auto [i, result] : llvm::enumerate(branch.getResults())) {
    if (!tileType(result)) {
      scalarTypes.push_back(computeType(result.getType()));
      results.push_back({});
      continue;
    }
    results.push_back(buffers_[result] = allocate(tileType(result), orders[i]));
  }
  auto lowered = scf::IfOp::create(builder_, loc(), scalarTypes, scalars_.lookup(branch.getCondition()),
                                   /*addThenBlock=*/true, /*addElseBlock=*/branch.elseBlock() != nullptr);
  for (unsigned i = 0, scalar = 0; i < branch.getNumResults(); ++i)
    if (!tileType(branch.getResult(i)))
      scalars_.map(branch.getResult(i), lowered.getResult(scalar++));
  OpBuilder::InsertionGuard guard(builder_);
  if (failed(lowerBranchBody(branch.thenBlock(), lowered.thenBlock(), results)))
    return failure();
  return branch.elseBlock() ? lowerBranchBody(branch.elseBlock(), lowered.elseBlock(), results) : success();
}

//===-- Pass -----------------------------------------------------------------------------------------------------===//

namespace {

struct LowerToLoopsPass : impl::LowerToLoopsBase<LowerToLoopsPass> {
  void runOnOperation() override {
    auto kernels = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    if (kernels.size() != 1) {
      getOperation().emitError("a program must have exactly one function, this one has ") << kernels.size();
      return signalPassFailure();
    }
    if (failed(Lowering(kernels.front(), tile::setting(getOperation(), kLanesSetting, kDefaultLanes)).run()))
      signalPassFailure();
  }
};

} // namespace

} // namespace tegula::cpu
