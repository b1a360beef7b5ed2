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

static Value iterations(LocBuilder &b, Value distance, int64_t step) {
  Value rounded = arith::AddIOp::create(b, distance, arith::ConstantIndexOp::create(b, step - 1));
  return arith::DivSIOp::create(b, rounded, arith::ConstantIndexOp::create(b, step));
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
  constexpr int64_t groups = 2; // Three have no registers for what is left to do behind the loop.
  const int64_t spare = spareIterations(loop);
  if (!limit || !step || *step > kRowsOfGroup || groupsOf(loop) != groups || spare < 1 || hasBarrierOfAll(loop))
    return;
  LocBuilder b(loop.getLoc(), loop);
  auto index = [&](int64_t number) -> Value { return arith::ConstantIndexOp::create(b, number); };
  Value lower = loop.getLowerBound(), group = sm::WarpgroupOp::create(b, b.getIndexType());
  Value all = iterations(b, arith::SubIOp::create(b, limit.getBound(), lower), *step);
  all = arith::MaxSIOp::create(b, all, index(0));
  Value rows = arith::MulIOp::create(b, arith::AddIOp::create(b, group, index(1)), index(kRowsOfGroup));
  Value end = arith::AddIOp::create(b, limit.getFirst(), rows);
  Value needed = iterations(b, arith::SubIOp::create(b, end, lower), *step);
  Value least = arith::SubIOp::create(b, all, index(spare));
  needed = arith::MaxSIOp::create(b, needed, arith::MaxSIOp::create(b, least, index(0)));
  Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, group, index(groups - 1));
  Value own = arith::SelectOp::create(b, isLast, all, arith::MinSIOp::create(b, needed, all));
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
