// SPDX-License-Identifier: MIT
// Tests the bytes of a launch that the driver sees, and that a launch does nothing else.
#include "allocations.h"
#include "cuda_fixture.h"
#include "tegula/cuda_function.h"

using namespace tegula;
using namespace tegula::test;

namespace {

class CudaLaunch : public Cuda {
protected:
  const std::vector<std::string> launchCalls{"cuCtxGetCurrent", "cuCtxPushCurrent_v2", "cuLaunchKernel",
                                             "cuCtxPopCurrent_v2"};
  std::vector<float> memory = std::vector<float>(64);
  int foreign = 0;
};

TEST_F(CudaLaunch, PassesOneBlockOfWords) {
  const auto kernel = load(makeCuda(), cudaArtifact("kernel", {tensor("a", f32, 2), scalar("f", f32), scalar("i", i32),
                                                               scalar("l", i64), written("out", f32)}));
  TensorRef a = contiguous(memory.data(), f32, {2, 3});
  a.strides[0] = 6;
  a.strides[1] = -2;
  a.data = memory.data() + 8;
  const TensorRef out = contiguous(memory.data() + 32, f32, {5});
  EXPECT_OK(kernel->launch({2, 3, 5}, {a, 1.0f, -2, int64_t{1} << 40, out}, {&foreign}));
  const stand_in::Launch launch = stand_in::lastLaunch();
  EXPECT_EQ(launch.function, "kernel");
  EXPECT_EQ(launch.grid, (std::vector<unsigned>{2, 3, 5}));
  EXPECT_EQ(launch.block, (std::vector<unsigned>{128, 1, 1}));
  EXPECT_EQ(launch.sharedBytes, 0u);
  EXPECT_EQ(launch.stream, &foreign);
  const auto address = [](const TensorRef &tensor) { return reinterpret_cast<int64_t>(tensor.data); };
  EXPECT_EQ(launch.words,
            (std::vector<int64_t>{address(a), 2, 3, 6, -2, 0x3f800000, -2, int64_t{1} << 40, address(out), 5, 1}));
}

TEST_F(CudaLaunch, ClearsCounters) {
  Parameter counter = written("n", i32);
  counter.counter = true;
  const auto kernel = load(makeCuda(), cudaArtifact("kernel", {counter}));
  int32_t n = 7;
  stand_in::forgetCalls();
  EXPECT_OK(kernel->launch({1}, {contiguous(&n, i32, {1})}, {&foreign}));
  const std::vector<std::string> calls = stand_in::calls();
  EXPECT_LT(std::find(calls.begin(), calls.end(), "cuMemsetD8Async"),
            std::find(calls.begin(), calls.end(), "cuLaunchKernel"));
  EXPECT_EQ(n, 0);
}

TEST_F(CudaLaunch, PassesTheLargestBlock) {
  std::vector<Parameter> parameters;
  std::vector<Argument> arguments;
  for (int i = 0; i < 64; ++i) {
    parameters.push_back(tensor("t" + std::to_string(i), f32, 5));
    arguments.push_back(*contiguous(memory.data(), f32, std::vector<int64_t>{1, 1, 1, 1, 64 - i}));
  }
  EXPECT_OK(load(makeCuda(), cudaArtifact("kernel", parameters))->launch({1}, arguments));
  const std::vector<int64_t> words = stand_in::lastLaunch().words;
  ASSERT_EQ(words.size(), 64u * 11);
  EXPECT_EQ(words[63 * 11 + 5], 1);
  EXPECT_EQ(words[62 * 11 + 5], 2);
}

TEST_F(CudaLaunch, DescribesTensorsOncePerTensor) {
  Artifact artifact = cudaArtifact("kernel", {tensor("k", bf16, 2)});
  artifact.tensor_maps = {{.parameter = 0, .dtype = bf16, .box = {64, 32}, .swizzle = 128, .columns = 64}};
  const auto kernel = load(makeCuda(), artifact);
  const TensorRef k = contiguous(memory.data(), bf16, {2, 64});
  stand_in::forgetCalls();
  EXPECT_OK(kernel->launch({1}, {k}));
  EXPECT_EQ(stand_in::calls()[2], "cuTensorMapEncodeTiled");
  const int64_t address = reinterpret_cast<intptr_t>(k.data);
  const std::vector<int64_t> words{/*of the map*/ address, address, 2, 64, 64, 1, /*described*/ 1};
  EXPECT_EQ(stand_in::lastLaunch().words, words);

  stand_in::forgetCalls();
  EXPECT_OK(kernel->launch({1}, {k}));
  EXPECT_EQ(stand_in::calls(), launchCalls);
  EXPECT_EQ(stand_in::lastLaunch().words, words);
}

TEST_F(CudaLaunch, SaysWhichTensorsCannotBeDescribed) {
  Artifact artifact = cudaArtifact("kernel", {tensor("k", bf16, 2)});
  artifact.tensor_maps = {{.parameter = 0, .dtype = bf16, .box = {64, 32}, .swizzle = 128, .columns = 64}};
  const auto kernel = load(makeCuda(), artifact);
  TensorRef k = contiguous(memory.data(), bf16, {2, 56});
  k.strides[0] = 60; // Not a multiple of 16 bytes.
  stand_in::forgetCalls();
  EXPECT_OK(kernel->launch({1}, {k}));
  EXPECT_EQ(stand_in::calls(), launchCalls);
  EXPECT_EQ(stand_in::lastLaunch().words.back(), 0);
}

TEST_F(CudaLaunch, PassesNoBlockWithoutParameters) {
  EXPECT_OK(load(makeCuda(), cudaArtifact("kernel"))->launch({7}, {}));
  EXPECT_EQ(stand_in::lastLaunch().words, std::vector<int64_t>());
  EXPECT_EQ(stand_in::lastLaunch().grid, (std::vector<unsigned>{7, 1, 1}));
}

TEST_F(CudaLaunch, OnlyLaunches) {
  const auto kernel = load(makeCuda(), cudaArtifact("kernel", {written("out", f32), scalar("x", f32)}));
  const TensorRef out = contiguous(memory.data(), f32, {64});
  stand_in::forgetCalls();
  const int64_t before = allocations();
  const Status status = kernel->launch({3}, {out, 1.0f});
  EXPECT_EQ(allocations(), before);
  EXPECT_OK(status);
  EXPECT_EQ(stand_in::calls(), launchCalls);
}

TEST_F(CudaLaunch, LeavesTheContextThatIsCurrent) {
  const auto kernel = load(makeCuda(), cudaArtifact("kernel"));
  stand_in::pushContext(0);
  stand_in::forgetCalls();
  EXPECT_OK(kernel->launch({1}, {}));
  EXPECT_EQ(stand_in::calls(), (std::vector<std::string>{"cuCtxGetCurrent", "cuLaunchKernel"}));
  stand_in::fail("cuLaunchKernel", cuda::CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ERROR(kernel->launch({1}, {}), ErrorCode::invalid_argument,
               "kernel 'kernel': cuLaunchKernel failed: CUDA_ERROR_INVALID_HANDLE (invalid resource handle)");
  EXPECT_EQ(stand_in::currentGpus(), std::vector<int>{0});
  stand_in::popContext();
}

TEST_F(CudaLaunch, ChecksTheGridsLimits) {
  const auto kernel = load(makeCuda(), cudaArtifact("kernel"));
  stand_in::forgetCalls();
  EXPECT_ERROR(kernel->launch({1, 65536, 1}, {}), ErrorCode::invalid_argument,
               "kernel 'kernel': grid 1 x 65536 x 1: on a GPU the counts of y and z are at most 65535");
  EXPECT_ERROR(kernel->launch({1, 1, 65536}, {}), ErrorCode::invalid_argument,
               "kernel 'kernel': grid 1 x 1 x 65536: on a GPU the counts of y and z are at most 65535");
  EXPECT_ERROR(kernel->launch({int64_t{1} << 31}, {}), ErrorCode::invalid_argument,
               "kernel 'kernel': grid 2147483648 x 1 x 1: a count lies outside 0 to 2^31 - 1");
  EXPECT_OK(kernel->launch({1, 0, 1}, {}));
  EXPECT_EQ(stand_in::calls(), std::vector<std::string>());
  EXPECT_OK(kernel->launch({(int64_t{1} << 31) - 1, 65535, 1}, {}));
  EXPECT_EQ(stand_in::lastLaunch().grid, (std::vector<unsigned>{2147483647, 65535, 1}));
}

TEST_F(CudaLaunch, ReportsARefusalAndGoesOn) {
  const auto kernel = load(makeCuda(), cudaArtifact("kernel"));
  stand_in::fail("cuLaunchKernel", cuda::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  EXPECT_ERROR(
      kernel->launch({1}, {}), ErrorCode::launch_failed,
      "kernel 'kernel': cuLaunchKernel failed: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (too many resources requested)");
  stand_in::fail("cuLaunchKernel", cuda::CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ERROR(kernel->launch({1}, {}, {&foreign}), ErrorCode::invalid_argument,
               "kernel 'kernel': cuLaunchKernel failed: CUDA_ERROR_INVALID_HANDLE (invalid resource handle)");
  EXPECT_OK(kernel->launch({1}, {}));
}

TEST_F(CudaLaunch, PassesRawArgumentsToFunctions) {
  const auto function = loadCudaFunction(*makeCuda(), "ptx", "f", {.threads = 64, .shared_bytes = 64 * 1024});
  ASSERT_TRUE(function.ok()) << function.status().message();
  stand_in::forgetCalls();
  EXPECT_OK((*function)->launch({2, 1, 3}, {&foreign}, int64_t{5}, 0.5));
  EXPECT_EQ(stand_in::calls(), launchCalls);
  const stand_in::Launch launch = stand_in::lastLaunch();
  EXPECT_EQ(launch.grid, (std::vector<unsigned>{2, 1, 3}));
  EXPECT_EQ(launch.block, (std::vector<unsigned>{64, 1, 1}));
  EXPECT_EQ(launch.sharedBytes, 64u * 1024);
  EXPECT_EQ(launch.stream, &foreign);
  EXPECT_EQ(launch.words, (std::vector<int64_t>{5, 0x3fe0000000000000}));
  EXPECT_OK((*function)->launch({0}, {}));
  EXPECT_ERROR((*function)->launch({-1}, {}), ErrorCode::invalid_argument,
               "kernel 'f': grid -1 x 1 x 1: a count lies outside 0 to 2^31 - 1");
  EXPECT_ERROR((*function)->launch({1, 1, 70000}, {}), ErrorCode::invalid_argument,
               "kernel 'f': grid 1 x 1 x 70000: on a GPU the counts of y and z are at most 65535");
}

} // namespace
