// SPDX-License-Identifier: MIT
#include "workload/attention_case.h"

#include "workload/checked_variant.h"

#include <utility>

namespace tegula::tools {

oracle::Shape oracleShape(const AttentionCase &attention) {
  const AttentionShape &shape = attention.shape;
  return {.batch = shape.batch,
          .heads = shape.heads,
          .kv_heads = shape.kv_heads,
          .seqlen_q = shape.seqlen_q,
          .seqlen_k = shape.seqlen_k,
          .head_dim = attention.problem.head_dim,
          .value_dim = attention.problem.value_dim,
          .diagonal_offsets = attention.problem.diagonal_offset
                                  ? std::vector(size_t(shape.batch), int32_t(attention.diagonal_offset))
                                  : std::vector<int32_t>()};
}

AttentionShape attentionShape(const oracle::Shape &shape) {
  return {shape.batch, shape.heads, shape.kv_heads, shape.seqlen_q, shape.seqlen_k};
}

Causal causalOf(const AttentionCase &attention) {
  return attention.packed ? attention.packed->causal : attention.problem.causal;
}

void setPacked(AttentionCase &attention, PackedSequences sequences) {
  attention.shape.batch = 1;
  attention.shape.seqlen_q = sequences.queries();
  attention.shape.seqlen_k = sequences.keys();
  attention.problem.causal = Causal::none;
  attention.problem.variant = attention.problem.page_size == 0 ? packedSequences() : packedQueries();
  attention.problem.expected = attention.shape;
  if (attention.problem.page_size != 0)
    attention.pages = std::make_shared<const CacheLayout>(lengthsOf(sequences.offsets_k), attention.shape.kv_heads,
                                                          attention.problem.page_size, attention.seed);
  attention.packed = std::make_shared<const PackedSequences>(std::move(sequences));
  attention.variant_shapes.clear();
  for (const VariantTensor &tensor : attention.problem.variant.tensors)
    attention.variant_shapes.push_back(tensor.rank() == 1
                                           ? std::vector<int64_t>{int64_t(attention.packed->offsets_q.size())}
                                           : shapeOf(tensor, attention.shape));
  attention.variant_values = [packed = attention.packed](std::string_view name, const std::vector<int64_t> &shape) {
    if (name == "query_offsets" || name == "key_offsets") {
      const std::vector<int32_t> &offsets = name == "query_offsets" ? packed->offsets_q : packed->offsets_k;
      return std::vector<float>(offsets.begin(), offsets.end());
    }
    return std::vector<float>(size_t(shape[0] * shape[1])); // Kernels write the intervals.
  };
}

double forwardFlops(const AttentionCase &attention) {
  const AttentionProblem &problem = attention.problem;
  const AttentionShape &shape = attention.shape;
  double scores = double(shape.batch) * double(shape.heads) * double(shape.seqlen_q) * double(shape.seqlen_k);
  if (attention.packed)
    scores = double(shape.heads) * scoresSeen(*attention.packed);
  double full = 2 * scores * (problem.head_dim + problem.value_dim);
  return attention.packed || problem.causal == Causal::none ? full : full / 2;
}

double backwardFlops(const AttentionCase &attention) { return 2.5 * forwardFlops(attention); }

} // namespace tegula::tools
