// SPDX-License-Identifier: MIT
// Tests what loading a cuda kernel refuses, and with which messages.
#include "cuda_fixture.h"
#include "tegula/cuda_function.h"

#include <algorithm>

using namespace tegula;
using namespace tegula::test;

namespace {

class CudaLoad : public Cuda {
protected:
  Status loadStatus(const Artifact &artifact) { return makeCuda()->load(artifact).status(); }
};

TEST_F(CudaLoad, TakesPtxAndCubins) {
  Artifact artifact = cudaArtifact("kernel");
  EXPECT_OK(loadStatus(artifact));
  artifact.binary = cubin();
  EXPECT_OK(loadStatus(artifact));
}

TEST_F(CudaLoad, KernelsKnowHowManyInstancesRunAtTheSameTime) {
  Artifact artifact = cudaArtifact("kernel");
  auto device = makeCuda();
  const auto kernel = device->load(artifact);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  EXPECT_EQ((*kernel)->concurrency(), 132 * (1024 / artifact.threads));
  stand_in::fail("cuOccupancyMaxActiveBlocksPerMultiprocessor", cuda::CUDA_ERROR_INVALID_VALUE);
  EXPECT_ERROR(loadStatus(artifact), ErrorCode::internal,
               "kernel 'kernel': cuOccupancyMaxActiveBlocksPerMultiprocessor failed: CUDA_ERROR_INVALID_VALUE (invalid "
               "argument)");
}

TEST_F(CudaLoad, RefusesOtherTargetsAndFields) {
  Artifact artifact = cudaArtifact("k");
  artifact.target = "cpu";
  EXPECT_ERROR(loadStatus(artifact), ErrorCode::invalid_argument,
               "kernel 'k': the artifact is for target 'cpu', this device is 'cuda'");
  artifact = cudaArtifact("k", {tensor("q", f32, 6)});
  EXPECT_ERROR(loadStatus(artifact), ErrorCode::invalid_argument,
               "kernel 'k': parameter 'q': a tensor of rank 6, but ranks are 1 to 5");
  artifact = cudaArtifact("k");
  artifact.threads = 0;
  EXPECT_ERROR(loadStatus(artifact), ErrorCode::invalid_argument,
               "kernel 'k': 0 threads and 0 bytes of shared memory are no block");
  artifact = cudaArtifact("k");
  artifact.shared_bytes = -1;
  EXPECT_ERROR(loadStatus(artifact), ErrorCode::invalid_argument,
               "kernel 'k': 128 threads and -1 bytes of shared memory are no block");
}

TEST_F(CudaLoad, TakesTensorMapsOfEachElementSizeAndRank) {
  Artifact artifact = cudaArtifact("k", {tensor("a", f32, 2), tensor("b", i8, 3), tensor("c", f32, 1)});
  artifact.tensor_maps = {{.parameter = 0, .dtype = f32, .box = {32, 256}, .swizzle = 128, .columns = 40},
                          {.parameter = 1, .dtype = i8, .box = {128, 4, 16}, .swizzle = 128, .columns = 40},
                          {.parameter = 2, .dtype = f32, .box = {128}, .swizzle = 0, .columns = 1}};
  EXPECT_OK(loadStatus(artifact));
}

TEST_F(CudaLoad, RefusesTensorMapsThatNoGpuMakes) {
  const TensorMap legal{.parameter = 0, .dtype = bf16, .box = {64, 32}, .swizzle = 128, .columns = 64};
  auto message = [&](void (*change)(TensorMap &map)) {
    Artifact artifact = cudaArtifact("k", {tensor("a", bf16, 2)});
    artifact.tensor_maps = {legal};
    change(artifact.tensor_maps.front());
    return loadStatus(artifact).message();
  };
  EXPECT_EQ(message([](TensorMap &) {}), "");
  EXPECT_EQ(message([](TensorMap &map) { map.dtype = f32; }),
            "kernel 'k': a tensor map is of parameter 0, which is no tensor with elements of 1, 2 or 4 bytes like f32");
  EXPECT_EQ(
      message([](TensorMap &map) { map.parameter = 1; }),
      "kernel 'k': a tensor map is of parameter 1, which is no tensor with elements of 1, 2 or 4 bytes like bf16");
  EXPECT_EQ(message([](TensorMap &map) { map.box = {128, 32}; }),
            "kernel 'k': a tensor map has boxes of 32 x 128 with a swizzle of 128 in 64 columns");
  EXPECT_EQ(message([](TensorMap &map) { map.box = {64, 257}; }),
            "kernel 'k': a tensor map has boxes of 257 x 64 with a swizzle of 128 in 64 columns");
  EXPECT_EQ(message([](TensorMap &map) { map.box = {64, 4, 8}; }),
            "kernel 'k': a tensor map has boxes of 8 x 4 x 64 with a swizzle of 128 in 64 columns");
  EXPECT_EQ(message([](TensorMap &map) { map.swizzle = 16; }),
            "kernel 'k': a tensor map has boxes of 32 x 64 with a swizzle of 16 in 64 columns");
}

TEST_F(CudaLoad, RefusesMapsWithAnEndOfTensorsWithTooManyDimensions) {
  for (int rank : {1, 2, 3, 4}) {
    Artifact artifact = cudaArtifact("k", {tensor("a", bf16, rank)});
    artifact.tensor_maps = {{.parameter = 0, .dtype = bf16, .box = {64}, .columns = 64, .ends_inside = true}};
    EXPECT_EQ(loadStatus(artifact).message(),
              rank == 2 || rank == 3 ? ""
                                     : "kernel 'k': a tensor map with an end inside is of a tensor of rank " +
                                           std::to_string(rank) + "; legal are 2 to 3");
  }
}

TEST_F(CudaLoad, RefusesMapsWithAJoinedDimensionThatTheTensorDoesNotHave) {
  const auto status = [&](int rank, int joined) {
    Artifact artifact = cudaArtifact("k", {tensor("a", bf16, rank)});
    artifact.tensor_maps = {{.parameter = 0, .dtype = bf16, .box = {64}, .columns = 64, .joined = joined}};
    return loadStatus(artifact).message();
  };
  for (int joined : {1, 2})
    for (int rank : {2, 3, 4, 5})
      EXPECT_EQ(status(rank, joined), rank >= 2 + joined && rank <= 4
                                          ? ""
                                          : "kernel 'k': a tensor map with a joined dimension is of a tensor of rank " +
                                                std::to_string(rank) + "; legal are " + std::to_string(2 + joined) +
                                                " to 4");
  EXPECT_EQ(status(4, 3), "kernel 'k': a tensor map joins dimension 3 to its rows; legal are 0 to 2");
}

TEST_F(CudaLoad, RefusesArtifactsThatAreCutOff) {
  Artifact artifact = cudaArtifact("k");
  artifact.binary = "";
  EXPECT_ERROR(loadStatus(artifact), ErrorCode::invalid_argument, "kernel 'k': the binary is empty");
  const std::string whole = cubin();
  for (size_t bytes = 4; bytes < whole.size(); ++bytes) {
    artifact.binary = whole.substr(0, bytes);
    EXPECT_EQ(loadStatus(artifact).code(), ErrorCode::invalid_argument) << bytes;
  }
  artifact.binary = whole.substr(0, whole.size() - 1);
  EXPECT_ERROR(loadStatus(artifact), ErrorCode::invalid_argument,
               "kernel 'k': the binary is not a usable cubin: a section ends beyond the last byte");
  artifact.binary = kernelsObject();
  EXPECT_ERROR(loadStatus(artifact), ErrorCode::invalid_argument,
               "kernel 'k': the binary is not a usable cubin: it is for another kind of processor");
}

TEST_F(CudaLoad, PassesTheDriversLogOn) {
  Artifact artifact = cudaArtifact("k");
  artifact.binary = "wrong";
  EXPECT_ERROR(loadStatus(artifact), ErrorCode::invalid_argument,
               "kernel 'k': cuModuleLoadDataEx failed: CUDA_ERROR_INVALID_PTX (a PTX JIT compilation failed): ptxas "
               "application ptx input, line 1; fatal : Parsing error near 'wrong'");
}

TEST_F(CudaLoad, RefusesAnotherGpusCodeAndNewerPtx) {
  stand_in::fail("cuModuleLoadDataEx", cuda::CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_ERROR(loadStatus(cudaArtifact("k")), ErrorCode::invalid_argument,
               "kernel 'k': cuModuleLoadDataEx failed: CUDA_ERROR_NO_BINARY_FOR_GPU (no kernel image is available for "
               "execution)");
  stand_in::fail("cuModuleLoadDataEx", cuda::CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_ERROR(loadStatus(cudaArtifact("k")), ErrorCode::unsupported,
               "kernel 'k': cuModuleLoadDataEx failed: CUDA_ERROR_UNSUPPORTED_PTX_VERSION (the PTX version is too "
               "new)");
}

TEST_F(CudaLoad, RefusesAMissingFunction) {
  EXPECT_ERROR(loadStatus(cudaArtifact("absent")), ErrorCode::invalid_argument,
               "kernel 'absent': the binary has no function 'absent': cuModuleGetFunction failed: "
               "CUDA_ERROR_NOT_FOUND (named symbol not found)");
}

TEST_F(CudaLoad, RefusesBlocksThatDoNotFit) {
  stand_in::setFunction(168, 384, 1024);
  Artifact artifact = cudaArtifact("k");
  artifact.threads = 512;
  EXPECT_ERROR(loadStatus(artifact), ErrorCode::resource_exhausted,
               "kernel 'k': 512 threads, but its 168 registers allow at most 384");
  artifact.threads = 384;
  artifact.shared_bytes = 226 * 1024 + 1;
  EXPECT_ERROR(loadStatus(artifact), ErrorCode::resource_exhausted,
               "kernel 'k': 231425 bytes of dynamic and 1024 of static shared memory, but this GPU has 232448 for a "
               "block");
  artifact.shared_bytes -= 1;
  EXPECT_OK(loadStatus(artifact));
}

TEST_F(CudaLoad, AsksForMuchSharedMemoryOnly) {
  for (const int64_t bytes : {0, 48 * 1024, 48 * 1024 + 1, 227 * 1024}) {
    Artifact artifact = cudaArtifact("k");
    artifact.shared_bytes = bytes;
    stand_in::forgetCalls();
    const auto kernel = load(makeCuda(), artifact);
    const std::vector<std::string> calls = stand_in::calls();
    EXPECT_EQ(std::count(calls.begin(), calls.end(), "cuFuncSetAttribute"), bytes > 48 * 1024) << bytes;
    EXPECT_OK(kernel->launch({1}, {}));
    EXPECT_EQ(stand_in::lastLaunch().sharedBytes, bytes);
  }
}

TEST_F(CudaLoad, TellsWhatTheDriverSays) {
  stand_in::setFunction(168, 384, 1024);
  const auto info = cudaKernelInfo(*load(makeCuda(), cudaArtifact("k")));
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->registers, 168);
  EXPECT_EQ(info->local_bytes, 16);
  EXPECT_EQ(info->static_shared_bytes, 1024);
  EXPECT_EQ(info->max_threads, 384);
  EXPECT_ERROR(cudaKernelInfo(*load(makeDevice(), artifact("nothing", {}))).status(), ErrorCode::invalid_argument,
               "kernel 'nothing' was not loaded by a cuda device");
}

TEST_F(CudaLoad, LoadsFunctionsOfCudaDevicesOnly) {
  EXPECT_ERROR(loadCudaFunction(*makeDevice(), "ptx", "f", {}).status(), ErrorCode::invalid_argument,
               "device 'cpu' is no cuda device");
  EXPECT_ERROR(loadCudaFunction(*makeCuda(), "ptx", "f", {.threads = 2048}).status(), ErrorCode::resource_exhausted,
               "kernel 'f': 2048 threads, but its 32 registers allow at most 1024");
}

} // namespace
