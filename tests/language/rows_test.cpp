// SPDX-License-Identifier: MIT
// Tests of kernels on rows as users write them, against double precision.
#include "bench/own_kernels/programs.h"
#include "language/machine.h"

namespace tegula::language {
namespace {

constexpr int64_t kRows = 5, kColumns = 300; // Fewer columns than the tile has.
constexpr int kTileRows = 2, kTileColumns = 512;

class Rows : public ::testing::TestWithParam<int> {
protected:
  void launch(const Expected<Program> &program, std::initializer_list<Argument> arguments) {
    ASSERT_TRUE(program.ok()) << program.status().message();
    const auto kernel = compileFor(*program, GetParam());
    ASSERT_TRUE(kernel.ok()) << kernel.status().message();
    const Status status = (*kernel)->launch({.x = (kRows + kTileRows - 1) / kTileRows}, arguments);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  /// Returns row `i` of an array in double precision.
  template <class T> static std::vector<double> row(Array<T> &x, int64_t i) {
    std::vector<double> values;
    for (int64_t j = 0; j < kColumns; ++j)
      values.push_back(double(x(i, j)));
    return values;
  }
};

TEST_P(Rows, SoftmaxSumsToOne) {
  auto x = Array<Bf16>::random({kRows, kColumns}, 1, -4, 4);
  Array<Bf16> y({kRows, kColumns}, 7.0f);
  OnDevice<Bf16> on_x(x), on_y(y);
  launch(bench::recordRowSoftmax(bf16, kTileRows, kTileColumns), {on_x.ref(), on_y.ref()});
  ASSERT_TRUE(on_y.readBack()) << "memory outside an array was written";
  for (int64_t i = 0; i < kRows; ++i) {
    double sum = 0;
    for (const double value : row(x, i))
      sum += std::exp(value);
    for (int64_t j = 0; j < kColumns; ++j) {
      const double expected = std::exp(double(x(i, j))) / sum;
      EXPECT_NEAR(y(i, j), expected, expected * 0x1p-8);
    }
  }
}

TEST_P(Rows, LayerNormHasNoMeanAndUnitVariance) {
  constexpr double epsilon = 1e-5;
  auto x = Array<float>::random({kRows, kColumns}, 1, 98, 102); // The mean is much larger than the deviation.
  auto weight = Array<float>::random({kColumns}, 2), bias = Array<float>::random({kColumns}, 3);
  Array<float> y({kRows, kColumns}, 7.0f);
  OnDevice<float> on_x(x), on_weight(weight), on_bias(bias), on_y(y);
  launch(bench::recordLayerNorm(f32, kTileRows, kTileColumns),
         {on_x.ref(), on_weight.ref(), on_bias.ref(), on_y.ref(), float(epsilon)});
  ASSERT_TRUE(on_y.readBack()) << "memory outside an array was written";
  for (int64_t i = 0; i < kRows; ++i) {
    const std::vector<double> values = row(x, i);
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / kColumns;
    double variance = 0;
    for (const double value : values)
      variance += (value - mean) * (value - mean) / kColumns;
    for (int64_t j = 0; j < kColumns; ++j) {
      const double expected =
          (values[static_cast<size_t>(j)] - mean) / std::sqrt(variance + epsilon) * weight(j) + bias(j);
      EXPECT_NEAR(y(i, j), expected, 1e-4);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Lanes, Rows, ::testing::ValuesIn(testedLanes()));

} // namespace
} // namespace tegula::language
