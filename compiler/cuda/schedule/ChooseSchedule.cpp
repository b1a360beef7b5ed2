// SPDX-License-Identifier: MIT
#include "compiler/cuda/layouts/analysis/Product.h"
#include "compiler/cuda/schedule/Passes.h"
#include "compiler/cuda/schedule/analysis/ScheduleChoice.h"
#include "compiler/sm/Sm.h"
#include "compiler/tile/Settings.h"
#include "compiler/tile/SourcePlace.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_CHOOSESCHEDULE
#include "compiler/cuda/schedule/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

/// Emits a remark at each product of tensor cores that says what keeps it from wgmma and TMA. Emits none if there is no
/// obstacle.
static void explain(ModuleOp module, const Obstacles &obstacles) {
  if (obstacles.empty())
    return;
  for (const Product &product : productsOf(module)) {
    if (!onTensorCores(product)) // Another remark says so.
      continue;
    InFlightDiagnostic remark = product.op->emitRemark(
        "mma.sync computes this dot and all warps copy its operands, because the compiler chooses roles=none: ");
    auto own = llvm::find_if(obstacles, [&](const Obstacle &obstacle) { return obstacle.product == product.op; });
    if (own != obstacles.end())
      remark << own->reason;
    else
      remark << "the dot at " << placeOf(obstacles.front().product->getLoc()) << " prevents roles=load for all";
  }
}

/// Divides the shared memory among the program instances that share a multiprocessor by the compiler's choice.
static void divideShared(ModuleOp module, int instances) {
  if (auto limit = module->getAttrOfType<IntegerAttr>(tile::sharedLimit))
    module->setAttr(tile::sharedLimit, Builder(module).getI64IntegerAttr(sm::sharedOfBlock(limit.getInt(), instances)));
}

namespace {
struct ChooseSchedule : cuda::impl::ChooseScheduleBase<ChooseSchedule> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (module->hasAttr(kNeighbours))
      return;
    const Schedule given = tile::ownSchedule(module);
    const ScheduleChoice choice = chooseSchedule(module, given);
    explain(module, choice.obstacles);
    const Schedule schedule = filled(choice.schedule, tile::usualSchedule());
    tile::setChoice(module, schedule);
    if (given.instances_per_sm == 0)
      divideShared(module, schedule.instances_per_sm);
    std::vector<std::string> texts;
    for (const Schedule &neighbour : choice.neighbours)
      if (const Schedule complete = filled(neighbour, tile::usualSchedule()); complete != schedule)
        texts.push_back(toString(complete));
    module->setAttr(kNeighbours, Builder(module).getStrArrayAttr(llvm::to_vector_of<StringRef>(texts)));
  }
};
} // namespace
