// SPDX-License-Identifier: MIT
#include "tensor_map.h"

#include <gtest/gtest.h>

using namespace tegula;

namespace {

constexpr int64_t kLimit = int64_t{1} << 30;

std::optional<MappedTensor> mapRows(int64_t rows, int64_t stride) {
  TensorRef tensor{.dtype = bf16, .rank = 3, .shape = {2, rows, 100}, .strides = {rows * stride, stride, 1}};
  return mapTensor({.dtype = bf16, .box = {64, 32}, .swizzle = 128, .columns = 96, .ends_inside = true}, tensor);
}

/// A box at (column, 2^30 - count + r, first + count, 2^30, head) begins at row first + r.
TEST(TensorMap, HasTwoMoreDimensionsIfRowsEndInside) {
  const std::optional<MappedTensor> mapped = mapRows(50, 104);
  ASSERT_TRUE(mapped);
  EXPECT_EQ(mapped->rank, 5u);
  EXPECT_EQ(mapped->sizes, (std::array<uint64_t, 5>{96, kLimit, 51, kLimit + 1, 2}));
  EXPECT_EQ(mapped->box, (std::array<uint32_t, 5>{64, 32, 1, 1, 1}));
  const uint64_t first = 7, count = 20, row = 3;
  const uint64_t offset = (kLimit - count + row) * mapped->strides[0] + (first + count) * mapped->strides[1] +
                          kLimit * mapped->strides[2] + 1 * mapped->strides[3];
  EXPECT_EQ(offset, (first + row) * 208 + 50 * 208);
}

TEST(TensorMap, RowsThatEndInsideHaveLimits) {
  EXPECT_TRUE(mapRows(kLimit - 1, 8));
  EXPECT_FALSE(mapRows(kLimit, 8));
  EXPECT_TRUE(mapRows(10, 8 * kLimit - 8));
  EXPECT_FALSE(mapRows(10, 8 * kLimit));
}

/// The pages of one head lie between those of the others.
TEST(TensorMap, RowsCountThroughAllPages) {
  const auto mapPages = [](int64_t page) {
    TensorRef tensor{.dtype = bf16, .rank = 4, .shape = {2, 7, 16, 64}, .strides = {16 * 64, page, 64, 1}};
    return mapTensor({.dtype = bf16, .box = {64, 16}, .swizzle = 128, .columns = 64, .ends_inside = true, .joined = 1},
                     tensor);
  };
  const std::optional<MappedTensor> mapped = mapPages(2 * 16 * 64);
  ASSERT_TRUE(mapped);
  EXPECT_EQ(mapped->rank, 5u);
  EXPECT_EQ(mapped->sizes, (std::array<uint64_t, 5>{64, kLimit, 6 * 32 + 16 + 1, kLimit + 1, 2}));
  EXPECT_EQ(mapped->strides[3], 16 * 64 * 2u);
  EXPECT_FALSE(mapPages(2 * 16 * 64 + 8)) << "a page begins inside a row";
}

/// Rows of a head count through all batch entries, whether heads lie outside the rows or between them.
TEST(TensorMap, RowsCountThroughTheSecondDimensionOutsideThem) {
  const auto mapBatch = [](int64_t entry, int64_t head, int64_t row) {
    TensorRef tensor{.dtype = bf16, .rank = 4, .shape = {5, 2, 16, 64}, .strides = {entry, head, row, 1}};
    return mapTensor({.dtype = bf16, .box = {64, 16}, .swizzle = 128, .columns = 64, .ends_inside = true, .joined = 2},
                     tensor);
  };
  for (auto [head, row] : {std::pair{16 * 64, 64}, {64, 2 * 64}}) {
    const std::optional<MappedTensor> mapped = mapBatch(2 * 16 * 64, head, row);
    ASSERT_TRUE(mapped);
    EXPECT_EQ(mapped->rank, 5u);
    EXPECT_EQ(mapped->sizes,
              (std::array<uint64_t, 5>{64, kLimit, uint64_t(4 * 2 * 16 * 64 / row + 16 + 1), kLimit + 1, 2}));
    EXPECT_EQ(mapped->strides[0], row * 2u);
    EXPECT_EQ(mapped->strides[3], head * 2u);
  }
  EXPECT_FALSE(mapBatch(2 * 16 * 64 + 8, 16 * 64, 64)) << "an entry begins inside a row";
}

} // namespace
