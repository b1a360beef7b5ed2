// SPDX-License-Identifier: MIT
#include "compiler/cuda/threads/Passes.h"
#include "compiler/cuda/threads/lower/Lower.h"
#include "compiler/emit/Emit.h"
#include "compiler/tile/Settings.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_LOWERTOTHREADS
#include "compiler/cuda/threads/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

//===-- Function -------------------------------------------------------------------------------------------------===//

Threads::Threads(func::FuncOp source)
    : b(source.getLoc(), source.getContext()), source_(source), warps_(tile::scheduleOf(source).num_warps),
      arch_(tile::setting(source, "tile.arch", 80)), sharedBytes_(tile::setting(source, "tile.shared_bytes", 0)) {}

/// Returns the warps of a thread block.
static int64_t warpsOf(func::FuncOp function, int64_t otherwise) {
  auto roles = function.getBody().front().getOps<sm::RolesOp>();
  return roles.empty() ? otherwise : sm::warpsOf(*roles.begin());
}

LogicalResult Threads::run() {
  source_->getParentOfType<ModuleOp>()->setAttr("tile.block_warps", b.getI64IntegerAttr(warpsOf(source_, warps_)));
  findTensorMaps();
  buildSignature();
  if (failed(lowerBlock(source_.getBody().front())))
    return failure();
  func::ReturnOp::create(b);
  describeOnModule();
  source_.erase();
  return success();
}

void Threads::describeOnModule() {
  auto module = source_->getParentOfType<ModuleOp>();
  module->setAttr("tile.shared_bytes", b.getI64IntegerAttr(sharedBytes_));
  SmallVector<Attribute> maps;
  for (const TensorMap &map : tensorMaps_) {
    SmallVector<int64_t> numbers{map.parameter, map.swizzle, map.columns, map.endsInside, map.joined};
    llvm::append_range(numbers, map.box);
    maps.push_back(b.getDenseI64ArrayAttr(numbers));
  }
  if (!maps.empty())
    module->setAttr("tile.tensor_maps", b.getArrayAttr(maps));
}

static unsigned wordsOf(Type parameter) {
  auto view = dyn_cast<tile::ViewType>(parameter);
  return view ? 1 + 2 * view.getRank() : 1;
}

void Threads::buildSignature() {
  unsigned words = 0;
  for (Type parameter : source_.getArgumentTypes())
    words += wordsOf(parameter);
  size_t maps = tensorMaps_.size();
  SmallVector<Type> types(maps, maps ? gpu.tensorMapType() : Type());
  types.append(words + (maps != 0), b.getI64Type());
  b.setInsertionPoint(source_);
  target_ = func::FuncOp::create(b, source_.getName(), b.getFunctionType(types, {}));
  target_->setAttr("tile.kernel", b.getUnitAttr());
  b.setInsertionPointToStart(target_.addEntryBlock());
  lane_ = gpu.lane();
  warp_ = gpu.warp();
  entryEnd_ = &target_.front().back();

  ValueRange arguments = ValueRange(target_.getArguments()).drop_front(maps);
  for (Value parameter : source_.getArguments()) {
    defineParameter(*this, parameter, arguments.take_front(wordsOf(parameter.getType())));
    arguments = arguments.drop_front(wordsOf(parameter.getType()));
  }
}

Value Threads::atEntry(function_ref<Value()> emit) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(entryEnd_);
  Value value = emit();
  // Later code at the entry may use this value.
  if (b.getInsertionPoint() != b.getBlock()->begin())
    entryEnd_ = &*std::prev(b.getInsertionPoint());
  return value;
}

void Threads::define(Value value, ArrayRef<Value> registers) { values_[value] = SmallVector<Value, 0>(registers); }

//===-- Walk -----------------------------------------------------------------------------------------------------===//

LogicalResult Threads::lowerBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(lowerOp(&op)))
      return failure();
  b.setLoc(block.getTerminator()->getLoc());
  return success();
}

LogicalResult Threads::lowerOp(Operation *op) {
  b.setLoc(op->getLoc());
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](scf::ForOp loop) { return lowerFor(loop); })
      .Case([&](scf::WhileOp loop) { return lowerWhile(loop); })
      .Case([&](scf::IfOp branch) { return lowerIf(branch); })
      .Case([&](sm::RolesOp roles) { return lowerRoles(roles); })
      .Case([&](sm::ElectOp elect) { return lowerElect(elect); })
      .Default([&](Operation *other) { return Lowerings::all().lower(*this, other); });
}

/// Returns the registers of all `values` in a row.
static SmallVector<Value> flattened(Threads &t, ValueRange values, bool pack = false) {
  SmallVector<Value> flat;
  for (Value value : values)
    llvm::append_range(flat, pack ? t.packed(t.registers(value)) : SmallVector<Value>(t.registers(value)));
  return flat;
}

/// Defines `values` by a row of registers. Each value takes as many registers as the corresponding value of `like` has.
static void defineAll(Threads &t, ValueRange values, ValueRange like, ValueRange flat) {
  for (auto [value, similar] : llvm::zip_equal(values, like)) {
    size_t count = t.registers(similar).size();
    t.define(value, SmallVector<Value>(flat.take_front(count)));
    flat = flat.drop_front(count);
  }
}

/// Lowers `from` into `to` and makes a new terminator for `to`.
LogicalResult Threads::lowerRegion(Block &from, Block *to, bool pack) {
  if (to->mightHaveTerminator())
    to->getTerminator()->erase();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(to);
  if (failed(lowerBlock(from)))
    return failure();
  scf::YieldOp::create(b, flattened(*this, from.getTerminator()->getOperands(), pack));
  return success();
}

LogicalResult Threads::lowerFor(scf::ForOp loop) {
  auto lowered = scf::ForOp::create(b, scalar(loop.getLowerBound()), scalar(loop.getUpperBound()),
                                    scalar(loop.getStep()), flattened(*this, loop.getInitArgs()));
  define(loop.getInductionVar(), lowered.getInductionVar());
  defineAll(*this, loop.getRegionIterArgs(), loop.getInitArgs(), lowered.getRegionIterArgs());
  defineAll(*this, loop.getResults(), loop.getInitArgs(), lowered.getResults());
  return lowerRegion(*loop.getBody(), lowered.getBody(), /*pack=*/false);
}

/// Returns the type of a register and the number of registers of a value.
static std::pair<Type, unsigned> registersOf(Type type) {
  if (auto tile = dyn_cast<RankedTensorType>(type))
    return {tile.getElementType(), registerCount(tile)};
  return {type, isa<sm::CopiesType>(type) ? 0 : 1};
}

LogicalResult Threads::lowerWhile(scf::WhileOp loop) {
  SmallVector<Type> types;
  for (Type type : loop.getResultTypes()) {
    auto [element, count] = registersOf(type);
    types.append(count, element);
  }
  auto lowered = scf::WhileOp::create(b, types, flattened(*this, loop.getInits()), nullptr, nullptr);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(lowered.getBeforeBody());
  defineAll(*this, loop.getBeforeArguments(), loop.getInits(), lowered.getBeforeArguments());
  if (failed(lowerBlock(*loop.getBeforeBody())))
    return failure();
  scf::ConditionOp condition = loop.getConditionOp();
  scf::ConditionOp::create(b, scalar(condition.getCondition()), flattened(*this, condition.getArgs()));
  defineAll(*this, loop.getAfterArguments(), condition.getArgs(), lowered.getAfterArguments());
  defineAll(*this, loop.getResults(), condition.getArgs(), lowered.getResults());
  return lowerRegion(*loop.getAfterBody(), lowered.getAfterBody(), /*pack=*/false);
}

static bool isPacked(Type element, unsigned count) {
  return tile::isNarrowFloat(element) && element.getIntOrFloatBitWidth() == 16 && count % 2 == 0;
}

std::pair<Type, unsigned> Threads::packedType(Type element, unsigned count) {
  if (!isPacked(element, count))
    return {element, count};
  return {IntegerType::get(element.getContext(), 32), count / 2};
}

SmallVector<Value> Threads::packed(ArrayRef<Value> registers) {
  if (registers.empty() || !isPacked(registers.front().getType(), registers.size()))
    return SmallVector<Value>(registers);
  SmallVector<Value> words;
  for (size_t reg = 0; reg < registers.size(); reg += 2)
    words.push_back(gpu.pack(registers[reg], registers[reg + 1]));
  return words;
}

SmallVector<Value> Threads::unpacked(Type element, unsigned count, ArrayRef<Value> words) {
  if (!isPacked(element, count))
    return SmallVector<Value>(words);
  SmallVector<Value> registers;
  for (Value word : words) {
    auto [low, high] = gpu.unpack(element, word);
    registers.append({low, high});
  }
  return registers;
}

LogicalResult Threads::lowerIf(scf::IfOp branch) {
  SmallVector<Type> types;
  for (Type type : branch.getResultTypes()) {
    auto [element, count] = registersOf(type);
    auto [word, words] = packedType(element, count);
    types.append(words, word);
  }
  auto lowered = scf::IfOp::create(b, types, scalar(branch.getCondition()), /*addThenBlock=*/true,
                                   /*addElseBlock=*/branch.elseBlock() != nullptr);
  if (failed(lowerRegion(*branch.thenBlock(), lowered.thenBlock(), /*pack=*/true)) ||
      (branch.elseBlock() && failed(lowerRegion(*branch.elseBlock(), lowered.elseBlock(), /*pack=*/true))))
    return failure();
  auto words = llvm::to_vector(ValueRange(lowered.getResults()));
  ArrayRef<Value> left = words;
  for (Value result : branch.getResults()) {
    auto [element, count] = registersOf(result.getType());
    unsigned taken = packedType(element, count).second;
    define(result, unpacked(element, count, left.take_front(taken)));
    left = left.drop_front(taken);
  }
  return success();
}

SmallVector<Value> Threads::either(Value condition, TypeRange types, function_ref<SmallVector<Value>()> then,
                                   function_ref<SmallVector<Value>()> otherwise) {
  auto branch = scf::IfOp::create(b, types, condition, /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(b);
  for (auto [block, emit] : {std::pair(branch.thenBlock(), then), std::pair(branch.elseBlock(), otherwise)}) {
    b.setInsertionPointToEnd(block);
    SmallVector<Value> values = emit();
    scf::YieldOp::create(b, values);
  }
  return SmallVector<Value>(branch.getResults());
}

void Threads::either(Value condition, function_ref<void()> then, function_ref<void()> otherwise) {
  auto nothing = [](function_ref<void()> emit) {
    return [emit]() -> SmallVector<Value> {
      emit();
      return {};
    };
  };
  either(condition, TypeRange(), nothing(then), nothing(otherwise));
}

void Threads::onlyIf(Value condition, function_ref<void()> emit) {
  OpBuilder::InsertionGuard guard(b);
  if (condition)
    b.setInsertionPointToStart(scf::IfOp::create(b, condition).thenBlock());
  emit();
}

void Threads::repeat(Value first, Value end, int64_t step, function_ref<void(Value)> emit) {
  auto loop = scf::ForOp::create(b, first, end, s.i32(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  emit(loop.getInductionVar());
}

//===-- Pass -----------------------------------------------------------------------------------------------------===//

namespace {
struct LowerToThreads : cuda::impl::LowerToThreadsBase<LowerToThreads> {
  void getDependentDialects(DialectRegistry &registry) const override {
    LowerToThreadsBase::getDependentDialects(registry);
    emit::registerDialects(registry);
  }

  void runOnOperation() override {
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (failed(Threads(function).run()))
        return signalPassFailure();
  }
};
} // namespace
