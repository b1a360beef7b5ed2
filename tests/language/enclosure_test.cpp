// SPDX-License-Identifier: MIT
// Bounds of conditions over tiles.
#include "language/machine.h"

#include <functional>

namespace tegula::language {
namespace {

constexpr int64_t kTile = 8, kAll = kTile * kTile;

/// A condition of the positions of rows [kTile, 1] and columns [1, kTile], and of numbers in memory, i32 [64].
using Condition = std::function<Value(Value row, Value column, View numbers)>;

/// The first row and the first column of a tile.
struct Place {
  int32_t row, column;
};

/// A condition over the elements of a tile, and its bounds.
struct Found {
  int32_t count, sometimes, always;

  bool isTight() const { return sometimes == (count > 0) && always == (count == kAll); }
};

class Enclosures : public Language {
protected:
  std::vector<Found> run(const Condition &condition, const std::vector<Place> &places) {
    Array<int32_t> at({int64_t(places.size()), 2}), numbers({64}), found({int64_t(places.size()), 3});
    for (size_t n = 0; n < places.size(); ++n) {
      at(n, 0) = places[n].row;
      at(n, 1) = places[n].column;
    }
    for (size_t n = 0; n < numbers.data.size(); ++n)
      numbers.data[n] = int32_t(n * 37 % 64) - 16;
    auto kernel = [&](View At, View Numbers, View Found) {
      for (Value n : range(0, At.dim(0))) {
        Value row = asColumn(At.gather(n, 0) + iota(kTile)), column = asRow(At.gather(n, 1) + iota(kTile));
        Value holds = condition(row, column, Numbers);
        const Enclosure bounds = enclose(holds);
        auto store = [&](int64_t place, Value x) { Found.store({n, place}, broadcast(x, {1, 1})); };
        Value all = broadcast(select(holds, 1, 0), {kTile, kTile});
        Found.store({n, 0}, reshape(reduceSum(reduceSum(all, 1), 0), {1, 1}));
        store(1, select(bounds.sometimes, 1, 0));
        store(2, select(bounds.always, 1, 0));
      }
    };
    runOn(kernel, at, numbers, found);
    std::vector<Found> result;
    for (size_t n = 0; n < places.size(); ++n)
      result.push_back({found(n, 0), found(n, 1), found(n, 2)});
    return result;
  }

  void expectTight(const Condition &condition, const std::vector<Place> &places) {
    for (const Found &found : run(condition, places))
      EXPECT_TRUE(found.isTight()) << found.count << ' ' << found.sometimes << ' ' << found.always;
  }

private:
  template <class Kernel>
  void runOn(const Kernel &kernel, Array<int32_t> &at, Array<int32_t> &numbers, Array<int32_t> &found) {
    const Expected<Program> program =
        record("kernel", kernel, TensorArg{"at", i32, 2}, TensorArg{"numbers", i32, 1}, TensorArg{"found", i32, 2});
    ASSERT_TRUE(program.ok()) << program.status().message();
    auto compiled = compileFor(*program, GetParam());
    ASSERT_TRUE(compiled.ok()) << compiled.status().message() << program->text;
    OnDevice<int32_t> on_at(at), on_numbers(numbers), on_found(found);
    const Status status = (*compiled)->launch(Grid{1, 1, 1}, {on_at.ref(), on_numbers.ref(), on_found.ref()});
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(on_found.readBack());
  }
};

std::vector<Place> gridOfPlaces() {
  std::vector<Place> places;
  for (int32_t row = 0; row < 96; row += kTile)
    for (int32_t column = 0; column < 96; column += kTile)
      places.push_back({row, column});
  return places;
}

TEST_P(Enclosures, OfMasksOfAttentionAreTight) {
  const std::vector<Place> places = gridOfPlaces();
  expectTight([](Value i, Value j, View) { return j <= i; }, places);
  expectTight([](Value i, Value j, View) { return (i - j < 20) & (j - i < 4); }, places);
  expectTight([](Value i, Value j, View) { return i / 16 >= j / 16; }, places);             // Blocks.
  expectTight([](Value i, Value j, View) { return (j < 24) | (abs(i - j) <= 7); }, places); // Global keys.
  expectTight([](Value i, Value j, View) { return !(j > i) & (i % 32 / 8 != 1); }, places);
  expectTight([](Value i, Value j, View x) { return x.gather(i / 8) == x.gather(j / 8); }, places); // Documents.
  expectTight([](Value i, Value, View) { return select(i < 40, i, 100 - i) > 64; }, {{0, 0}, {64, 0}, {80, 8}});
}

TEST_P(Enclosures, KnowNothingOfWhatTheyCannotFollow) {
  const auto far = [](Value i, Value j, View) { return cast(f32, i) * 2.0 < cast(f32, j); };
  for (const Found &found : run(far, {{0, 800}, {800, 0}}))
    EXPECT_TRUE(found.sometimes == 1 && found.always == 0);
}

/// A text of a variant may have any number of lines that depend on each other.
TEST(DeepConditions, AreEnclosed) {
  const auto kernel = [](View X) {
    Var sum = iota(kTile);
    for (int n = 0; n < 200'000; ++n)
      sum = sum + n % 7;
    const Enclosure bounds = enclose(sum > 3);
    when(bounds.sometimes, [&] { X.store(0, Value(sum)); });
  };
  EXPECT_TRUE(record("kernel", kernel, TensorArg{"x", i32, 1}).ok());
}

//===-- Random conditions ----------------------------------------------------------------------------------------===//

class Expressions {
public:
  Expressions(uint32_t seed, Value row, Value column, View numbers)
      : random_(seed), row_(row), column_(column), numbers_(numbers) {}

  Value condition(int depth) {
    if (depth == 0 || below(3) == 0)
      return comparison(depth);
    Value a = condition(depth - 1), b = condition(depth - 1);
    switch (below(5)) {
    case 0:
      return a & b;
    case 1:
      return a | b;
    case 2:
      return a ^ b;
    case 3:
      return !a;
    default:
      return select(condition(depth - 1), a, b);
    }
  }

private:
  int below(int limit) { return int(random_() % uint32_t(limit)); }

  Value comparison(int depth) {
    Value a = number(depth), b = number(depth);
    switch (below(6)) {
    case 0:
      return a < b;
    case 1:
      return a <= b;
    case 2:
      return a > b;
    case 3:
      return a >= b;
    case 4:
      return a == b;
    default:
      return a != b;
    }
  }

  Value leaf() {
    switch (below(4)) {
    case 0:
      return row_;
    case 1:
      return column_;
    case 2:
      return constant(i32, below(40) - 8);
    default:
      return numbers_.gather(below(2) != 0 ? row_ / (8 * (1 + below(2))) : column_ / 16);
    }
  }

  Value number(int depth) {
    if (depth == 0)
      return leaf();
    Value a = number(depth - 1), b = number(depth - 1);
    const int divisor = 1 + below(40);
    switch (below(12)) {
    case 0:
      return a + b;
    case 1:
      return a - b;
    case 2:
      return a * b;
    case 3:
      return min(a, b);
    case 4:
      return max(a, b);
    case 5:
      return abs(a);
    case 6:
      return a / divisor;
    case 7:
      return a % divisor;
    case 8:
      return floorDiv(a, divisor);
    case 9:
      return ceilDiv(a, b);
    case 10:
      return a % b;
    default:
      return select(condition(depth - 1), a, b);
    }
  }

  std::minstd_rand random_;
  Value row_, column_;
  View numbers_;
};

/// Also where numbers wrap. A tenth of the decisions that could be made is far less than bounds make today.
TEST_P(Enclosures, OfRandomConditionsHold) {
  std::minstd_rand random(7);
  int decided = 0, decidable = 0;
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    std::vector<Place> places;
    for (int n = 0; n < 24; ++n) {
      const int32_t sizes[] = {16, 200, 40000, 1 << 30};
      const auto position = [&] { return int32_t(random() % uint32_t(sizes[n % 4])) / 8 * 8; };
      places.push_back({position() - (n % 5 == 0 ? 64 : 0), position()});
    }
    const auto condition = [=](Value row, Value column, View numbers) {
      return Expressions(seed * 7919, row, column, numbers).condition(3);
    };
    for (const Found &found : run(condition, places)) {
      EXPECT_TRUE(found.sometimes == 1 || found.count == 0) << "seed " << seed;
      EXPECT_TRUE(found.always == 0 || found.count == kAll) << "seed " << seed;
      decidable += found.count == 0 || found.count == kAll;
      decided += found.sometimes == 0 || found.always == 1;
    }
  }
  EXPECT_GT(decided, decidable / 10);
  RecordProperty("decided", decided);
  RecordProperty("decidable", decidable);
}

INSTANTIATE_TEST_SUITE_P(Lanes, Enclosures, ::testing::ValuesIn(testedLanes()));

} // namespace
} // namespace tegula::language
