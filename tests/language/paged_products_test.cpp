// SPDX-License-Identifier: MIT
// Products of matrices whose rows lie in pages, on sm_90a: TMA loads a box of each page. All rows that no sequence has
// are NaN or infinite.
#include "language/hopper.h"

namespace tegula::language {
namespace {

constexpr int64_t kHeads = 2, kHead = 1, kPages = 7, kDepth = 64, kTileRows = 64, kEntries = 6;
constexpr int32_t kTables[][kEntries] = {{3, 0, 6, 1, 2, 5}, {-1, 2, 7, 4, 0, 1}, {5, 5, 5, -9, 1 << 30, 6}};
constexpr int64_t kSequences = std::size(kTables);
/// Rows that pages have, if they are limited.
constexpr int32_t kLengths[][kEntries] = {{16, 3, 0, 100, 8, 1}, {5, 9, 16, -4, 0, 15}, {2, 7, 16, 16, 16, 1 << 30}};

/// A pool of heads, pages, rows of a page and columns, with any strides. The tensor has heads or pages first.
struct Pool {
  int64_t rows, strides[3];

  int64_t size() const { return kHeads * strides[0] + kPages * strides[1] + rows * strides[2]; }
  int64_t elementOf(int64_t place, int64_t row, int64_t column) const {
    return kHead * strides[0] + place * strides[1] + row * strides[2] + column;
  }
  TensorRef of(const OnDevice<Bf16> &memory, bool hasPagesFirst) const {
    TensorRef tensor{.data = memory.ref().data,
                     .dtype = bf16,
                     .rank = 4,
                     .shape = {kHeads, kPages, rows, kDepth},
                     .strides = {strides[0], strides[1], strides[2], 1}};
    if (hasPagesFirst) {
      std::swap(tensor.shape[0], tensor.shape[1]);
      std::swap(tensor.strides[0], tensor.strides[1]);
    }
    return tensor;
  }
};

/// The rows of sequence `p`: the first element of each that exists, in order.
std::vector<int64_t> rowsOf(int64_t p, const Pool &pool, int64_t page, int64_t length, bool areLimited) {
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < std::min(length, kEntries * page); ++i)
    if (int64_t place = kTables[p][i / page];
        place >= 0 && place < kPages && i % page < pool.rows && (!areLimited || i % page < kLengths[p][i / page]))
      rows.push_back(pool.elementOf(place, i % page, 0));
  return rows;
}

/// X^T X over the rows of each sequence. A row of another sequence would reach all sums.
void checkProducts(const Pool &pool, int page, int64_t length, bool isLoadedByTma, bool areLimited, int64_t tile_rows,
                   bool hasPagesFirst) {
  SCOPED_TRACE(::testing::Message() << "pages of " << page << ", " << pool.rows << " rows held, strides "
                                    << pool.strides[0] << ", " << pool.strides[1] << ", " << pool.strides[2]
                                    << (hasPagesFirst ? ", pages first" : ", heads first"));
  auto kernel = [=](View Table, View Lengths, View Length, View X, View W) {
    View table = Table.at(programId(0)), head = hasPagesFirst ? X.atAxis(1, kHead) : X.at(kHead);
    View all = areLimited ? paged(head, table, Lengths.at(programId(0)), page) : paged(head, table, page);
    View x = all.rows(0, Length.gather(0));
    Var w = fill({kDepth, kDepth}, 0.0);
    for (Value i : range(0, x.dim(0), tile_rows)) {
      Value tile = x.load({i, 0}, {tile_rows, kDepth});
      w = dot(transpose(tile), tile, w);
    }
    W.at(programId(0)).store(0, w);
  };
  Expected<Program> program = record("weights", kernel, TensorArg{"table", i32, 2}, TensorArg{"lengths", i32, 2},
                                     TensorArg{"length", i64, 1}, TensorArg{"x", bf16, 4}, TensorArg{"w", f32, 3});
  ASSERT_TRUE(program.ok()) << program.status().message();
  const std::string boxes = "cp.async.bulk.tensor.5d.shared::cluster";
  EXPECT_EQ(ptxOf(*program).find(boxes) != std::string::npos, isLoadedByTma);

  Matrix x({pool.size()});
  for (int64_t i = 0; i < pool.size(); ++i)
    x(i) = i % 2 ? INFINITY : NAN;
  Array<int32_t> table({kSequences, kEntries}), of_pages({kSequences, kEntries});
  for (int64_t p = 0; p < kSequences; ++p) {
    std::copy_n(kTables[p], kEntries, &table(p, 0));
    std::copy_n(kLengths[p], kEntries, &of_pages(p, 0));
    for (int64_t row : rowsOf(p, pool, page, length, areLimited))
      for (int64_t j = 0; j < kDepth; ++j)
        x(row + j) = float((row / 64 * 3 + j) % 5 - 2);
  }
  Array<int64_t> lengths({1}, length);
  Array<float> w({kSequences, kDepth, kDepth}, 7.0f);
  OnDevice<int32_t> on_table(table), on_pages(of_pages);
  OnDevice<int64_t> on_length(lengths);
  OnDevice<Bf16> on_x(x);
  OnDevice<float> on_w(w);
  launch(*program, {.x = kSequences},
         {on_table.ref(), on_pages.ref(), on_length.ref(), pool.of(on_x, hasPagesFirst), on_w.ref()});
  ASSERT_TRUE(on_w.readBack()) << "memory outside an array was written";
  for (int64_t p = 0; p < kSequences; ++p)
    for (int64_t i = 0; i < kDepth; ++i)
      for (int64_t j = 0; j < kDepth; ++j) {
        double sum = 0;
        for (int64_t row : rowsOf(p, pool, page, length, areLimited))
          sum += double(x(row + i)) * double(x(row + j));
        ASSERT_EQ(w(p, i, j), sum) << p << ": " << i << ", " << j;
      }
}

void checkProducts(const Pool &pool, int page, int64_t length, bool isLoadedByTma, bool areLimited = false,
                   int64_t tile_rows = kTileRows) {
  for (bool hasPagesFirst : {false, true})
    checkProducts(pool, page, length, isLoadedByTma, areLimited, tile_rows, hasPagesFirst);
}

Pool headsOutside(int64_t rows) { return {rows, {kPages * rows * kDepth, rows * kDepth, kDepth}}; }

TEST(PagedProducts, ABoxForEachPage) {
  for (int page : {8, 16, 32})
    checkProducts(headsOutside(page), page, 5 * page + 3, true);
}

/// Boxes of 8 rows, which divide a page: some lanes have two of them.
TEST(PagedProducts, MoreBoxesThanLanes) {
  checkProducts(headsOutside(72), 72, 5 * 72 + 50, true, false, 512);
  checkProducts(headsOutside(72), 72, 5 * 72 + 50, true, true, 512);
}

TEST(PagedProducts, PagesOfOneOrMoreTiles) {
  for (int page : {64, 128})
    checkProducts(headsOutside(page), page, 3 * page + 70, true);
  checkProducts(headsOutside(64), 64, 1000, true);
  checkProducts(headsOutside(64), 64, 0, true);
}

TEST(PagedProducts, HeadsBetweenRowsOrPages) {
  checkProducts({16, {kDepth, 16 * kHeads * kDepth, kHeads * kDepth}}, 16, 90, true);
  checkProducts({16, {16 * kDepth, kHeads * 16 * kDepth, kDepth}}, 16, 90, true);
}

TEST(PagedProducts, PagesWithFewerOrMoreRows) {
  checkProducts(headsOutside(11), 16, 90, true);
  checkProducts(headsOutside(40), 32, 150, true);
}

TEST(PagedProducts, LengthsOfPages) {
  for (int page : {8, 16, 64})
    checkProducts(headsOutside(page), page, 5 * page + 3, true, true);
  checkProducts(headsOutside(4), 4, 22, false, true);
}

/// A page that begins between two rows of the one before has no map, and rows of 4 no box.
TEST(PagedProducts, WarpsCopyWhatTmaCannot) {
  checkProducts({16, {kPages * (16 * kDepth + 8), 16 * kDepth + 8, kDepth}}, 16, 90, true);
  checkProducts(headsOutside(4), 4, 22, false);
}

/// Stores a product to rows in pages, and adds it to others. All other rows keep their bits.
TEST(PagedProducts, LanesStoreAndAdd) {
  constexpr int64_t page = 16, length = 90, rows = 128;
  const Schedule schedule{.num_warps = 8, .num_stages = 2, .roles = Roles::load, .add_by_tma = true};
  auto kernel = [](View Table, View A, View B, View Stored, View Added) {
    View stored = paged(Stored, Table, page).rows(0, length), added = paged(Added, Table, page).rows(0, length);
    Value b = B.load({0, 0}, {kDepth, kDepth});
    for (Value i : range(0, rows, kTileRows)) {
      Value product = dot(A.load({i, 0}, {kTileRows, kDepth}), b);
      stored.store({i, 0}, product);
      added.atomicAdd({i, 0}, product);
    }
  };
  Expected<Program> program = record("products", kernel, TensorArg{"table", i32, 1}, TensorArg{"a", bf16, 2},
                                     TensorArg{"b", bf16, 2}, TensorArg{"stored", f32, 3}, TensorArg{"added", f32, 3});
  ASSERT_TRUE(program.ok()) << program.status().message();
  Array<int32_t> table({kEntries});
  std::copy_n(kTables[0], kEntries, table.data.begin());
  Matrix a({rows, kDepth}), b({kDepth, kDepth});
  for (int64_t i = 0; i < rows * kDepth; ++i)
    a(i) = float(i * 7 % 5 - 2);
  for (int64_t i = 0; i < kDepth * kDepth; ++i)
    b(i) = float(i * 11 % 3 - 1);
  Array<float> stored({kPages, page, kDepth}, 7.0f), added = stored, expected = stored, sum = stored;
  for (int64_t i = 0; i < length; ++i)
    for (int64_t j = 0; j < kDepth; ++j) {
      float product = 0;
      for (int64_t k = 0; k < kDepth; ++k)
        product += float(a(i, k)) * float(b(k, j));
      expected(kTables[0][i / page], i % page, j) = product;
      sum(kTables[0][i / page], i % page, j) += product;
    }
  OnDevice<int32_t> on_table(table);
  OnDevice<Bf16> on_a(a), on_b(b);
  OnDevice<float> on_stored(stored), on_added(added);
  launch(*program, {}, {on_table.ref(), on_a.ref(), on_b.ref(), on_stored.ref(), on_added.ref()}, schedule);
  ASSERT_TRUE(on_stored.readBack() && on_added.readBack()) << "memory outside an array was written";
  EXPECT_EQ(stored.data, expected.data);
  EXPECT_EQ(added.data, sum.data);
}

} // namespace
} // namespace tegula::language
