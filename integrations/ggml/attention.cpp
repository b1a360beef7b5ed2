// SPDX-License-Identifier: MIT
#include "attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace tegula::ggml {
namespace {

using host::Expected;
using host::Status;

/// Decoding computes up to this number of rows of a head of k, queries times query heads, faster than the forward pass.
constexpr int64_t kMaxDecodeRows = 64;
constexpr int64_t kMaxDecodeValueDim = 512;

// An element of the mask is added to the score; -inf hides the key. With ALiBi, the slope of the head multiplies it.
constexpr const char *kAddedMask = "variant 1\n"
                                   "tensor bias f16[batch, heads, seqlen_q, seqlen_k]\n"
                                   "score = score + bias[batch, head, query, key]\n"
                                   "mask = bias[batch, head, query, key] != -inf\n";
constexpr const char *kSlopedMask = "variant 1\n"
                                    "tensor bias f16[batch, heads, seqlen_q, seqlen_k]\n"
                                    "tensor slopes f32[heads]\n"
                                    "score = score + slopes[head] * bias[batch, head, query, key]\n"
                                    "mask = bias[batch, head, query, key] != -inf\n";

/// The tensors and numbers of an operation. ggml lists sizes from the innermost one on.
struct Operation {
  const ggml_tensor &q, &k, &v, &result;
  const ggml_tensor *mask, *sinks;
  float scale, max_bias, softcap;

  int64_t batch() const { return q.ne[3]; }
  int64_t heads() const { return q.ne[2]; }
  int64_t queries() const { return q.ne[1]; }
  int64_t keys() const { return k.ne[1]; }
  int64_t rows() const { return queries() * heads() / std::max<int64_t>(k.ne[2], 1); }
};

Operation operationOf(const ggml_tensor &op) {
  float numbers[3];
  std::memcpy(numbers, op.op_params, sizeof numbers);
  return {*op.src[0], *op.src[1], *op.src[2], op, op.src[3], op.src[4], numbers[0], numbers[1], numbers[2]};
}

int32_t dtypeOf(ggml_type type) {
  return type == GGML_TYPE_F16 ? TEGULA_F16 : type == GGML_TYPE_BF16 ? TEGULA_BF16 : TEGULA_F32;
}

bool isOneOrAll(int64_t size, int64_t all) { return size == 1 || size == all; }

/// Returns whether tegula.h has words for the types and sizes of the tensors.
bool hasLegalTensors(const Operation &o) {
  const bool hasTypes = o.q.type == GGML_TYPE_F32 && o.k.type == o.v.type &&
                        (o.k.type == GGML_TYPE_F32 || o.k.type == GGML_TYPE_F16 || o.k.type == GGML_TYPE_BF16);
  const bool hasSizes =
      o.k.ne[1] == o.v.ne[1] && o.k.ne[2] == o.v.ne[2] && o.k.ne[3] == o.batch() && o.v.ne[3] == o.batch();
  return hasTypes && hasSizes &&
         (o.mask == nullptr || (o.mask->type == GGML_TYPE_F16 && isOneOrAll(o.mask->ne[2], o.heads()) &&
                                isOneOrAll(o.mask->ne[3], o.batch())));
}

tegula_attention_problem problemOf(const Operation &o) {
  auto problem = host::make<tegula_attention_problem>();
  problem.dtype = dtypeOf(o.k.type);
  problem.head_dim = int32_t(o.q.ne[0]);
  problem.value_dim = int32_t(o.v.ne[0]);
  problem.sinks = o.sinks != nullptr;
  if (o.softcap != 0) {
    problem.variants = TEGULA_SOFTCAP;
    problem.softcap = o.softcap;
  }
  if (o.mask != nullptr)
    problem.variant_text = o.max_bias > 0 ? kSlopedMask : kAddedMask;
  return problem;
}

ProblemKey keyOf(const tegula_attention_problem &problem) {
  return {problem.dtype, problem.head_dim, problem.value_dim, problem.sinks, problem.variant_text, problem.softcap};
}

/// Returns a tensor whose sizes and strides are `shape` and those of a ggml tensor, by its dimensions `order`. A size
/// that ggml has once repeats.
tegula_tensor viewOf(const ggml_tensor &from, const std::vector<int64_t> &shape, const std::vector<int> &order) {
  tegula_tensor view{};
  view.data = from.data;
  view.dtype = dtypeOf(from.type);
  view.rank = int32_t(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    view.shape[d] = shape[d];
    view.strides[d] = from.ne[order[d]] == 1 ? 0 : int64_t(from.nb[order[d]] / ggml_type_size(from.type));
  }
  return view;
}

tegula_tensor viewOf(const ggml_tensor &from) {
  return viewOf(from, {from.ne[3], from.ne[2], from.ne[1], from.ne[0]}, {3, 2, 1, 0});
}

/// Returns ALiBi's slopes of heads (Press et al. 2022, "Train Short, Test Long"), as ggml has them.
std::vector<float> slopesOf(int64_t heads, float max_bias) {
  int64_t power = 1; // The largest power of two that is at most `heads`.
  while (2 * power <= heads)
    power *= 2;
  std::vector<float> slopes;
  for (int64_t head = 0; head < heads; ++head)
    slopes.push_back(head < power ? std::exp2(-max_bias / float(power) * float(head + 1))
                                  : std::exp2(-max_bias / 2 / float(power) * float(2 * (head - power) + 1)));
  return slopes;
}

/// q and o in the type of k, and the other tensors of a call. ggml has q and o in f32.
class Tensors {
public:
  explicit Tensors(const Operation &o)
      : operation_(o), slopes_(o.max_bias > 0 ? slopesOf(o.heads(), o.max_bias) : std::vector<float>()),
        lse_(o.batch() * o.heads() * o.queries()) {
    k = viewOf(o.k);
    v = viewOf(o.v);
    lse = host::tensor(lse_.data(), TEGULA_F32, {o.batch(), o.heads(), o.queries()});
    if (o.mask != nullptr)
      variant.push_back(viewOf(*o.mask, {o.batch(), o.heads(), o.queries(), o.keys()}, {3, 2, 1, 0}));
    if (!slopes_.empty())
      variant.push_back(host::tensor(slopes_.data(), TEGULA_F32, {o.heads()}));
    if (o.sinks != nullptr)
      sinks = viewOf(*o.sinks, {o.heads()}, {0});
    q = viewOf(o.q);
    this->o = viewOf(o.result, {o.batch(), o.heads(), o.queries(), o.v.ne[0]}, {3, 1, 2, 0});
    if (o.k.type != GGML_TYPE_F32)
      narrowQueries();
  }
  Tensors(const Tensors &) = delete;

  /// Writes o to the result of the operation, if it is not there.
  void finish() {
    if (narrow_o_.empty())
      return;
    const int64_t dim = operation_.v.ne[0];
    auto *to = static_cast<char *>(operation_.result.data);
    forRows([&](int64_t row, int64_t batch, int64_t head, int64_t query) {
      const size_t at =
          batch * operation_.result.nb[3] + query * operation_.result.nb[2] + head * operation_.result.nb[1];
      ggml_get_type_traits(operation_.k.type)->to_float(&narrow_o_[row * dim], reinterpret_cast<float *>(to + at), dim);
    });
  }

  tegula_tensor q{}, k{}, v{}, o{}, lse{}, sinks{};
  std::vector<tegula_tensor> variant;

private:
  template <class Body> void forRows(const Body &body) const {
    int64_t row = 0;
    for (int64_t batch = 0; batch < operation_.batch(); ++batch)
      for (int64_t head = 0; head < operation_.heads(); ++head)
        for (int64_t query = 0; query < operation_.queries(); ++query)
          body(row++, batch, head, query);
  }

  void narrowQueries() {
    const Operation &op = operation_;
    const int64_t dim = op.q.ne[0], rows = op.batch() * op.heads() * op.queries();
    narrow_q_.resize(rows * dim);
    narrow_o_.resize(rows * op.v.ne[0]);
    forRows([&](int64_t row, int64_t batch, int64_t head, int64_t query) {
      const char *from =
          static_cast<const char *>(op.q.data) + batch * op.q.nb[3] + head * op.q.nb[2] + query * op.q.nb[1];
      ggml_get_type_traits(op.k.type)->from_float_ref(reinterpret_cast<const float *>(from), &narrow_q_[row * dim],
                                                      dim);
    });
    q = host::tensor(narrow_q_.data(), dtypeOf(op.k.type), {op.batch(), op.heads(), op.queries(), dim});
    o = host::tensor(narrow_o_.data(), dtypeOf(op.k.type), {op.batch(), op.heads(), op.queries(), op.v.ne[0]});
  }

  const Operation &operation_;
  std::vector<float> slopes_, lse_;
  std::vector<uint16_t> narrow_q_, narrow_o_; ///< f16 or bf16.
};

Status launchDecode(const host::Plan &plan, const Operation &o, Tensors &tensors) {
  const std::vector<int32_t> all(o.batch(), int32_t(o.keys()));
  const tegula_tensor lengths = host::tensor(const_cast<int32_t *>(all.data()), TEGULA_I32, {o.batch()});
  std::vector<tegula_argument> arguments = {host::argument(tensors.q), host::argument(tensors.k),
                                            host::argument(lengths), host::argument(tensors.v),
                                            host::argument(o.scale)};
  for (const tegula_tensor &tensor : tensors.variant)
    arguments.push_back(host::argument(tensor));
  arguments.push_back(host::argument(tensors.o));
  arguments.push_back(host::argument(tensors.lse));
  if (o.sinks != nullptr)
    arguments.push_back(host::argument(tensors.sinks));

  const Expected<int64_t> bytes = plan.workspace({{"batch", o.batch()},
                                                  {"heads", o.heads()},
                                                  {"kv_heads", o.k.ne[2]},
                                                  {"seqlen_q", o.queries()},
                                                  {"seqlen_k", o.keys()}});
  if (!bytes.ok())
    return bytes.status();
  constexpr uintptr_t alignment = 64;
  std::vector<char> memory(*bytes + alignment);
  auto args = host::make<tegula_launch_args>();
  args.arguments = arguments.data();
  args.argument_count = uint32_t(arguments.size());
  args.workspace = memory.data() + (alignment - reinterpret_cast<uintptr_t>(memory.data()) % alignment);
  args.workspace_bytes = *bytes;
  return plan.launch(args);
}

Status launchForward(const host::Context &context, tegula_attention_problem problem, const Operation &o,
                     Tensors &tensors) {
  if (o.mask != nullptr) // Tiles that the mask hides are not visited.
    problem.block_mask = TEGULA_BLOCK_MASK_COMPUTED;
  auto args = host::make<tegula_forward_args>();
  args.scale = o.scale;
  args.q = tensors.q;
  args.k = tensors.k;
  args.v = tensors.v;
  args.o = tensors.o;
  args.lse = tensors.lse;
  args.sinks = tensors.sinks;
  args.variant_tensors = tensors.variant.data();
  args.variant_tensor_count = tensors.variant.size();
  return context.forward(problem, args);
}

} // namespace

bool ProblemKey::operator<(const ProblemKey &other) const {
  const auto fields = [](const ProblemKey &key) {
    return std::tie(key.dtype, key.head_dim, key.value_dim, key.sinks, key.text, key.softcap);
  };
  return fields(*this) < fields(other);
}

bool supports(const host::Context &context, const ggml_tensor &op) {
  static std::mutex mutex;
  static auto &answers = *new std::map<ProblemKey, bool>;
  const Operation o = operationOf(op);
  if (!hasLegalTensors(o))
    return false;
  const tegula_attention_problem problem = problemOf(o);
  const std::lock_guard lock(mutex);
  const auto [answer, isNew] = answers.try_emplace(keyOf(problem));
  if (isNew)
    answer->second = context.supports(problem).ok();
  return answer->second;
}

Expected<host::Plan> Attention::decodePlan(const tegula_attention_problem &problem, int32_t rows) {
  const std::pair<ProblemKey, int32_t> key(keyOf(problem), rows);
  const auto found = decode_plans_.find(key);
  if (found != decode_plans_.end())
    return found->second;
  auto decode = host::make<tegula_decode_problem>();
  decode.attention = &problem;
  decode.expected_rows = rows;
  Expected<host::Plan> plan = context_.decodePlan(decode);
  if (plan.ok())
    decode_plans_.emplace(key, *plan);
  return plan;
}

Status Attention::compute(const ggml_tensor &op) {
  const Operation o = operationOf(op);
  const tegula_attention_problem problem = problemOf(o);
  Tensors tensors(o);
  Status status;
  if (o.rows() <= kMaxDecodeRows && o.v.ne[0] <= kMaxDecodeValueDim) {
    int32_t rows = 1; // The next power of two: few kernels serve all numbers of rows.
    while (rows < o.rows())
      rows *= 2;
    const Expected<host::Plan> plan = decodePlan(problem, rows);
    status = plan.ok() ? launchDecode(*plan, o, tensors) : plan.status();
  } else {
    status = launchForward(context_, problem, o, tensors);
  }
  if (status.ok())
    tensors.finish();
  return status;
}

} // namespace tegula::ggml
