// SPDX-License-Identifier: MIT
// FlashAttention-2, backward (Dao 2023, Algorithm 2): one program instance per block of keys and kv head, which holds
// dK and dV while the query rows of all query heads of its group stream past.
#include "arguments.h"
#include "blocks.h"
#include "scores.h"
#include "spaces.h"

#include <limits>

namespace tegula {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Pairs the variant's tensors with their gradients, which follow them in `views`.
std::vector<ViewGradient> gradientsOf(const Variant &variant, VariantViews views) {
  std::vector<ViewGradient> pairs;
  size_t next = variant.tensors.size();
  for (size_t t = 0; t < variant.tensors.size(); ++t)
    if (variant.tensors[t].wants_gradient)
      pairs.push_back({views[t], views[next++]});
  return pairs;
}

/// +inf where a row saw no key and where there is no row, so that exp(s - L) is 0 there.
Value loadLse(View L, Value i, int block_m) {
  Value lse = L.load(i, {block_m}, infinity); // [block_m]
  return select(lse == -infinity, infinity, lse);
}

void flash2Backward(const AttentionConfig &c, View Q, View K, View V, View dO, View L, View D, View dQ, View dK,
                    View dV, Value scale, VariantViews views) {
  Value j = programId(0) * c.block_n;
  Value kv_head = programId(1);
  Value batch = programId(2);
  Value group = groupSize(Q, K);

  Value k = K.at(batch, kv_head).load(j, {c.block_n, c.head_dim});  // [block_n, head_dim]
  Value v = V.at(batch, kv_head).load(j, {c.block_n, c.value_dim}); // [block_n, value_dim]
  Var dk = fill({c.block_n, c.head_dim}, 0.0);                      // [block_n, head_dim]
  Var dv = fill({c.block_n, c.value_dim}, 0.0);                     // [block_n, value_dim]
  for (Value member : range(0, group)) {
    Value head = kv_head * group + member;
    Scores scores(c, Q, K, batch, head, views.first(c.variant.tensors.size()));
    ScoreStrip strip = scores.ofKeys(j);
    for (Value i : range(strip.visited().begin, strip.visited().end, c.block_m)) {
      Value q = Q.at(batch, head).load(i, {c.block_m, c.head_dim});      // [block_m, head_dim]
      Value do_i = dO.at(batch, head).load(i, {c.block_m, c.value_dim}); // [block_m, value_dim]
      Value lse = loadLse(L.at(batch, head), i, c.block_m);              // [block_m]
      Value delta = D.at(batch, head).load(i, {c.block_m});              // [block_m]

      Value s = dot(q, transpose(k)) * scale;                              // [block_m, block_n]
      Value modified = strip.modify(s, i);                                 // [block_m, block_n]
      Value allowed = strip.allowed(i);                                    // [block_m, block_n]
      Value p = exp(select(allowed, modified, -infinity) - asColumn(lse)); // [block_m, block_n]
      dv = dot(transpose(cast(c.dtype, p)), do_i, dv);                     // [block_n, value_dim]
      Value dp = dot(do_i, transpose(v));                                  // [block_m, block_n]
      Value dmodified = select(allowed, (dp - asColumn(delta)) * p, 0.0);  // [block_m, block_n]
      Value ds = cast(c.dtype, differentiate(modified, s, dmodified, gradientsOf(c.variant, views)));
      dk = dot(transpose(ds), q, dk);              // [block_n, head_dim]
      dQ.at(batch, head).atomicAdd(i, dot(ds, k)); // [block_m, head_dim]
    }
  }
  dK.at(batch, kv_head).store(j, dk * scale); // [block_n, head_dim]
  dV.at(batch, kv_head).store(j, dv);         // [block_n, value_dim]
}

/// dS = P (dP - D) + P dLSE = P (dP - (D - dLSE)). A row that sees no key has P = 0, and a dLSE that may be infinite.
Value lseGradient(View L, View dL, Value i, int block_m) {
  Value lse = L.load(i, {block_m});   // [block_m]
  Value dlse = dL.load(i, {block_m}); // [block_m]
  return select(lse == -infinity, 0.0, dlse);
}

/// `lse`: none, or L and dL.
void preprocess(const AttentionConfig &c, View O, View dO, View D, View dQ, VariantViews lse) {
  Value i = programId(0) * c.block_m;
  Value head = programId(1);
  Value batch = programId(2);
  Value o = O.at(batch, head).load(i, {c.block_m, c.value_dim});     // [block_m, value_dim]
  Value do_i = dO.at(batch, head).load(i, {c.block_m, c.value_dim}); // [block_m, value_dim]
  Value sum = rowSum(do_i * o);                                      // [block_m]
  Value delta =                                                      // [block_m]
      c.lse_gradient ? sum - lseGradient(lse[0].at(batch, head), lse[1].at(batch, head), i, c.block_m) : sum;
  D.at(batch, head).store(i, delta);                                 // [block_m]
  dQ.at(batch, head).store(i, fill({c.block_m, c.head_dim}, 0.0));   // [block_m, head_dim]
}

void postprocess(const AttentionConfig &c, View dQ_acc, View dQ, Value scale) {
  Value i = programId(0) * c.block_m;
  Value head = programId(1);
  Value batch = programId(2);
  Value dq = dQ_acc.at(batch, head).load(i, {c.block_m, c.head_dim}); // [block_m, head_dim]
  dQ.at(batch, head).store(i, dq * scale);                            // [block_m, head_dim]
}

std::vector<ScheduleBox> boxes(const Target &target, const AttentionProblem &) {
  if (target.name == "cpu")
    return {{{&Schedule::block_m, {32, 48, 64, 96, 128}}, {&Schedule::block_n, {32, 48, 64, 96, 128}}}};
  return {{{&Schedule::block_m, {32, 64, 96, 128}},
           {&Schedule::block_n, {32, 64, 96, 128, 192}},
           {&Schedule::num_warps, {4, 8}},
           {&Schedule::num_stages, {1, 2}}}};
}

Demand demand(const AttentionProblem &problem, const AttentionShape &shape, const Schedule &s) {
  int64_t bytes = int64_t(sizeOf(problem.dtype));
  int64_t qk = problem.head_dim, v = problem.value_dim, scores = int64_t(s.block_m) * s.block_n;
  double row = double(qk + v);
  return {
      .shared_bytes = bytes * ((s.block_n + s.num_stages * s.block_m) * (qk + v) + 2 * scores), // K, V; Q, dO; P, dS.
      .register_words = 2 * scores + s.block_n * (qk + v) + s.block_m * qk,                     // S, dP; dK, dV; dQ.
      .instances = blocks(shape.seqlen_k, s.block_n) * shape.kv_heads * shape.batch,
      .iterations = visitedBlocks(problem, shape.seqlen_q, s.block_m, s.block_n) * double(shape.heads / shape.kv_heads),
      .product_flops = 2 * double(scores) * (3 * double(qk) + 2 * double(v)),
      .shared_traffic = double(bytes) * double(s.num_warps) * (s.block_m + s.block_n) * row,
      .exponentials = double(scores)};
}

} // namespace

const SearchSpace kFlash2BackwardSpace = {boxes, demand};

Expected<Program> recordFlash2BackwardPreprocess(const AttentionConfig &config) {
  auto kernel = [&config](View o, View d_o, View delta, View dq_acc, VariantViews lse) {
    preprocess(config, o, d_o, delta, dq_acc, lse);
  };
  std::vector<TensorArg> lse;
  if (config.lse_gradient)
    lse = {statistic("lse"), statistic("dlse")};
  return recordList("flash2_backward_preprocess", kernel, lse, tensor(config, "o"), tensor(config, "do"),
                    statistic("delta"), accumulator("dq_acc"));
}

Expected<Program> recordFlash2Backward(const AttentionConfig &config) {
  auto kernel = [&config](View q, View k, View v, View d_o, View lse, View delta, View dq_acc, View dk, View dv,
                          Value scale, VariantViews views) {
    flash2Backward(config, q, k, v, d_o, lse, delta, dq_acc, dk, dv, scale, views);
  };
  return recordList("flash2_backward", kernel, variantTensorsAndGradients(config), tensor(config, "q"),
                    tensor(config, "k"), tensor(config, "v"), tensor(config, "do"), statistic("lse"),
                    statistic("delta"), accumulator("dq_acc"), tensor(config, "dk"), tensor(config, "dv"),
                    ScalarArg{"scale", f32});
}

Expected<Program> recordFlash2BackwardPostprocess(const AttentionConfig &config) {
  auto kernel = [&config](View dq_acc, View dq, Value scale) { postprocess(config, dq_acc, dq, scale); };
  return record("flash2_backward_postprocess", kernel, accumulator("dq_acc"), tensor(config, "dq"),
                ScalarArg{"scale", f32});
}

} // namespace tegula
