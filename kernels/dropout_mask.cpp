// SPDX-License-Identifier: MIT
// The elements of P that dropout keeps, as the passes of FlashAttention-2 draw them.
#include "arguments.h"
#include "scores.h"

namespace tegula {

static void dropoutMask(const AttentionConfig &c, View Q, View K, View Keep, VariantViews tensors) {
  Value batch = programId(2), head = programId(1), i = programId(0) * c.block_m;
  Scores scores(c, Q, K.dim(2), batch, head, tensors);
  ScoreStrip strip = scores.ofQueries(i);
  for (Value j : range(0, K.dim(2), c.block_n))
    Keep.at(batch, head).store({i, j}, cast(DType::i8, *strip.kept({j}))); // [block_m, block_n]
}

Expected<Program> recordDropoutMask(const AttentionConfig &config) {
  if (!config.dropsOut())
    return Status(ErrorCode::invalid_argument, "dropout_mask: the problem has no dropout; set dropout_p");
  auto kernel = [&config](View q, View k, View keep, VariantViews tensors) {
    dropoutMask(config, q, k, keep, tensors);
  };
  return recordList("dropout_mask", kernel, scoreTensors(config), tensor(config, "q"), tensor(config, "k"),
                    TensorArg{"keep", DType::i8, 4});
}

} // namespace tegula
