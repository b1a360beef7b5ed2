// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/Passes.h"
#include "compiler/cuda/roles/analysis/ProducerTiles.h"
#include "compiler/cuda/roles/analysis/Rings.h"
#include "compiler/cuda/roles/analysis/RolePlan.h"
#include "compiler/sm/Roles.h"
#include "compiler/tile/Settings.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_SPLITROLES
#include "compiler/cuda/roles/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using LocBuilder = ImplicitLocOpBuilder;

/// Returns the tiles that the role `load` loads. Those that go to registers come first, so that their fences exist when
/// the consumer waits of the other tiles are placed.
static SmallVector<sm::LoadSharedOp> plannedTiles(func::FuncOp function) {
  SmallVector<sm::LoadSharedOp> tiles;
  SmallVector<tile::LoadOp> loads;
  function.walk([&](Operation *op) {
    if (op->getAttr(kRole) != StringAttr::get(op->getContext(), kLoad))
      return;
    if (auto operand = dyn_cast<sm::LoadSharedOp>(op))
      tiles.push_back(operand);
    else
      loads.push_back(cast<tile::LoadOp>(op));
  });
  for (tile::LoadOp load : llvm::reverse(loads))
    tiles.insert(tiles.begin(), loadThroughShared(load));
  return tiles;
}

/// Moves the whole program into the role that computes of a new `sm.roles`.
static sm::RolesOp makeRoles(func::FuncOp function, ArrayAttr planned) {
  Block &body = function.getBody().front();
  LocBuilder b(function.getLoc(), body.getTerminator());
  auto op = sm::RolesOp::create(b, planned);
  Block &compute = sm::findRole(op, kCompute)->block();
  compute.getOperations().splice(compute.begin(), body.getOperations(), body.begin(), op->getIterator());
  return op;
}

/// Erases the loops of which other roles have taken everything.
static void eraseEmptyLoops(sm::RoleRef role) {
  role.body().walk([](scf::ForOp loop) {
    if (isOpTriviallyDead(loop))
      loop.erase();
  });
}

/// Refuses step lists that no role has taken.
static LogicalResult checkSteps(sm::RolesOp roles) {
  auto names = llvm::map_range(sm::rolesOf(roles), [](const sm::RoleRef &role) { return role.name(); });
  LogicalResult result = success();
  roles.walk([&](scf::ForOp loop) {
    auto lists = loop->getAttrOfType<DictionaryAttr>(kRoleSteps);
    for (NamedAttribute list : lists ? lists.getValue() : ArrayRef<NamedAttribute>()) {
      const StringRef name = list.getName();
      result = llvm::is_contained(names, name)
                   ? loop.emitError("has a step list for the role '") << name << "', which does nothing in this loop"
                   : loop.emitError("has a step list for a role '")
                         << name << "'; legal are " << llvm::join(names, ", ");
    }
  });
  return result;
}

static LogicalResult split(func::FuncOp function, ArrayAttr planned) {
  const SmallVector<sm::LoadSharedOp> tiles = plannedTiles(function);
  sm::RolesOp roles = makeRoles(function, planned);
  LocBuilder b(roles.getLoc(), roles);
  const Rings rings(b, tiles);
  for (sm::RoleRef role : sm::rolesOf(roles))
    if (role.name() != kCompute)
      buildProducer(rings, role);
  buildConsumers(rings, roles);
  eraseEmptyLoops(*sm::findRole(roles, kCompute));
  roles.walk([](Operation *op) {
    op->removeAttr(kSlots);
    op->removeAttr(kRole);
  });
  return checkSteps(roles);
}

/// Lets the warps that compute transpose the tiles that no other role transposes.
static void expandTransposes(func::FuncOp function) {
  const int64_t warps = tile::scheduleOf(function).num_warps;
  function.walk([&](sm::TransposeOp transpose) {
    LocBuilder b(transpose.getLoc(), transpose);
    Value transposed = readTransposed(b, transpose.getSource(), warps);
    transpose.replaceAllUsesWith(sm::ToSharedOp::create(b, transpose.getType(), transposed).getResult());
    transpose.erase();
  });
}

namespace {
struct SplitRoles : cuda::impl::SplitRolesBase<SplitRoles> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (auto planned = dyn_cast_if_present<ArrayAttr>(function->removeAttr(kRoles)))
        if (failed(split(function, planned)))
          return signalPassFailure();
      expandTransposes(function);
    }
  }
};
} // namespace
