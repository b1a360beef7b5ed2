// SPDX-License-Identifier: MIT
// Tests which tiles a union of intervals visits, and in which order, against sets of whole numbers.
#include "kernels/visits.h"
#include "language/machine.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <random>
#include <set>

namespace tegula {
namespace {

using language::Array;

constexpr int kTile = 16, kPositions = 200, kSteps = kPositions / kTile + 2, kCases = 400;

/// The inputs of many unions of `count` intervals, one row each, and the first position to visit.
struct Unions {
  int count;
  Array<int32_t> bounds, first;

  explicit Unions(int count) : count(count), bounds({kCases, 2 * count}), first({kCases, 1}) {
    std::mt19937 random(static_cast<uint32_t>(count));
    auto below = [&](int limit) { return static_cast<int32_t>(random() % static_cast<uint32_t>(limit)); };
    for (int32_t &bound : bounds.data)
      bound = below(4) == 0 ? below(kPositions / kTile) * kTile : below(kPositions); // Many bounds of tiles.
    for (int32_t &position : first.data)
      position = below(kPositions + 80) - 40;
  }

  /// Returns the tiles of a case by definition, in ascending order. Intervals whose end comes first are empty.
  std::vector<int> tilesOf(int64_t row) {
    std::set<int> tiles;
    for (int n = 0; n < count; ++n)
      for (int position = bounds(row, 2 * n); position < bounds(row, 2 * n + 1); ++position)
        tiles.insert(position / kTile * kTile);
    return {tiles.begin(), tiles.end()};
  }
};

enum class Order { ascending, rotated };

/// Returns the positions that each case visits, in the order of the visits.
std::vector<std::vector<int>> visited(Unions &unions, Order order) {
  Array<int32_t> positions({kCases, kSteps}, -1);
  auto kernel = [&](View bounds, View first, View out) {
    Value row = programId(0);
    std::vector<Interval> intervals;
    for (int n = 0; n < unions.count; ++n)
      intervals.push_back(
          {cast(DType::index, bounds.gather(row, 2 * n)), cast(DType::index, bounds.gather(row, 2 * n + 1))});
    const Visits all = Visits::ofUnion(intervals, kTile);
    const Visits visits = order == Order::rotated ? all.beginningWith(cast(DType::index, first.gather(row, 0))) : all;
    Var next = constant(DType::index, 0);
    visits.forEach([&](const Visit &tile) {
      out.at(row).store(next, broadcast(cast(i32, tile.position), {1}));
      next = next + 1;
    });
  };
  language::run(language::testedLanes().front(), Grid{kCases, 1, 1}, kernel, unions.bounds, unions.first, positions);
  std::vector<std::vector<int>> rows;
  for (auto row = positions.data.begin(); row != positions.data.end(); row += kSteps)
    rows.emplace_back(row, std::find(row, row + kSteps, -1));
  return rows;
}

TEST(VisitsOfAUnion, AreEachTileThatASetTouchesOnceInAscendingOrder) {
  for (int count : {1, 2, 3, 4, 5}) {
    Unions unions(count);
    const std::vector<std::vector<int>> rows = visited(unions, Order::ascending);
    for (int64_t row = 0; row < kCases; ++row)
      ASSERT_EQ(rows[row], unions.tilesOf(row)) << count << " intervals, case " << row;
  }
}

TEST(VisitsOfAUnion, BeginWithATileAndGoAround) {
  for (int count : {1, 2, 3, 4}) {
    Unions unions(count);
    const std::vector<std::vector<int>> rows = visited(unions, Order::rotated);
    for (int64_t row = 0; row < kCases; ++row) {
      std::vector<int> expected = unions.tilesOf(row);
      auto first =
          std::find_if(expected.begin(), expected.end(), [&](int tile) { return tile + kTile > unions.first(row, 0); });
      if (!expected.empty())
        std::rotate(expected.begin(), first == expected.end() ? first - 1 : first, expected.end());
      ASSERT_EQ(rows[row], expected) << count << " intervals, case " << row;
    }
  }
}

} // namespace
} // namespace tegula
