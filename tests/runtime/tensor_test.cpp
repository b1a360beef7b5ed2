// SPDX-License-Identifier: MIT
#include "fixture.h"

#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace tegula;

namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

void *at(int64_t address) { return reinterpret_cast<void *>(address); }

TensorRef strided(int64_t address, std::vector<int64_t> shape, std::vector<int64_t> strides, DType dtype = f32) {
  TensorRef tensor{
      .data = at(address), .dtype = dtype, .rank = static_cast<int>(shape.size()), .shape = {}, .strides = {}};
  std::copy(shape.begin(), shape.end(), tensor.shape);
  std::copy(strides.begin(), strides.end(), tensor.strides);
  return tensor;
}

std::vector<int64_t> stridesOf(const TensorRef &tensor) { return {tensor.strides, tensor.strides + tensor.rank}; }
std::vector<int64_t> shapeOf(const TensorRef &tensor) { return {tensor.shape, tensor.shape + tensor.rank}; }

TEST(Tensor, ContiguousIsInCOrder) {
  const TensorRef tensor = contiguous(at(64), bf16, {2, 3, 5, 7});
  EXPECT_EQ(shapeOf(tensor), (std::vector<int64_t>{2, 3, 5, 7}));
  EXPECT_EQ(stridesOf(tensor), (std::vector<int64_t>{105, 35, 7, 1}));
  EXPECT_EQ(tensor.data, at(64));
  EXPECT_EQ(tensor.dtype, bf16);
}

TEST(Tensor, ContiguousRefusesSixDimensions) {
  const std::vector<int64_t> shape(6, 1);
  EXPECT_ERROR(contiguous(nullptr, f32, shape).status(), ErrorCode::invalid_argument, "rank 6 is outside 0 to 5");
}

TEST(Tensor, PermutedMovesSizesAndStrides) {
  const Expected<TensorRef> tensor = permuted(contiguous(at(64), f32, {2, 3, 5}), {2, 0, 1});
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(shapeOf(*tensor), (std::vector<int64_t>{5, 2, 3}));
  EXPECT_EQ(stridesOf(*tensor), (std::vector<int64_t>{1, 15, 5}));
}

TEST(Tensor, PermutedRefusesWhatIsNoPermutation) {
  const TensorRef tensor = contiguous(at(64), f32, {2, 3});
  EXPECT_ERROR(permuted(tensor, {0}).status(), ErrorCode::invalid_argument,
               "an order of 1 dimensions for a tensor of rank 2");
  EXPECT_ERROR(permuted(tensor, {0, 0}).status(), ErrorCode::invalid_argument,
               "dimension 0 in place 1 of the order is out of range or named twice");
  EXPECT_ERROR(permuted(tensor, {0, 2}).status(), ErrorCode::invalid_argument,
               "dimension 2 in place 1 of the order is out of range or named twice");
  EXPECT_ERROR(permuted(tensor, {-1, 0}).status(), ErrorCode::invalid_argument,
               "dimension -1 in place 0 of the order is out of range or named twice");
}

TEST(Tensor, NumelMultipliesSizesAndChecksThem) {
  EXPECT_EQ(*numel(contiguous(nullptr, f32, {2, 3, 5})), 30);
  EXPECT_EQ(*numel(TensorRef{}), 1);
  EXPECT_EQ(*numel(strided(0, {kMax, kMax, 0}, {1, 1, 1})), 0);
  EXPECT_ERROR(numel(strided(0, {kMax, 2}, {1, 1})).status(), ErrorCode::invalid_argument,
               "more than 2^63 - 1 elements");
  EXPECT_ERROR(numel(strided(0, {4, -3}, {1, 1})).status(), ErrorCode::invalid_argument,
               "size -3 of dimension 1 is negative");
  TensorRef deep;
  deep.rank = -1;
  EXPECT_ERROR(numel(deep).status(), ErrorCode::invalid_argument, "rank -1 is outside 0 to 5");
}

void expectExtent(const TensorRef &tensor, int64_t lowest, int64_t highest) {
  const Expected<ByteExtent> extent = byteExtent(tensor);
  ASSERT_TRUE(extent.ok()) << extent.status().message();
  EXPECT_EQ(extent->lowest, lowest);
  EXPECT_EQ(extent->highest, highest);
}

TEST(Tensor, ByteExtentCoversAllElements) {
  expectExtent(contiguous(at(64), bf16, {3, 5}), 0, 30);
  expectExtent(strided(64, {3, 5}, {-5, 1}, bf16), -20, 10);
  expectExtent(strided(64, {3, 5}, {0, 10}), 0, 164);
  expectExtent(strided(0, {3, 0}, {kMax, kMax}), 0, 0);
  expectExtent(strided(64, {1, 1}, {kMax, -kMax}), 0, 4);
}

TEST(Tensor, ByteExtentRefusesWhatDoesNotFit) {
  const char *offset = "the offset of an element exceeds 63 bits";
  EXPECT_ERROR(byteExtent(strided(64, {3}, {kMax})).status(), ErrorCode::invalid_argument, offset);
  EXPECT_ERROR(byteExtent(strided(64, {2, 2}, {kMax, 1})).status(), ErrorCode::invalid_argument, offset);
  EXPECT_ERROR(byteExtent(strided(64, {2}, {kMax / 4})).status(), ErrorCode::invalid_argument, offset);
  EXPECT_ERROR(byteExtent(strided(64, {2}, {-kMax / 2})).status(), ErrorCode::invalid_argument, offset);
  EXPECT_ERROR(byteExtent(strided(64, {2}, {-17})).status(), ErrorCode::invalid_argument,
               "the address of an element exceeds 64 bits");
  EXPECT_ERROR(byteExtent(contiguous(at(64), f32, {0x7fffffff, 0x7fffffff, 0x7fffffff})).status(),
               ErrorCode::invalid_argument, "more than 2^63 - 1 elements");
}

TEST(Tensor, AddressRangeIsWhereTheBytesLie) {
  const Expected<AddressRange> range = addressRange(strided(64, {3, 5}, {-5, 1}, bf16));
  ASSERT_TRUE(range.ok()) << range.status().message();
  EXPECT_EQ(range->begin, 44u);
  EXPECT_EQ(range->end, 74u);
  EXPECT_FALSE(addressRange(strided(64, {0}, {1}))->meets({0, 128}));
  EXPECT_ERROR(addressRange(strided(64, {2}, {-17})).status(), ErrorCode::invalid_argument,
               "the address of an element exceeds 64 bits");
}

TEST(Tensor, AddressRangesMeetInAByte) {
  EXPECT_TRUE((AddressRange{4, 8}.meets({7, 9})));
  EXPECT_TRUE((AddressRange{4, 8}.meets({0, 5})));
  EXPECT_FALSE((AddressRange{4, 8}.meets({8, 9})));
  EXPECT_FALSE((AddressRange{4, 8}.meets({0, 4})));
}

TEST(Overlap, PartsOfAPackedTensorAreDisjoint) {
  const int64_t batch = 2, length = 7, heads = 3, size = 16;
  const int64_t row = 3 * heads * size;
  const auto part = [&](int64_t index) {
    return strided(4096 + index * heads * size * 2, {batch, length, heads, size}, {length * row, row, size, 1}, bf16);
  };
  EXPECT_FALSE(overlaps(part(0), part(1)));
  EXPECT_FALSE(overlaps(part(2), part(0)));
  EXPECT_TRUE(overlaps(part(1), part(1)));
  EXPECT_FALSE(overlapsItself(part(1)));
}

TEST(Overlap, EvenAndOddElementsAreDisjoint) {
  EXPECT_FALSE(overlaps(strided(4096, {1000}, {2}), strided(4100, {1000}, {2})));
  EXPECT_TRUE(overlaps(strided(4096, {1000}, {2}), strided(4098, {1000}, {2})));
  EXPECT_TRUE(overlaps(strided(4096, {1000}, {2}), strided(4099, {1}, {1}, i8)));
  EXPECT_FALSE(overlaps(strided(4096, {1000}, {2}), strided(4100, {1}, {1}, i8)));
}

TEST(Overlap, EmptyTensorsOverlapNothing) {
  EXPECT_FALSE(overlaps(strided(4096, {0}, {1}), strided(4096, {4}, {1})));
  EXPECT_FALSE(overlapsItself(strided(4096, {0, 5}, {0, 0})));
}

TEST(Overlap, WhatNoMemoryHoldsOverlaps) {
  const TensorRef tooLarge = strided(4096, {3}, {kMax});
  EXPECT_TRUE(overlaps(tooLarge, strided(4096, {4}, {1})));
  EXPECT_TRUE(overlapsItself(tooLarge));
  const TensorRef beyondAnyMemory = strided(4096, {3}, {kMax / 16});
  EXPECT_TRUE(overlaps(beyondAnyMemory, strided(4100, {1}, {1})));
  EXPECT_TRUE(overlapsItself(beyondAnyMemory));
}

TEST(Overlap, AQuestionThatIsTooHardIsAnsweredYes) {
  // All offsets are even, and only b has odd addresses. The tensors are disjoint, but have 10 unrelated strides.
  const TensorRef a = strided(1 << 20, {90, 91, 92, 93, 94}, {2002, 2006, 2014, 2018, 2026}, i8);
  const TensorRef b = strided((1 << 20) + 1, {90, 91, 92, 93, 94}, {2038, 2042, 2054, 2062, 2066}, i8);
  EXPECT_TRUE(overlaps(a, b));
}

TEST(Overlap, BroadcastsAndWindowsOverlapThemselves) {
  EXPECT_TRUE(overlapsItself(strided(4096, {2, 3}, {0, 1})));
  EXPECT_FALSE(overlapsItself(strided(4096, {1, 3}, {0, 1})));
  EXPECT_TRUE(overlapsItself(strided(4096, {4, 3}, {1, 1})));
  EXPECT_TRUE(overlapsItself(strided(4096, {4, 3}, {-2, 1})));
  EXPECT_FALSE(overlapsItself(strided(4096, {2, 3}, {3, 2})));
  EXPECT_FALSE(overlapsItself(strided(4096, {4, 3}, {-3, 1})));
}

/// Returns the addresses of all bytes, once for each element that covers them.
std::multiset<int64_t> bytesOf(const TensorRef &tensor) {
  std::multiset<int64_t> offsets{reinterpret_cast<int64_t>(tensor.data)};
  const auto elementBytes = static_cast<int64_t>(sizeOf(tensor.dtype));
  for (int i = 0; i < tensor.rank; ++i) {
    std::multiset<int64_t> next;
    for (const int64_t offset : offsets)
      for (int64_t index = 0; index < tensor.shape[i]; ++index)
        next.insert(offset + index * tensor.strides[i] * elementBytes);
    offsets = next;
  }
  std::multiset<int64_t> bytes;
  for (const int64_t offset : offsets)
    for (int64_t byte = 0; byte < elementBytes; ++byte)
      bytes.insert(offset + byte);
  return bytes;
}

class RandomTensors {
public:
  TensorRef next() {
    TensorRef tensor{.data = at(pick(1000, 1060)),
                     .dtype = pick(0, 1) != 0 ? f32 : i8,
                     .rank = int(pick(1, 3)),
                     .shape = {},
                     .strides = {}};
    for (int i = 0; i < tensor.rank; ++i) {
      tensor.shape[i] = pick(pick(0, 9) == 0 ? 0 : 1, 4);
      tensor.strides[i] = pick(-12, 12);
    }
    return tensor;
  }

private:
  int64_t pick(int64_t low, int64_t high) { return low + static_cast<int64_t>(engine_() % (high - low + 1)); }

  std::mt19937 engine_{1};
};

TEST(Overlap, AgreesWithAListOfAllBytes) {
  RandomTensors random;
  for (int round = 0; round < 3000; ++round) {
    const TensorRef a = random.next(), b = random.next();
    const std::multiset<int64_t> bytesA = bytesOf(a), bytesB = bytesOf(b);
    const bool shared = std::any_of(bytesA.begin(), bytesA.end(), [&](int64_t byte) { return bytesB.contains(byte); });
    ASSERT_EQ(overlaps(a, b), shared) << "round " << round;
    ASSERT_EQ(overlaps(b, a), shared) << "round " << round;
    const std::set<int64_t> distinct(bytesA.begin(), bytesA.end());
    ASSERT_EQ(overlapsItself(a), distinct.size() < bytesA.size()) << "round " << round;
  }
}

} // namespace
