// SPDX-License-Identifier: MIT
// Programs that are not attention get wgmma, TMA and a producer on sm_90a without a schedule, and compute what double
// precision computes. The executor reports races and wrong barriers.
#include "bench/own_kernels/programs.h"
#include "bench/products/programs.h"
#include "language/hopper.h"
#include "language/hopper_programs.h"

#include <gmock/gmock.h>

#include <deque>

namespace tegula::language {
namespace {

using ::testing::AllOf, ::testing::HasSubstr;

/// Expects that warpgroups compute, TMA loads, and registers are divided among roles.
void expectTheFastPath(const Program &program) {
  const std::string ptx = ptxOf(program);
  EXPECT_THAT(ptx, HasSubstr("wgmma.mma_async"));
  EXPECT_THAT(ptx, HasSubstr("cp.async.bulk.tensor"));
  EXPECT_THAT(ptx, HasSubstr("setmaxnreg.inc"));
}

/// Expects `actual` beside `expected` within the rounding of bf16, plus `rounding` times `magnitude`: the sum of the
/// sizes of all terms.
void expectNear(float actual, double expected, double magnitude, double rounding) {
  EXPECT_NEAR(actual, expected, std::abs(expected) * 0x1p-8 + magnitude * rounding);
}

void checkProduct(Matrix &a, Matrix &b, Matrix &c) {
  for (int64_t i = 0; i < c.shape[0]; ++i)
    for (int64_t j = 0; j < c.shape[1]; ++j) {
      const auto [sum, magnitude] = productElement(a, b, i, j);
      expectNear(c(i, j), sum, magnitude, 0x1p-20);
    }
}

/// m, n and k of a product that no tile divides.
constexpr int64_t kSizes[3] = {136, 264, 200};

struct Product {
  Matrix a = Matrix::random({kSizes[0], kSizes[2]}, 1), b = Matrix::random({kSizes[2], kSizes[1]}, 2),
         c = Matrix({kSizes[0], kSizes[1]}, 7.0f);

  void runAndCheck(const Expected<Program> &program, int64_t instances) {
    ASSERT_TRUE(program.ok()) << program.status().message();
    expectTheFastPath(*program);
    OnDevice<Bf16> on_a(a), on_b(b), on_c(c);
    launch(*program, {.x = instances}, {on_a.ref(), on_b.ref(), on_c.ref()});
    ASSERT_TRUE(on_c.readBack()) << "memory outside an array was written";
    checkProduct(a, b, c);
  }
};

TEST(Hopper, AMatrixProduct) { Product().runAndCheck(bench::recordMatrixProduct(bf16, {128, 128, 64}), 2 * 3); }

TEST(Hopper, AMatrixProductOfWideTiles) {
  Product().runAndCheck(bench::recordMatrixProduct(bf16, {128, 256, 64}), 2 * 2);
}

TEST(Hopper, APersistentMatrixProduct) {
  Product().runAndCheck(bench::recordPersistentMatrixProduct(bf16, {128, 128, 64}), 2);
}

/// Returns the number of texts in `text`.
int64_t countOf(const std::string &text, std::string_view wanted) {
  int64_t count = 0;
  for (size_t at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1))
    ++count;
  return count;
}

TEST(Hopper, AMatrixProductWaitsOnceForBothOperands) {
  const Expected<Program> program = bench::recordMatrixProduct(bf16, {128, 128, 64});
  ASSERT_TRUE(program.ok()) << program.status().message();
  const std::string roles = textOf(*program, {}, "roles");
  EXPECT_EQ(countOf(roles, "= sm.channel "), 1);
  EXPECT_EQ(countOf(roles, "sm.producer_load "), 2);
}

/// C = sum over j of (X + Y + Z) W_j, 128 rows after 128 rows. W_j has 128 columns. The inner loop is the only op that
/// needs the tiles of X, Y and Z.
TEST(Hopper, ThreeTilesOfAnOuterLoopArePartsOfOneSlot) {
  constexpr int64_t rows = 300, columns = 328, depth = 64;
  auto kernel = [](View X, View Y, View Z, View W, View C) {
    for (Value i : range(0, X.dim(0), 128)) {
      const Value x = X.load({i, 0}, {128, 64}), y = Y.load({i, 0}, {128, 64}), z = Z.load({i, 0}, {128, 64});
      Var c = fill({128, 128}, 0.0);
      for (Value j : range(0, W.dim(1), 128)) {
        const Value w = W.load({0, j}, {64, 128});
        c = dot(z, w, dot(y, w, dot(x, w, c)));
      }
      C.store({i, 0}, c);
    }
  };
  const Expected<Program> program = record("sums", kernel, TensorArg{"x", bf16, 2}, TensorArg{"y", bf16, 2},
                                           TensorArg{"z", bf16, 2}, TensorArg{"w", bf16, 2}, TensorArg{"c", f32, 2});
  ASSERT_TRUE(program.ok()) << program.status().message();
  const Schedule schedule{.num_warps = 8, .num_stages = 2, .roles = Roles::load};
  const std::string tile = ", !sm.shared<128x64xbf16, 128>";
  EXPECT_THAT(textOf(*program, schedule, "roles"),
              HasSubstr("to [compute] : !sm.channel<2" + tile + tile + tile + ">"));
  for (int64_t gap : {0, 3}) { // TMA cannot load rows that are not a multiple of 16 bytes apart.
    Matrix x = Matrix::random({rows, depth}, 1), y = Matrix::random({rows, depth}, 2),
           z = Matrix::random({rows, depth}, 3), w = Matrix::random({depth, columns + gap}, 4);
    Array<float> c({rows, 128}, 7.0f);
    OnDevice<Bf16> on_x(x), on_y(y), on_z(z), on_w(w);
    OnDevice<float> on_c(c);
    launch(*program, {.x = 1}, {on_x.ref(), on_y.ref(), on_z.ref(), on_w.ref(), on_c.ref()}, schedule);
    ASSERT_TRUE(on_c.readBack()) << "memory outside an array was written";
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < 128; ++j) {
        double sum = 0, magnitude = 0;
        for (Matrix *left : {&x, &y, &z})
          for (int64_t column = j; column < w.shape[1]; column += 128) {
            const ProductElement element = productElement(*left, w, i, column);
            sum += element.sum;
            magnitude += element.magnitude;
          }
        EXPECT_NEAR(c(i, j), sum, magnitude * 0x1p-20);
      }
  }
}

/// X^T X of a matrix of a tensor [batch, heads, rows, depth], which TMA loads, or [batch, rows, heads, depth], which it
/// does not load. All other matrices are NaN.
TEST(Hopper, AMatrixBetweenOthers) {
  constexpr int64_t batch = 2, heads = 3, rows = 150, depth = 64;
  for (bool haveHeadsFirst : {true, false}) {
    auto kernel = [=](View X, View W) {
      const View x = haveHeadsFirst ? X.atAxis(1, 2).at(1) : X.at(1).atAxis(1, 2);
      Var w = fill({depth, depth}, 0.0);
      for (Value i : range(0, x.dim(0), 64)) {
        const Value tile = x.load({i, 0}, {64, depth});
        w = dot(transpose(tile), tile, w);
      }
      W.store(0, w);
    };
    Expected<Program> program = record("weights", kernel, TensorArg{"x", bf16, 4}, TensorArg{"w", f32, 2});
    ASSERT_TRUE(program.ok()) << program.status().message();
    EXPECT_EQ(ptxOf(*program).find("cp.async.bulk.tensor.4d") != std::string::npos, haveHeadsFirst);
    Matrix x({batch, haveHeadsFirst ? heads : rows, haveHeadsFirst ? rows : heads, depth}, Bf16(NAN));
    const auto at = [&](int64_t row) {
      return &x((haveHeadsFirst ? (heads + 2) * rows + row : (rows + row) * heads + 2) * depth);
    };
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < depth; ++j)
        at(i)[j] = float((i * 3 + j) % 5 - 2);
    Array<float> w({depth, depth}, 7.0f);
    OnDevice<Bf16> on_x(x);
    OnDevice<float> on_w(w);
    launch(*program, {}, {on_x.ref(), on_w.ref()});
    ASSERT_TRUE(on_w.readBack()) << "memory outside an array was written";
    for (int64_t i = 0; i < depth; ++i)
      for (int64_t j = 0; j < depth; ++j) {
        double sum = 0;
        for (int64_t row = 0; row < rows; ++row)
          sum += double(at(row)[i]) * double(at(row)[j]);
        ASSERT_EQ(w(i, j), sum) << i << ", " << j;
      }
  }
}

/// Returns row `i` of attention with a sink, in double precision.
std::vector<double> sinkAttentionRow(Matrix &q, Matrix &k, Matrix &v, int64_t i, double sink, double scale) {
  const int64_t keys = k.shape[2], dim = k.shape[3];
  double sum = std::exp(sink);
  std::vector<double> o(static_cast<size_t>(dim));
  for (int64_t j = 0; j < keys; ++j) {
    double score = 0;
    for (int64_t d = 0; d < dim; ++d)
      score += double(q(i * dim + d)) * double(k(j * dim + d));
    const double p = std::exp(scale * score);
    sum += p;
    for (int64_t d = 0; d < dim; ++d)
      o[static_cast<size_t>(d)] += p * double(v(j * dim + d));
  }
  for (double &x : o)
    x /= sum;
  return o;
}

TEST(Hopper, AttentionWithASinkOverlapsItsSoftmax) {
  constexpr int64_t queries = 150, keys = 300, dim = 128;
  constexpr float scale = 0.0625f;
  const Expected<Program> program = bench::recordSinkAttention(bf16, 128, 128, dim);
  ASSERT_TRUE(program.ok()) << program.status().message();
  expectTheFastPath(*program);
  EXPECT_THAT(textOf(*program, {}, "tile"), HasSubstr("tile.overlap = \"pingpong\""));
  Matrix q = Matrix::random({1, 1, queries, dim}, 1), k = Matrix::random({1, 1, keys, dim}, 2, -1, 1),
         v = Matrix::random({1, 1, keys, dim}, 3), o({1, 1, queries, dim}, 7.0f);
  Array<float> sink({1}, 2.5f);
  OnDevice<Bf16> on_q(q), on_k(k), on_v(v), on_o(o);
  OnDevice<float> on_sink(sink);
  launch(*program, {.x = 2}, {on_q.ref(), on_k.ref(), on_v.ref(), on_sink.ref(), on_o.ref(), scale});
  ASSERT_TRUE(on_o.readBack()) << "memory outside an array was written";
  for (int64_t i = 0; i < queries; i += 7) {
    const std::vector<double> expected = sinkAttentionRow(q, k, v, i, sink(0), scale);
    for (int64_t d = 0; d < dim; ++d)
      expectNear(o(i * dim + d), expected[static_cast<size_t>(d)], 2, 0x1p-9);
  }
}

TEST(Hopper, AProducerLoadsAnOperandThatLanesReadToo) {
  constexpr int64_t rows = 150, depth = 328;
  Expected<Program> program = recordProductAndRowSums();
  ASSERT_TRUE(program.ok()) << program.status().message();
  expectTheFastPath(*program);
  Matrix a = Matrix::random({rows, depth}, 1), b = Matrix::random({depth, 128}, 2), c({rows, 128}, 7.0f);
  Array<float> sums({rows}, 7.0f);
  OnDevice<Bf16> on_a(a), on_b(b), on_c(c);
  OnDevice<float> on_sums(sums);
  launch(*program, {.x = 2}, {on_a.ref(), on_b.ref(), on_c.ref(), on_sums.ref()});
  ASSERT_TRUE(on_c.readBack() && on_sums.readBack()) << "memory outside an array was written";
  checkProduct(a, b, c);
  for (int64_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (int64_t k = 0; k < depth; ++k)
      sum += double(a(i, k));
    EXPECT_NEAR(sums(i), sum, 1e-3) << "row " << i;
  }
}

/// Compares Y = max(X W, 0) V, whose hidden tile is rounded to bf16.
void checkChain(Matrix &x, Matrix &w, Matrix &v, Matrix &y) {
  const int64_t width = y.shape[1];
  for (int64_t i = 0; i < y.shape[0]; ++i) {
    std::vector<double> sums(width), magnitudes(width);
    for (int64_t h = 0; h < w.shape[1]; ++h) {
      double inner = 0;
      for (int64_t k = 0; k < x.shape[1]; ++k)
        inner += double(x(i, k)) * double(w(k, h));
      for (int64_t j = 0; j < width; ++j) {
        sums[j] += std::max(inner, 0.0) * double(v(h, j));
        magnitudes[j] += std::abs(inner * double(v(h, j)));
      }
    }
    for (int64_t j = 0; j < width; ++j)
      expectNear(y(i, j), sums[j], magnitudes[j], 0x1p-8);
  }
}

TEST(Hopper, AChainOfTwoProducts) {
  constexpr int64_t rows = 150, hidden = 200, width = 128;
  Matrix x = Matrix::random({rows, width}, 1), w = Matrix::random({width, hidden}, 2, -0.1, 0.1),
         v = Matrix::random({hidden, width}, 3, -0.1, 0.1), y({rows, width}, 7.0f);
  Expected<Program> program = bench::recordTwoProducts(bf16, {128, 64, 64}, width);
  ASSERT_TRUE(program.ok()) << program.status().message();
  expectTheFastPath(*program);
  OnDevice<Bf16> on_x(x), on_w(w), on_v(v), on_y(y);
  launch(*program, {.x = 2}, {on_x.ref(), on_w.ref(), on_v.ref(), on_y.ref()});
  ASSERT_TRUE(on_y.readBack()) << "memory outside an array was written";
  checkChain(x, w, v, y);
}

TEST(Hopper, LinearAttention) {
  constexpr int64_t heads = 2, n = 300, width = 128;
  Matrix q = Matrix::random({heads, n, width}, 1), k = Matrix::random({heads, n, width}, 2, -0.2, 0.2),
         v = Matrix::random({heads, n, width}, 3), o({heads, n, width}, 7.0f);
  Expected<Program> program = bench::recordLinearAttention(bf16, 128, width);
  ASSERT_TRUE(program.ok()) << program.status().message();
  expectTheFastPath(*program);
  OnDevice<Bf16> on_q(q), on_k(k), on_v(v), on_o(o);
  launch(*program, {.x = heads}, {on_q.ref(), on_k.ref(), on_v.ref(), on_o.ref()});
  ASSERT_TRUE(on_o.readBack()) << "memory outside an array was written";
  for (int64_t head = 0; head < heads; ++head)
    for (int64_t i = 0; i < n; ++i) {
      std::vector<double> sums(width), magnitudes(width);
      for (int64_t j = 0; j <= i; ++j) {
        double score = 0, size = 0;
        for (int64_t c = 0; c < width; ++c) {
          score += double(q(head, i, c)) * double(k(head, j, c));
          size += std::abs(double(q(head, i, c)) * double(k(head, j, c)));
        }
        for (int64_t c = 0; c < width; ++c) {
          sums[c] += score * double(v(head, j, c));
          magnitudes[c] += size * std::abs(double(v(head, j, c)));
        }
      }
      for (int64_t c = 0; c < width; ++c) // Scores and the state are rounded to bf16.
        expectNear(o(head, i, c), sums[c], magnitudes[c], 0x1p-8);
    }
}

TEST(Hopper, AnAuthorOrdersTheProductsOfALoop) {
  for (const char *steps : {"hidden out", "hidden out@1", "< hidden out@1 >"}) {
    SCOPED_TRACE(steps);
    Expected<Program> program = recordInSteps(steps);
    ASSERT_TRUE(program.ok()) << program.status().message();
    Matrix x = Matrix::random({128, 128}, 1), w = Matrix::random({128, 200}, 2, -0.1, 0.1),
           v = Matrix::random({200, 128}, 3, -0.1, 0.1), y({128, 128}, 7.0f);
    OnDevice<Bf16> on_x(x), on_w(w), on_v(v), on_y(y);
    launch(*program, {.x = 1}, {on_x.ref(), on_w.ref(), on_v.ref(), on_y.ref()});
    ASSERT_TRUE(on_y.readBack()) << "memory outside an array was written";
    checkChain(x, w, v, y);
    EXPECT_EQ(ptxOf(*program).find("bar.arrive") != std::string::npos, std::string(steps).find('<') == 0);
  }
}

/// Compares U and V, whose X is rounded to bf16.
void checkBothSides(Matrix &a, Matrix &b, Matrix &c, Array<float> &u, Array<float> &v) {
  const int64_t rows = a.shape[0], width = 128;
  Array<float> x({rows, width}), u_size({width, width}), u_sum({width, width});
  for (int64_t i = 0; i < rows; ++i) {
    std::vector<double> sums(width), sizes(width);
    for (int64_t j = 0; j < width; ++j) {
      double score = 0;
      for (int64_t k = 0; k < width; ++k)
        score += double(a(i, k)) * double(b(j, k));
      for (int64_t k = 0; k < width; ++k) {
        sums[k] += score * double(b(j, k));
        sizes[k] += std::abs(score * double(b(j, k)));
        u_sum(j, k) += float(score * double(c(i, k)));
        u_size(j, k) += float(std::abs(score * double(c(i, k))));
      }
    }
    for (int64_t k = 0; k < width; ++k)
      expectNear(v(i, k), sums[k], sizes[k], 0x1p-8);
  }
  for (int64_t j = 0; j < width; ++j)
    for (int64_t k = 0; k < width; ++k)
      expectNear(u(j, k), u_sum(j, k), u_size(j, k), 0x1p-8);
}

/// Returns the slots of the channel by which warpgroups exchange a tile; 0 if there is none.
int slotsOfExchange(const std::string &text) {
  const std::string_view channel = "per_warpgroup : !sm.channel<";
  const size_t place = text.find(channel);
  return place == std::string::npos ? 0 : std::stoi(text.substr(place + channel.size()));
}

TEST(Hopper, WarpgroupsExchangeATile) {
  constexpr int64_t rows = 300;
  for (auto [steps, slots] : {std::pair("x v u", 0), std::pair("x v.lhs v u", 2), std::pair("x < v.lhs > v@1 u", 3),
                              std::pair("x v@1 u", 4)}) {
    SCOPED_TRACE(steps);
    for (bool byTma : {false, true}) {
      const Schedule schedule{.num_warps = 8, .num_stages = 2, .roles = Roles::load, .add_by_tma = byTma};
      Expected<Program> program = recordBothSides(steps);
      ASSERT_TRUE(program.ok()) << program.status().message();
      EXPECT_EQ(slotsOfExchange(textOf(*program, schedule, "roles")), slots);
      Matrix a = Matrix::random({rows, 128}, 1), b = Matrix::random({128, 128}, 2, -0.1, 0.1),
             c = Matrix::random({rows, 128}, 3);
      Array<float> u({128, 128}, 7.0f), v({rows, 128}, 0.0f);
      OnDevice<Bf16> on_a(a), on_b(b), on_c(c);
      OnDevice<float> on_u(u), on_v(v);
      launch(*program, {.x = 1}, {on_a.ref(), on_b.ref(), on_c.ref(), on_u.ref(), on_v.ref()}, schedule);
      ASSERT_TRUE(on_u.readBack() && on_v.readBack()) << "memory outside an array was written";
      checkBothSides(a, b, c, u, v);
    }
  }
}

double sigmoidOf(double x) { return 1 / (1 + std::exp(-x)); }

/// The inputs and the gradients of sigmoid attention.
struct SigmoidBackward {
  static constexpr int64_t kQueries = 300, kKeys = 200, kWidth = 64;
  Matrix q = Matrix::random({kQueries, kWidth}, 1, -0.5, 0.5), k = Matrix::random({kKeys, kWidth}, 2, -0.5, 0.5),
         v = Matrix::random({kKeys, kWidth}, 3), d_o = Matrix::random({kQueries, kWidth}, 4);
  Array<float> dq = Array<float>({kQueries, kWidth}, 0.0f), dk = Array<float>({kKeys, kWidth}, 7.0f),
               dv = Array<float>({kKeys, kWidth}, 7.0f);

  /// Compares with the same by plain loops. P and dS are rounded to bf16.
  void check() {
    Array<float> dq_sum({kQueries, kWidth}), dq_size({kQueries, kWidth}), dk_sum({kKeys, kWidth}),
        dk_size({kKeys, kWidth}), dv_sum({kKeys, kWidth}), dv_size({kKeys, kWidth});
    for (int64_t i = 0; i < kQueries; ++i)
      for (int64_t j = 0; j < kKeys; ++j) {
        double score = 0, dp = 0;
        for (int64_t c = 0; c < kWidth; ++c) {
          score += double(q(i, c)) * double(k(j, c));
          dp += double(d_o(i, c)) * double(v(j, c));
        }
        const double p = sigmoidOf(score), ds = p * (1 - p) * dp;
        for (int64_t c = 0; c < kWidth; ++c) {
          add(dv_sum(j, c), dv_size(j, c), p * double(d_o(i, c)));
          add(dk_sum(j, c), dk_size(j, c), ds * double(q(i, c)));
          add(dq_sum(i, c), dq_size(i, c), ds * double(k(j, c)));
        }
      }
    for (int64_t c = 0; c < kWidth; ++c) {
      for (int64_t i = 0; i < kQueries; ++i)
        expectNear(dq(i, c), dq_sum(i, c), dq_size(i, c), 0x1p-8);
      for (int64_t j = 0; j < kKeys; ++j) {
        expectNear(dk(j, c), dk_sum(j, c), dk_size(j, c), 0x1p-8);
        expectNear(dv(j, c), dv_sum(j, c), dv_size(j, c), 0x1p-8);
      }
    }
  }

private:
  static void add(float &sum, float &size, double term) {
    sum += float(term);
    size += float(std::abs(term));
  }
};

TEST(Hopper, SigmoidAttentionBackward) {
  Expected<Program> program = recordSigmoidBackward();
  ASSERT_TRUE(program.ok()) << program.status().message();
  expectTheFastPath(*program);
  EXPECT_EQ(ptxOf(*program).find("mma.sync.aligned.m16"), std::string::npos);
  EXPECT_THAT(textOf(*program, {}, "tile"),
              AllOf(HasSubstr("tile.overlap = \"pingpong\""), HasSubstr("tile.add_by_tma")));
  const Schedule one_after_another{.num_warps = 8, .num_stages = 2, .roles = Roles::load, .overlap = Overlap::none};
  for (const Schedule &schedule : {Schedule(), one_after_another}) {
    SCOPED_TRACE(toString(schedule));
    SigmoidBackward x;
    OnDevice<Bf16> on_q(x.q), on_k(x.k), on_v(x.v), on_do(x.d_o);
    OnDevice<float> on_dq(x.dq), on_dk(x.dk), on_dv(x.dv);
    launch(*program, {.x = 2}, {on_q.ref(), on_k.ref(), on_v.ref(), on_do.ref(), on_dq.ref(), on_dk.ref(), on_dv.ref()},
           schedule);
    ASSERT_TRUE(on_dq.readBack() & on_dk.readBack() & on_dv.readBack()) << "memory outside an array was written";
    x.check();
  }
}

/// The list of docs/design/step_lists.md. S and dP are computed as their transposes.
TEST(Hopper, AnAuthorOrdersTheProductsOfABackwardPass) {
  const char *const steps = "s dp < dq.lhs > dq@1 dv dk";
  Expected<Program> program = recordSigmoidBackward(steps);
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_THAT(textOf(*program, {}, "layouts"), HasSubstr("tile.transpose"));
  const std::string order = textOf(*program, {}, "order");
  EXPECT_THAT(order, HasSubstr(", steps \"" + std::string(steps) + "\"\n"));
  for (const char *start : {"start           s ", "start           dp ", "start           dq@1 ", "start           dv ",
                            "start           dk "})
    EXPECT_THAT(order, HasSubstr(start));
  SigmoidBackward x;
  OnDevice<Bf16> on_q(x.q), on_k(x.k), on_v(x.v), on_do(x.d_o);
  OnDevice<float> on_dq(x.dq), on_dk(x.dk), on_dv(x.dv);
  launch(*program, {.x = 2}, {on_q.ref(), on_k.ref(), on_v.ref(), on_do.ref(), on_dq.ref(), on_dk.ref(), on_dv.ref()});
  ASSERT_TRUE(on_dq.readBack() & on_dk.readBack() & on_dv.readBack()) << "memory outside an array was written";
  x.check();
}

TEST(Hopper, AWrongStepListIsRefusedAtTheLoop) {
  Expected<Program> program = recordInSteps("out hidden");
  ASSERT_TRUE(program.ok()) << program.status().message();
  Expected<Artifact> artifact = makeInProcessCompiler()->compile(
      {.program = program->text, .schedule = {}, .target = {.name = "cuda", .arch = "sm_90a"}, .emit = "ptx"});
  ASSERT_FALSE(artifact.ok());
  EXPECT_THAT(artifact.status().message(), HasSubstr("hopper_programs.cpp:"));
  EXPECT_THAT(artifact.status().message(), HasSubstr("the list has a step before another one that it needs"));
}

/// A producer loads the tiles of a loop before those after it, so consumers must not wait for these before the loop.
TEST(Hopper, AProductAfterALoop) {
  Expected<Program> program = recordProductAfterALoop();
  ASSERT_TRUE(program.ok()) << program.status().message();
  Matrix a = Matrix::random({128, 640}, 1), b = Matrix::random({640, 64}, 2), c({128, 64}, 7.0f), d({128, 64}, 7.0f);
  OnDevice<Bf16> on_a(a), on_b(b), on_c(c), on_d(d);
  launch(*program, {.x = 1}, {on_a.ref(), on_b.ref(), on_c.ref(), on_d.ref()});
  ASSERT_TRUE(on_c.readBack() & on_d.readBack()) << "memory outside an array was written";
  checkProduct(a, b, c);
  Matrix first({128, 64});
  for (int64_t i = 0; i < 128; ++i)
    for (int64_t k = 0; k < 64; ++k)
      first(i, k) = a(i, k);
  checkProduct(first, b, d);
}

/// The producer loads a vector by TMA, if its rows begin at multiples of 16 bytes. The others are loaded by consumers,
/// as is a vector that ends inside a tile and needs the fill value.
template <class Element> void checkBias(int64_t hidden, int64_t biases, int width) {
  SCOPED_TRACE(biases);
  Array<Element> bias = Array<Element>::random({1, biases}, 4);
  Expected<Program> program = recordWithBias(bias.dtype(), width);
  ASSERT_TRUE(program.ok()) << program.status().message();
  const std::string ptx = ptxOf(*program);
  EXPECT_THAT(ptx, HasSubstr("expect_tx.shared::cta.b64 _, [%r")) << "no producer";
  EXPECT_THAT(ptx, HasSubstr("], " + std::to_string(width * sizeof(Element)) + ";"))
      << "the vector is not loaded by TMA";
  Matrix x = Matrix::random({128, 128}, 1), w = Matrix::random({128, hidden}, 2, -0.1, 0.1),
         v = Matrix::random({hidden, 128}, 3, -0.1, 0.1), y({128, 128}, 7.0f);
  Array<float> sums({128}, 7.0f);
  OnDevice<Bf16> on_x(x), on_w(w), on_v(v), on_y(y);
  OnDevice<Element> on_bias(bias);
  OnDevice<float> on_sums(sums);
  launch(*program, {.x = 1}, {on_x.ref(), on_w.ref(), on_v.ref(), on_bias.ref(), on_y.ref(), on_sums.ref()});
  ASSERT_TRUE(on_y.readBack() & on_sums.readBack()) << "memory outside an array was written";
  for (int64_t i = 0; i < 128; ++i) {
    double sum = 0;
    std::vector<double> results(128), magnitudes(128);
    for (int64_t h = 0; h < (hidden + width - 1) / width * width; ++h) {
      double p = h < biases ? double(bias(0, h)) : 3.0;
      for (int64_t k = 0; h < hidden && k < 128; ++k)
        p += double(x(i, k)) * double(w(k, h));
      p = std::max(p, 0.0);
      sum += p;
      for (int64_t j = 0; h < hidden && j < 128; ++j) {
        results[j] += p * double(v(h, j));
        magnitudes[j] += p * std::abs(double(v(h, j)));
      }
    }
    EXPECT_NEAR(sums(i), sum, sum * 0x1p-12);
    for (int64_t j = 0; j < 128; ++j)
      expectNear(y(i, j), results[j], magnitudes[j], 0x1p-8);
  }
}

TEST(Hopper, AProducerLoadsVectors) {
  checkBias<float>(320, 320, 64);
  checkBias<float>(200, 200, 64);
  checkBias<float>(200, 201, 64); // Rows of the bias forbid TMA.
  checkBias<float>(201, 201, 64); // Rows of W, too.
}

TEST(Hopper, AProducerLoadsVectorsOfOtherElementSizes) {
  checkBias<Bf16>(320, 320, 64);
  checkBias<Bf16>(200, 200, 64);
  checkBias<Bf16>(200, 204, 64); // Rows of the bias forbid TMA.
  checkBias<int8_t>(320, 320, 128);
  checkBias<int8_t>(208, 208, 128);
  checkBias<int8_t>(208, 200, 128); // Rows of the bias forbid TMA.
}

/// The producer loads matrices of 4 and of 1 byte an element; `hidden` decides whether TMA can copy the latter.
void checkTiles(int64_t hidden) {
  SCOPED_TRACE(hidden);
  Expected<Program> program = recordWithTiles();
  ASSERT_TRUE(program.ok()) << program.status().message();
  const std::string ptx = ptxOf(*program);
  EXPECT_THAT(ptx, HasSubstr("], 32768;")) << "the bias is not loaded by TMA";
  Matrix x = Matrix::random({128, 128}, 1), w = Matrix::random({128, hidden}, 2, -0.1, 0.1),
         v = Matrix::random({hidden, 128}, 3, -0.1, 0.1), y({128, 128}, 7.0f);
  Array<float> bias = Array<float>::random({128, hidden}, 4);
  Array<int8_t> marks = Array<int8_t>::random({128, hidden}, 5);
  OnDevice<Bf16> on_x(x), on_w(w), on_v(v), on_y(y);
  OnDevice<float> on_bias(bias);
  OnDevice<int8_t> on_marks(marks);
  launch(*program, {.x = 1}, {on_x.ref(), on_w.ref(), on_v.ref(), on_bias.ref(), on_marks.ref(), on_y.ref()});
  ASSERT_TRUE(on_y.readBack()) << "memory outside an array was written";
  for (int64_t i = 0; i < 128; ++i) {
    std::vector<double> results(128), magnitudes(128);
    for (int64_t h = 0; h < hidden; ++h) {
      double p = double(bias(i, h)) + double(marks(i, h));
      for (int64_t k = 0; k < 128; ++k)
        p += double(x(i, k)) * double(w(k, h));
      for (int64_t j = 0; j < 128; ++j) {
        results[j] += std::max(p, 0.0) * double(v(h, j));
        magnitudes[j] += std::max(p, 0.0) * std::abs(double(v(h, j)));
      }
    }
    for (int64_t j = 0; j < 128; ++j)
      expectNear(y(i, j), results[j], magnitudes[j], 0x1p-8);
  }
}

TEST(Hopper, AProducerLoadsMatricesOfOtherElementSizes) {
  checkTiles(208);
  checkTiles(200); // Rows of the marks forbid TMA.
  checkTiles(203); // All rows do.
}

/// Returns a matrix of small whole numbers, whose products have no rounding errors.
Matrix smallNumbers(int64_t rows, int64_t columns, int64_t step) {
  Matrix matrix({rows, columns});
  for (int64_t i = 0; i < rows * columns; ++i)
    matrix(i) = float(i * step % 3 - 1);
  return matrix;
}

/// TMA stores tiles of any element size.
template <class Element> void checkStores(int64_t columns) {
  SCOPED_TRACE(columns);
  Array<Element> c({200, columns});
  Expected<Program> program = recordStores(c.dtype());
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_THAT(ptxOf(*program), HasSubstr("cp.async.bulk.tensor.2d.global.shared::cta"));
  Matrix a = smallNumbers(200, 64, 7), b = smallNumbers(64, 128, 5);
  OnDevice<Bf16> on_a(a), on_b(b);
  OnDevice<Element> on_c(c);
  launch(*program, {.x = 1}, {on_a.ref(), on_b.ref(), on_c.ref()});
  ASSERT_TRUE(on_c.readBack()) << "memory outside an array was written";
  for (int64_t i = 0; i < 200; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < 64; ++k)
        sum += double(a(i, k)) * double(b(k, j));
      ASSERT_EQ(double(c(i, j)), sum) << i << ", " << j;
    }
}

TEST(Hopper, TmaStoresTilesOfAllElementSizes) {
  checkStores<float>(128);
  checkStores<float>(122); // Rows of C forbid TMA.
  checkStores<Bf16>(120);
  checkStores<int8_t>(112);
  checkStores<int8_t>(120); // Rows of C forbid TMA.
}

/// Expects C = A (B + factor E), for the columns that C has.
void expectProduct(Matrix &c, Matrix &a, Matrix &b, double factor, Matrix &e, int64_t columns) {
  for (int64_t i = 0; i < 500; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < 64; ++k)
        sum += double(a(i, k)) * (double(b(k, j)) + factor * double(e(k, j)));
      ASSERT_EQ(double(c(i, j)), sum) << i << ", " << j;
    }
}

/// An iteration stores two tiles by TMA. The wait for the first buffer lets the second store run, also if lanes make
/// it.
void checkTwoStores(int64_t columns_of_c, int64_t columns_of_d) {
  SCOPED_TRACE(::testing::Message() << columns_of_c << ", " << columns_of_d);
  Expected<Program> program = recordTwoStores();
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_THAT(ptxOf(*program), HasSubstr("cp.async.bulk.wait_group.read 1;"));
  Matrix a = smallNumbers(500, 64, 7), b = smallNumbers(64, 128, 5), e = smallNumbers(64, 128, 4);
  Matrix c({500, columns_of_c}), d({500, columns_of_d});
  Array<float> sums({500});
  OnDevice<Bf16> on_a(a), on_b(b), on_e(e), on_c(c), on_d(d);
  OnDevice<float> on_sums(sums);
  launch(*program, {.x = 1}, {on_a.ref(), on_b.ref(), on_e.ref(), on_c.ref(), on_d.ref(), on_sums.ref()});
  ASSERT_TRUE(on_c.readBack() && on_d.readBack()) << "memory outside an array was written";
  expectProduct(c, a, b, 1, e, columns_of_c);
  expectProduct(d, a, b, 2, e, columns_of_d);
}

TEST(Hopper, TwoStoresOfAnIterationOverlap) {
  checkTwoStores(128, 128);
  checkTwoStores(128, 124); // Rows of D forbid TMA.
  checkTwoStores(124, 128);
}

/// C = the sum of five products, whose ten tensors have a map each.
TEST(Hopper, AProgramHasMoreThanEightTensorMaps) {
  auto kernel = [](View A, View B, View C, View D, View E, View F, View G, View H, View I, View J, View Out) {
    const std::pair<View, View> factors[] = {{A, B}, {C, D}, {E, F}, {G, H}, {I, J}};
    Var sum = fill({64, 64}, 0.0);
    for (Value k : range(0, A.dim(1), 64))
      for (const auto &[left, right] : factors)
        sum = dot(left.load({0, k}, {64, 64}), right.load({k, 0}, {64, 64}), sum);
    Out.store({0, 0}, sum);
  };
  auto factor = [](const char *name) { return TensorArg{name, bf16, 2}; };
  Expected<Program> program =
      record("five_products", kernel, factor("a"), factor("b"), factor("c"), factor("d"), factor("e"), factor("f"),
             factor("g"), factor("h"), factor("i"), factor("j"), TensorArg{"out", bf16, 2});
  ASSERT_TRUE(program.ok()) << program.status().message();
  const Schedule schedule{.num_warps = 4, .num_stages = 2, .roles = Roles::load};
  const std::string ptx = ptxOf(*program, schedule);
  EXPECT_THAT(ptx, HasSubstr("five_products_param_9[128]"));
  Matrix all_a({64, 5 * 192}), all_b({5 * 192, 64}), c({64, 64}, 7.0f);
  std::vector<Matrix> as, bs;
  for (int i = 0; i < 5; ++i) {
    as.push_back(Matrix::random({64, 192}, 2 * i));
    bs.push_back(Matrix::random({192, 64}, 2 * i + 1));
    for (int64_t row = 0; row < 64; ++row)
      for (int64_t k = 0; k < 192; ++k) {
        all_a(row, 192 * i + k) = as.back()(row, k);
        all_b(192 * i + k, row) = bs.back()(k, row);
      }
  }
  std::deque<OnDevice<Bf16>> tensors;
  for (size_t i = 0; i < 5; ++i) {
    tensors.emplace_back(as[i]);
    tensors.emplace_back(bs[i]);
  }
  OnDevice<Bf16> on_c(c);
  launch(*program, {.x = 1},
         {tensors[0].ref(), tensors[1].ref(), tensors[2].ref(), tensors[3].ref(), tensors[4].ref(), tensors[5].ref(),
          tensors[6].ref(), tensors[7].ref(), tensors[8].ref(), tensors[9].ref(), on_c.ref()},
         schedule);
  ASSERT_TRUE(on_c.readBack()) << "memory outside an array was written";
  checkProduct(all_a, all_b, c);
}

/// Checks additions by TMA. With 8 warps, each has whole rows of 128 rows, or half the columns of 64 rows.
void checkSplitProduct(int rows, int first, int64_t columns) {
  SCOPED_TRACE(std::to_string(rows) + " rows from " + std::to_string(first) + ", " + std::to_string(columns));
  const Schedule schedule{.num_warps = 8, .num_stages = 2, .roles = Roles::load, .add_by_tma = true};
  Expected<Program> program = recordSplitProduct(rows, first);
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_THAT(ptxOf(*program, schedule), HasSubstr("cp.reduce.async.bulk.tensor.2d"));
  Matrix a = Matrix::random({200, 136}, 1), b = Matrix::random({136, 264}, 2);
  Array<float> c({200, columns}, 1.0f);
  OnDevice<Bf16> on_a(a), on_b(b);
  OnDevice<float> on_c(c);
  launch(*program, {.x = 3, .y = 3}, {on_a.ref(), on_b.ref(), on_c.ref()}, schedule);
  ASSERT_TRUE(on_c.readBack()) << "memory outside an array was written";
  for (int64_t i = 0; i < 200; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      double sum = 1, magnitude = 1;
      for (int64_t k = 0; k < 136; ++k) {
        sum += double(a(i, k)) * double(b(k, j));
        magnitude += std::abs(double(a(i, k)) * double(b(k, j)));
      }
      EXPECT_NEAR(c(i, j), sum, magnitude * 0x1p-20);
    }
}

TEST(Hopper, TmaAddsAccumulatorsToMemory) {
  checkSplitProduct(128, 0, 264);
  checkSplitProduct(64, 0, 264);
  checkSplitProduct(64, 0, 262);   // Rows of C forbid TMA.
  checkSplitProduct(64, -32, 264); // So does a tile that begins before the first row.
}

/// Parts are stored by TMA or not, and counted again in a second launch.
TEST(Hopper, TheLastInstanceAddsThePartsOfAProduct) {
  const Schedule schedule{.num_warps = 8, .num_stages = 2, .roles = Roles::load};
  Expected<Program> program = recordSplitProductWithArrivals();
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_THAT(ptxOf(*program, schedule), HasSubstr("atom.acq_rel.gpu.global.inc.u32"));
  Matrix a = Matrix::random({100, 620}, 1), b = Matrix::random({620, 264}, 2);
  Array<float> parts({5, 100, 264}, 1.0f), c({100, 264}, 1.0f);
  Array<int32_t> counters({3});
  OnDevice<Bf16> on_a(a), on_b(b);
  OnDevice<float> on_parts(parts), on_c(c);
  OnDevice<int32_t> on_counters(counters);
  for (int i = 0; i < 2; ++i)
    launch(*program, {.x = 5, .y = 3}, {on_a.ref(), on_b.ref(), on_parts.ref(), on_counters.ref(), on_c.ref()},
           schedule);
  ASSERT_TRUE(on_c.readBack() && on_parts.readBack() && on_counters.readBack())
      << "memory outside an array was written";
  EXPECT_EQ(counters.data, std::vector<int32_t>(3));
  for (int64_t i = 0; i < c.shape[0]; ++i)
    for (int64_t j = 0; j < c.shape[1]; ++j) {
      const auto [sum, magnitude] = productElement(a, b, i, j);
      EXPECT_NEAR(c(i, j), sum, magnitude * 0x1p-20);
    }
}

/// Launches the split product with additions in turns, and returns C.
std::vector<float> splitProductInTurns(int64_t columns, const Matrix &like_a, const Matrix &like_b) {
  const Schedule schedule{.num_warps = 8, .num_stages = 2, .roles = Roles::load, .add_by_tma = true};
  Expected<Program> program = recordSplitProductInTurns();
  EXPECT_TRUE(program.ok()) << program.status().message();
  const std::string ptx = ptxOf(*program, schedule);
  EXPECT_THAT(ptx, HasSubstr("cp.reduce.async.bulk.tensor.2d"));
  EXPECT_THAT(ptx, HasSubstr("red.release.gpu.global.max.s32"));
  Matrix a = like_a, b = like_b;
  Array<float> c({200, columns}, 1.0f);
  Array<int32_t> turns({3, 200});
  OnDevice<Bf16> on_a(a), on_b(b);
  OnDevice<float> on_c(c);
  OnDevice<int32_t> on_turns(turns);
  launch(*program, {.x = 5, .y = 3}, {on_a.ref(), on_b.ref(), on_c.ref(), on_turns.ref()}, schedule);
  EXPECT_TRUE(on_c.readBack() && on_turns.readBack()) << "memory outside an array was written";
  for (int64_t block = 0; block < 3; ++block)
    for (int64_t i = 0; i < 200; ++i)
      EXPECT_EQ(turns(block, i), i % 64 == 0 ? 5 : 0);
  return c.data;
}

TEST(Hopper, AdditionsInTurnsHaveTheSameBitsByTmaAndByLanes) {
  const Matrix a = Matrix::random({200, 320}, 1), b = Matrix::random({320, 264}, 2);
  const std::vector<float> c = splitProductInTurns(264, a, b);
  for (int64_t i = 0; i < 200; ++i)
    for (int64_t j = 0; j < 264; ++j) {
      double sum = 1, magnitude = 1;
      for (int64_t k = 0; k < 320; ++k) {
        sum += double(a.data[i * 320 + k]) * double(b.data[k * 264 + j]);
        magnitude += std::abs(double(a.data[i * 320 + k]) * double(b.data[k * 264 + j]));
      }
      EXPECT_NEAR(c[i * 264 + j], sum, magnitude * 0x1p-20);
    }
  EXPECT_EQ(splitProductInTurns(264, a, b), c);
  const std::vector<float> byLanes = splitProductInTurns(262, a, b); // Rows of C forbid TMA.
  for (int64_t i = 0; i < 200; ++i)
    for (int64_t j = 0; j < 262; ++j)
      EXPECT_EQ(byLanes[i * 262 + j], c[i * 264 + j]);
}

/// Tiles that overlap are stored in order, which TMA does not promise.
TEST(Hopper, StoresThatOverlap) {
  auto kernel = [](View A, View B, View C) {
    for (Value i : range(0, 64, 16))
      C.store({0, i}, dot(A.load({0, i}, {64, 64}), B.load({0, 0}, {64, 64})));
  };
  Expected<Program> program =
      record("overlapping", kernel, TensorArg{"a", bf16, 2}, TensorArg{"b", bf16, 2}, TensorArg{"c", bf16, 2});
  ASSERT_TRUE(program.ok()) << program.status().message();
  Matrix a = Matrix::random({64, 112}, 1), b = Matrix::random({64, 64}, 2), c({64, 112}, 7.0f);
  OnDevice<Bf16> on_a(a), on_b(b), on_c(c);
  launch(*program, {.x = 1}, {on_a.ref(), on_b.ref(), on_c.ref()});
  ASSERT_TRUE(on_c.readBack()) << "memory outside an array was written";
  for (int64_t i = 0; i < 64; ++i)
    for (int64_t j = 0; j < 112; ++j) { // The last tile that covers the column wins.
      const int64_t tile = std::min<int64_t>(j / 16, 3) * 16;
      double sum = 0, magnitude = 0;
      for (int64_t k = 0; k < 64; ++k) {
        const double term = double(a(i, tile + k)) * double(b(k, j - tile));
        sum += term;
        magnitude += std::abs(term);
      }
      expectNear(c(i, j), sum, magnitude, 0x1p-20);
    }
}

} // namespace
} // namespace tegula::language
