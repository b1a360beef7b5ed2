// SPDX-License-Identifier: MIT
// Names that statements on pages use without declaring them; docs_blocks_test.py compiles the pages with them.
#pragma once

#include "tegula/attention.h"
#include "tegula/dsl.h"
#include "tegula/merge.h"
#include "tegula/plan.h"
#include "tegula/tune_once.h"

#include <iostream>

using namespace tegula;

namespace deterministic_md {
extern const View sums, counters;
extern const Value i, tile, number;
} // namespace deterministic_md

namespace kernels_md {
extern Device *const device;
extern const Stream stream;
extern KernelCache cache;
extern const TensorRef q, k, v, o, lse, o_parts, lse_parts;
} // namespace kernels_md

namespace language_md {
extern const View bias, dbias, state, X, First, Sums, Pool, Table, Lengths;
constexpr int64_t width = 33;
extern const Value segment, a, b, c, q, k, s, x, scale, rows, keys, queries, scores, dcapped;
extern Compiler *const compiler;
extern const std::shared_ptr<Device> device;
} // namespace language_md

namespace tuning_md {
extern Compiler *const compiler;
extern KernelCache cache;
extern const AttentionProblem problem;
extern const AttentionShape shape;
} // namespace tuning_md
