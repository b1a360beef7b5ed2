// SPDX-License-Identifier: MIT
#include "language/machine.h"

#include <limits>

namespace tegula::language {
namespace {

class Control : public Language {};

TEST_P(Control, VariablesThatSwapInALoop) {
  auto a = Array<float>::random({3, 10}, 1), b = Array<float>::random({3, 10}, 2);
  Array<float> x({3, 10}), y({3, 10});
  run(
      [](View A, View B, View X, View Y) {
        Var p = A.load(0, {3, 10}), q = B.load(0, {3, 10});
        for (Value i : range(0, 5)) {
          Value old = p;
          p = q + cast(f32, cast(i32, i));
          q = old;
        }
        X.store(0, p);
        Y.store(0, q);
      },
      a, b, x, y);
  for (int64_t e = 0; e < 30; ++e) {
    float p = a(e), q = b(e);
    for (int i = 0; i < 5; ++i) {
      float old = p;
      p = q + static_cast<float>(i);
      q = old;
    }
    EXPECT_EQ(x(e), p);
    EXPECT_EQ(y(e), q);
  }
}

TEST_P(Control, NestedLoopsCarryTilesAndScalars) {
  Array<float> y({6});
  Array<int32_t> n({1});
  run(
      [](View Y, View N) {
        Var sum = fill({6}, 0.0);
        Var count = constant(i32, 0);
        for (Value i : range(0, 4))
          for (Value j : range(i, 7, 2)) {
            sum = sum + cast(f32, cast(i32, i * 10 + j)) * cast(f32, iota(6));
            count = count + 1;
          }
        Y.store(0, sum);
        N.store(0, broadcast(count, {1}));
      },
      y, n);
  float total = 0;
  int count = 0;
  for (int i = 0; i < 4; ++i)
    for (int j = i; j < 7; j += 2)
      total += static_cast<float>(i * 10 + j), ++count;
  EXPECT_EQ(n(0), count);
  for (int64_t e = 0; e < 6; ++e)
    EXPECT_EQ(y(e), total * static_cast<float>(e));
}

TEST_P(Control, LoopsThatDoNotRunKeepTheirVariables) {
  auto a = Array<float>::random({9}, 3);
  Array<float> y({9});
  run(
      [](View A, View Y) {
        Var x = A.load(0, {9});
        for (Value i : range(A.dim(0), 5))
          x = x * cast(f32, cast(i32, i));
        Y.store(0, x);
      },
      a, y);
  for (int64_t i = 0; i < 9; ++i)
    EXPECT_EQ(y(i), a(i));
}

/// Bounds and a step, which a kernel reads.
struct Loop {
  int64_t begin, end, step;
};

/// Returns the positions of a loop. A step of 0 or less has none, and no position wraps around.
std::vector<int64_t> positionsOf(const Loop &loop) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> positions;
  if (loop.step <= 0)
    return positions;
  for (int64_t i = loop.begin; i < loop.end; i += loop.step) {
    positions.push_back(i);
    if (i > most - loop.step)
      break;
  }
  return positions;
}

template <class T> Array<T> column(const std::vector<Loop> &loops, int64_t Loop::*field) {
  Array<T> numbers({static_cast<int64_t>(loops.size())});
  for (size_t i = 0; i < loops.size(); ++i)
    numbers.data[i] = static_cast<T>(loops[i].*field);
  return numbers;
}

TEST_P(Control, LoopsEndForAnyBoundsAndSteps) {
  constexpr int64_t least = std::numeric_limits<int64_t>::min(), most = std::numeric_limits<int64_t>::max();
  const std::vector<Loop> loops = {
      {0, 10, 3},          {0, 10, 0},      {0, 10, -1},           {0, 10, least},      {10, 0, -3},
      {0, 0, 0},           {5, 4, 1},       {most - 5, most, 4},   {most - 5, most, 1}, {most - 1, most, 64},
      {least, most, most}, {0, most, most}, {least, least + 9, 4}, {least, 0, most},    {most, least, 1},
      {-7, 8, 5}};
  const auto size = static_cast<int64_t>(loops.size());
  auto begins = column<int64_t>(loops, &Loop::begin), ends = column<int64_t>(loops, &Loop::end),
       steps = column<int64_t>(loops, &Loop::step);
  Array<int64_t> counts({size}), sums({size});
  runOn(
      Grid{size, 1, 1},
      [](View Begins, View Ends, View Steps, View Counts, View Sums) {
        Value at = programId(0);
        Var count = constant(i64, 0), sum = constant(i64, 0);
        for (Value i : range(Begins.gather(at), Ends.gather(at), Steps.gather(at))) {
          count += 1;
          sum += cast(i64, i);
        }
        Counts.store(at, count);
        Sums.store(at, sum);
      },
      begins, ends, steps, counts, sums);
  for (int64_t i = 0; i < size; ++i) {
    const std::vector<int64_t> positions = positionsOf(loops[i]);
    uint64_t sum = 0;
    for (int64_t position : positions)
      sum += static_cast<uint64_t>(position);
    EXPECT_EQ(counts(i), std::ssize(positions)) << loops[i].begin << ", " << loops[i].end << ", " << loops[i].step;
    EXPECT_EQ(sums(i), static_cast<int64_t>(sum)) << loops[i].begin << ", " << loops[i].end << ", " << loops[i].step;
  }
}

/// The bounds are sizes of tensors. Copies of tiles may run ahead of the loop.
TEST_P(Control, LoopsThatLoadHaveStepsThatTheDeviceKnows) {
  const std::vector<Loop> loops = {{0, 40, 16}, {0, 40, 0}, {0, 40, -16}, {0, 40, 1 << 30}, {0, 40, 40}, {0, 40, 39}};
  const auto size = static_cast<int64_t>(loops.size());
  auto steps = column<int32_t>(loops, &Loop::step);
  auto x = Array<float>::random({40, 16}, 13);
  Array<float> y({size, 16, 16});
  runOn(
      Grid{size, 1, 1},
      [](View X, View Steps, View Y) {
        Var sum = fill({16, 16}, 0.0);
        for (Value i : range(0, X.dim(0), Steps.gather(programId(0)))) {
          Value tile = X.load(i, {16, 16});
          sum = dot(tile, transpose(tile), sum);
        }
        Y.at(programId(0)).store(0, sum);
      },
      x, steps, y);
  for (int64_t instance = 0; instance < size; ++instance)
    for (int64_t i = 0; i < 16; ++i)
      for (int64_t j = 0; j < 16; ++j) {
        double sum = 0;
        for (int64_t at : positionsOf(loops[instance]))
          for (int64_t k = 0; k < 16 && at + std::max(i, j) < 40; ++k)
            sum += double{x(at + i, k)} * x(at + j, k);
        EXPECT_NEAR(y(instance, i, j), sum, 1e-4) << loops[instance].step;
      }
}

/// The step is a literal, and the bounds have 64 bits.
TEST_P(Control, LoopsThatLoadEndAtTheLargestNumber) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  const std::vector<Loop> loops = {{0, 40, 16}, {most - 20, most, 16}, {most - 1, most, 16}, {-16, 24, 16}};
  const auto size = static_cast<int64_t>(loops.size());
  auto begins = column<int64_t>(loops, &Loop::begin), ends = column<int64_t>(loops, &Loop::end);
  auto x = Array<float>::random({40, 16}, 14);
  Array<float> y({size, 16, 16});
  Array<int32_t> counts({size});
  runOn(
      Grid{size, 1, 1},
      [](View X, View Begins, View Ends, View Y, View Counts) {
        Value at = programId(0);
        Var sum = fill({16, 16}, 0.0), count = constant(i32, 0);
        Value begin = Begins.gather(at);
        for (Value i : range(begin, Ends.gather(at), 16)) {
          Value tile = X.load(i - begin, {16, 16});
          sum = dot(tile, transpose(tile), sum);
          count += 1;
        }
        Y.at(at).store(0, sum);
        Counts.store(at, count);
      },
      x, begins, ends, y, counts);
  for (int64_t instance = 0; instance < size; ++instance) {
    const std::vector<int64_t> positions = positionsOf(loops[instance]);
    EXPECT_EQ(counts(instance), std::ssize(positions));
    for (int64_t i = 0; i < 16; ++i)
      for (int64_t j = 0; j < 16; ++j) {
        double sum = 0;
        for (int64_t position : positions)
          for (int64_t at = position - loops[instance].begin, k = 0; k < 16 && at + std::max(i, j) < 40; ++k)
            sum += double{x(at + i, k)} * x(at + j, k);
        EXPECT_NEAR(y(instance, i, j), sum, 1e-4) << loops[instance].begin;
      }
  }
}

TEST_P(Control, BranchesChooseTilesAndScalars) {
  auto a = Array<float>::random({4, 9}, 4);
  Array<float> y({4, 9});
  runOn(
      Grid{4, 1, 1},
      [](View A, View Y) {
        Value row = programId(0);
        Var x = A.at(row).load(0, {9});
        Var factor = constant(f32, 1);
        when(row % 2 == 0, [&] { x = x + 100, factor = constant(f32, 2); }, [&] { when(row == 3, [&] { x = -x; }); });
        Y.at(row).store(0, x * factor);
      },
      a, y);
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 9; ++j)
      EXPECT_EQ(y(i, j), i % 2 == 0 ? (a(i, j) + 100) * 2 : i == 3 ? -a(i, j) : a(i, j));
}

TEST_P(Control, EachDynamicIterationRunsOnce) {
  constexpr int64_t iterations = 20, instances = 3;
  auto a = Array<float>::random({iterations, 64}, 5);
  Array<int32_t> largest({iterations}), runs({iterations}), counter({1}, 77);
  runOn(
      Grid{instances, 1, 1},
      [](View A, View Largest, View Runs, View Counter) {
        for (Value i : dynamicRange(Counter, A.dim(0))) {
          Largest.store(i, reduceMax(cast(i32, A.at(i).load(0, {64}) * 1000), 0));
          Runs.atomicAdd(i, fill({1}, 1));
        }
      },
      a, largest, runs, counter);
  EXPECT_EQ(counter(0), iterations + instances);
  for (int64_t i = 0; i < iterations; ++i) {
    EXPECT_EQ(runs(i), 1);
    EXPECT_EQ(largest(i), int32_t(*std::max_element(&a(i, 0), &a(i, 0) + 64) * 1000));
  }
}

/// Counters lie apart, and one place is none.
TEST_P(Control, TheLastInstanceToArriveSeesWhatAllHaveStored) {
  constexpr int64_t rows = 300, columns = 40;
  auto a = Array<float>::random({rows, columns}, 5);
  Array<float> parts({5, columns}), sums({columns}, -1.0f), lost({1}, -1.0f);
  Array<int32_t> counters({2, 2});
  runOn(
      Grid{5, 2, 1},
      [](View A, View Parts, View Sums, View Lost, View Counters) {
        Value part = programId(0), column = programId(1) * 32;
        Parts.at(part).store(column, reduceSum(A.load({part * 64, column}, {64, 32}), 0));
        when(Counters.at(programId(1)).arrive(1, numPrograms(0)), [&] {
          Value all = Parts.load({0, column}, {8, 32});
          Sums.store(column, reduceSum(all, 0));
        });
        when(Counters.at(programId(1)).arrive(2, 1), [&] { Lost.store(0, fill({1}, 0.0)); });
      },
      a, parts, sums, lost, counters);
  EXPECT_EQ(counters.data, std::vector<int32_t>(4));
  EXPECT_EQ(lost(0), -1);
  for (int64_t j = 0; j < columns; ++j) {
    double sum = 0;
    for (int64_t i = 0; i < rows; ++i)
      sum += a(i, j);
    EXPECT_NEAR(sums(j), sum, 1e-4) << j;
  }
}

TEST_P(Control, InstancesKnowTheirPlaceAndTheGrid) {
  Array<int32_t> y({4, 3, 12});
  runOn(
      Grid{2, 3, 4},
      [](View Y) {
        View here = Y.at(programId(2), programId(1));
        for (int axis : {0, 1, 2}) {
          here.store(programId(0) * 6 + axis, fill({1}, cast(i32, programId(axis))));
          here.store(programId(0) * 6 + 3 + axis, fill({1}, cast(i32, numPrograms(axis))));
        }
      },
      y);
  for (int32_t z = 0; z < 4; ++z)
    for (int32_t w = 0; w < 3; ++w)
      for (int32_t x = 0; x < 2; ++x) {
        const std::vector<int32_t> expected = {x, w, z, 2, 3, 4};
        for (int64_t i = 0; i < 6; ++i)
          EXPECT_EQ(y(z, w, x * 6 + i), expected[size_t(i)]) << z << w << x << i;
      }
}

TEST_P(Control, BranchesInBranchesKeepWhatTheyDoNotChange) {
  Array<float> x({3, 8}), y({3, 8});
  runOn(
      Grid{3, 1, 1},
      [](View X, View Y) {
        Value path = programId(0);
        Var first = fill({8}, 1.0), second = fill({8}, 1.0);
        for ([[maybe_unused]] Value i : range(0, 4)) {
          when(path > 0, [&] { when(path == 1, [&] { second = second + 10; }, [&] { first = first + 100; }); });
          first = first + 1;
        }
        X.at(path).store(0, first);
        Y.at(path).store(0, second);
      },
      x, y);
  for (int64_t i = 0; i < 8; ++i)
    for (int64_t path = 0; path < 3; ++path) {
      EXPECT_EQ(x(path, i), path == 2 ? 405 : 5);
      EXPECT_EQ(y(path, i), path == 1 ? 41 : 1);
    }
}

TEST_P(Control, BranchInsideALoopUpdatesACarriedMatrix) {
  auto a = Array<float>::random({12, 8}, 5);
  Array<float> y({12, 12});
  run(
      [](View A, View Y) {
        Value a = A.load(0, {12, 8});
        Var o = fill({12, 12}, 0.0);
        for (Value i : range(0, 6))
          when(i % 3 == 1, [&] { o = dot(a, transpose(a), o * 0.5); });
        Y.store(0, o);
      },
      a, y);
  for (int64_t i = 0; i < 12; ++i)
    for (int64_t j = 0; j < 12; ++j) {
      double s = 0;
      for (int64_t k = 0; k < 8; ++k)
        s += double{a(i, k)} * a(j, k);
      EXPECT_NEAR(y(i, j), 1.5 * s, 1e-4);
    }
}

TEST_P(Control, ACarriedMatrixIsMultipliedAndAddedToItself) {
  auto a = Array<float>::random({20, 20}, 8, -0.5, 0.5);
  Array<float> x({20, 20}), expected = a;
  run(
      [](View A, View X) {
        Value a = A.load(0, {20, 20});
        Var x = a;
        for ([[maybe_unused]] Value i : range(0, 3))
          x = dot(x, a, x);
        X.store(0, x);
      },
      a, x);
  for (int step = 0; step < 3; ++step) {
    Array<float> before = expected;
    for (int64_t i = 0; i < 20; ++i)
      for (int64_t j = 0; j < 20; ++j)
        for (int64_t k = 0; k < 20; ++k)
          expected(i, j) += before(i, k) * a(k, j);
  }
  for (int64_t i = 0; i < 20; ++i)
    for (int64_t j = 0; j < 20; ++j)
      EXPECT_NEAR(x(i, j), expected(i, j), 1e-3);
}

TEST_P(Control, ACarriedMatrixIsTransposed) {
  auto a = Array<float>::random({20, 20}, 9);
  Array<float> x({20, 20});
  run(
      [](View A, View X) {
        Var x = A.load(0, {20, 20});
        for ([[maybe_unused]] Value i : range(0, 3))
          x = transpose(x);
        X.store(0, x);
      },
      a, x);
  for (int64_t i = 0; i < 20; ++i)
    for (int64_t j = 0; j < 20; ++j)
      EXPECT_EQ(x(i, j), a(j, i));
}

TEST_P(Control, ACarriedMatrixIsAddedToItsTranspose) {
  auto a = Array<float>::random({20, 40}, 10), b = Array<float>::random({40, 20}, 11);
  auto c = Array<float>::random({20, 20}, 12), expected = c;
  Array<float> x({20, 20});
  run(
      [](View A, View B, View C, View X) {
        Value a = A.load(0, {20, 40}), b = B.load(0, {40, 20});
        Var x = C.load(0, {20, 20});
        for ([[maybe_unused]] Value i : range(0, 2))
          x = dot(a, b, dot(a, b, transpose(x)) + x);
        X.store(0, x);
      },
      a, b, c, x);
  for (int step = 0; step < 2; ++step) {
    Array<float> before = expected;
    for (int64_t i = 0; i < 20; ++i)
      for (int64_t j = 0; j < 20; ++j) {
        expected(i, j) += before(j, i);
        for (int64_t k = 0; k < 40; ++k)
          expected(i, j) += 2 * a(i, k) * b(k, j);
      }
  }
  for (int64_t i = 0; i < 20; ++i)
    for (int64_t j = 0; j < 20; ++j)
      EXPECT_NEAR(x(i, j), expected(i, j), 1e-3);
}

TEST_P(Control, ALoadSeesTheStoreBeforeIt) {
  Array<float> x({10}, 1), y({10});
  run(
      [](View X, View Y) {
        for (Value i : range(0, 8)) {
          Value old = X.load(0, {10});
          X.store(0, old * 2);
          Y.store(0, X.load(0, {10}) + old + cast(f32, cast(i32, i)) * 0);
        }
      },
      x, y);
  for (int64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(x(i), 256);
    EXPECT_EQ(y(i), 256 + 128);
  }
}

TEST_P(Control, OnlineSoftmaxBeginsWithASink) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  auto s = Array<float>::random({7, 24}, 6), v = Array<float>::random({24, 12}, 7);
  for (float sink : {-infinity, -50.0f, 0.25f, 90.0f}) {
    Array<float> sinks({1}), o({7, 12}), lse({7}), l({7}), m({7}), unseen({7, 12}), unseen_lse({7});
    sinks(0) = sink;
    run(
        [](View S, View V, View Sinks, View O, View Lse, View M, View L, View Unseen, View UnseenLse) {
          OnlineSoftmax softmax(7, 12, Sinks.gather(0)), none(7, 12, Sinks.gather(0));
          for (Value j : range(0, S.dim(1), 8)) // The first 8 keys of row 3 are hidden.
            softmax.update(select((asColumn(iota(7)) == 3) & (asRow(iota(8)) + cast(i32, j) < 8),
                                  -std::numeric_limits<double>::infinity(), S.load({0, j}, {7, 8})),
                           V.load({j, 0}, {8, 12}));
          O.store(0, softmax.output());
          Lse.store(0, softmax.logSumExp());
          M.store(0, softmax.max());
          L.store(0, softmax.sum());
          Unseen.store(0, none.output());
          UnseenLse.store(0, none.logSumExp());
        },
        s, v, sinks, o, lse, m, l, unseen, unseen_lse);
    for (int64_t i = 0; i < 7; ++i) {
      double sum = std::exp(double{sink}), first = 0;
      for (int64_t j = i == 3 ? 8 : 0; j < 24; ++j)
        sum += std::exp(double{s(i, j)}), first += std::exp(double{s(i, j)}) * v(j, 0);
      EXPECT_NEAR(o(i, 0), first / sum, 1e-6);
      EXPECT_NEAR(lse(i), std::log(sum), 1e-5);
      EXPECT_NEAR(m(i) + std::log(double{l(i)}), std::log(sum), 1e-5);
      EXPECT_EQ(unseen(i, 0), 0);
      EXPECT_EQ(unseen_lse(i), sink);
    }
  }
}

/// The keys are split in three. Row 2 sees no key of the second part, whose output is NaN there, and row 5 sees none.
TEST_P(Control, SoftmaxPartsAreMerged) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  auto s = Array<float>::random({7, 24}, 6, -20, 20), v = Array<float>::random({24, 12}, 7);
  for (int64_t j = 0; j < 24; ++j) {
    s(5, j) = -infinity;
    if (j / 8 == 1)
      s(2, j) = -infinity;
  }
  Array<float> o({7, 12}), lse({7}), mixed({7, 12});
  run(
      [](View S, View V, View O, View Lse, View Mixed) {
        const auto part = [&](int first) {
          OnlineSoftmax softmax(7, 12);
          softmax.update(S.load({0, first}, {7, 8}), V.load({first, 0}, {8, 12}));
          Value unseen = asColumn(softmax.logSumExp() == -std::numeric_limits<double>::infinity());
          return SoftmaxPart{select(unseen, std::numeric_limits<double>::quiet_NaN(), softmax.output()),
                             softmax.logSumExp()};
        };
        const SoftmaxPart parts[] = {part(0), part(8), part(16)};
        const SoftmaxPart whole = mergeSoftmax(parts);
        O.store(0, whole.output);
        Lse.store(0, whole.lse);
        OnlineSoftmax softmax(7, 12); // Parts and tiles of keys may come in any order.
        softmax.merge(parts[2].output, parts[2].lse);
        softmax.update(S.load({0, 0}, {7, 16}), V.load(0, {16, 12}));
        Mixed.store(0, softmax.output());
      },
      s, v, o, lse, mixed);
  for (int64_t i = 0; i < 7; ++i) {
    double sum = 0, first = 0;
    for (int64_t j = 0; j < 24; ++j)
      sum += std::exp(double{s(i, j)}), first += std::exp(double{s(i, j)}) * v(j, 0);
    EXPECT_NEAR(o(i, 0), i == 5 ? 0 : first / sum, 2e-6);
    EXPECT_NEAR(mixed(i, 0), i == 5 ? 0 : first / sum, 2e-6);
    if (i == 5)
      EXPECT_EQ(lse(i), -infinity);
    else
      EXPECT_NEAR(lse(i), std::log(sum), 1e-5);
  }
}

TEST_P(Control, OnlineSoftmaxContinuesFromASavedState) {
  auto s = Array<float>::random({7, 40}, 6), v = Array<float>::random({40, 12}, 7);
  Array<float> m({7}), l({7}), o({7, 12}), whole({7, 12}), parts({7, 12});
  auto update = [](OnlineSoftmax &softmax, View S, View V, int from, int to) {
    for (int j = from; j < to; j += 8)
      softmax.update(S.load({0, j}, {7, 8}), V.load({j, 0}, {8, 12}));
  };
  run(
      [&](View S, View V, View M, View L, View O, View Whole) {
        OnlineSoftmax softmax(7, 12);
        update(softmax, S, V, 0, 16);
        M.store(0, softmax.max());
        L.store(0, softmax.sum());
        O.store(0, softmax.undivided());
        update(softmax, S, V, 16, 40);
        Whole.store(0, softmax.output());
      },
      s, v, m, l, o, whole);
  run(
      [&](View S, View V, View M, View L, View O, View Parts) {
        OnlineSoftmax softmax(M.load(0, {7}), L.load(0, {7}), O.load(0, {7, 12}));
        update(softmax, S, V, 16, 40);
        Parts.store(0, softmax.output());
      },
      s, v, m, l, o, parts);
  EXPECT_EQ(whole.data, parts.data);
  for (int64_t i = 0; i < 7; ++i) {
    double sum = 0, first = 0;
    for (int64_t j = 0; j < 40; ++j)
      sum += std::exp(double{s(i, j)}), first += std::exp(double{s(i, j)}) * v(j, 0);
    EXPECT_NEAR(whole(i, 0), first / sum, 1e-6);
  }
}

/// A program as text: the language has no name for tile.any, which passes insert.
constexpr const char *kStoresIfAnyExceedsOne = R"(module attributes {tile.version = 1 : i64} {
  func.func @kernel(%x: !tile.view<2xf32> {tile.name = "x"}, %y: !tile.view<1xi32> {tile.name = "y", tile.written}) {
    %c0 = arith.constant 0 : index
    %one = arith.constant dense<1.0> : tensor<3x21xf32>
    %yes = arith.constant dense<1> : tensor<1xi32>
    %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<3x21xf32>
    %exceeds = arith.cmpf ogt, %a, %one : tensor<3x21xf32>
    %some = tile.any %exceeds : tensor<3x21xi1>
    scf.if %some {
      tile.store %yes, %y[%c0] : tensor<1xi32>, !tile.view<1xi32>
    }
    return
  }
})";

TEST_P(Control, AConditionOfSomeElement) {
  if (testing::hasGpuCode())
    GTEST_SKIP() << "a warp of a GPU knows of its own elements only";
  auto kernel = compileFor({.name = "kernel", .text = kStoresIfAnyExceedsOne, .parameters = {}}, GetParam());
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  for (int64_t large = -1; large < 3 * 21; ++large) {
    Array<float> x({3, 21}, 1);
    Array<int32_t> y({1});
    if (large >= 0)
      x(large) = 2;
    OnDevice<float> xOnDevice(x);
    OnDevice<int32_t> yOnDevice(y);
    const Status status = (*kernel)->launch({1}, {xOnDevice.ref(), yOnDevice.ref()});
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(yOnDevice.readBack());
    EXPECT_EQ(y(0), large >= 0) << large;
  }
}

INSTANTIATE_TEST_SUITE_P(Lanes, Control, ::testing::ValuesIn(testedLanes()));

} // namespace
} // namespace tegula::language
