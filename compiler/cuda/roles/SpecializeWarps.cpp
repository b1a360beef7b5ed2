// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/Passes.h"
#include "compiler/cuda/roles/analysis/ProducerTiles.h"
#include "compiler/cuda/roles/analysis/Rings.h"
#include "compiler/sm/Roles.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_SPECIALIZEWARPS
#include "compiler/cuda/roles/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using LocBuilder = ImplicitLocOpBuilder;

/// Returns the size of the ring of an sm.load_shared or a tile.load.
static int64_t ringBytes(Operation *op, sm::SharedType tile, int64_t stages) {
  return sm::ChannelType::get(tile.getContext(), slotsIn(loopOf(op), stages), tile).ring().bytes();
}

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

namespace {
/// The registers per thread of each role, in multiples of 8. The consumers get as many as possible, up to 240. The
/// producer gets the rest, from 32 to 40; persistent kernels need 40. It gets only 24 beside a loop with many
/// accumulators, so that consumers do not spill.
struct Registers {
  Registers(int64_t warps, int64_t instances, int64_t accumulators) {
    constexpr int64_t maxConsumerRegisters = 240, maxProducerRegisters = 40, unit = 8, manyAccumulators = 192;
    const int64_t minProducerRegisters = accumulators > manyAccumulators ? 24 : 32;
    const int64_t all = sm::registersOfBlock(warps + sm::kWarpsPerWarpgroup, instances);
    consumerRegisters =
        std::min(maxConsumerRegisters, (all - sm::kWarpsPerWarpgroup * minProducerRegisters) / warps / unit * unit);
    producerRegisters =
        std::min(maxProducerRegisters, (all - warps * consumerRegisters) / sm::kWarpsPerWarpgroup / unit * unit);
  }
  int64_t consumerRegisters, producerRegisters;
};
} // namespace

/// Moves the whole program into the role that computes of a new `sm.roles`.
static sm::RolesOp makeRoles(func::FuncOp function, int64_t warps, Registers registers) {
  Block &body = function.getBody().front();
  LocBuilder b(function.getLoc(), body.getTerminator());
  const sm::Role roles[] = {{kCompute, warps, registers.consumerRegisters}, {kLoad, 1, registers.producerRegisters}};
  auto op = sm::RolesOp::create(b, ArrayRef(roles));
  Block &compute = sm::findRole(op, kCompute)->block();
  compute.getOperations().splice(compute.begin(), body.getOperations(), body.begin(), op->getIterator());
  return op;
}

namespace {
struct SpecializeWarps : cuda::impl::SpecializeWarpsBase<SpecializeWarps> {
  void runOnOperation() override {
    if (tile::wantsRoles(getOperation()))
      for (auto function : getOperation().getOps<func::FuncOp>())
        specialize(function);
  }

  int64_t stages() { return tile::setting(getOperation(), "tile.num_stages", 2); }

  /// Adds loads to registers while their rings fit into shared memory. They come first, so that their fences exist when
  /// the consumer waits of the other tiles are placed.
  void addLoads(func::FuncOp function, SmallVector<sm::LoadSharedOp> &fetches) {
    constexpr int64_t ofMbarriers = 1 << 10;
    int64_t room =
        tile::setting(getOperation(), "tile.shared_limit", std::numeric_limits<int32_t>::max()) - ofMbarriers;
    room -= bytesBesideRings(function);
    for (sm::LoadSharedOp fetch : fetches)
      room -= ringBytes(fetch, fetch.getType(), stages());
    SmallVector<tile::LoadOp> loads;
    function.walk([&](tile::LoadOp load) {
      int64_t bytes = canProducerLoad(load) ? ringBytes(load, boxType(load.getResult().getType()), stages()) : room + 1;
      if (bytes > room)
        return;
      room -= bytes;
      loads.push_back(load);
    });
    for (tile::LoadOp load : llvm::reverse(loads))
      fetches.insert(fetches.begin(), loadThroughShared(load));
  }

  void specialize(func::FuncOp function) {
    SmallVector<sm::LoadSharedOp> fetches;
    function.walk([&](sm::LoadSharedOp fetch) {
      if (canProducerLoad(fetch))
        fetches.push_back(fetch);
      else if (isInLoop(fetch) && feedsWgmma(fetch))
        fetch.emitRemark("all warps copy this tile, not the producer: ") << whyNotProducerLoaded(fetch);
    });
    if (llvm::none_of(fetches, isInLoop)) {
      function.emitRemark(tile::nameSetting(function, "roles=load"))
          << " has no effect: no loop loads tiles that a producer could load; all warps copy";
      return;
    }
    addLoads(function, fetches);
    const int64_t warps = tile::setting(getOperation(), "tile.num_warps", 4),
                  instances = tile::setting(getOperation(), "tile.instances_per_sm", 1);
    const Registers registers(warps, instances, accumulatorRegisters(function, warps));
    if (registers.consumerRegisters < sm::kMinRegisters) {
      function.emitError("num_warps of ")
          << warps << " and instances_per_sm of " << instances << " leave a thread " << registers.consumerRegisters
          << " registers; it must have " << sm::kMinRegisters << " at least";
      return signalPassFailure();
    }
    sm::RolesOp roles = makeRoles(function, warps, registers);
    LocBuilder b(roles.getLoc(), roles);
    const Rings rings(b, fetches, stages());
    buildProducer(rings, roles);
    buildConsumers(rings, roles);
  }
};
} // namespace
