// SPDX-License-Identifier: MIT
// Attention of packed sequences whose keys lie in pages, as operators of PyTorch.
#include "arguments.h"
#include "kept_plan.h"
#include "passes.h"

#include <torch/csrc/stable/library.h>

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

namespace tegula_torch {
namespace {

using torch::headeronly::ScalarType;
using OptionalTensor = std::optional<Tensor>;

/// Returns begin and end i32 [1, queries], the first two tensors of TEGULA_PACKED_QUERIES, then page_table and
/// page_lengths i32 [entries] of tegula_forward_args.
std::tuple<Tensor, Tensor, Tensor, Tensor> packedPages(const Tensor &offsets_q, const Tensor &lengths,
                                                       const Tensor &page_table, const OptionalTensor &page_offsets,
                                                       int64_t page_size, int64_t queries, int64_t entries,
                                                       int64_t left, int64_t right) {
  const auto guard = guardFor(offsets_q);
  tegula_context *context = contextOf(offsets_q);
  tegula_packed_pages_problem problem{};
  problem.struct_size = sizeof problem;
  problem.page_size = int32_t(page_size);
  problem.page_offsets = page_offsets.has_value();
  const tegula_plan *plan =
      keptPlan(std::tuple(context, page_size, page_offsets.has_value()), [&](tegula_plan **made, tegula_error **error) {
        return tegula_plan_create_packed_pages(context, &problem, made, error);
      });
  const tegula_size size = {"sequences", lengths.size(0)};
  tegula_error *error = nullptr;
  int64_t bytes = 0;
  check(tegula_plan_workspace_bytes(plan, &size, 1, &bytes, &error), error);
  Tensor workspace = empty(offsets_q, std::array{bytes}, ScalarType::Byte);
  const auto row = [&](int64_t count) { return empty(offsets_q, std::array{int64_t(1), count}, ScalarType::Int); };
  Tensor begin = row(queries), end = row(queries);
  Tensor pages = empty(offsets_q, std::array{entries}, ScalarType::Int),
         page_lengths = empty(offsets_q, std::array{entries}, ScalarType::Int);
  Arguments arguments;
  arguments.add("lengths", lengths);
  arguments.add("page_table", page_table);
  arguments.add("page_offsets", page_offsets);
  arguments.add("offsets_q", offsets_q);
  for (const int64_t bound : {left, right})
    arguments.add(int32_t(std::min<int64_t>(bound, std::numeric_limits<int32_t>::max())));
  arguments.addRow("begin", begin);
  arguments.addRow("end", end);
  arguments.add("pages", pages);
  arguments.add("page_lengths", page_lengths);
  arguments.launch(plan, offsets_q, workspace);
  return {begin, end, pages, page_lengths};
}

/// Returns o [batch, heads, seqlen_q, value_dim] and lse f32 [batch, heads, seqlen_q]. k and v are pages
/// [pages, kv_heads, page_size, dim]. `text` is a variant with the tensors of `tensors`, or empty.
std::tuple<Tensor, Tensor> pagesForward(const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &page_table,
                                        const Tensor &page_lengths, const Tensor &begin, const Tensor &end,
                                        const Tensor &offsets_q, double scale, double softcap,
                                        const OptionalTensor &sinks, const std::vector<Tensor> &tensors,
                                        const std::string &text) {
  Inputs inputs = {q, k, v, scale, {view("begin", begin), view("end", end), view("offsets_q", offsets_q)}};
  for (const Tensor &tensor : tensors)
    inputs.variant_tensors.push_back(view("tensor", tensor));
  tegula_attention_problem problem = problemOf(inputs);
  problem.page_size = int32_t(shapeOf(inputs.k_view)[2]);
  problem.seqlen_k = page_table.size(0) * problem.page_size;
  problem.variants = TEGULA_PACKED_QUERIES | (softcap != 0 ? TEGULA_SOFTCAP : 0);
  problem.softcap = softcap;
  problem.sinks = sinks.has_value();
  problem.variant_text = text.empty() ? nullptr : text.c_str();
  tegula_forward_args args{};
  args.page_table = view("page_table", page_table);
  args.page_lengths = view("page_lengths", page_lengths);
  args.sinks = view("sinks", sinks);
  const auto guard = guardFor(q);
  const auto [batch, heads, length, dim] = shapeOf(inputs.q_view);
  Tensor o = emptyOrderedAs(q, std::array{batch, heads, length, shapeOf(inputs.v_view)[3]});
  Tensor lse = empty(q, std::array{batch, heads, length}, ScalarType::Float);
  runForward(inputs, problem, args, o, lse);
  return {o, lse};
}

STABLE_TORCH_LIBRARY_FRAGMENT(tegula, library) {
  library.def(
      "packed_pages(Tensor offsets_q, Tensor lengths, Tensor page_table, Tensor? page_offsets, SymInt page_size, "
      "SymInt queries, SymInt entries, int left, int right) -> (Tensor begin, Tensor end, Tensor pages, Tensor "
      "page_lengths)");
  library.def(
      "pages_forward(Tensor q, Tensor k, Tensor v, Tensor page_table, Tensor page_lengths, Tensor begin, Tensor "
      "end, Tensor offsets_q, float scale, float softcap, Tensor? sinks, Tensor[] tensors, str text) -> (Tensor o, "
      "Tensor lse)");
}

void implement(torch::stable::detail::StableLibrary &library) {
  library.impl("packed_pages", TORCH_BOX(&packedPages));
  library.impl("pages_forward", TORCH_BOX(&pagesForward));
}

STABLE_TORCH_LIBRARY_IMPL(tegula, CPU, library) { implement(library); }

STABLE_TORCH_LIBRARY_IMPL(tegula, CUDA, library) { implement(library); }

} // namespace
} // namespace tegula_torch
