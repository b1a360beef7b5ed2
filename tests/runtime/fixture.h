// SPDX-License-Identifier: MIT
// Makes artifacts from kernels.c, and a device to run them.
#pragma once

#include "tegula/artifact.h"
#include "tegula/device.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace tegula {

namespace test {

/// Returns the bytes of a build of kernels.c. The second build adds 2 where the first adds 1. The third needs a symbol
/// `tegula_test_absent` that does not exist.
std::string kernelsObject();
std::string otherKernelsObject();
std::string unresolvedKernelsObject();

Parameter tensor(std::string name, DType dtype, int rank = 1);
Parameter written(std::string name, DType dtype, int rank = 1);
Parameter scalar(std::string name, DType dtype);

/// Returns an artifact for one function of kernels.c.
Artifact artifact(std::string kernel, std::vector<Parameter> parameters, int64_t scratchBytes = 0);

std::shared_ptr<Device> makeDevice(int threads = 0);

/// Loads a kernel, or ends the process with a message.
std::shared_ptr<Kernel> load(const std::shared_ptr<Device> &device, const Artifact &artifact);

template <class T> DType dtypeOf();
template <> inline DType dtypeOf<float>() { return f32; }
template <> inline DType dtypeOf<int32_t>() { return i32; }
template <> inline DType dtypeOf<int64_t>() { return i64; }

testing::AssertionResult isOk(const Status &status);
testing::AssertionResult isError(const Status &status, ErrorCode code, const std::string &message);

/// Returns a view of a vector's elements.
template <class T> TensorRef view(std::vector<T> &values) {
  return contiguous(values.data(), dtypeOf<T>(), {static_cast<int64_t>(values.size())});
}

} // namespace test
} // namespace tegula

#define EXPECT_OK(expression) EXPECT_TRUE(::tegula::test::isOk(expression))

/// Expects a Status of this code with exactly this text.
#define EXPECT_ERROR(expression, code, message) EXPECT_TRUE(::tegula::test::isError(expression, code, message))
