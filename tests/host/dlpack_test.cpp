// SPDX-License-Identifier: MIT
#include "host/host_fixture.h"

using namespace tegula::host;

namespace {

// The structures of dlpack/dlpack.h.
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void *data;
  int32_t device_type, device_id;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};

TEST(Dlpack, StridesAndOffsetsAreKept) {
  float numbers[100];
  int64_t shape[] = {2, 3}, strides[] = {1, 2};
  Expected<tegula_tensor> tensor = fromDlpack(DLTensor{numbers, 1, 0, 2, {2, 32, 1}, shape, strides, 8});
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->data, numbers + 2);
  EXPECT_EQ(tensor->dtype, TEGULA_F32);
  EXPECT_EQ(tensor->rank, 2);
  EXPECT_EQ(tensor->shape[1], 3);
  EXPECT_EQ(tensor->strides[0], 1);
  EXPECT_EQ(tensor->strides[1], 2);
}

TEST(Dlpack, NoStridesMeansCOrder) {
  int64_t shape[] = {2, 3, 4};
  Expected<tegula_tensor> tensor = fromDlpack(DLTensor{nullptr, 1, 0, 3, {4, 16, 1}, shape, nullptr, 0});
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->dtype, TEGULA_BF16);
  EXPECT_EQ(tensor->strides[0], 12);
  EXPECT_EQ(tensor->strides[1], 4);
  EXPECT_EQ(tensor->strides[2], 1);
}

TEST(Dlpack, EveryElementTypeThatThereIs) {
  const std::pair<DLDataType, int32_t> rows[] = {
      {{2, 32, 1}, TEGULA_F32}, {{2, 16, 1}, TEGULA_F16}, {{4, 16, 1}, TEGULA_BF16}, {{0, 64, 1}, TEGULA_I64},
      {{0, 32, 1}, TEGULA_I32}, {{0, 8, 1}, TEGULA_I8},   {{6, 8, 1}, TEGULA_I8},    {{10, 8, 1}, TEGULA_E4M3}};
  for (const auto &[type, dtype] : rows)
    EXPECT_EQ(fromDlpack(DLTensor{nullptr, 1, 0, 0, type, nullptr, nullptr, 0})->dtype, dtype);
}

TEST(Dlpack, RefusesWhatThereIsNot) {
  int64_t shape[6] = {};
  for (DLDataType type : {DLDataType{2, 64, 1}, DLDataType{1, 32, 1}, DLDataType{2, 32, 4}})
    EXPECT_EQ(fromDlpack(DLTensor{nullptr, 1, 0, 1, type, shape, nullptr, 0}).status().code(), ErrorCode::unsupported);
  EXPECT_EQ(fromDlpack(DLTensor{nullptr, 1, 0, 6, {2, 32, 1}, shape, nullptr, 0}).status().message(),
            "dlpack: the tensor has rank 6; legal is 0 to 5");
}

} // namespace
