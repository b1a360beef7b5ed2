// SPDX-License-Identifier: MIT
// What writes keys and values into a cache, rotary embeddings, and intervals of packed sequences, as operators of
// PyTorch.
#include "arguments.h"
#include "kept_plan.h"

#include <torch/csrc/stable/library.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <tuple>

namespace tegula_torch {
namespace {

using torch::headeronly::ScalarType;
using OptionalTensor = std::optional<Tensor>;

/// Returns the plan of a problem.
template <class Problem, class Create>
const tegula_plan *planOf(const Tensor &tensor, const Problem &problem, Create create) {
  tegula_context *context = contextOf(tensor);
  const std::string fields(reinterpret_cast<const char *>(&problem), sizeof problem); // They leave no gaps.
  return keptPlan(std::pair(context, fields),
                  [&](tegula_plan **plan, tegula_error **error) { return create(context, &problem, plan, error); });
}

/// Writes k_new [batch, kv_heads, seqlen_new, head_dim] into k, v_new into v, and rotated q into q_rotated.
void append(const Tensor &k_new, const Tensor &k, const OptionalTensor &v_new, const OptionalTensor &v,
            const Tensor &lengths, const OptionalTensor &page_table, const OptionalTensor &cos,
            const OptionalTensor &sin, const OptionalTensor &q, const OptionalTensor &q_rotated, bool interleaved,
            bool same_position) {
  const auto guard = guardFor(k);
  tegula_append_problem problem{};
  problem.struct_size = sizeof problem;
  problem.dtype = view("k", k).dtype;
  problem.head_dim = int32_t(k.size(-1));
  problem.value_dim = v ? int32_t(v->size(-1)) : 0;
  problem.has_pages = page_table.has_value();
  problem.rotary_dim = cos ? int32_t(2 * cos->size(-1)) : 0;
  problem.interleaved = interleaved;
  problem.rotates_queries = q.has_value();
  problem.same_position = same_position;
  Arguments arguments;
  arguments.add("k_new", k_new);
  arguments.add("k", k);
  arguments.add("lengths", lengths);
  arguments.add("page_table", page_table);
  arguments.add("cos", cos);
  arguments.add("sin", sin);
  arguments.add("v_new", v_new);
  arguments.add("v", v);
  arguments.add("q", q);
  arguments.add("q_rotated", q_rotated);
  arguments.launch(planOf(k, problem, tegula_plan_create_append), k);
}

/// Writes y, which is x [batch, heads, length, dim] with the angles of its positions i32 [batch, length].
void rotary(const Tensor &x, const Tensor &cos, const Tensor &sin, const Tensor &positions, const Tensor &y,
            bool interleaved) {
  const auto guard = guardFor(x);
  tegula_rotary_problem problem{};
  problem.struct_size = sizeof problem;
  problem.dtype = view("x", x).dtype;
  problem.head_dim = int32_t(x.size(-1));
  problem.rotary_dim = int32_t(2 * cos.size(-1));
  problem.interleaved = interleaved;
  Arguments arguments;
  arguments.add("x", x);
  arguments.add("positions", positions);
  arguments.add("y", y);
  arguments.add("cos", cos);
  arguments.add("sin", sin);
  arguments.launch(planOf(x, problem, tegula_plan_create_rotary), x);
}

/// Returns begin and end i32 [1, queries], and query_begin and query_end i32 [1, keys], for TEGULA_DOCUMENTS.
std::tuple<Tensor, Tensor, Tensor, Tensor> packedIntervals(const Tensor &offsets_q, const Tensor &offsets_k,
                                                           int64_t queries, int64_t keys, int64_t left, int64_t right) {
  const auto guard = guardFor(offsets_q);
  const auto make = [&](int64_t count) { return empty(offsets_q, std::array{int64_t(1), count}, ScalarType::Int); };
  const std::array<Tensor, 4> found = {make(queries), make(queries), make(keys), make(keys)};
  Arguments arguments;
  arguments.add("offsets_q", offsets_q);
  arguments.add("offsets_k", offsets_k);
  for (const int64_t bound : {left, right})
    arguments.add(int32_t(std::min<int64_t>(bound, std::numeric_limits<int32_t>::max())));
  const char *names[] = {"begin", "end", "query_begin", "query_end"};
  for (size_t i = 0; i < found.size(); ++i)
    arguments.addRow(names[i], found[i]);
  const auto create = [](tegula_context *context, const int *, tegula_plan **plan, tegula_error **error) {
    return tegula_plan_create_packed(context, plan, error);
  };
  arguments.launch(planOf(offsets_q, 0, create), offsets_q);
  return {found[0], found[1], found[2], found[3]};
}

STABLE_TORCH_LIBRARY_FRAGMENT(tegula, library) {
  library.def(
      "packed_intervals(Tensor offsets_q, Tensor offsets_k, SymInt queries, SymInt keys, int left, int right) -> "
      "(Tensor begin, Tensor end, Tensor query_begin, Tensor query_end)");
  library.def(
      "append(Tensor k_new, Tensor(a!) k, Tensor? v_new, Tensor(b!)? v, Tensor lengths, Tensor? page_table, "
      "Tensor? cos, Tensor? sin, Tensor? q, Tensor(c!)? q_rotated, bool interleaved, bool same_position) -> ()");
  library.def("rotary(Tensor x, Tensor cos, Tensor sin, Tensor positions, Tensor(a!) y, bool interleaved) -> ()");
}

void implement(torch::stable::detail::StableLibrary &library) {
  library.impl("append", TORCH_BOX(&append));
  library.impl("rotary", TORCH_BOX(&rotary));
  library.impl("packed_intervals", TORCH_BOX(&packedIntervals));
}

STABLE_TORCH_LIBRARY_IMPL(tegula, CPU, library) { implement(library); }

STABLE_TORCH_LIBRARY_IMPL(tegula, CUDA, library) { implement(library); }

} // namespace
} // namespace tegula_torch
