// SPDX-License-Identifier: MIT
// FlashAttention-2, forward (Dao 2023, Algorithm 1). A program instance works on a block of queries and visits the keys
// block by block.
#include "arguments.h"
#include "blocks.h"
#include "scores.h"
#include "spaces.h"

#include <algorithm>

namespace tegula {
namespace {

void flash2Forward(const AttentionConfig &c, View Q, View K, View V, View O, View L, Value scale,
                   const ListedViews &views, const QueryBlock &at) {
  auto [batch, head, block] = at;
  Value kv_head = kvHead(head, Q, K);
  Scores scores(c, Q, K, batch, head, views.tensors, views.lists);
  const BlockRows rows = scores.queriesOf(block, views.strips);
  const Value i = rows.first;
  const OperandViews K_h = keysOf(c, K, views.tensors, batch, kv_head);
  View V_h = V.at(batch, kv_head), O_h = rows.of(O.at(batch, head)), L_h = rows.of(L.at(batch, head));

  const Operands q = queriesOf(c, Q, views.tensors, batch, head).load(i, c.block_m); // [block_m, head_dim]
  const std::optional<Value> sink = sinkOf(views.sinks, head);
  OnlineSoftmax softmax = startSoftmax(c, sink);
  ScoreStrip strip = scores.ofQueries(rows);
  strip.visits().forEach([&](const Visit &tile) {
    Value j = tile.position;
    const Operands k = K_h.load(j, c.block_n);       // [block_n, head_dim]
    Value v = V_h.load(j, {c.block_n, c.value_dim}); // [block_n, value_dim]
    Value s = productOf(q, k) * scale;               // [block_m, block_n]
    softmax.update(strip.masked(s, tile), v, strip.kept(tile));
  });
  O_h.store(i, outputOf(c, softmax)); // [block_m, value_dim]
  L_h.store(i, softmax.logSumExp());  // [block_m]
  if (c.contain_nonfinite)
    when(!allFinite(softmax.undivided()), [&] { storeWhereSeen(c, {q, K_h, V_h, O_h, i, sink}, strip, scale); });
}

std::vector<ScheduleSpace> boxes(const Target &target, const AttentionProblem &problem) {
  if (target.name == "cpu")
    return {{{&Schedule::block_m, {16, 32, 48, 64, 96, 128, 192}}, {&Schedule::block_n, {32, 48, 64, 96, 128, 192}}}};
  // Each warp has its own rows, in multiples of 16.
  auto box = [](int warps, std::vector<int> rows) -> ScheduleSpace {
    return {{&Schedule::block_m, std::move(rows)},
            {&Schedule::block_n, {32, 48, 64, 80, 96, 112, 128, 160, 192, 256}},
            {&Schedule::num_warps, {warps}},
            {&Schedule::num_stages, {1, 2, 3}},
            {&Schedule::roles, {Roles::none}}};
  };
  if (problem.expected.seqlen_q <= 32)
    return {box(1, {16, 32}), box(2, {32})};
  std::vector<ScheduleSpace> boxes = {box(4, {64, 128, 192, 256}), box(8, {128, 256})};
  if (target.arch == "sm_90a" && sizeOf(problem.dtype) == 2)
    for (auto [warps, rows] : {std::pair(4, 64), std::pair(8, 128), std::pair(12, 192)}) {
      ScheduleSpace roles = {{&Schedule::block_m, {rows}},
                             {&Schedule::num_warps, {warps}},
                             {&Schedule::num_stages, {2, 3, 4}},
                             {&Schedule::roles, {Roles::load}},
                             {&Schedule::tile_scheduler,
                              {std::nullopt, TileScheduler::static_persistent, TileScheduler::dynamic_persistent}}};
      // If an instance has one warpgroup, other instances compute while it waits. At a head dimension of 128 this was
      // measured to be slower, which the model cannot tell.
      if (warps == 4 && std::max(problem.head_dim, problem.value_dim) <= 64)
        roles.push_back({&Schedule::instances_per_sm, {0, 2, 3, 4}});
      const ScheduleAxis keys(&Schedule::block_n, {64, 80, 96, 112, 128, 144, 160, 176, 192, 224});
      ScheduleSpace serial = roles, overlapped = roles;
      serial.push_back(keys);
      serial.push_back({&Schedule::overlap, {Overlap::none}});
      overlapped.push_back({&Schedule::overlap, {Overlap::pingpong}});
      overlapped.push_back({&Schedule::lhs_in_registers, {std::nullopt, true}});
      ScheduleSpace optimistic = overlapped;
      overlapped.push_back(keys);
      optimistic.push_back({&Schedule::optimistic_softmax, {true}});
      // Three warpgroups have no registers for larger blocks of keys.
      optimistic.push_back(warps == 12 ? ScheduleAxis(&Schedule::block_n, {64, 80}) : keys);
      boxes.push_back(std::move(optimistic));
      boxes.push_back(std::move(serial));
      boxes.push_back(std::move(overlapped));
    }
  return boxes;
}

ResourceEstimate estimate(const AttentionProblem &problem, const ModelledLaunch &launch, const Schedule &s) {
  const AttentionShape &shape = launch.shape;
  int64_t bytes = int64_t(sizeOf(problem.dtype)), words = 4 / bytes; // Numbers in a register.
  int64_t qk = problem.head_dim + problem.variant.productDims(), v = problem.value_dim,
          scores = int64_t(s.block_m) * s.block_n;
  double row = double(qk + v);
  ResourceEstimate estimate{.shared_bytes = bytes * (s.block_m * qk + s.num_stages * s.block_n * (qk + v)),
                            .register_words = scores + s.block_m * v, // S or P, O.
                            .instances = blocks(shape.seqlen_q, s.block_m) * shape.heads * shape.batch,
                            .iterations = TileCounts(problem, launch, s).averageOfQueries(),
                            .mma_flops = 2 * double(scores) * row,
                            .shared_traffic = double(s.num_warps) * s.block_n * row * double(bytes),
                            .exponentials = double(scores)};
  if (s.roles == Roles::load) { // Each warpgroup reads Q from shared memory, too, unless registers hold it.
    if (isPersistent(s))        // The next Q, K and V are loaded while O passes through shared memory.
      estimate.shared_bytes += bytes * s.block_m * (v + qk);
    estimate.shared_traffic /= 4;
    if (s.lhs_in_registers == true)
      estimate.register_words += s.block_m * qk / words;
    else
      estimate.shared_traffic += double(bytes * s.block_m * qk);
    estimate.uses_wgmma = true;
    if (hasTilesOfScores(problem.variant))
      estimate.shared_bytes += 2 * s.num_stages * scores;
    if (s.overlap == Overlap::pingpong) // P of one block is live with S of the next.
      estimate.register_words += scores / words;
  } else {
    estimate.register_words += s.block_m * qk / words;
  }
  return estimate;
}

} // namespace

const SearchSpace kFlash2ForwardSpace = {boxes, estimate};

Expected<Program> recordFlash2Forward(const AttentionConfig &config) {
  std::vector<TensorArg> list = forwardTensors(config);
  if (config.isDynamic())
    list.push_back({"counter", i32, 1});
  auto kernel = [&config](View q, View k, View v, View o, View lse, Value scale, VariantViews views) {
    const ListedViews listed = splitForward(config, views);
    const auto compute = config.variant.probability ? flash2Modified : flash2Forward;
    forQueryBlocks(config, q, listed.strips, listed.rest,
                   [&](const QueryBlock &at) { compute(config, q, k, v, o, lse, scale, listed, at); });
  };
  return recordList("flash2_forward", kernel, list, tensor(config, "q"), tensor(config, "k"), tensor(config, "v"),
                    tensor(config, "o"), statistic("lse"), ScalarArg{"scale", f32});
}

} // namespace tegula
