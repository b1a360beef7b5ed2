// SPDX-License-Identifier: MIT
// Random numbers on every target, against their definition, and their statistics.
#include "compiler/client/InProcessCompiler.h"
#include "language/machine.h"
#include "oracle/philox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>

namespace tegula::language {
namespace {

using oracle::philox;
using oracle::randomByte;
using Numbers = std::vector<float>;
using Words = std::array<uint32_t, 4>;

TEST(Philox, KnownAnswers) {
  // From kat_vectors of Random123, the library of the paper's authors.
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

//===-- Running kernels ------------------------------------------------------------------------------------------===//

/// Returns a device of each target, or the GPU.
const std::vector<std::shared_ptr<Device>> &devices() {
  static const std::vector<std::shared_ptr<Device>> all = [] {
    if (testing::onGpu())
      return std::vector<std::shared_ptr<Device>>{testing::testDevice()};
    return std::vector<std::shared_ptr<Device>>{testing::valueOf(cpuDevice()),
                                                testing::valueOf(simtDevice({.arch = "sm_80"})),
                                                testing::valueOf(simtDevice({.arch = "sm_90a"}))};
  }();
  return all;
}

Compiler &compiler() {
  static std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  return *compiler;
}

/// Runs a kernel with these inputs and an f32 result of `shape`, and returns the result. The cpu has no schedule.
Numbers run(const std::string &text, const std::shared_ptr<Device> &device, const Schedule &schedule,
            const std::vector<testing::TestTensor> &inputs, std::vector<int64_t> shape, int64_t instances) {
  KernelCache cache(compiler(), device);
  const auto kernel = cache.get(text, device->target().name == "cpu" ? Schedule() : schedule);
  const testing::TestTensor result(f32, std::move(shape), testing::Layout::contiguous, testing::Poison::nan);
  std::vector<Argument> arguments;
  for (const testing::TestTensor &input : inputs)
    arguments.push_back(input.ref());
  arguments.push_back(result.ref());
  const Status status = kernel.ok() ? (*kernel)->launch(Grid{instances, 1, 1}, arguments) : kernel.status();
  EXPECT_TRUE(status.ok()) << status.message() << "\n" << text;
  EXPECT_TRUE(result.surroundingsIntact()) << "memory outside the result was written";
  return result.numbers();
}

std::string describe(const Device &device, const Schedule &schedule = {}) {
  return device.target().name + " " + device.target().arch + " " + toString(schedule);
}

/// Returns number(i, j) for each element of a matrix.
Numbers matrix(int64_t rows, int64_t columns, const std::function<double(uint32_t, uint32_t)> &number) {
  Numbers all;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      all.push_back(float(number(uint32_t(i), uint32_t(j))));
  return all;
}

/// Returns seed and offset in memory.
std::vector<testing::TestTensor> state(const oracle::RandomKey &key) {
  const int64_t numbers[] = {key.seed, key.offset};
  std::vector<testing::TestTensor> inputs;
  inputs.emplace_back(i64, std::vector<int64_t>{2}, testing::Layout::contiguous, testing::Poison::ones,
                      std::as_bytes(std::span(numbers)));
  return inputs;
}

/// The last words of each 64 bits are in use.
constexpr oracle::RandomKey kKey{-0x123456789abcdef, 0x7fffffff12345678, 77};

RandomKey keyFrom(View state, Operand stream = 77) { return {state.gather(0), state.gather(1), stream}; }

//===-- The same numbers everywhere ------------------------------------------------------------------------------===//

/// A tile of random numbers, and how a kernel makes it.
struct Tile {
  int rows, columns; ///< The tile of a program instance. It lies below that of the instance before.
  int firstRow, firstColumn;
  bool transposed = false; ///< Rows of random numbers are columns of the tile.
  int rounds = 10;

  bool isBlock() const { return (rows == 1 || firstRow % 16 == 0) && firstColumn % 16 == 0; }
  friend void PrintTo(const Tile &tile, std::ostream *stream) {
    *stream << tile.rows << "x" << tile.columns << " at " << tile.firstRow << ", " << tile.firstColumn
            << (tile.transposed ? ", transposed" : "") << ", " << tile.rounds << " rounds";
  }
};

class EachTile : public ::testing::TestWithParam<Tile> {
protected:
  /// Returns a number of the tile: draw(key, row, column, rounds).
  template <class Draw> Program program(Draw draw) const {
    const Tile &tile = GetParam();
    auto kernel = [&](View State, View Y) {
      Value first = programId(0) * tile.rows;
      Value i = asColumn(first + iota(tile.rows)), j = asRow(iota(tile.columns));
      Value row = (tile.transposed ? j : i) + tile.firstRow, column = (tile.transposed ? i : j) + tile.firstColumn;
      Y.store({first, 0}, cast(f32, draw(keyFrom(State), row, column, tile.rounds)));
    };
    return testing::valueOf(record("random", kernel, TensorArg{"state", i64, 1}, TensorArg{"y", f32, 2}));
  }

  template <class Draw> Numbers expected(Draw draw) const {
    const Tile &tile = GetParam();
    return matrix(2 * tile.rows, tile.columns, [&](uint32_t i, uint32_t j) {
      if (tile.transposed)
        std::swap(i, j);
      return draw(kKey, uint32_t(tile.firstRow) + i, uint32_t(tile.firstColumn) + j, tile.rounds);
    });
  }

  void compare(const Program &program, const Numbers &expected) const {
    const Tile &tile = GetParam();
    for (const std::shared_ptr<Device> &device : devices())
      for (const int warps : {4, 8}) {
        const Schedule schedule{.num_warps = warps};
        EXPECT_EQ(run(program.text, device, schedule, state(kKey), {2 * tile.rows, tile.columns}, 2), expected)
            << describe(*device, schedule);
      }
  }
};

TEST_P(EachTile, BytesAreThoseOfTheDefinition) {
  auto draw = [](const RandomKey &key, Value row, Value column, int rounds) {
    return randomBytes(key, row, column, rounds);
  };
  compare(program(draw), expected(oracle::randomByte));
}

TEST_P(EachTile, NumbersAreThoseOfTheDefinition) {
  auto draw = [](const RandomKey &key, Value row, Value column, int rounds) {
    return random(key, row, column, rounds);
  };
  compare(program(draw), expected(oracle::random));
}

TEST_P(EachTile, ARemarkSaysIfCallsAreNotShared) {
  auto draw = [](const RandomKey &key, Value row, Value column, int rounds) {
    return randomBytes(key, row, column, rounds);
  };
  const Artifact artifact = testing::valueOf(compiler().compile(
      {.program = program(draw).text, .target = testing::valueOf(simtDevice({.arch = "sm_80"}))->target()}));
  if (GetParam().isBlock())
    EXPECT_EQ(artifact.remarks, "");
  else
    EXPECT_THAT(artifact.remarks, ::testing::HasSubstr("each random number takes a call of the generator"));
}

INSTANTIATE_TEST_SUITE_P(All, EachTile,
                         ::testing::Values(Tile{32, 64, 0, 0}, Tile{64, 128, 48, 1 << 20, false, 7},
                                           Tile{16, 40, 16, 32}, Tile{64, 32, 32, 0, true}, Tile{1, 96, 5, 16},
                                           Tile{48, 24, 0x7fff0000, 0}, Tile{32, 32, 8, 0}, Tile{16, 64, -3, 7}));

/// How an MMA is computed, and the threads that hold its result.
struct Layout {
  int rows, columns, warps;
  Roles roles = Roles::none;
  const char *attributes = ""; ///< The attributes of the dot.

  friend void PrintTo(const Layout &layout, std::ostream *stream) {
    *stream << layout.rows << "x" << layout.columns << " " << layout.warps << " warps " << layout.attributes;
  }
};

constexpr const char *kFlipped = "{tile.flipped = true, tile.warpgroups = array<i64: 2, 1>} ";
constexpr const char *kUpright = "{tile.flipped = false, tile.warpgroups = array<i64: 2, 1>} ";
constexpr const char *kBeside = "{tile.flipped = false, tile.warpgroups = array<i64: 1, 2>} ";

class EachLayout : public ::testing::TestWithParam<Layout> {};

/// All numbers are small integers, so the results are exact.
TEST_P(EachLayout, AccumulatorsGetTheSameNumbers) {
  const auto [rows, columns, warps, roles, attributes] = GetParam();
  constexpr int kDepth = 32, kBlocks = 3;
  auto kernel = [&](View State, View A, View B, View Y) {
    Value first = programId(0) * rows;
    Value a = A.load({first, 0}, {rows, kDepth});
    Var sum = fill({rows, columns}, 0.0);
    for (Value key : range(0, kBlocks * columns, columns)) {
      Value b = B.load({key, 0}, {columns, kDepth});
      Value bytes = randomBytes(keyFrom(State), asColumn(first + iota(rows)), asRow(key + iota(columns)));
      Value uniform = random(keyFrom(State), asColumn(first + iota(rows)), asRow(key + iota(columns)));
      sum += select(uniform < 0.5, dot(a, transpose(b)), 0.0) + bytes;
    }
    Y.store({first, 0}, sum);
  };
  std::string text = testing::valueOf(record("masked", kernel, TensorArg{"state", i64, 1}, TensorArg{"a", bf16, 2},
                                             TensorArg{"b", bf16, 2}, TensorArg{"y", f32, 2}))
                         .text;
  text.insert(text.find(": ", text.find("tile.dot")), attributes);
  std::mt19937 generator(3);
  auto integers = [&](int64_t m) {
    return matrix(m, kDepth, [&](uint32_t, uint32_t) { return int(generator() % 3) - 1; });
  };
  const Numbers a = integers(2 * rows), b = integers(kBlocks * columns);
  const Numbers expected = matrix(2 * rows, columns, [&](uint32_t i, uint32_t j) {
    double sum = 0;
    for (uint32_t key = j; key < uint32_t(kBlocks * columns); key += uint32_t(columns)) {
      for (int k = 0; k < kDepth && oracle::random(kKey, i, key) < 0.5; ++k)
        sum += a[i * kDepth + k] * b[key * kDepth + k];
      sum += randomByte(kKey, i, key);
    }
    return sum;
  });
  for (const std::shared_ptr<Device> &device : devices()) {
    if (*attributes && device->target().arch != "sm_90a")
      continue;
    const Schedule schedule{.num_warps = warps, .num_stages = 2, .roles = roles};
    std::vector<testing::TestTensor> inputs = state(kKey);
    inputs.emplace_back(bf16, std::vector<int64_t>{2 * rows, kDepth}, testing::Layout::contiguous, testing::Poison::nan,
                        a);
    inputs.emplace_back(bf16, std::vector<int64_t>{kBlocks * columns, kDepth}, testing::Layout::contiguous,
                        testing::Poison::nan, b);
    EXPECT_EQ(run(text, device, schedule, inputs, {2 * rows, columns}, 2), expected) << describe(*device, schedule);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EachLayout,
                         ::testing::Values(Layout{64, 64, 4}, Layout{128, 128, 8}, Layout{64, 80, 4}, Layout{32, 48, 2},
                                           Layout{128, 128, 8, Roles::load, kUpright},
                                           Layout{128, 80, 8, Roles::load, kUpright},
                                           Layout{64, 128, 8, Roles::load, kBeside},
                                           Layout{64, 128, 8, Roles::load, kFlipped},
                                           Layout{80, 128, 8, Roles::load, kFlipped}));

/// A row and a column of scalars give one number.
TEST(Random, OfScalars) {
  auto kernel = [](View State, View Y) {
    Value row = programId(0);
    Y.store({row, 0}, fill({1, 1}, cast(f32, randomBytes(keyFrom(State), row, 21))));
  };
  const Program program =
      testing::valueOf(record("scalars", kernel, TensorArg{"state", i64, 1}, TensorArg{"y", f32, 2}));
  const Numbers expected = matrix(19, 1, [](uint32_t i, uint32_t) { return randomByte(kKey, i, 21); });
  for (const std::shared_ptr<Device> &device : devices())
    EXPECT_EQ(run(program.text, device, {}, state(kKey), {19, 1}, 19), expected) << describe(*device);
}

TEST(MulHi, IsTheHighHalfOfUnsignedProducts) {
  std::vector<uint32_t> edges = {0, 1, 2, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0xffff, 0x10000, 0xd2511f53};
  std::mt19937 generator(1);
  while (edges.size() < 64)
    edges.push_back(generator());
  auto kernel = [](View X, View Y) {
    Value x = X.load(0, {64});
    Value high = mulhi(asColumn(x), asRow(x)), byLiteral = mulhi(x, int32_t(0xcd9e8d57));
    for (int half : {0, 1}) { // An f32 holds 16 bits.
      Y.store({64 * half, 0}, cast(f32, (high >> 16 * half) & 0xffff));
      Y.store({128 + half, 0}, asRow(cast(f32, (byLiteral >> 16 * half) & 0xffff)));
    }
  };
  const Program program = testing::valueOf(record("mulhi", kernel, TensorArg{"x", i32, 1}, TensorArg{"y", f32, 2}));
  const Numbers expected = matrix(130, 64, [&](uint32_t i, uint32_t j) {
    const uint64_t factor = i < 128 ? edges[i % 64] : 0xcd9e8d57;
    const int half = i < 128 ? int(i / 64) : int(i - 128);
    return double((factor * edges[j] >> 32) >> 16 * half & 0xffff);
  });
  for (const std::shared_ptr<Device> &device : devices()) {
    std::vector<testing::TestTensor> inputs;
    inputs.emplace_back(i32, std::vector<int64_t>{64}, testing::Layout::contiguous, testing::Poison::ones,
                        std::as_bytes(std::span(edges)));
    EXPECT_EQ(run(program.text, device, {}, inputs, {130, 64}, 1), expected) << describe(*device);
  }
}

//===-- Programs of users ----------------------------------------------------------------------------------------===//

constexpr int kTile = 64;

/// Dropout: y = x / keep where a byte is below 256 keep, otherwise 0.
TEST(Random, DropoutOfAMatrix) {
  constexpr int kThreshold = 192, kRows = 100, kColumns = 70;
  auto kernel = [](View State, View X, View Y) {
    Value first = programId(0) * kTile;
    Value bytes = randomBytes(keyFrom(State, 0), asColumn(first + iota(kTile)), asRow(iota(2 * kTile)));
    Y.store({first, 0}, select(bytes < kThreshold, X.load({first, 0}, {kTile, 2 * kTile}) * (256.0 / kThreshold), 0.0));
  };
  const Program program = testing::valueOf(
      record("dropout", kernel, TensorArg{"state", i64, 1}, TensorArg{"x", bf16, 2}, TensorArg{"y", f32, 2}));
  const Numbers x = matrix(kRows, kColumns, [](uint32_t i, uint32_t j) { return int(i) - int(j); });
  const oracle::RandomKey key{3, 1 << 20, 0};
  const Numbers expected = matrix(kRows, kColumns, [&](uint32_t i, uint32_t j) {
    return randomByte(key, i, j) < kThreshold ? x[i * kColumns + j] * float(256.0 / kThreshold) : 0.0f;
  });
  for (const std::shared_ptr<Device> &device : devices()) {
    std::vector<testing::TestTensor> inputs = state(key);
    inputs.emplace_back(bf16, std::vector<int64_t>{kRows, kColumns}, testing::Layout::padded, testing::Poison::nan, x);
    EXPECT_EQ(run(program.text, device, {}, inputs, {kRows, kColumns}, 2), expected) << describe(*device);
  }
}

/// Stochastic rounding to integers: the mean of many roundings is the number.
TEST(Random, StochasticRoundingIsUnbiased) {
  constexpr int kRows = 1024, kColumns = 64;
  constexpr float kNumber = 2.3f;
  auto kernel = [](View State, View Y) {
    Value first = programId(0) * kTile;
    Value uniform = random(keyFrom(State, 0), asColumn(first + iota(kTile)), asRow(iota(kColumns)));
    Y.store({first, 0}, cast(f32, cast(i32, uniform + kNumber)));
  };
  const Program program =
      testing::valueOf(record("rounding", kernel, TensorArg{"state", i64, 1}, TensorArg{"y", f32, 2}));
  const Numbers rounded = run(program.text, devices().front(), {}, state({1, 2, 0}), {kRows, kColumns}, kRows / kTile);
  const double mean = std::accumulate(rounded.begin(), rounded.end(), 0.0) / double(rounded.size());
  EXPECT_NEAR(mean, kNumber, 5 * 0.46 / std::sqrt(double(rounded.size()))); // The deviation of one rounding is 0.46.
}

//===-- Statistics -----------------------------------------------------------------------------------------------===//

/// Returns bytes of [rows, columns] from the first device.
std::vector<int> bytes(const oracle::RandomKey &key, int64_t rows, int64_t columns, int rounds) {
  auto kernel = [&](View State, View Y) {
    Value first = programId(0) * kTile;
    for (Value column : range(0, Y.dim(1), kTile)) {
      Value drawn =
          randomBytes(keyFrom(State, key.stream), asColumn(first + iota(kTile)), asRow(column + iota(kTile)), rounds);
      Y.store({first, column}, cast(f32, drawn));
    }
  };
  const Program program = testing::valueOf(record("bytes", kernel, TensorArg{"state", i64, 1}, TensorArg{"y", f32, 2}));
  const Numbers numbers = run(program.text, devices().front(), {}, state(key), {rows, columns}, rows / kTile);
  return {numbers.begin(), numbers.end()};
}

class Statistics : public ::testing::TestWithParam<int> {
protected:
  static constexpr int64_t kRows = 4096, kColumns = 4096;
  static constexpr oracle::RandomKey kFirst{42, 7, 3};
  static constexpr double kUniformVariance = (256.0 * 256 - 1) / 12;

  static std::vector<int> draw(const oracle::RandomKey &key) { return bytes(key, kRows, kColumns, GetParam()); }
  static const std::vector<int> &first() {
    static std::map<int, std::vector<int>> drawn;
    auto [found, isNew] = drawn.try_emplace(GetParam());
    if (isNew)
      found->second = draw(kFirst);
    return found->second;
  }

  /// Returns the correlation of n pairs x[i], y[j], in units of its deviation for independent numbers.
  static double correlation(const std::vector<int> &x, const std::vector<int> &y, int64_t distance) {
    double sum = 0;
    const auto n = int64_t(x.size()) - distance;
    for (int64_t i = 0; i < n; ++i)
      sum += (x[size_t(i)] - 127.5) * (y[size_t(i + distance)] - 127.5);
    return sum / (kUniformVariance * std::sqrt(double(n)));
  }

  /// Expects chi-square to be within five deviations of its mean.
  static void expectUniform(const std::vector<int64_t> &counts) {
    const double expected = double(std::accumulate(counts.begin(), counts.end(), int64_t{0})) / double(counts.size());
    double chi = 0;
    for (int64_t count : counts)
      chi += (double(count) - expected) * (double(count) - expected) / expected;
    const auto freedom = double(counts.size() - 1);
    EXPECT_NEAR(chi, freedom, 5 * std::sqrt(2 * freedom));
  }
};

TEST_P(Statistics, BytesAreUniform) {
  std::vector<int64_t> counts(256);
  for (int byte : first())
    ++counts[size_t(byte)];
  expectUniform(counts);
}

/// Pairs of neighbours take all 2^16 values equally often.
TEST_P(Statistics, PairsOfNeighboursAreUniform) {
  for (const int64_t distance : {int64_t{1}, kColumns, 8 * kColumns + 8}) {
    std::vector<int64_t> counts(1 << 16);
    for (size_t i = 0; i + size_t(distance) < first().size(); ++i)
      ++counts[size_t(first()[i] << 8 | first()[i + size_t(distance)])];
    expectUniform(counts);
  }
}

/// Rows and columns keep as many elements as independent draws do.
TEST_P(Statistics, KeptElementsOfRowsAndColumnsAreBinomial) {
  constexpr double keep = 230 / 256.0;
  std::vector<double> ofRow(kRows), ofColumn(kColumns);
  for (size_t i = 0; i < first().size(); ++i)
    if (first()[i] < 230)
      ++ofRow[i / kColumns], ++ofColumn[i % kColumns];
  for (const std::vector<double> &line : {ofRow, ofColumn}) {
    double chi = 0;
    for (double kept : line)
      chi += (kept - keep * kColumns) * (kept - keep * kColumns) / (kColumns * keep * (1 - keep));
    EXPECT_NEAR(chi, double(kRows), 5 * std::sqrt(2.0 * kRows));
  }
}

TEST_P(Statistics, NeighboursAndOtherKeysAreIndependent) {
  for (const int64_t distance : {int64_t{1}, int64_t{8}, int64_t{16}, kColumns, 8 * kColumns, 16 * kColumns})
    EXPECT_LT(std::abs(correlation(first(), first(), distance)), 5) << "distance " << distance;
  const oracle::RandomKey others[] = {{43, 7, 3}, {42, 8, 3}, {42, 7, 4}, {42 + (int64_t{1} << 32), 7, 3}};
  for (const oracle::RandomKey &key : others)
    EXPECT_LT(std::abs(correlation(first(), draw(key), 0)), 5) << key.seed << " " << key.offset << " " << key.stream;
}

INSTANTIATE_TEST_SUITE_P(Rounds, Statistics, ::testing::Values(7, 10));

} // namespace
} // namespace tegula::language
