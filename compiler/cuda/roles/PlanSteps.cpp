// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/Passes.h"
#include "compiler/cuda/roles/analysis/LoopOrder.h"
#include "compiler/cuda/roles/analysis/RolePlan.h"
#include "compiler/sm/Roles.h"
#include "compiler/tile/Settings.h"
#include "compiler/tile/Walks.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_PLANSTEPS
#include "compiler/cuda/roles/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using sm::Step;

//===-- The list of a schedule ------------------------------------------------------------------------------------===//

/// Returns true if the ops of a loop have all labels of the list.
static bool haveLabels(const Anchors &anchors, ArrayRef<Step> steps) {
  return llvm::all_of(steps, [&](const Step &step) { return step.isTurn() || anchors.contains(step.label); });
}

/// Writes the step list of the module on the loops whose ops have its labels.
static LogicalResult preset(MutableArrayRef<scf::ForOp> loops, StringAttr text, Location otherwise) {
  llvm::Expected<sm::StepList> steps = sm::parseSteps(text.getValue());
  if (!steps)
    return emitError(otherwise, tile::steps) << " = " << text << ": " << llvm::toString(steps.takeError());
  bool fits = false;
  for (scf::ForOp loop : loops)
    if (haveLabels(anchorsOf(loop), *steps)) {
      loop->setAttr(tile::steps, text);
      fits = true;
    }
  if (fits)
    return success();
  InFlightDiagnostic error = emitError(loops.front().getLoc())
                             << "no loop has all labels of steps=" << text << "; legal are the labels of one loop";
  for (scf::ForOp loop : loops)
    error.attachNote(loop.getLoc()) << "this loop of the role '" << sm::roleOf(loop)->name() << "' has "
                                    << labelsOf(anchorsOf(loop));
  return error;
}

//===-- The compiler's own choice ---------------------------------------------------------------------------------===//

/// Returns why the loop cannot run as the list says, or an empty string.
static std::string obstacleTo(ArrayRef<Step> steps, scf::ForOp loop) {
  llvm::Expected<LoopGraph> graph = LoopGraph::of(loop, steps);
  if (!graph)
    return llvm::toString(graph.takeError());
  llvm::Expected<LoopOrder> order = cuda::order(*graph, steps);
  return order ? "" : llvm::toString(order.takeError());
}

/// Returns true if the MMA reads the only slot of a ring of its loop.
static bool readsOnlySlot(sm::AsyncProduct mma) {
  return llvm::any_of(ValueRange{mma.getLhs(), mma.getRhs()}, [&](Value operand) {
    auto wait = operand.getDefiningOp<sm::ConsumerWaitOp>();
    return wait && wait->getBlock() == mma->getBlock() && wait.getChannel().getType().getSlots() == 1;
  });
}

/// Returns the MMAs in an order in which each starts as soon as the iteration allows: those first that wait for the
/// fewest others, of these the ones that read the only slot of a ring, so that the producer can fill it while others
/// run, and of these the ones for which most of the iteration waits.
static sm::StepList serialSteps(const LoopGraph &graph, const Labels &mmas) {
  SmallVector<std::pair<StringRef, sm::AsyncProduct>> sorted(mmas.begin(), mmas.end());
  llvm::stable_sort(sorted, [&](const auto &one, const auto &two) {
    auto rank = [&](sm::AsyncProduct mma) {
      return std::tuple(graph.countNeeds(mma), !readsOnlySlot(mma), -int64_t(graph.countFollowers(mma)));
    };
    return rank(one.second) < rank(two.second);
  });
  sm::StepList steps;
  for (auto &[label, mma] : sorted)
    steps.push_back({.label = label.str()});
  return steps;
}

/// Returns the smallest number of slots of the rings that the MMA reads, which all belong to its loop; 0 if an operand
/// is no tile of such a ring.
static int64_t slotsOf(sm::AsyncProduct mma) {
  int64_t slots = std::numeric_limits<int64_t>::max();
  for (Value operand : {mma.getLhs(), Value(mma.getRhs())}) {
    auto wait = operand.getDefiningOp<sm::ConsumerWaitOp>();
    if (!wait || wait->getBlock() != mma->getBlock())
      return 0;
    slots = std::min<int64_t>(slots, wait.getChannel().getType().getSlots());
  }
  return slots;
}

/// Returns the steps of a loop with one MMA: it runs while the next iteration starts. That takes two slots of each
/// ring.
static sm::StepList stepsInFlight(scf::ForOp loop, const Labels &mmas) {
  auto &[label, mma] = *mmas.begin();
  if (mmas.size() != 1 || slotsOf(mma) < 2)
    return {};
  sm::StepList steps{{.label = label.str()}, {.kind = Step::Kind::end, .label = label.str(), .isDelayed = true}};
  return obstacleTo(steps, loop).empty() ? steps : sm::StepList();
}

namespace {
/// The steps of a loop whose iterations overlap.
struct LateSteps {
  sm::StepList writes, late; ///< Operands that warpgroups exchange, and the MMAs that come one iteration late.

  bool isLate(StringRef label) const {
    return llvm::any_of(late, [&](const Step &step) { return step.label == label; });
  }
};
} // namespace

/// Chooses the MMAs that come one iteration late: those that read a tile that lanes write in the iteration, or else the
/// last one.
static LateSteps lateStepsOf(const Labels &mmas, ArrayRef<Step> serial) {
  LateSteps overlap;
  llvm::DenseSet<Operation *> written;
  for (const Step &step : serial)
    for (bool isLhs : {true, false}) {
      Operation *writer = writerOf(mmas.lookup(step.label), isLhs);
      if (!writer)
        continue;
      if (written.insert(writer).second)
        overlap.writes.push_back({.kind = isLhs ? Step::Kind::lhs : Step::Kind::rhs, .label = step.label});
      if (!overlap.isLate(step.label))
        overlap.late.push_back({.label = step.label, .isDelayed = true});
    }
  if (overlap.late.empty())
    overlap.late.push_back({.label = mmas.back().first.str(), .isDelayed = true});
  return overlap;
}

/// Returns the steps in which some MMAs come one iteration late: together with the MMAs that wait for no other in the
/// next iteration, or, if they read tiles that warpgroups exchange, after the next such tile is written. A turn
/// encloses the MMAs that start together, or the computation of the tile.
static sm::StepList overlappedSteps(const LoopGraph &graph, const Labels &mmas, ArrayRef<Step> serial,
                                    const LateSteps &overlap, bool hasTurns) {
  sm::StepList first, rest, steps;
  for (const Step &step : serial)
    if (!overlap.isLate(step.label))
      (graph.countNeeds(mmas.lookup(step.label)) == 0 ? first : rest).push_back(step);
  const bool isExchange = !overlap.writes.empty();
  sm::StepList inTurn = isExchange ? overlap.writes : first;
  if (isExchange)
    steps = first;
  else
    llvm::append_range(inTurn, overlap.late);
  if (hasTurns)
    steps.push_back({.kind = Step::Kind::takeTurn});
  llvm::append_range(steps, inTurn);
  if (hasTurns)
    steps.push_back({.kind = Step::Kind::passTurn});
  if (isExchange)
    llvm::append_range(steps, overlap.late);
  llvm::append_range(steps, rest);
  return steps;
}

/// Returns why no MMA of a loop can come one iteration late, or an empty string.
static std::string obstacleOf(scf::ForOp loop, const Labels &mmas, const LateSteps &overlap,
                              ArrayRef<Step> overlapped) {
  if (mmas.size() < 2)
    return "the loop has fewer than two MMAs";
  Value sum = awaitOf(mmas.back().second).getResult();
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  if (overlap.writes.empty() && (!sum.hasOneUse() || *sum.user_begin() != yield))
    return "the iteration itself needs the accumulator of its last MMA";
  return obstacleTo(overlapped, loop);
}

namespace {
struct PlanSteps : cuda::impl::PlanStepsBase<PlanSteps> {
  void runOnOperation() override {
    schedule_ = tile::scheduleOf(getOperation());
    if (tile::anyOp(*getOperation(), [&](sm::RolesOp roles) { return failed(plan(roles)); }))
      signalPassFailure();
    getOperation()->walk([](Operation *op) {
      if (isa<scf::ForOp>(op) && (op->hasAttr(tile::steps) || op->hasAttr(kRoleSteps)) &&
          !op->getParentOfType<sm::RolesOp>())
        op->emitRemark("the step list has no effect: only loops of roles have one (roles=load on sm_90a)");
    });
  }

  LogicalResult plan(sm::RolesOp roles) {
    auto isNew = [](scf::ForOp loop) { return !loop->hasAttr(kPipelined); };
    auto loops = tile::allOps(roles, [&](scf::ForOp loop) { return isNew(loop) && !labelledMmas(loop).empty(); });
    auto labelled = tile::allOps(roles, [&](scf::ForOp loop) { return isNew(loop) && !anchorsOf(loop).empty(); });
    auto text = getOperation()->getAttrOfType<StringAttr>(tile::steps);
    for (auto [field, isUsed] : {std::pair("overlap=pingpong", isOverlapped()), std::pair("steps", text != nullptr)})
      if (isUsed && loops.empty())
        roles.emitRemark(tile::nameSetting(roles, field))
            << " has no effect: no loop has an MMA of whole warpgroups (wgmma)";
    if (text && !loops.empty() && failed(preset(labelled, text, roles.getLoc())))
      return failure();
    for (scf::ForOp loop : loops)
      if (!loop->hasAttr(tile::steps))
        plan(loop, labelledMmas(loop));
    return success();
  }

  bool isOverlapped() const { return schedule_.overlap == Overlap::pingpong; }

  void plan(scf::ForOp loop, const Labels &mmas) {
    llvm::Expected<LoopGraph> graph = LoopGraph::of(loop, {});
    if (!graph)
      return llvm::consumeError(graph.takeError());
    sm::StepList steps = serialSteps(*graph, mmas);
    if (sm::StepList inFlight = stepsInFlight(loop, mmas); !inFlight.empty() && schedule_.overlap != Overlap::none)
      steps = inFlight;
    else if (isOverlapped())
      overlap(*graph, mmas, steps);
    loop->setAttr(tile::steps, StringAttr::get(loop.getContext(), sm::toString(steps)));
  }

  void overlap(const LoopGraph &graph, const Labels &mmas, sm::StepList &steps) {
    scf::ForOp loop = graph.loop;
    const bool areSeveral = sm::roleOf(loop)->warpgroups() > 1;
    const LateSteps overlap = lateStepsOf(mmas, steps);
    sm::StepList withTurns = overlappedSteps(graph, mmas, steps, overlap, areSeveral);
    sm::StepList withoutTurns = overlappedSteps(graph, mmas, steps, overlap, /*hasTurns=*/false);
    if (obstacleOf(loop, mmas, overlap, withTurns).empty())
      steps = withTurns;
    else if (std::string obstacle = obstacleOf(loop, mmas, overlap, withoutTurns); obstacle.empty())
      steps = withoutTurns;
    else
      loop.emitRemark(tile::nameSetting(loop, "overlap=pingpong"))
          << " has no effect on this loop, whose MMAs follow each other: " << obstacle;
  }

  Schedule schedule_; ///< The schedule of the module.
};
} // namespace
