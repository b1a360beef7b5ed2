// SPDX-License-Identifier: MIT
// Tests shared memory and tensor cores without a GPU: simulates ldmatrix with the addresses that the lowering emits.
#include "compiler/sm/Sm.h"
#include "compiler/sm/Storage.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>

namespace tegula::sm {
namespace {

constexpr unsigned kBytes = 2;

using Element = std::array<int64_t, 2>;

/// An operand in shared memory, and the layout of the matrices in which threads read it.
struct Operand {
  llvm::SmallVector<int64_t> shape{64, 64};
  int64_t panel;
  LayoutAttr matrices;
  llvm::SmallVector<Spread> spread = threadSpread(matrices, 2);
  std::map<int64_t, Element> memory = {};

  Operand(int64_t panel, LayoutAttr matrices) : panel(panel), matrices(matrices) {
    for (int64_t row = 0; row < shape[0]; ++row)
      for (int64_t column = 0; column < shape[1]; ++column)
        memory[offset({row, column})] = {row, column};
  }

  int64_t offset(Element at) const { return panelOffset(shape, kBytes, panel, at[0], at[1]); }
};

struct StorageTest : testing::TestWithParam<std::tuple<int64_t, bool>> {
  mlir::MLIRContext context;
  Fragments grid{2, 2, 2, 2};
  int64_t panel = std::get<0>(GetParam());
  bool transposed = std::get<1>(GetParam());

  StorageTest() { context.loadDialect<SmDialect>(); }

  static Element place(LayoutAttr layout, int64_t lane, int64_t warp) {
    Coordinates x = coordinatesOf(layout.getLanes(), lane, 2), y = coordinatesOf(layout.getWarps(), warp, 2);
    return {x[0] + y[0], x[1] + y[1]};
  }

  /// Returns the address that lane `lane` gives for the block `distance` away from its warp's first.
  int64_t address(const Operand &operand, Element distance, int64_t lane, int64_t warp) const {
    std::optional<Displacement> step =
        displacementAlong(operand.shape, kBytes, operand.panel, operand.spread, distance);
    EXPECT_TRUE(step);
    return (operand.offset(place(operand.matrices, lane, warp)) ^ step->flip) + step->add;
  }

  /// Returns the two elements that ldmatrix gives to a lane from matrix `matrix`.
  std::array<Element, 2> received(const Operand &operand, Element distance, bool transpose, int64_t matrix,
                                  int64_t lane, int64_t warp) const {
    std::array<Element, 2> result;
    for (int64_t i = 0; i < 2; ++i) {
      int64_t row = lane / 4, column = lane % 4 * 2 + i;
      if (transpose)
        std::swap(row, column);
      result[i] = operand.memory.at(address(operand, distance, matrix * 8 + row, warp) + column * kBytes);
    }
    return result;
  }

  void expectNoConflicts(const Operand &operand, Element distance, int64_t warp) const {
    for (int64_t matrix = 0; matrix < 4; ++matrix) {
      std::set<int64_t> chunks;
      for (int64_t lane = 8 * matrix; lane < 8 * matrix + 8; ++lane)
        chunks.insert(address(operand, distance, lane, warp) / 16 % 8);
      EXPECT_EQ(chunks.size(), 8u) << "matrix " << matrix;
    }
  }
};

TEST_P(StorageTest, LhsFragmentsArrive) {
  Operand lhs{panel, lhsMatrices(&context, grid, transposed)};
  LayoutAttr wanted = operandLayout(&context, 64, 64, grid.warpsM, grid.warpsN);
  for (int64_t warp = 0; warp < 4; ++warp)
    for (int64_t row = 0; row < 2; ++row)
      for (int64_t k = 0; k < 4; ++k) {
        Element distance = transposed ? Element{16 * k, 16 * row} : Element{16 * row, 16 * k};
        expectNoConflicts(lhs, distance, warp);
        for (int64_t lane = 0; lane < 32; ++lane)
          for (int64_t word = 0; word < 4; ++word) {
            std::array<Element, 2> got = received(lhs, distance, transposed, word, lane, warp);
            for (int64_t i = 0; i < 2; ++i) {
              int64_t index = i + 2 * (word % 2) + 4 * (2 * k + word / 2) + 32 * row;
              Element in = place(wanted, lane, warp);
              Coordinates reg = coordinatesOf(wanted.getRegisters(), index, 2);
              Element element{in[0] + reg[0], in[1] + reg[1]};
              if (transposed)
                std::swap(element[0], element[1]);
              EXPECT_EQ(got[i], element);
            }
          }
      }
}

TEST_P(StorageTest, RhsFragmentsArrive) {
  Operand rhs{panel, rhsMatrices(&context, grid, transposed)};
  for (int64_t warp = 0; warp < 4; ++warp)
    for (int64_t column = 0; column < 2; ++column)
      for (int64_t k = 0; k < 4; ++k) {
        Element distance = transposed ? Element{16 * column, 16 * k} : Element{16 * k, 16 * column};
        expectNoConflicts(rhs, distance, warp);
        for (int64_t lane = 0; lane < 32; ++lane)
          for (int64_t word = 0; word < 4; ++word) {
            std::array<Element, 2> got = received(rhs, distance, !transposed, word, lane, warp);
            for (int64_t i = 0; i < 2; ++i) {
              Element element{16 * k + 8 * (word % 2) + lane % 4 * 2 + i,
                              warp / grid.warpsM * 32 + 16 * column + 8 * (word / 2) + lane / 4};
              if (transposed)
                std::swap(element[0], element[1]);
              EXPECT_EQ(got[i], element);
            }
          }
      }
}

INSTANTIATE_TEST_SUITE_P(Panels, StorageTest, testing::Combine(testing::Values(16, 32, 64, 128), testing::Bool()));

struct Layouts : testing::Test {
  mlir::MLIRContext context;
  Layouts() { context.loadDialect<SmDialect>(); }
};

TEST_F(Layouts, FragmentsAreRecovered) {
  for (int64_t m : {1, 16, 48, 64, 128})
    for (int64_t n : {1, 16, 40, 64, 256})
      for (int64_t warpsM : {1, 2, 4})
        for (int64_t warpsN : {1, 2, 3}) {
          std::optional<Fragments> c = accumulatorFragments(accumulatorLayout(&context, m, n, warpsM, warpsN));
          std::optional<Fragments> a = operandFragments(operandLayout(&context, m, n, warpsM, warpsN));
          ASSERT_TRUE(c && a);
          EXPECT_EQ(c->rows, (m + 16 * warpsM - 1) / (16 * warpsM));
          EXPECT_EQ(c->columns, (n + 16 * warpsN - 1) / (16 * warpsN));
          EXPECT_EQ(c->warpsM, warpsM);
          EXPECT_EQ(c->warpsN, warpsN);
          EXPECT_EQ(a->rows, c->rows);
          EXPECT_EQ(a->columns, (n + 15) / 16);
          EXPECT_EQ(a->warpsM, warpsM);
          EXPECT_EQ(a->warpsN, warpsN);
        }
  EXPECT_FALSE(accumulatorFragments(rowMajorLayout(&context, {64, 64}, 4, 4)));
}

TEST_F(Layouts, DisplacementsAreTheSameForEveryThread) {
  for (int64_t panel : {0, 16, 32, 64, 128})
    for (LayoutAttr layout : {accumulatorLayout(&context, 64, 64, 2, 2), rowMajorLayout(&context, {64, 64}, 8, 4)})
      for (int64_t index = 0; index < countOf(layout.getRegisters()); ++index) {
        Coordinates distance = coordinatesOf(layout.getRegisters(), index, 2);
        std::optional<Displacement> step =
            displacementAlong({64, 64}, kBytes, panel, threadSpread(layout, 2), distance);
        ASSERT_TRUE(step);
        for (int64_t thread = 0; thread < 128; ++thread) {
          Coordinates lane = coordinatesOf(layout.getLanes(), thread % 32, 2);
          Coordinates warp = coordinatesOf(layout.getWarps(), thread / 32, 2);
          int64_t row = lane[0] + warp[0], column = lane[1] + warp[1];
          int64_t from = panelOffset({64, 64}, kBytes, panel, row, column);
          int64_t to = panelOffset({64, 64}, kBytes, panel, row + distance[0], column + distance[1]);
          EXPECT_EQ((from ^ step->flip) + step->add, to);
        }
      }
}

} // namespace
} // namespace tegula::sm
