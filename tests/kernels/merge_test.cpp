// SPDX-License-Identifier: MIT
// Tests of partial results of attention that are merged by their LSE.
#include "harness/case.h"
#include "harness/machine.h"
#include "oracle/convert.h"
#include "support/test_device.h"
#include "tegula/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace tegula::testing {
namespace {

using ::testing::HasSubstr;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// A merge with its tensors, whose results are compared with the definitions in 64 bits.
struct Merge {
  DType dtype = f32;
  int64_t parts = 3, batch = 2, heads = 3, queries = 37, columns = 24;
  bool lse_gradient = true;
  Layout layout = Layout::contiguous;

  int64_t rows() const { return batch * heads * queries; }
  MergeProblem problem() const { return {dtype, int(columns), lse_gradient}; }
  std::vector<int64_t> rowShape() const { return {batch, heads, queries}; }
  std::vector<int64_t> with(std::vector<int64_t> shape) const { return shape.push_back(columns), shape; }
  std::vector<int64_t> partShape() const { return {parts, batch, heads, queries}; }
};

/// The numbers of a merge. Elements of parts come part after part.
struct Numbers {
  std::vector<float> o_parts, lse_parts, d_o, d_lse;
};

/// Returns random numbers. A third of the parts of a row has seen no key, and its o is NaN.
Numbers makeNumbers(const Merge &m) {
  Numbers n{oracle::normalNumbers(m.parts * m.rows() * m.columns, m.dtype, 1),
            oracle::normalNumbers(m.parts * m.rows(), f32, 2), oracle::normalNumbers(m.rows() * m.columns, m.dtype, 3),
            oracle::normalNumbers(m.rows(), f32, 4)};
  std::mt19937 random(5);
  for (size_t row = 0; row < n.lse_parts.size(); ++row) {
    n.lse_parts[row] *= 10;
    if (random() % 3 != 0)
      continue;
    n.lse_parts[row] = -infinity;
    std::fill_n(n.o_parts.begin() + int64_t(row) * m.columns, m.columns, nan);
  }
  return n;
}

/// Exact results: of 64-bit numbers, in the order of the tensors.
struct Exact {
  std::vector<double> o, lse, d_o_parts, d_lse_parts;
};

/// `o_of_kernel` and `lse_of_kernel` are what the backward pass reads.
Exact exactOf(const Merge &m, const Numbers &n, const std::vector<float> &o_of_kernel,
              const std::vector<float> &lse_of_kernel) {
  Exact exact{std::vector<double>(size_t(m.rows() * m.columns)), std::vector<double>(size_t(m.rows())),
              std::vector<double>(n.o_parts.size()), std::vector<double>(n.lse_parts.size())};
  for (int64_t row = 0; row < m.rows(); ++row) {
    double largest = -infinity, sum = 0;
    auto lse = [&](int64_t part) { return double(n.lse_parts[size_t(part * m.rows() + row)]); };
    for (int64_t part = 0; part < m.parts; ++part)
      largest = std::max(largest, lse(part));
    for (int64_t part = 0; part < m.parts && largest != -infinity; ++part)
      sum += std::exp(lse(part) - largest);
    exact.lse[size_t(row)] = largest == -infinity ? largest : largest + std::log(sum);
    double mean = 0;
    for (int64_t c = 0; c < m.columns; ++c)
      mean += double(n.d_o[size_t(row * m.columns + c)]) * o_of_kernel[size_t(row * m.columns + c)];
    for (int64_t part = 0; part < m.parts; ++part) {
      if (lse(part) == -infinity)
        continue;
      const size_t place = size_t(part * m.rows() + row);
      const double weight = std::exp(lse(part) - exact.lse[size_t(row)]);
      const double p = std::exp(lse(part) - lse_of_kernel[size_t(row)]);
      double product = 0;
      for (int64_t c = 0; c < m.columns; ++c) {
        const size_t at = place * size_t(m.columns) + size_t(c), of_row = size_t(row * m.columns + c);
        exact.o[of_row] += weight * n.o_parts[at];
        product += double(n.d_o[of_row]) * n.o_parts[at];
        exact.d_o_parts[at] = p * n.d_o[of_row];
      }
      exact.d_lse_parts[place] = p * (product - mean + (m.lse_gradient ? n.d_lse[size_t(row)] : 0));
    }
  }
  return exact;
}

/// Expects numbers that differ by at most one rounding to `dtype`, and by roundings to f32 of numbers up to `size`.
void expectNear(const std::vector<float> &numbers, const std::vector<double> &exact, DType dtype, double size,
                const char *name) {
  ASSERT_EQ(numbers.size(), exact.size());
  for (size_t n = 0; n < numbers.size(); ++n) {
    if (std::isinf(exact[n])) {
      ASSERT_EQ(numbers[n], exact[n]) << name << " " << n;
      continue;
    }
    const double rounding = dtype == f32 ? 0 : oracle::unitRoundoff(dtype) * std::abs(exact[n]) + 0x1p-24;
    ASSERT_NEAR(numbers[n], exact[n], rounding + 0x1p-21 * size) << name << " " << n;
  }
}

struct MergeTensors {
  MergeTensors(const Merge &m, const Numbers &n)
      : o_parts(m.dtype, m.with(m.partShape()), m.layout, Poison::nan, n.o_parts),
        lse_parts(f32, m.partShape(), m.layout, Poison::nan, n.lse_parts),
        o(m.dtype, m.with(m.rowShape()), m.layout, Poison::nan), lse(f32, m.rowShape(), m.layout, Poison::nan),
        d_o(m.dtype, m.with(m.rowShape()), m.layout, Poison::nan, n.d_o),
        d_lse(f32, m.rowShape(), m.layout, Poison::nan, n.d_lse),
        d_o_parts(m.dtype, m.with(m.partShape()), m.layout, Poison::nan),
        d_lse_parts(f32, m.partShape(), m.layout, Poison::nan) {}

  std::vector<Argument> forward() { return {o_parts.ref(), lse_parts.ref(), o.ref(), lse.ref()}; }
  std::vector<Argument> backward(bool takes_d_lse) {
    std::vector<Argument> arguments = {o_parts.ref(), lse_parts.ref(), o.ref(), lse.ref(), d_o.ref()};
    if (takes_d_lse)
      arguments.emplace_back(d_lse.ref());
    arguments.insert(arguments.end(), {d_o_parts.ref(), d_lse_parts.ref()});
    return arguments;
  }

  TestTensor o_parts, lse_parts, o, lse, d_o, d_lse, d_o_parts, d_lse_parts;
};

Plan planOf(const Expected<PlanSpec> &spec) {
  require(spec.status());
  return valueOf(Plan::make(*spec, *machine().cache));
}

void run(const Merge &m, MergeTensors &t) {
  const Target &target = machine().cache->target();
  require(planOf(mergeAttention(m.problem(), target)).launch(t.forward()));
  require(planOf(mergeAttentionBackward(m.problem(), target)).launch(t.backward(m.lse_gradient)));
  require(machine().device->synchronize());
}

void expectRight(const Merge &m, const Numbers &n, MergeTensors &t) {
  const std::vector<float> o = t.o.numbers(), lse = t.lse.numbers();
  const Exact exact = exactOf(m, n, o, lse);
  expectNear(o, exact.o, m.dtype, 8, "o");
  expectNear(lse, exact.lse, f32, 32, "lse");
  expectNear(t.d_o_parts.numbers(), exact.d_o_parts, m.dtype, 8, "d_o_parts");
  expectNear(t.d_lse_parts.numbers(), exact.d_lse_parts, f32, 64, "d_lse_parts");
  for (const TestTensor *tensor : {&t.o, &t.lse, &t.d_o_parts, &t.d_lse_parts})
    EXPECT_TRUE(tensor->surroundingsIntact());
}

void runAndExpect(const Merge &m) {
  const Numbers numbers = makeNumbers(m);
  MergeTensors tensors(m, numbers);
  run(m, tensors);
  expectRight(m, numbers, tensors);
}

TEST(Merge, EveryElementTypeAndNumberOfParts) {
  for (DType dtype : {f32, f16, bf16})
    for (int64_t parts : {0, 1, 2, 7})
      runAndExpect({.dtype = dtype, .parts = parts});
}

TEST(Merge, EverySize) {
  for (auto [queries, columns] : {std::pair{1, 8}, {64, 128}, {65, 136}, {130, 256}, {0, 64}})
    for (DType dtype : {f32, bf16})
      runAndExpect({.dtype = dtype, .queries = queries, .columns = columns, .lse_gradient = false});
}

TEST(Merge, AnyLayout) {
  for (Layout layout : {Layout::padded, Layout::scattered, Layout::reversed})
    runAndExpect({.dtype = bf16, .layout = layout});
}

TEST(Merge, NumbersThatAreNotFiniteReachOnlyTheirRow) {
  const Merge m{.parts = 2, .batch = 1, .heads = 1, .queries = 6, .columns = 8};
  Numbers n = makeNumbers(m);
  n.lse_parts = {1, infinity, nan, 1, -infinity, 1, 2, 2, 2, 2, -infinity, 2};
  std::fill(n.o_parts.begin(), n.o_parts.end(), 1.0f);
  n.o_parts[3 * 8] = nan;       // Of a key that row 3 sees.
  n.o_parts[4 * 8] = -infinity; // Neither part of row 4 has seen a key.
  n.o_parts[(6 + 4) * 8] = nan;
  MergeTensors t(m, n);
  run(m, t);
  const std::vector<float> o = t.o.numbers(), lse = t.lse.numbers(), d_o = t.d_o_parts.numbers(),
                           d_lse = t.d_lse_parts.numbers();
  for (int row : {1, 2})
    EXPECT_TRUE(std::isnan(lse[row]) && std::isnan(o[row * 8])) << row;
  EXPECT_TRUE(std::isnan(o[3 * 8]) && std::isfinite(o[3 * 8 + 1]) && std::isfinite(lse[3]));
  EXPECT_EQ(lse[4], -infinity);
  for (int column = 0; column < 8; ++column) {
    EXPECT_EQ(o[4 * 8 + column], 0);
    EXPECT_EQ(d_o[4 * 8 + column], 0);
    EXPECT_NEAR(o[column], 1, 1e-6);
    EXPECT_NEAR(o[5 * 8 + column], 1, 1e-6);
  }
  EXPECT_EQ(d_lse[4], 0);
  EXPECT_EQ(d_lse[6 + 4], 0);
}

//===-- With attention -------------------------------------------------------------------------------------------===//

/// Returns the keys from `first` on of a tensor [batch, heads, keys, dim].
TensorRef keysOf(TensorRef whole, int64_t first, int64_t count) {
  whole.data = static_cast<char *>(whole.data) + first * whole.strides[2] * int64_t(sizeOf(whole.dtype));
  whole.shape[2] = count;
  return whole;
}

/// Returns part `index` of a tensor.
TensorRef partOf(const TensorRef &whole, int64_t index) {
  TensorRef part = whole;
  --part.rank;
  part.data = static_cast<char *>(whole.data) + index * whole.strides[0] * int64_t(sizeOf(whole.dtype));
  std::copy(whole.shape + 1, whole.shape + whole.rank, part.shape);
  std::copy(whole.strides + 1, whole.strides + whole.rank, part.strides);
  return part;
}

/// The keys of all rows are split in three, and the first part has the sink. The merged results are those of the whole,
/// and so are the gradients that go through the merge.
TEST(Merge, PartsOfAttentionAreTheWhole) {
  Case c{
      .dtype = f32,
      .lse_gradient = true,
      .shape = {.batch = 2, .heads = 4, .kv_heads = 2, .seqlen_q = 40, .seqlen_k = 70, .head_dim = 16, .value_dim = 24},
      .sinks = true};
  Tensors whole = makeTensors(c), t = makeTensors(c);
  require(launch(c, whole));
  const Merge m{.parts = 3, .batch = 2, .heads = 4, .queries = 40, .columns = 24};
  Numbers n = makeNumbers(m);
  n.d_o = whole.upstream;
  n.d_lse = whole.upstream_lse;
  MergeTensors merged(m, n);
  Case without = c;
  without.sinks = false;
  const AttentionPlan first = valueOf(planFor(c)), other = valueOf(planFor(without));
  const auto bytes = [&](const AttentionPlan &plan, int64_t keys) {
    return valueOf(plan.backwardWorkspace({.batch = 2, .heads = 4, .kv_heads = 2, .seqlen_q = 40, .seqlen_k = keys}));
  };
  constexpr int64_t begins[] = {0, 16, 49, 70};
  std::vector<TestTensor> dq;
  const auto forEachPart = [&](auto body) {
    for (int part = 0; part < 3; ++part)
      body(part, begins[part], begins[part + 1] - begins[part], part == 0 ? first : other,
           part == 0 ? t.sinks.ref() : TensorRef());
  };
  const float scale = float(c.scale());
  forEachPart([&](int part, int64_t begin, int64_t count, const AttentionPlan &plan, const TensorRef &sinks) {
    ScratchMemory scratch(
        valueOf(plan.forwardWorkspace({.batch = 2, .heads = 4, .kv_heads = 2, .seqlen_q = 40, .seqlen_k = count})));
    require(plan.forward({.q = t.q.ref(),
                          .k = keysOf(t.k.ref(), begin, count),
                          .v = keysOf(t.v.ref(), begin, count),
                          .o = partOf(merged.o_parts.ref(), part),
                          .lse = partOf(merged.lse_parts.ref(), part),
                          .scale = scale,
                          .sinks = sinks},
                         scratch.get()));
    require(machine().device->synchronize());
  });
  run(m, merged);
  forEachPart([&](int part, int64_t begin, int64_t count, const AttentionPlan &plan, const TensorRef &sinks) {
    ScratchMemory scratch(bytes(plan, count));
    dq.emplace_back(f32, std::vector<int64_t>{2, 4, 40, 16}, Layout::contiguous, Poison::nan);
    require(plan.backward({.q = t.q.ref(),
                           .k = keysOf(t.k.ref(), begin, count),
                           .v = keysOf(t.v.ref(), begin, count),
                           .o = partOf(merged.o_parts.ref(), part),
                           .lse = partOf(merged.lse_parts.ref(), part),
                           .d_o = partOf(merged.d_o_parts.ref(), part),
                           .d_lse = partOf(merged.d_lse_parts.ref(), part),
                           .dq = dq.back().ref(),
                           .dk = keysOf(t.dk.ref(), begin, count),
                           .dv = keysOf(t.dv.ref(), begin, count),
                           .scale = scale,
                           .sinks = sinks,
                           .d_sinks = part == 0 ? t.d_sinks.ref() : TensorRef()},
                          scratch.get()));
    require(machine().device->synchronize());
  });
  const auto expectEqual = [](const std::vector<float> &a, const std::vector<float> &b, const char *name) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t place = 0; place < a.size(); ++place)
      ASSERT_NEAR(a[place], b[place], 2e-5) << name << " " << place;
  };
  std::vector<float> sum(dq[0].numbers().size());
  for (const TestTensor &part : dq) {
    const std::vector<float> numbers = part.numbers();
    std::transform(sum.begin(), sum.end(), numbers.begin(), sum.begin(), std::plus<>());
  }
  expectEqual(merged.o.numbers(), whole.o.numbers(), "o");
  expectEqual(merged.lse.numbers(), whole.lse.numbers(), "lse");
  expectEqual(sum, whole.dq.numbers(), "dq");
  expectEqual(t.dk.numbers(), whole.dk.numbers(), "dk");
  expectEqual(t.dv.numbers(), whole.dv.numbers(), "dv");
  expectEqual(t.d_sinks.numbers(), whole.d_sinks.numbers(), "d_sinks");
}

//===-- Errors ---------------------------------------------------------------------------------------------------===//

TEST(Merge, SaysWhatIsWrong) {
  const Target &target = machine().cache->target();
  EXPECT_THAT(mergeAttention({.dtype = i8, .value_dim = 64}, target).status().message(),
              HasSubstr("argument 'dtype': it is i8; it must be f32, f16 or bf16"));
  EXPECT_THAT(mergeAttentionBackward({.value_dim = 600}, target).status().message(),
              HasSubstr("argument 'value_dim': it is 600; it must be from 1 to 576"));
  const Merge m;
  MergeTensors t(m, makeNumbers(m));
  const Plan plan = planOf(mergeAttention(m.problem(), target));
  const auto message = [&](size_t place, const TensorRef &tensor) {
    std::vector<Argument> arguments = t.forward();
    arguments[place] = tensor;
    return plan.launch(arguments).message();
  };
  TensorRef shorter = t.lse_parts.ref(), narrow = t.o_parts.ref();
  shorter.shape[0] = 2;
  narrow.shape[4] = 16;
  EXPECT_THAT(message(1, shorter), HasSubstr("lse_parts"));
  EXPECT_THAT(message(0, narrow), HasSubstr("o_parts"));
  EXPECT_THAT(message(2, partOf(t.o_parts.ref(), 0)), HasSubstr("shares memory"));
}

} // namespace
} // namespace tegula::testing
