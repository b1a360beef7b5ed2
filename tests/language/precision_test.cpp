// SPDX-License-Identifier: MIT
// Dots of f32 with each precision. The terms are integers, plus what tf32 has no bits for; sums of both are exact.
#include "language/machine.h"

namespace tegula::language {
namespace {

/// Tests sizes that fill the fragments of tensor cores, and others.
class Precisions : public Language {
protected:
  void check(int m, int n, int depth, Precision precision) {
    Array<float> a({m, depth}), b({depth, n}), c({m, n}, -1.0f);
    for (int k = 0; k < depth; ++k) {
      for (int i = 0; i < m; ++i)
        a(i, k) = static_cast<float>(1 + (i + 2 * k) % 3) + 0x1p-12f;
      for (int j = 0; j < n; ++j)
        b(k, j) = static_cast<float>((3 * k + j) % 5 - 1);
    }
    auto kernel = [&](View A, View B, View C) {
      Var sum = fill({m, n}, 1.0);
      for (Value k : range(0, depth, depth / 2))
        sum = dot(A.load({0, k}, {m, depth / 2}), B.load({k, 0}, {depth / 2, n}), sum, precision);
      C.store(0, sum);
    };
    run(kernel, a, b, c);
    const float dropped = precision == Precision::tf32 && testing::hasGpuCode() ? 0x1p-12f : 0;
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        float sum = 1;
        for (int k = 0; k < depth; ++k)
          sum += (a(i, k) - dropped) * b(k, j);
        ASSERT_EQ(c(i, j), sum) << i << ", " << j;
      }
  }
};

TEST_P(Precisions, Tf32RoundsOnAGpuOnly) {
  check(64, 32, 64, Precision::tf32);
  check(20, 12, 26, Precision::tf32);
}

TEST_P(Precisions, IeeeRoundsNothing) {
  check(64, 32, 64, Precision::ieee);
  check(20, 12, 26, Precision::ieee);
}

INSTANTIATE_TEST_SUITE_P(Lanes, Precisions, ::testing::ValuesIn(testedLanes()));

} // namespace
} // namespace tegula::language
