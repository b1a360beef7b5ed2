// SPDX-License-Identifier: MIT
// Tests that need the speed and memory of a GPU: long sequences, and offsets beyond 2^31 elements.
#include "harness/case.h"
#include "harness/gpu_reference.h"
#include "harness/machine.h"
#include "support/test_device.h"

#include <gtest/gtest.h>

namespace tegula::testing {
namespace {

TEST(GpuReference, Compiles) {
  for (DType dtype : {f32, f16, bf16}) {
    Case c{.dtype = dtype, .shape = {.head_dim = 64, .value_dim = 40}};
    Expected<std::string> binary = compileReference(c, "sm_90");
    if (binary.status().code() == ErrorCode::unsupported)
      GTEST_SKIP() << binary.status().message();
    EXPECT_TRUE(binary.ok()) << binary.status().message();
  }
}

class Gpu : public ::testing::Test {
protected:
  void SetUp() override {
    if (!onGpu())
      GTEST_SKIP() << "set TEGULA_TEST_TARGET=cuda";
  }

  void run(const Case &c) {
    Tensors t = makeTensors(c);
    Status status = launch(c, t);
    ASSERT_TRUE(status.ok()) << status.message();
    Expected<std::vector<NamedError>> errors = measureOnGpu(c, t);
    ASSERT_TRUE(errors.ok()) << errors.status().message();
    EXPECT_EQ(check(t, *errors), "") << toString(c);
  }
};

constexpr Causal kCausals[] = {Causal::none, Causal::top_left, Causal::bottom_right};

Case caseOf(DType dtype, int64_t dim, int64_t queries, int64_t keys) {
  return {
      .dtype = dtype,
      .shape = {.heads = 2, .kv_heads = 1, .seqlen_q = queries, .seqlen_k = keys, .head_dim = dim, .value_dim = dim}};
}

/// Returns the factor by which the plain formula's largest error on the GPU may differ from that of the host's first
/// run. All sums except D have the same order, multiply-adds round once, and exp and log are off by up to one ulp. In
/// 16 bits this changes only roundings next to a tie, which are off by half an ulp in either direction: at most twice
/// the other errors. In f32 it makes another sum of as many roundings: 0.5 to 2.6 times the error if g++ does the same.
double plainMargin(DType dtype) { return dtype == f32 ? 3 : 2; }

/// Compares the reference on the GPU with the oracle on the host.
TEST_F(Gpu, ReferenceAgreesWithTheOracle) {
  for (DType dtype : {f32, f16, bf16})
    for (Causal causal : kCausals) {
      Case c = caseOf(dtype, 32, 150, 190);
      c.causal = causal;
      Tensors t = makeTensors(c);
      ASSERT_TRUE(launch(c, t).ok());
      std::vector<NamedError> host = measure(c, t, /*plain_runs=*/1);
      Expected<std::vector<NamedError>> gpu = measureOnGpu(c, t);
      ASSERT_TRUE(gpu.ok()) << gpu.status().message();
      double margin = plainMargin(dtype);
      for (size_t n = 0; n < gpu->size(); ++n) {
        EXPECT_NEAR(gpu->at(n).error.worst, host[n].error.worst, 1e-3 * host[n].error.worst) << host[n].name;
        EXPECT_LE(gpu->at(n).error.plain, margin * host[n].error.plain) << host[n].name;
        EXPECT_GE(gpu->at(n).error.plain, host[n].error.plain / margin) << host[n].name;
      }
    }
}

TEST_F(Gpu, LongSequences) {
  for (DType dtype : {bf16, f16})
    for (int64_t dim : {64, 128, 256})
      for (Causal causal : kCausals) {
        Case c = caseOf(dtype, dim, 4099, 4001);
        c.causal = causal;
        run(c);
      }
}

TEST_F(Gpu, LongSequencesInF32) {
  for (int64_t dim : {64, 128, 256}) {
    Case c = caseOf(f32, dim, 2003, 2999);
    c.causal = Causal::bottom_right;
    run(c);
  }
}

TEST_F(Gpu, VeryLongSequence) {
  Case c = caseOf(bf16, 64, 16384, 16384);
  c.shape.heads = 1;
  run(c);
}

TEST_F(Gpu, BaselinesOnLongSequences) {
  for (Algorithm algorithm : {Algorithm::standard, Algorithm::flash1}) {
    Case c = caseOf(bf16, 64, 2049, 2049);
    c.algorithm = algorithm;
    c.backward = false;
    c.causal = Causal::top_left;
    run(c);
  }
}

/// A copy of a tensor of two batches, with batches and rows far apart in memory.
class Spread {
public:
  static constexpr int64_t kRowStride = (int64_t(1) << 23) + 8, kBatchStride = (int64_t(1) << 31) + 24;

  explicit Spread(const TestTensor &compact)
      : shape_(compact.ref()), memory_(valueOf(testDevice()->allocate(bytes()))), numbers_(compact.bits()) {
    copyRows([&](void *device, std::byte *host, int64_t row) { return testDevice()->copyToDevice(device, host, row); });
  }

  TensorRef ref() const {
    TensorRef wide = shape_;
    wide.data = memory_.data();
    wide.strides[0] = kBatchStride;
    wide.strides[1] = 0;
    wide.strides[2] = kRowStride;
    wide.strides[3] = 1;
    return wide;
  }

  std::vector<std::byte> bits() {
    copyRows([&](void *device, std::byte *host, int64_t row) { return testDevice()->copyToHost(host, device, row); });
    return numbers_;
  }

private:
  int64_t elementBytes() const { return int64_t(sizeOf(shape_.dtype)); }
  int64_t bytes() const {
    return (kBatchStride * (shape_.shape[0] - 1) + kRowStride * (shape_.shape[2] - 1) + shape_.shape[3]) *
           elementBytes();
  }

  template <class Copy> void copyRows(Copy copy) {
    int64_t row_bytes = shape_.shape[3] * elementBytes();
    std::byte *host = numbers_.data();
    for (int64_t b = 0; b < shape_.shape[0]; ++b)
      for (int64_t i = 0; i < shape_.shape[2]; ++i, host += row_bytes) {
        int64_t offset = (b * kBatchStride + i * kRowStride) * elementBytes();
        require(copy(static_cast<std::byte *>(memory_.data()) + offset, host, row_bytes));
      }
    require(testDevice()->synchronize());
  }

  TensorRef shape_;
  Buffer memory_;
  std::vector<std::byte> numbers_;
};

/// The large offsets are between batches, and between the rows of a batch. There is one block of keys, so that dq does
/// not depend on the order of additions.
TEST_F(Gpu, OffsetsMayExceedTwoToThe31) {
  if (testDevice()->memory()->available_bytes < int64_t(64) << 30)
    GTEST_SKIP() << "needs 64 GiB";
  Case c = caseOf(bf16, 64, 300, 61);
  c.schedule = {.block_m = 64, .block_n = 64};
  c.shape.batch = 2;
  c.shape.heads = 1;
  Tensors t = makeTensors(c);
  Spread q(t.q), k(t.k), v(t.v), o(t.o), d_o(t.d_o), dq(t.dq), dk(t.dk), dv(t.dv);
  ASSERT_TRUE(launch(c, t).ok());
  Expected<AttentionPlan> plan = planFor(c);
  ASSERT_TRUE(plan.ok());
  TestTensor lse(f32, {2, 1, 300}, Layout::contiguous, Poison::nan);
  Status status = plan->forward(
      {.q = q.ref(), .k = k.ref(), .v = v.ref(), .o = o.ref(), .lse = lse.ref(), .scale = float(c.scale())});
  ASSERT_TRUE(status.ok()) << status.message();
  ScratchMemory scratch(*plan->backwardWorkspace({2, 1, 1, 300, 61}));
  status = plan->backward({.q = q.ref(),
                           .k = k.ref(),
                           .v = v.ref(),
                           .o = o.ref(),
                           .lse = lse.ref(),
                           .d_o = d_o.ref(),
                           .dq = dq.ref(),
                           .dk = dk.ref(),
                           .dv = dv.ref(),
                           .scale = float(c.scale())},
                          scratch.get());
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(o.bits(), t.o.bits());
  EXPECT_EQ(lse.bits(), t.lse.bits());
  EXPECT_EQ(dq.bits(), t.dq.bits());
  EXPECT_EQ(dk.bits(), t.dk.bits());
  EXPECT_EQ(dv.bits(), t.dv.bits());
}

} // namespace
} // namespace tegula::testing
