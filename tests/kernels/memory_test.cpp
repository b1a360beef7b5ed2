// SPDX-License-Identifier: MIT
// The contents of memory outside the tensors, and the layout of tensors in memory, change no bit of a result.
#include "harness/case.h"
#include "harness/machine.h"
#include "support/test_device.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace tegula::testing {
namespace {

/// Returns a case with one block of keys. Each element of dq is then added to once, and its bits depend on no order.
Case oneKeyBlock(DType dtype, std::string variant) {
  return {.dtype = dtype,
          .causal = Causal::bottom_right,
          .variant = std::move(variant),
          .schedule = {.block_m = 32, .block_n = 48},
          .shape = {
              .batch = 2, .heads = 2, .kv_heads = 2, .seqlen_q = 45, .seqlen_k = 43, .head_dim = 24, .value_dim = 40}};
}

using Bits = std::vector<std::vector<std::byte>>;

Bits resultsOf(const Case &c) {
  Tensors t = makeTensors(c);
  Status status = launch(c, t);
  EXPECT_TRUE(status.ok()) << status.message();
  Bits bits;
  for (TestTensor *output : t.outputs())
    bits.push_back(output->bits());
  for (TestTensor &gradient : t.variant.gradients)
    bits.push_back(gradient.bits());
  for (TestTensor *tensor : t.all())
    EXPECT_TRUE(tensor->surroundingsIntact()) << toString(c);
  return bits;
}

TEST(Memory, NeitherPoisonNorLayoutChangesABit) {
  for (auto [dtype, variant] : {std::pair{f32, "bias"}, {f16, "documents+alibi_br"}, {bf16, "none"}, {bf16, "bias"}}) {
    Case c = oneKeyBlock(dtype, variant);
    Bits expected = resultsOf(c);
    for (Layout layout : kLayouts)
      for (Poison poison : kPoisons) {
        c.layout = layout;
        c.poison = poison;
        EXPECT_EQ(resultsOf(c), expected) << toString(c);
      }
  }
}

TEST(Memory, OtherAlgorithmsNeitherPoisonNorLayoutChangesABit) {
  for (Algorithm algorithm : {Algorithm::standard, Algorithm::flash1}) {
    Case c = oneKeyBlock(bf16, "none");
    c.algorithm = algorithm;
    c.backward = false;
    c.shape.seqlen_k = 100;
    auto outputs = [&] {
      Bits bits = resultsOf(c);
      bits.resize(2); // o and lse
      return bits;
    };
    Bits expected = outputs();
    for (Layout layout : kLayouts)
      for (Poison poison : kPoisons) {
        c.layout = layout;
        c.poison = poison;
        EXPECT_EQ(outputs(), expected) << toString(c);
      }
  }
}

/// Compares K and V that all batches share through stride 0 with copies of them.
TEST(Memory, BroadcastInputsEqualCopies) {
  Case c = oneKeyBlock(bf16, "none");
  c.backward = false;
  Tensors t = makeTensors(c);
  const oracle::Shape &s = c.shape;
  auto repeatFirstBatch = [&](std::vector<float> numbers) {
    std::copy_n(numbers.begin(), numbers.size() / 2, numbers.begin() + numbers.size() / 2);
    return numbers;
  };
  TestTensor k(c.dtype, {s.batch, s.kv_heads, s.seqlen_k, s.head_dim}, c.layout, c.poison,
               repeatFirstBatch(t.inputs.k));
  TestTensor v(c.dtype, {s.batch, s.kv_heads, s.seqlen_k, s.value_dim}, c.layout, c.poison,
               repeatFirstBatch(t.inputs.v));
  Expected<AttentionPlan> plan = planFor(c);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  auto outputWith = [&](TensorRef keys, TensorRef values) {
    t.o.poison();
    Status status =
        plan->forward({.q = t.q.ref(), .k = keys, .v = values, .o = t.o.ref(), .lse = t.lse.ref(), .scale = 0.25f});
    EXPECT_TRUE(status.ok()) << status.message();
    return t.o.bits();
  };
  EXPECT_EQ(outputWith(t.k.broadcastAlong(0), t.v.broadcastAlong(0)), outputWith(k.ref(), v.ref()));
}

/// Compares query heads that share a kv head with query heads that have copies of the kv head.
TEST(Memory, GroupedHeadsEqualRepeatedHeads) {
  Case grouped = oneKeyBlock(bf16, "none");
  grouped.backward = false;
  grouped.shape.batch = 1;
  grouped.shape.heads = 6;
  Case repeated = grouped;
  repeated.shape.kv_heads = 6;
  Tensors a = makeTensors(grouped), b = makeTensors(repeated);
  auto repeat = [&](const std::vector<float> &numbers) {
    std::vector<float> all;
    for (int64_t h = 0; h < 6; ++h)
      all.insert(all.end(), numbers.begin() + int64_t(numbers.size()) / 2 * (h / 3),
                 numbers.begin() + int64_t(numbers.size()) / 2 * (h / 3 + 1));
    return all;
  };
  b.q = TestTensor(bf16, {1, 6, 45, 24}, Layout::contiguous, Poison::nan, a.inputs.q);
  b.k = TestTensor(bf16, {1, 6, 43, 24}, Layout::contiguous, Poison::nan, repeat(a.inputs.k));
  b.v = TestTensor(bf16, {1, 6, 43, 40}, Layout::contiguous, Poison::nan, repeat(a.inputs.v));
  ASSERT_TRUE(launch(grouped, a).ok());
  ASSERT_TRUE(launch(repeated, b).ok());
  EXPECT_EQ(a.o.bits(), b.o.bits());
  EXPECT_EQ(a.lse.bits(), b.lse.bits());
}

TEST(Memory, BatchesDoNotInfluenceEachOther) {
  Case two = oneKeyBlock(f16, "none");
  Case one = two;
  one.shape.batch = 1;
  Tensors a = makeTensors(two), b = makeTensors(one);
  auto firstHalf = [](const std::vector<float> &x) { return std::vector<float>(x.begin(), x.begin() + x.size() / 2); };
  b.q = TestTensor(f16, {1, 2, 45, 24}, Layout::contiguous, Poison::nan, firstHalf(a.inputs.q));
  b.k = TestTensor(f16, {1, 2, 43, 24}, Layout::contiguous, Poison::nan, firstHalf(a.inputs.k));
  b.v = TestTensor(f16, {1, 2, 43, 40}, Layout::contiguous, Poison::nan, firstHalf(a.inputs.v));
  b.d_o = TestTensor(f16, {1, 2, 45, 40}, Layout::contiguous, Poison::nan, firstHalf(a.upstream));
  ASSERT_TRUE(launch(two, a).ok());
  ASSERT_TRUE(launch(one, b).ok());
  std::vector<TestTensor *> inTwo = a.outputs(), inOne = b.outputs();
  for (size_t n = 0; n < inTwo.size(); ++n)
    EXPECT_EQ(firstHalf(inTwo[n]->numbers()), inOne[n]->numbers());
}

/// Address space that gets memory only where it is touched.
class SparseMemory {
public:
  explicit SparseMemory(size_t bytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~SparseMemory() { munmap(data_, bytes_); }
  SparseMemory(const SparseMemory &) = delete;

  /// Returns null if the system refuses the address space.
  void *data() const { return data_ == MAP_FAILED ? nullptr : data_; }

private:
  size_t bytes_;
  void *data_;
};

/// Element offsets exceed 2^32 between batches, and 2^31 between the rows of a batch.
TEST(Memory, OffsetsMayExceed32Bits) {
  if (onGpu())
    GTEST_SKIP() << "memory of a GPU is not sparse; see gpu_test.cpp";
  Case c = oneKeyBlock(f32, "none");
  c.shape.heads = c.shape.kv_heads = 1;
  Tensors t = makeTensors(c);
  ASSERT_TRUE(launch(c, t).ok());
  constexpr int64_t batchStride = (int64_t(1) << 33) + 7, rowStride = (int64_t(1) << 26) + 3;
  SparseMemory q(size_t(16) << 33), k(size_t(16) << 33), v(size_t(16) << 33), o(size_t(16) << 33);
  if (!q.data() || !k.data() || !v.data() || !o.data())
    GTEST_SKIP() << "no address space";
  auto spread = [&](TensorRef tensor, const SparseMemory &memory) {
    TensorRef wide = tensor;
    wide.data = memory.data();
    wide.strides[0] = batchStride;
    wide.strides[2] = rowStride;
    for (int64_t b = 0; b < tensor.shape[0]; ++b)
      for (int64_t i = 0; i < tensor.shape[2]; ++i)
        std::copy_n(static_cast<float *>(tensor.data) + b * tensor.strides[0] + i * tensor.strides[2], tensor.shape[3],
                    static_cast<float *>(wide.data) + b * batchStride + i * rowStride);
    return wide;
  };
  TensorRef wide = spread(t.o.ref(), o);
  AttentionForward call{.q = spread(t.q.ref(), q),
                        .k = spread(t.k.ref(), k),
                        .v = spread(t.v.ref(), v),
                        .o = wide,
                        .lse = t.lse.ref(),
                        .scale = float(c.scale())};
  std::vector<float> expected = t.o.numbers();
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t i = 0; i < c.shape.seqlen_q; ++i)
      static_cast<float *>(wide.data)[b * batchStride + i * rowStride] = -1;
  Status status = planFor(c)->forward(call);
  ASSERT_TRUE(status.ok()) << status.message();
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t i = 0; i < c.shape.seqlen_q; ++i)
      for (int64_t n = 0; n < c.shape.value_dim; ++n)
        ASSERT_EQ(static_cast<float *>(wide.data)[b * batchStride + i * rowStride + n],
                  expected[(b * c.shape.seqlen_q + i) * c.shape.value_dim + n]);
}

/// Multiplying V by a power of two changes only the exponents of the results.
TEST(Memory, ScalingVScalesTheOutput) {
  Case c = oneKeyBlock(f32, "none");
  c.backward = false;
  Tensors once = makeTensors(c), eightfold = makeTensors(c);
  std::vector<float> v = once.inputs.v;
  for (float &x : v)
    x *= 8;
  eightfold.v = TestTensor(f32, {2, 2, 43, 40}, c.layout, c.poison, v);
  ASSERT_TRUE(launch(c, once).ok());
  ASSERT_TRUE(launch(c, eightfold).ok());
  std::vector<float> expected = once.o.numbers();
  for (float &x : expected)
    x *= 8;
  EXPECT_EQ(eightfold.o.numbers(), expected);
}

} // namespace
} // namespace tegula::testing
