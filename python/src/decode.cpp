// SPDX-License-Identifier: MIT
// Attention of new queries on a cache of keys and values, as an operator of PyTorch.
#include "arguments.h"
#include "kept_plan.h"

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

namespace tegula_torch {
namespace {

using torch::headeronly::ScalarType;
using OptionalTensor = std::optional<Tensor>;

/// Decides which kernels a call has.
struct Key {
  tegula_context *context;
  int32_t dtype, head_dim, value_dim, causal, page_size, keys_per_part, rows, variants, sinks, begins, page_offsets,
      page_table_v, prefix, latent, lengths;
  int64_t window_left, window_right;
  double softcap;

  auto operator<=>(const Key &) const = default;
};

/// Makes the plan of a key.
tegula_status createPlan(const Key &key, tegula_plan **plan, tegula_error **error) {
  tegula_attention_problem attention{};
  attention.struct_size = sizeof attention;
  attention.dtype = key.dtype;
  attention.head_dim = key.head_dim;
  attention.value_dim = key.value_dim;
  attention.causal = key.causal != 0 ? TEGULA_CAUSAL_BOTTOM_RIGHT : TEGULA_CAUSAL_NONE;
  attention.bottom_right = 1;
  attention.variants = key.variants;
  attention.window_left = key.window_left;
  attention.window_right = key.window_right;
  attention.softcap = key.softcap;
  attention.sinks = key.sinks;
  tegula_decode_problem problem{};
  problem.struct_size = sizeof problem;
  problem.page_size = key.page_size;
  problem.expected_rows = key.rows;
  problem.keys_per_part = key.keys_per_part;
  problem.begins = key.begins;
  problem.page_offsets = key.page_offsets;
  problem.page_table_v = key.page_table_v;
  problem.prefix = key.prefix;
  problem.latent = key.latent;
  problem.lengths = key.lengths;
  problem.attention = &attention;
  return tegula_plan_create_decode(key.context, &problem, plan, error);
}

/// Returns true if v is the first columns of k.
bool isFirstColumns(const Tensor &v, const Tensor &k) {
  bool isPart = v.const_data_ptr() == k.const_data_ptr() && v.size(3) <= k.size(3);
  for (int64_t dim = 0; dim < 4; ++dim)
    isPart = isPart && v.stride(dim) == k.stride(dim) && (dim == 3 || v.size(dim) == k.size(dim));
  return isPart;
}

/// The inputs of a call, in the order of its operators.
struct Decode {
  const Tensor &q, &k, &v, &lengths;
  double scale;
  bool causal;
  const OptionalTensor &page_table, &page_offsets, &alibi_slopes, &sinks, &begins;
  int64_t window_left, window_right;
  double softcap;
  int64_t keys_per_part;
  const OptionalTensor &prefix_lengths, &prefix_page_table, &prefix_k, &prefix_v, &page_table_v;
  int64_t lengths_count; ///< TEGULA_LENGTHS_...

  bool isLatent() const {
    return isFirstColumns(v, k) && !page_table_v && (!prefix_k || isFirstColumns(*prefix_v, *prefix_k));
  }

  const tegula_plan *plan() const {
    for (const Tensor *tensor : {&q, &k, &v})
      if (tensor->dim() != 4)
        throw std::runtime_error("q, k and v must have 4 dimensions; one has " + std::to_string(tensor->dim()));
    const bool isWindow = window_left != TEGULA_NO_BOUND || window_right != TEGULA_NO_BOUND;
    const int64_t rows = q.size(2) * q.size(1) / std::max<int64_t>(k.size(1), 1);
    const Key key = {.context = contextOf(q),
                     .dtype = view("q", q).dtype,
                     .head_dim = int32_t(q.size(3)),
                     .value_dim = int32_t(v.size(3)),
                     .causal = causal,
                     .page_size = page_table ? int32_t(k.size(2)) : 0,
                     .keys_per_part = int32_t(keys_per_part),
                     .rows = int32_t(std::min<int64_t>(std::max<int64_t>(rows, 1), 64)),
                     .variants = (isWindow ? TEGULA_WINDOW : 0) | (softcap != 0 ? TEGULA_SOFTCAP : 0) |
                                 (alibi_slopes ? TEGULA_ALIBI : 0),
                     .sinks = sinks.has_value(),
                     .begins = begins.has_value(),
                     .page_offsets = page_offsets.has_value(),
                     .page_table_v = page_table_v.has_value(),
                     .prefix = prefix_lengths.has_value(),
                     .latent = isLatent(),
                     .lengths = int32_t(lengths_count),
                     .window_left = isWindow ? window_left : 0,
                     .window_right = isWindow ? window_right : 0,
                     .softcap = softcap};
    return keptPlan(key, [&](tegula_plan **made, tegula_error **error) { return createPlan(key, made, error); });
  }

  std::vector<tegula_size> sizes() const {
    const tegula_size capacity = page_offsets ? tegula_size{"table_entries", page_table->size(0)}
                                 : page_table ? tegula_size{"pages_of_sequence", page_table->size(1)}
                                              : tegula_size{"seqlen_k", k.size(2)};
    std::vector<tegula_size> sizes = {
        {"batch", q.size(0)}, {"heads", q.size(1)}, {"kv_heads", k.size(1)}, {"seqlen_q", q.size(2)}, capacity};
    if (prefix_lengths)
      sizes.push_back(prefix_k ? tegula_size{"prefix_keys", prefix_k->size(2)}
                               : tegula_size{"pages_of_prefix", prefix_page_table->size(1)});
    return sizes;
  }

  /// Adds the arguments of the plan's preparation, which are the first ones of a launch.
  void addPrepared(Arguments &arguments) const {
    arguments.add("q", q);
    arguments.add("k", k);
    arguments.add("lengths", lengths);
    arguments.add("page_table", page_table);
    arguments.add("page_table_v", page_table_v);
    arguments.add("page_offsets", page_offsets);
    arguments.add("begins", begins);
    arguments.add("prefix_lengths", prefix_lengths);
    arguments.add("prefix_page_table", prefix_page_table);
    arguments.add("prefix_k", prefix_k);
  }

  /// Returns o [batch, heads, seqlen_q, value_dim] and lse f32 [batch, heads, seqlen_q].
  std::tuple<Tensor, Tensor> attend(const OptionalTensor &prepared) const {
    const auto guard = guardFor(q);
    const tegula_plan *made = plan();
    Tensor o = emptyOrderedAs(q, std::array{q.size(0), q.size(1), q.size(2), v.size(3)});
    Tensor lse = empty(q, std::array{q.size(0), q.size(1), q.size(2)}, ScalarType::Float);
    const std::vector<tegula_size> of = sizes();
    tegula_error *error = nullptr;
    int64_t bytes = 0;
    check(tegula_plan_workspace_bytes(made, of.data(), of.size(), &bytes, &error), error);
    const Tensor workspace = empty(q, std::array{bytes}, ScalarType::Byte);

    Arguments arguments;
    addPrepared(arguments);
    arguments.add("v", isLatent() ? OptionalTensor() : v);
    arguments.add(float(scale));
    arguments.add("alibi_slopes", alibi_slopes);
    arguments.add("prefix_v", isLatent() ? OptionalTensor() : prefix_v);
    arguments.add("o", o);
    arguments.add("lse", lse);
    arguments.add("sinks", sinks);
    arguments.launch(made, q, workspace, prepared);
    return {o, lse};
  }

  /// Returns the bytes that many calls may have in common.
  Tensor prepare() const {
    const auto guard = guardFor(q);
    const tegula_plan *made = plan();
    const std::vector<tegula_size> of = sizes();
    tegula_error *error = nullptr;
    int64_t bytes = 0;
    check(tegula_plan_prepared(made, of.data(), of.size(), &bytes, nullptr, &error), error);
    Tensor prepared = empty(q, std::array{bytes}, ScalarType::Byte);
    Arguments arguments;
    addPrepared(arguments);
    arguments.prepare(made, q, prepared);
    return prepared;
  }
};

/// The functions of the operators. `Inputs` are the types of the fields of Decode.
template <class... Inputs> struct Operators {
  static std::tuple<Tensor, Tensor> decode(Inputs... inputs, const OptionalTensor &prepared) {
    return Decode{inputs...}.attend(prepared);
  }
  static Tensor prepare(Inputs... inputs) { return Decode{inputs...}.prepare(); }
};
using OfDecode =
    Operators<const Tensor &, const Tensor &, const Tensor &, const Tensor &, double, bool, const OptionalTensor &,
              const OptionalTensor &, const OptionalTensor &, const OptionalTensor &, const OptionalTensor &, int64_t,
              int64_t, double, int64_t, const OptionalTensor &, const OptionalTensor &, const OptionalTensor &,
              const OptionalTensor &, const OptionalTensor &, int64_t>;

const std::string kInputs =
    "Tensor q, Tensor k, Tensor v, Tensor lengths, float scale, bool causal, Tensor? page_table=None, Tensor? "
    "page_offsets=None, Tensor? alibi_slopes=None, Tensor? sinks=None, Tensor? begins=None, SymInt window_left=-1, "
    "SymInt "
    "window_right=-1, float softcap=0.0, int keys_per_part=0, Tensor? prefix_lengths=None, Tensor? "
    "prefix_page_table=None, "
    "Tensor? prefix_k=None, Tensor? prefix_v=None, Tensor? page_table_v=None, int lengths_count=0";

STABLE_TORCH_LIBRARY_FRAGMENT(tegula, library) {
  library.def(("decode(" + kInputs + ", Tensor? prepared=None) -> (Tensor o, Tensor lse)").c_str());
  library.def(("prepare_decode(" + kInputs + ") -> Tensor").c_str());
}

STABLE_TORCH_LIBRARY_IMPL(tegula, CPU, library) {
  library.impl("decode", TORCH_BOX(&OfDecode::decode));
  library.impl("prepare_decode", TORCH_BOX(&OfDecode::prepare));
}

STABLE_TORCH_LIBRARY_IMPL(tegula, CUDA, library) {
  library.impl("decode", TORCH_BOX(&OfDecode::decode));
  library.impl("prepare_decode", TORCH_BOX(&OfDecode::prepare));
}

} // namespace
} // namespace tegula_torch
