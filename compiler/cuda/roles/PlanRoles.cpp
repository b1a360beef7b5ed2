// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/Passes.h"
#include "compiler/cuda/roles/analysis/ProducerTiles.h"
#include "compiler/cuda/roles/analysis/Rings.h"
#include "compiler/cuda/roles/analysis/RolePlan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_PLANROLES
#include "compiler/cuda/roles/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

/// Returns the size of the buffers that are in use at the same time as the rings: results that are written while a loop
/// continues with the next block.
static int64_t bytesBesideRings(func::FuncOp function) {
  int64_t bytes = 0;
  function.walk([&](sm::ToSharedOp stage) {
    if (stage->getParentOfType<Loop>())
      bytes += stage.getType().bytes();
  });
  return bytes;
}

/// Returns the most registers that the accumulators of a loop's MMAs take in a thread, if all were alive at once.
static int64_t accumulatorRegisters(func::FuncOp function, int64_t warps) {
  llvm::DenseMap<Operation *, int64_t> elements;
  int64_t most = 0;
  function.walk([&](sm::AsyncProduct mma) {
    if (Loop loop = loopOf(mma))
      most = std::max(most, elements[loop] += mma.getSum().getNumElements());
  });
  return most / (warps * sm::kWarpSize);
}

//===-- Registers -------------------------------------------------------------------------------------------------===//

namespace {
/// The needs of a role. Its threads get from `least` to `most` registers.
struct Demand {
  StringRef role;
  int64_t warps, least, most;

  /// Returns the warps that get the role's registers, whole warpgroups.
  int64_t paidWarps() const { return llvm::alignTo(warps, sm::kWarpsPerWarpgroup); }
};
} // namespace

/// Returns the needs of the role that loads. Loops over work need 40 registers. It gets only 24 beside a loop with
/// many accumulators, so that the role that computes does not spill.
static Demand demandOfLoads(int64_t accumulators) {
  constexpr int64_t manyAccumulators = 192;
  return {kLoad, 1, accumulators > manyAccumulators ? 24 : 32, 40};
}

/// Divides the registers of a thread block, in multiples of 8. Each role gets as many as it may, in order, once those
/// after it have the least that they need.
static SmallVector<Attribute> divideRegisters(MLIRContext *context, ArrayRef<Demand> demands, int64_t instances) {
  constexpr int64_t unit = 8;
  int64_t warps = 0, reserved = 0;
  for (const Demand &demand : demands) {
    warps += demand.paidWarps();
    reserved += demand.paidWarps() * demand.least;
  }
  int64_t rest = sm::registersOfBlock(warps, instances);
  SmallVector<Attribute> roles;
  for (const Demand &demand : demands) {
    reserved -= demand.paidWarps() * demand.least;
    const int64_t registers = std::min(demand.most, (rest - reserved) / demand.paidWarps() / unit * unit);
    rest -= demand.paidWarps() * registers;
    roles.push_back(sm::RoleAttr::get(context, demand.role, demand.warps, registers));
  }
  return roles;
}

//===-- The plan --------------------------------------------------------------------------------------------------===//

namespace {
class RolePlanning {
public:
  explicit RolePlanning(func::FuncOp function) : function_(function), b_(function.getContext()) {}

  LogicalResult run() {
    if (failed(verifySlots()) || failed(planOperands()))
      return failure();
    if (llvm::none_of(planned_, isInLoop)) {
      function_.emitRemark(tile::nameSetting(function_, "roles=load"))
          << " has no effect: no loop loads tiles that a producer could load; all warps copy";
      function_->removeAttr(kRoles);
      return success();
    }
    if (failed(planLoads()) || failed(planRegisters()))
      return failure();
    for (Operation *op : planned_)
      write(op);
    return success();
  }

private:
  int64_t setting(StringRef name, int64_t otherwise) const { return tile::setting(function_, name, otherwise); }

  //===-- Slots ---------------------------------------------------------------------------------------------------===//

  LogicalResult verifySlots() {
    WalkResult search = function_.walk([&](Loop loop) {
      if (slotsOf(loop) >= 1)
        return WalkResult::advance();
      loop->emitError("has ") << kSlots << " of " << slotsOf(loop) << "; a ring has one slot at least";
      return WalkResult::interrupt();
    });
    return failure(search.wasInterrupted());
  }

  /// Returns the slots of the rings that a loop fills: its preset; otherwise `tile.num_stages` in an innermost loop,
  /// and two in an outer loop, so that its next tile can be loaded while the inner loop still reads the current one.
  int64_t slotsOf(Loop loop) const {
    if (auto preset = loop->getAttrOfType<IntegerAttr>(kSlots))
      return preset.getInt();
    return bodyOf(loop)->getOps<scf::ForOp>().empty() ? setting("tile.num_stages", 2) : 2;
  }

  int64_t ringBytes(Operation *op, sm::SharedType tile) const {
    Loop loop = loopOf(op);
    return sm::ChannelType::get(op->getContext(), loop ? slotsOf(loop) : 1, tile).ring().bytes();
  }

  //===-- Loads ---------------------------------------------------------------------------------------------------===//

  static LogicalResult refusePreset(Operation *op, const Twine &why) {
    return op->emitError("has ") << kRole << " = " << op->getAttr(kRole) << ", but " << why;
  }

  /// Plans a load for the role `load` unless its preset is another role. `why` says why that is not possible; empty if
  /// it is.
  LogicalResult plan(Operation *op, const std::string &why) {
    auto preset = op->getAttrOfType<StringAttr>(kRole);
    if (preset && preset != kLoad)
      return preset == kCompute ? success() : refusePreset(op, "legal are 'load' and 'compute'");
    if (why.empty())
      planned_.push_back(op);
    return preset && !why.empty() ? refusePreset(op, "that role cannot load the tile: " + why) : success();
  }

  /// Plans the tiles that MMAs read.
  LogicalResult planOperands() {
    WalkResult search = function_.walk([&](sm::LoadSharedOp load) {
      const bool isOperand = feedsWgmma(load);
      const std::string why = isOperand ? whyNotProducerLoaded(load) : "no MMA of a warpgroup reads it";
      if (isOperand && !why.empty() && isInLoop(load) && !load->hasAttr(kRole))
        load.emitRemark("all warps copy this tile, not the producer: ") << why;
      return failed(plan(load, why)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    return failure(search.wasInterrupted());
  }

  /// Plans the tiles that go to registers: presets, and others while their rings fit into shared memory.
  LogicalResult planLoads() {
    constexpr int64_t ofMbarriers = 1 << 10;
    room_ = setting("tile.shared_limit", std::numeric_limits<int32_t>::max()) - ofMbarriers;
    room_ -= bytesBesideRings(function_);
    for (Operation *op : planned_)
      room_ -= ringBytes(op, cast<sm::SharedType>(op->getResult(0).getType()));
    for (bool arePreset : {true, false}) {
      WalkResult search = function_.walk([&](tile::LoadOp load) {
        const bool isNext = load->hasAttr(kRole) == arePreset;
        return isNext && failed(planLoad(load)) ? WalkResult::interrupt() : WalkResult::advance();
      });
      if (search.wasInterrupted())
        return failure();
    }
    return success();
  }

  LogicalResult planLoad(tile::LoadOp load) {
    if (!canProducerLoad(load))
      return plan(load, "it is in no loop, has too few elements, or TMA cannot copy it");
    const int64_t bytes = ringBytes(load, boxType(load.getResult().getType()));
    if (!load->hasAttr(kRole) && bytes > room_)
      return success();
    room_ -= bytes;
    return plan(load, "");
  }

  //===-- Roles ---------------------------------------------------------------------------------------------------===//

  LogicalResult planRegisters() {
    if (function_->hasAttr(kRoles))
      return success();
    const int64_t warps = setting("tile.num_warps", 4), instances = setting("tile.instances_per_sm", 1);
    const Demand demands[] = {{kCompute, warps, sm::kMinRegisters, 240},
                              demandOfLoads(accumulatorRegisters(function_, warps))};
    SmallVector<Attribute> roles = divideRegisters(function_.getContext(), demands, instances);
    const int64_t registers = cast<sm::RoleAttr>(roles.front()).getRegisters();
    if (registers < sm::kMinRegisters)
      return function_.emitError("num_warps of ")
             << warps << " and instances_per_sm of " << instances << " leave a thread " << registers
             << " registers; it must have " << sm::kMinRegisters << " at least";
    function_->setAttr(kRoles, b_.getArrayAttr(roles));
    return success();
  }

  void write(Operation *op) {
    op->setAttr(kRole, b_.getStringAttr(kLoad));
    for (Loop loop : {loopOf(op), cast_if_present<Loop>(op->getParentOfType<scf::WhileOp>().getOperation())})
      if (loop)
        loop->setAttr(kSlots, b_.getI64IntegerAttr(slotsOf(loop)));
  }

  func::FuncOp function_;
  Builder b_;
  SmallVector<Operation *> planned_; ///< The loads of the role `load`.
  int64_t room_ = 0;                 ///< The bytes that rings may still take.
};

struct PlanRoles : cuda::impl::PlanRolesBase<PlanRoles> {
  void runOnOperation() override {
    if (!tile::wantsRoles(getOperation()))
      return;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.getOps<sm::RolesOp>().empty() && failed(RolePlanning(function).run()))
        return signalPassFailure();
  }
};
} // namespace
