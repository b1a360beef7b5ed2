// SPDX-License-Identifier: MIT
#include "compiler/cuda/Passes.h"

#include "compiler/sm/Sm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_ENDWARPGROUPSEARLY
#include "compiler/cuda/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

using LocBuilder = ImplicitLocOpBuilder;

constexpr int64_t kRowsOfGroup = 64, kRowsOfWarp = 16;

/// How many warpgroups share the rows of the loop's products, each of which holds 64 that follow each other; 0 if they
/// do not.
static int64_t groupsOf(scf::ForOp loop) {
  auto products = loop.getBody()->getOps<sm::WgmmaOp>();
  if (products.empty())
    return 0;
  RankedTensorType tile = (*products.begin()).getResult().getType().getTile();
  return sm::extentOfWarp(tile, /*dim=*/0) == kRowsOfWarp ? tile.getDimSize(0) / kRowsOfGroup : 0;
}

/// How many iterations the producer may be ahead of a warpgroup that has left: no slot is filled again after those.
static int64_t spareIterations(scf::ForOp loop) {
  int64_t slots = std::numeric_limits<int64_t>::max();
  for (auto receive : loop.getBody()->getOps<sm::ReceiveOp>())
    slots = std::min<int64_t>(slots, receive.getMbarriers().getType().getSlots());
  return slots - 1;
}

static bool hasBarrierOfAll(scf::ForOp loop) {
  WalkResult search = loop.getBody()->walk(
      [](sm::BarrierOp barrier) { return barrier.getWarp() ? WalkResult::advance() : WalkResult::interrupt(); });
  return search.wasInterrupted();
}

/// The turns of the iterations that a warpgroup does not do: all take equally many.
static void passTurns(LocBuilder &b, Value first, Value end) {
  auto rest = scf::ForOp::create(b, first, end, arith::ConstantIndexOp::create(b, 1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(rest.getBody());
  sm::TakeTurnOp::create(b);
  sm::PassTurnOp::create(b);
}

static void endEarly(scf::ForOp loop) {
  auto limit = loop.getUpperBound().getDefiningOp<sm::RowLimitOp>();
  const std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  const int64_t spare = spareIterations(loop);
  // Three warpgroups have no registers for what is left to do behind the loop.
  if (!limit || !step || *step > kRowsOfGroup || groupsOf(loop) != 2 || spare < 1 || hasBarrierOfAll(loop))
    return;
  LocBuilder b(loop.getLoc(), loop);
  auto index = [&](int64_t number) -> Value { return arith::ConstantIndexOp::create(b, number); };
  Value lower = loop.getLowerBound();
  auto iterationsUntil = [&](Value end) -> Value {
    Value rounded = arith::AddIOp::create(b, arith::SubIOp::create(b, end, lower), index(*step - 1));
    return arith::MaxSIOp::create(b, arith::DivSIOp::create(b, rounded, index(*step)), index(0));
  };
  Value all = iterationsUntil(limit.getBound());
  Value needed = iterationsUntil(arith::AddIOp::create(b, limit.getFirst(), index(kRowsOfGroup)));
  needed = arith::MaxSIOp::create(b, needed, arith::SubIOp::create(b, all, index(spare)));
  Value group = sm::WarpgroupOp::create(b, b.getIndexType());
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, group, index(0));
  Value own = arith::SelectOp::create(b, isFirst, arith::MinSIOp::create(b, needed, all), all);
  loop.setUpperBound(arith::AddIOp::create(b, lower, arith::MulIOp::create(b, own, index(*step))));
  if (loop.getBody()->getOps<sm::TakeTurnOp>().empty())
    return;
  b.setInsertionPointAfter(loop);
  passTurns(b, own, all);
}

namespace {
struct EndWarpgroupsEarly : cuda::impl::EndWarpgroupsEarlyBase<EndWarpgroupsEarly> {
  void runOnOperation() override {
    getOperation()->walk([](sm::RolesOp roles) { roles.getConsumer().walk(endEarly); });
    getOperation()->walk([](sm::RowLimitOp limit) {
      limit.replaceAllUsesWith(limit.getBound());
      limit.erase();
    });
  }
};
} // namespace
