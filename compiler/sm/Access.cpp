// SPDX-License-Identifier: MIT
#include "compiler/sm/Access.h"

#include "compiler/sm/Roles.h"
#include "compiler/sm/Sm.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::sm;

#include "compiler/sm/SmInterfaces.cpp.inc"

using Effects = SmallVector<MemoryEffects::EffectInstance, 4>;

/// Adds one effect on an operand. What is read and written is added to (Tile_Adds).
static void addEffect(const MemoryEffects::EffectInstance &effect, OpOperand *place, Engine engine,
                      SmallVectorImpl<Access> &accesses) {
  AccessKind kind = isa<MemoryEffects::Read>(effect.getEffect()) ? AccessKind::read : AccessKind::write;
  for (Access &access : accesses)
    if (access.place == place && access.kind != kind) {
      access.kind = AccessKind::add;
      return;
    }
  accesses.push_back({place, kind, engine, isa<SlotResource>(effect.getResource())});
}

SmallVector<Access, 2> sm::accessesOf(Operation *op) {
  SmallVector<Access, 2> accesses;
  auto memory = dyn_cast<MemoryEffectOpInterface>(op);
  if (!memory)
    return accesses;
  auto async = dyn_cast<AsyncOpInterface>(op);
  const Engine engine = async ? async.getEngine() : Engine::none;
  Effects effects;
  memory.getEffects(effects);
  for (const MemoryEffects::EffectInstance &effect : effects)
    if (auto *place = effect.getEffectValue<OpOperand *>();
        place && isa<SharedType, TensorMemoryType, ChannelType, tile::ViewType>(place->get().getType()))
      addEffect(effect, place, engine, accesses);
  return accesses;
}

Order sm::orderOf(Operation *op) {
  auto order = dyn_cast<OrderOpInterface>(op);
  return order ? order.getOrder() : Order{};
}

static bool mayWaitForRole(const Order &order) {
  return order.meeting == Meeting::role || order.mayMeet == Meeting::role;
}

bool sm::onlyReads(Operation *op) {
  if (isMemoryEffectFree(op))
    return true;
  auto isDoneRead = [](const Access &access) { return access.kind == AccessKind::read && !access.goesOn(); };
  SmallVector<Access, 2> accesses = accessesOf(op);
  const Order order = orderOf(op);
  return (!accesses.empty() || order.fences) && llvm::all_of(accesses, isDoneRead) && !mayWaitForRole(order);
}

bool sm::meetsOtherWarps(Operation *op) {
  auto isSplit = [](auto op) {
    return isSplitAmongWarps(cast<RankedTensorType>(op.getSource().getType()), static_cast<unsigned>(op.getAxis()));
  };
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    return isSplit(reduce);
  if (auto cumsum = dyn_cast<tile::CumsumOp>(op))
    return isSplit(cumsum);
  return isa<ConvertOp, ReshapeOp, SelectColumnsOp, ToSharedOp>(op) || mayWaitForRole(orderOf(op));
}

/// Adds the values that `value` may alias: initial and yielded values of a loop argument, yielded values of a branch.
static void addOrigins(Value value, SmallVectorImpl<Value> &origins) {
  if (auto result = dyn_cast<OpResult>(value)) {
    if (auto branch = dyn_cast<scf::IfOp>(result.getOwner())) {
      origins.push_back(branch.thenYield()->getOperand(result.getResultNumber()));
      origins.push_back(branch.elseYield()->getOperand(result.getResultNumber()));
    } else if (auto loop = dyn_cast<LoopLikeOpInterface>(result.getOwner())) {
      if (BlockArgument carried = loop.getTiedLoopRegionIterArg(result))
        origins.push_back(carried);
    }
    return;
  }
  auto argument = cast<BlockArgument>(value);
  auto loop = dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
  if (OpOperand *init = loop ? loop.getTiedLoopInit(argument) : nullptr)
    origins.append({init->get(), loop.getTiedLoopYieldedValue(argument)->get()});
}

/// Adds the ops whose accesses `handle` stands for, unless a loop or a branch hands it on.
static void addStarters(Value handle, SmallVectorImpl<Operation *> &starters) {
  Operation *op = handle.getDefiningOp();
  if (isa<SharedType>(handle.getType()))
    llvm::append_range(starters, tmaReadersOf(handle));
  else if (auto commit = dyn_cast_if_present<CommitOp>(op))
    commit->getParentOfType<FunctionOpInterface>().walk([&](CopyInOp copy) {
      if (commitOf(copy) == commit)
        starters.push_back(copy);
    });
  else if (isa_and_present<AsyncOpInterface>(op))
    starters.push_back(op);
}

SmallVector<Operation *, 2> sm::startersOf(Value handle) {
  SmallVector<Operation *, 2> starters;
  SetVector<Value> names;
  names.insert(handle);
  for (size_t i = 0; i < names.size(); ++i) {
    addStarters(names[i], starters);
    SmallVector<Value> origins;
    addOrigins(names[i], origins);
    names.insert_range(origins);
  }
  return starters;
}

/// Adds the values that `use` makes of a handle: what a loop or a branch hands on, and what an MMA adds to.
static void addHeirs(OpOperand &use, SetVector<Value> &heirs) {
  Operation *user = use.getOwner();
  if (isa<AsyncOpInterface>(user)) {
    heirs.insert(user->getResult(0));
  } else if (auto loop = dyn_cast<LoopLikeOpInterface>(user)) {
    heirs.insert(loop.getTiedLoopRegionIterArg(&use));
    heirs.insert(loop.getTiedLoopResult(&use));
  } else if (user->hasTrait<OpTrait::IsTerminator>()) {
    heirs.insert(user->getParentOp()->getResult(use.getOperandNumber()));
    if (auto around = dyn_cast<LoopLikeOpInterface>(user->getParentOp()))
      heirs.insert(around.getRegionIterArgs()[use.getOperandNumber()]);
  }
}

SmallVector<Operation *, 2> sm::endersOf(Value handle) {
  SmallVector<Operation *, 2> enders;
  SetVector<Value> names;
  names.insert(handle);
  for (size_t i = 0; i < names.size(); ++i)
    for (OpOperand &use : names[i].getUses())
      if (orderOf(use.getOwner()).ends != Engine::none)
        enders.push_back(use.getOwner());
      else
        addHeirs(use, names);
  return enders;
}

bool sm::isConsumedOnce(Value handle) {
  return llvm::count_if(handle.getUsers(), [](Operation *user) {
           auto await = dyn_cast<AwaitOp>(user);
           return !await || !await.getReads();
         }) == 1;
}

bool sm::isReceived(Value place) {
  for (auto view = place.getDefiningOp<ViewLikeOpInterface>(); view;
       view = view.getViewSource().getDefiningOp<ViewLikeOpInterface>())
    if (orderOf(view).ends == Engine::tma)
      return true;
  return false;
}

CommitOp sm::commitOf(CopyInOp copy) {
  for (Operation *op = copy; op; op = op->getParentOp())
    for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
      if (auto commit = dyn_cast<CommitOp>(next))
        return commit;
  return {};
}

SmallVector<Operation *> sm::tmaReadersOf(Value buffer) {
  return SmallVector<Operation *>(llvm::make_filter_range(buffer.getUsers(), llvm::IsaPred<TmaStoreOp, TmaAddOp>));
}

//===-- Engines --------------------------------------------------------------------------------------------------===//

Engine CopyInOp::getEngine() { return Engine::cpAsync; }
Engine ProducerLoadOp::getEngine() { return Engine::tma; }
Engine TmaAddOp::getEngine() { return Engine::tma; }
Engine TmaStoreOp::getEngine() { return Engine::tma; }
Engine WgmmaOp::getEngine() { return Engine::tensorCores; }
Engine Tcgen05Op::getEngine() { return Engine::tensorCores; }

//===-- Orders ---------------------------------------------------------------------------------------------------===//

Order BarrierOp::getOrder() { return {.meeting = getWarp() ? Meeting::warp : Meeting::role}; }
Order WaitOp::getOrder() { return {.ends = Engine::cpAsync, .handles = getCopies()}; }
Order TmaStoreWaitOp::getOrder() { return {.ends = Engine::tma, .handles = getODSOperands(0)}; }
Order ConsumerWaitOp::getOrder() { return {.ends = Engine::tma}; }
Order AwaitOp::getOrder() { return {.ends = Engine::tensorCores, .handles = getODSOperands(0)}; }
Order ProxyFenceOp::getOrder() { return {.fences = true}; }

namespace {
/// One thread draws the work index and passes it to the others between two barriers.
struct NextWorkOrder : OrderOpInterface::ExternalModel<NextWorkOrder, tile::NextWorkOp> {
  static Order getOrder(Operation *) { return {.meeting = Meeting::role}; }
};

/// One thread arrives for all of them, between two barriers.
struct ArriveOrder : OrderOpInterface::ExternalModel<ArriveOrder, tile::ArriveOp> {
  static Order getOrder(Operation *) { return {.meeting = Meeting::role}; }
};

/// All threads wait for a turn, and the turn waits for the additions of all threads.
struct AtomicAddOrder : OrderOpInterface::ExternalModel<AtomicAddOrder, tile::AtomicAddOp> {
  static Order getOrder(Operation *op) {
    return {.meeting = cast<tile::AtomicAddOp>(op).getTurn() ? Meeting::role : Meeting::none};
  }
};
} // namespace

void sm::attachOrders(MLIRContext &context) {
  tile::ArriveOp::attachInterface<ArriveOrder>(context);
  tile::NextWorkOp::attachInterface<NextWorkOrder>(context);
  tile::AtomicAddOp::attachInterface<AtomicAddOrder>(context);
}
