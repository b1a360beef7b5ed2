// SPDX-License-Identifier: MIT
#include "simt/ops.h"

#include "simt/block.h"
#include "tegula/convert.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

namespace tegula::simt {
namespace {

/// Calls operation(block, lane) for an entry of the table. No exception may enter the kernel, because nothing could
/// unwind its frames.
template <class Operation> auto onLane(SimtLane *handle, Operation operation) {
  Lane &lane = *reinterpret_cast<Lane *>(handle);
  try {
    return operation(*lane.block, lane);
  } catch (const std::bad_alloc &) {
    lane.block->giveUp(lane);
  }
}

/// Calls operation(block, lane) for an access to shared memory.
template <class Operation> void access(SimtLane *handle, Operation operation) {
  onLane(handle, [&](Block &block, Lane &lane) {
    operation(block, lane);
    block.catchUp(lane);
  });
}

template <class Operation>
void onLaneIf(uint32_t predicate, SimtLane *handle, uint32_t site, Space space, Operation operation) {
  if (predicate == 0)
    onLane(handle, [&](Block &block, Lane &lane) { block.skip(lane, site, space); });
  else if (space == Space::Shared)
    access(handle, operation);
  else
    onLane(handle, operation);
}

} // namespace

const SimtOps simtOps = {
    .special = [](SimtLane *lane, uint32_t which) -> uint32_t {
      return onLane(lane, [&](Block &b, Lane &l) { return b.special(l, static_cast<SimtRegister>(which)); });
    },
    .load =
        [](SimtLane *lane, uint32_t site, uint32_t predicate, uint64_t address, uint32_t bytes, void *to) {
          onLaneIf(predicate, lane, site, Space::Global,
                   [&](Block &b, Lane &l) { b.load(l, site, address, bytes, to); });
        },
    .store =
        [](SimtLane *lane, uint32_t site, uint32_t predicate, uint64_t address, uint32_t bytes, const void *from) {
          onLaneIf(predicate, lane, site, Space::Global,
                   [&](Block &b, Lane &l) { b.store(l, site, address, bytes, from); });
        },
    .load_shared =
        [](SimtLane *lane, uint32_t site, uint32_t predicate, uint32_t address, uint32_t bytes, void *to) {
          onLaneIf(predicate, lane, site, Space::Shared,
                   [&](Block &b, Lane &l) { b.loadShared(l, site, address, bytes, to); });
        },
    .store_shared =
        [](SimtLane *lane, uint32_t site, uint32_t predicate, uint32_t address, uint32_t bytes, const void *from) {
          onLaneIf(predicate, lane, site, Space::Shared,
                   [&](Block &b, Lane &l) { b.storeShared(l, site, address, bytes, from); });
        },
    .atomic_add =
        [](SimtLane *lane, uint32_t site, uint32_t predicate, uint64_t address, uint32_t type, uint32_t count,
           const void *from) {
          onLaneIf(predicate, lane, site, Space::Global, [&](Block &b, Lane &l) {
            b.atomicAdd(l, site, address, static_cast<SimtAtomic>(type), count, from);
          });
        },
    .fetch_increment = [](SimtLane *lane, uint32_t site, uint32_t predicate, uint64_t address) -> uint32_t {
      uint32_t before = 0;
      onLaneIf(predicate, lane, site, Space::Global,
               [&](Block &b, Lane &l) { before = b.fetchIncrement(l, site, address); });
      return before;
    },
    .turn_wait =
        [](SimtLane *lane, uint32_t site, uint64_t address, int32_t number) {
          onLane(lane, [&](Block &b, Lane &l) { b.waitForTurn(l, site, address, number); });
        },
    .turn_read = [](SimtLane *lane, uint32_t site, uint64_t address) -> int32_t {
      int32_t now = 0;
      onLane(lane, [&](Block &b, Lane &l) { now = b.readTurn(l, site, address); });
      return now;
    },
    .turn_pass = [](SimtLane *lane, uint32_t site, uint64_t address,
                    int32_t number) { onLane(lane, [&](Block &b, Lane &l) { b.passTurn(l, site, address, number); }); },
    .counter_arrive = [](SimtLane *lane, uint32_t site, uint64_t address, int32_t last) -> int32_t {
      int32_t before = 0;
      onLane(lane, [&](Block &b, Lane &l) { before = b.arrive(l, site, address, last); });
      return before;
    },
    .load_matrices =
        [](SimtLane *lane, uint32_t site, uint32_t address, uint32_t count, uint32_t transposed, void *to) {
          access(lane, [&](Block &b, Lane &l) { b.loadMatrices(l, site, address, count, transposed != 0, to); });
        },
    .store_matrices =
        [](SimtLane *lane, uint32_t site, uint32_t address, uint32_t count, uint32_t transposed, const void *from) {
          access(lane, [&](Block &b, Lane &l) { b.storeMatrices(l, site, address, count, transposed != 0, from); });
        },
    .copy_async =
        [](SimtLane *lane, uint32_t site, uint32_t shared, uint64_t global, uint32_t size, uint32_t bytes) {
          access(lane, [&](Block &b, Lane &l) { b.copyAsync(l, site, shared, global, size, bytes); });
        },
    .commit_copies = [](SimtLane *lane,
                        uint32_t site) { onLane(lane, [&](Block &b, Lane &l) { b.commitCopies(l, site); }); },
    .wait_copies = [](SimtLane *lane, uint32_t site,
                      uint32_t pending) { onLane(lane, [&](Block &b, Lane &l) { b.waitCopies(l, site, pending); }); },
    .barrier = [](SimtLane *lane, uint32_t site, uint32_t id,
                  uint32_t threads) { onLane(lane, [&](Block &b, Lane &l) { b.barrier(l, site, id, threads); }); },
    .barrier_arrive =
        [](SimtLane *lane, uint32_t site, uint32_t id, uint32_t threads) {
          onLane(lane, [&](Block &b, Lane &l) { b.arriveAtBarrier(l, site, id, threads); });
        },
    .sequence_wait =
        [](SimtLane *lane, uint32_t site, uint32_t id, uint32_t threads) {
          onLane(lane, [&](Block &b, Lane &l) { b.waitForSequence(l, site, id, threads); });
        },
    .sequence_arrive =
        [](SimtLane *lane, uint32_t site, uint32_t id, uint32_t threads) {
          onLane(lane, [&](Block &b, Lane &l) { b.arriveAtSequence(l, site, id, threads); });
        },
    .barrier_warp = [](SimtLane *lane,
                       uint32_t site) { onLane(lane, [&](Block &b, Lane &l) { b.barrierWarp(l, site); }); },
    .fence_proxy =
        [](SimtLane *lane, uint32_t site, uint32_t kind) {
          onLane(lane, [&](Block &b, Lane &l) { b.fenceProxy(l, site, static_cast<SimtFence>(kind)); });
        },
    .cluster_arrive = [](SimtLane *lane,
                         uint32_t site) { onLane(lane, [&](Block &b, Lane &l) { b.arriveAtCluster(l, site); }); },
    .cluster_wait = [](SimtLane *lane,
                       uint32_t site) { onLane(lane, [&](Block &b, Lane &l) { b.waitForCluster(l, site); }); },
    .mbarrier_init =
        [](SimtLane *lane, uint32_t site, uint32_t predicate, uint32_t address, uint32_t count) {
          if (predicate != 0)
            onLane(lane, [&](Block &b, Lane &l) { b.initMbarrier(l, site, address, count); });
        },
    .mbarrier_arrive =
        [](SimtLane *lane, uint32_t site, uint32_t predicate, uint32_t address, uint32_t arrivals,
           uint32_t transactions) {
          if (predicate != 0)
            onLane(lane, [&](Block &b, Lane &l) { b.arriveAtMbarrier(l, site, address, arrivals, transactions); });
        },
    .mbarrier_wait = [](SimtLane *lane, uint32_t site, uint32_t address, uint32_t parity,
                        uint32_t blocking) -> uint32_t {
      return onLane(lane, [&](Block &b, Lane &l) { return b.waitAtMbarrier(l, site, address, parity, blocking != 0); });
    },
    .copy_tensor =
        [](SimtLane *lane, uint32_t site, uint32_t predicate, uint32_t kind, uint32_t shared, const void *map,
           const void *coordinates, uint32_t mbarrier) {
          if (predicate == 0)
            return;
          SimtTensorMap tensor;
          std::memcpy(&tensor, map, sizeof tensor);
          std::array<int32_t, 5> corner{};
          std::memcpy(corner.data(), coordinates, sizeof(int32_t) * std::min<size_t>(tensor.rank, corner.size()));
          access(lane, [&](Block &b, Lane &l) {
            b.copyTensor(l, site, static_cast<SimtBulk>(kind), shared, tensor, corner, mbarrier);
          });
        },
    .copy_bulk =
        [](SimtLane *lane, uint32_t site, uint32_t predicate, uint32_t kind, uint32_t shared, uint64_t global,
           uint32_t bytes, uint32_t mbarrier) {
          if (predicate != 0)
            access(lane, [&](Block &b, Lane &l) {
              b.copyBulk(l, site, static_cast<SimtBulk>(kind), shared, global, bytes, mbarrier);
            });
        },
    .commit_bulk = [](SimtLane *lane,
                      uint32_t site) { onLane(lane, [&](Block &b, Lane &l) { b.commitBulk(l, site); }); },
    .wait_bulk =
        [](SimtLane *lane, uint32_t site, uint32_t pending, uint32_t sources) {
          onLane(lane, [&](Block &b, Lane &l) { b.waitBulk(l, site, pending, sources != 0); });
        },
    .wgmma =
        [](SimtLane *lane, uint32_t site, const void *product, void *accumulators) {
          access(lane, [&](Block &b, Lane &l) {
            b.startMma(l, site, *static_cast<const SimtWgmma *>(product), static_cast<uint32_t *>(accumulators));
          });
        },
    .wgmma_fence = [](SimtLane *lane,
                      uint32_t site) { onLane(lane, [&](Block &b, Lane &l) { b.fenceMmas(l, site); }); },
    .wgmma_commit = [](SimtLane *lane,
                       uint32_t site) { onLane(lane, [&](Block &b, Lane &l) { b.commitMmas(l, site); }); },
    .wgmma_wait =
        [](SimtLane *lane, uint32_t site, uint32_t pending, uint32_t count, void *accumulators) {
          onLane(lane, [&](Block &b, Lane &l) {
            b.waitMmas(l, site, pending, count, static_cast<uint32_t *>(accumulators));
          });
        },
    .read_accumulator =
        [](SimtLane *lane, uint32_t site, uint32_t value) {
          onLane(lane, [&](Block &b, Lane &l) { b.readAccumulator(l, site, value); });
        },
    .set_registers = [](SimtLane *lane, uint32_t site,
                        uint32_t count) { onLane(lane, [&](Block &b, Lane &l) { b.setRegisters(l, site, count); }); },
    .tensor_alloc =
        [](SimtLane *lane, uint32_t site, uint32_t shared, uint32_t columns) {
          access(lane, [&](Block &b, Lane &l) { b.allocateTensor(l, site, shared, columns); });
        },
    .tensor_dealloc =
        [](SimtLane *lane, uint32_t site, uint32_t address, uint32_t columns) {
          onLane(lane, [&](Block &b, Lane &l) { b.deallocateTensor(l, site, address, columns); });
        },
    .tensor_relinquish = [](SimtLane *lane,
                            uint32_t site) { onLane(lane, [&](Block &b, Lane &l) { b.relinquishTensor(l, site); }); },
    .tensor_mma =
        [](SimtLane *lane, uint32_t site, uint32_t to, uint64_t a, uint64_t b, uint32_t instruction,
           uint32_t accumulate) {
          access(lane,
                 [&](Block &block, Lane &l) { block.startTensorMma(l, site, to, a, b, instruction, accumulate != 0); });
        },
    .tensor_commit =
        [](SimtLane *lane, uint32_t site, uint32_t mbarrier) {
          onLane(lane, [&](Block &b, Lane &l) { b.commitTensor(l, site, mbarrier); });
        },
    .tensor_load =
        [](SimtLane *lane, uint32_t site, uint32_t address, uint32_t count, void *registers) {
          onLane(lane,
                 [&](Block &b, Lane &l) { b.loadTensor(l, site, address, count, static_cast<uint32_t *>(registers)); });
        },
    .tensor_wait_load =
        [](SimtLane *lane, uint32_t site, uint32_t count, void *registers) {
          onLane(lane,
                 [&](Block &b, Lane &l) { b.waitTensorLoad(l, site, count, static_cast<uint32_t *>(registers)); });
        },
    .tensor_fence =
        [](SimtLane *lane, uint32_t site, uint32_t kind) {
          onLane(lane, [&](Block &b, Lane &l) { b.fenceTensor(l, site, static_cast<SimtTensorFence>(kind)); });
        },
    .shuffle = [](SimtLane *lane, uint32_t site, uint32_t kind, uint32_t value, uint32_t operand) -> uint32_t {
      return onLane(
          lane, [&](Block &b, Lane &l) { return b.shuffle(l, site, static_cast<SimtShuffle>(kind), value, operand); });
    },
    .vote = [](SimtLane *lane, uint32_t site, uint32_t kind, uint32_t predicate) -> uint32_t {
      return onLane(lane,
                    [&](Block &b, Lane &l) { return b.vote(l, site, static_cast<SimtVote>(kind), predicate != 0); });
    },
    .elect = [](SimtLane *lane,
                uint32_t site) { return onLane(lane, [&](Block &b, Lane &l) { return b.elect(l, site); }); },
    .mma =
        [](SimtLane *lane, uint32_t site, uint32_t kind, const void *a, const void *b, const void *c, void *d) {
          const MmaRegisters registers{static_cast<const uint32_t *>(a), static_cast<const uint32_t *>(b),
                                       static_cast<const float *>(c), static_cast<float *>(d)};
          onLane(lane, [&](Block &block, Lane &l) { block.mma(l, site, static_cast<SimtMma>(kind), registers); });
        },
    .exp2 = exp2Approximate,
    .log2 = log2Approximate,
    .tanh = tanhApproximate,
    .to_tf32 = toTf32,
    .to_bf16 = toBf16,
    .reciprocal = reciprocalApproximate,
    .to_e4m3 = [](float x) -> uint32_t { return toE4m3(x); },
    .from_e4m3x2 = halvesOfE4m3,
};

} // namespace tegula::simt
