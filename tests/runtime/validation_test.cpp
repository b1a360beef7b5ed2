// SPDX-License-Identifier: MIT
// Tests every reason for which a launch is refused, with its text.
#include "fixture.h"

#include <gtest/gtest.h>

using namespace tegula;
using namespace tegula::test;

namespace {

/// A kernel (q: bf16 rank 2, o: f32 rank 2 written, scale: f32) and legal arguments for it.
class Validation : public testing::Test {
protected:
  Status launch(const TensorRef &q, const TensorRef &o, const Argument &scale) {
    return kernel->launch({1}, {q, o, scale});
  }
  Status launchWithQ(const TensorRef &tensor) { return launch(tensor, o, 1.0f); }
  Status launchWithO(const TensorRef &tensor) { return launch(q, tensor, 1.0f); }
  Status launchGrid(Grid grid) { return kernel->launch(grid, {q, o, 1.0f}); }

  std::shared_ptr<Kernel> kernel =
      load(makeDevice(1), artifact("nothing", {tensor("q", bf16, 2), written("o", f32, 2), scalar("scale", f32)}));
  std::vector<float> memory = std::vector<float>(64);
  TensorRef q = contiguous(memory.data(), bf16, {4, 8});
  TensorRef o = contiguous(memory.data() + 32, f32, {4, 8});
};

#define EXPECT_INVALID(expression, message)                                                                            \
  EXPECT_ERROR(expression, ErrorCode::invalid_argument, std::string("kernel 'nothing': ") + (message))

TEST_F(Validation, AcceptsLegalArguments) { EXPECT_OK(launch(q, o, 1.0f)); }

TEST_F(Validation, Count) {
  EXPECT_INVALID(kernel->launch({1}, {q, o}), "expected 3 arguments, got 2");
  EXPECT_INVALID(kernel->launch({1}, {}), "expected 3 arguments, got 0");
  EXPECT_INVALID(kernel->launch({0}, {q, o, 1.0f, 1.0f}), "expected 3 arguments, got 4");
}

TEST_F(Validation, Kind) {
  EXPECT_INVALID(launch(q, o, q), "argument 'scale': expected a scalar, got a tensor");
  EXPECT_INVALID(kernel->launch({1}, {1.0f, o, 1.0f}), "argument 'q': expected a tensor, got a scalar");
}

TEST_F(Validation, DType) {
  EXPECT_INVALID(launchWithQ(contiguous(memory.data(), f32, {4, 8})), "argument 'q': expected bf16, got f32");
  EXPECT_INVALID(launch(q, o, 1), "argument 'scale': expected f32, got i32");
  EXPECT_INVALID(launch(q, o, int64_t{1}), "argument 'scale': expected f32, got i64");
}

TEST_F(Validation, Rank) {
  EXPECT_INVALID(launchWithQ(contiguous(memory.data(), bf16, {32})), "argument 'q': expected rank 2, got rank 1");
}

TEST_F(Validation, Counters) {
  Parameter counter = written("n", i32, 1);
  counter.counter = true;
  const auto counting = load(makeDevice(1), artifact("nothing", {counter}));
  int32_t n = 7;
  EXPECT_INVALID(counting->launch({1}, {contiguous(&n, i32, {0})}), "argument 'n': expected one element, got 0");
  EXPECT_OK(counting->launch({0}, {contiguous(&n, i32, {1})}));
  EXPECT_EQ(n, 7);
  EXPECT_OK(counting->launch({1}, {contiguous(&n, i32, {1})}));
  EXPECT_EQ(n, 0);
}

TEST_F(Validation, Sizes) {
  TensorRef tensor = q;
  tensor.shape[1] = -1;
  EXPECT_INVALID(launchWithQ(tensor), "argument 'q': size -1 of dimension 1 is negative");
  tensor.shape[1] = int64_t{1} << 31;
  EXPECT_INVALID(launchWithQ(tensor),
                 "argument 'q': size 2147483648 of dimension 1 is not below 2^31 (positions in a kernel have 32 bits)");
  tensor.shape[1] -= 1;
  EXPECT_OK(launchWithQ(tensor = contiguous(memory.data(), bf16, {0, 2147483647})));
}

TEST_F(Validation, Data) {
  TensorRef tensor = q;
  tensor.data = nullptr;
  EXPECT_INVALID(launchWithQ(tensor), "argument 'q': the data is null, but the tensor has elements");
  tensor.shape[0] = 0;
  EXPECT_OK(launchWithQ(tensor));
  tensor = q;
  tensor.data = reinterpret_cast<char *>(memory.data()) + 1;
  EXPECT_INVALID(launchWithQ(tensor), "argument 'q': the data is not aligned to its elements of 2 bytes");
}

TEST_F(Validation, Extent) {
  TensorRef tensor = q;
  tensor.strides[0] = int64_t{1} << 62;
  EXPECT_INVALID(launchWithQ(tensor), "argument 'q': the offset of an element exceeds 63 bits");
  tensor.strides[0] = -(int64_t{1} << 60);
  EXPECT_INVALID(launchWithQ(tensor), "argument 'q': the address of an element exceeds 64 bits");
}

TEST_F(Validation, WrittenTensorsOverlapNothing) {
  TensorRef tensor = o;
  tensor.data = memory.data();
  EXPECT_INVALID(launchWithO(tensor), "argument 'o': the kernel writes it, but it shares memory with 'q'");
  tensor = o;
  tensor.strides[0] = 0;
  EXPECT_INVALID(launchWithO(tensor), "argument 'o': the kernel writes it, but elements share memory (a stride of 0?)");
}

TEST_F(Validation, TensorsThatAreReadMayOverlap) {
  TensorRef broadcast = q;
  broadcast.strides[0] = 0;
  EXPECT_OK(launchWithQ(broadcast));
  const auto both = load(makeDevice(1), artifact("nothing", {tensor("q", bf16, 2), tensor("k", bf16, 2)}));
  EXPECT_OK(both->launch({1}, {q, q}));
}

TEST_F(Validation, Grid) {
  EXPECT_INVALID(launchGrid({-1, 1, 1}), "grid -1 x 1 x 1: a count lies outside 0 to 2^31 - 1");
  EXPECT_INVALID(launchGrid({1, int64_t{1} << 31, 1}), "grid 1 x 2147483648 x 1: a count lies outside 0 to 2^31 - 1");
  EXPECT_INVALID(launchGrid({2147483647, 2147483647, 2}),
                 "grid 2147483647 x 2147483647 x 2: more than 2^62 program instances");
  EXPECT_INVALID(launchGrid({2147483647, 2147483647, 2147483647}),
                 "grid 2147483647 x 2147483647 x 2147483647: more than 2^62 program instances");
}

} // namespace
