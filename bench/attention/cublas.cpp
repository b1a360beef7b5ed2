// SPDX-License-Identifier: MIT
// cuBLAS works on the null stream of the GPU's primary context, which the devices of the runtime share.
#include "bench/attention/limits.h"
#include "tegula/internal/system_library.h"
#include "workload/timing.h"

#include <string>

namespace tegula::bench {
namespace {

using Handle = struct cublasContext *;

struct Cublas {
  int (*create)(Handle *handle) = nullptr;
  int (*destroy)(Handle handle) = nullptr;
  int (*gemm)(Handle handle, int transpose_a, int transpose_b, int m, int n, int k, const void *alpha, const void *a,
              int a_type, int lda, const void *b, int b_type, int ldb, const void *beta, void *c, int c_type, int ldc,
              int compute_type, int algorithm) = nullptr;

  static SystemLibrary library() {
    return {.what = "cuBLAS",
            .variable = "TEGULA_LIBCUBLAS",
            .files = {"libcublas.so.13", "libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so"},
            .needed = "cuBLAS of CUDA 12 or 13"};
  }
  std::vector<Binding> bindings() {
    return {{"cublasCreate_v2", reinterpret_cast<void **>(&create)},
            {"cublasDestroy_v2", reinterpret_cast<void **>(&destroy)},
            {"cublasGemmEx", reinterpret_cast<void **>(&gemm)}};
  }
};

/// cudaDataType
int typeOf(DType dtype) { return dtype == f32 ? 0 : dtype == f16 ? 2 : 14; }

constexpr int kComputeF32 = 68; // CUBLAS_COMPUTE_32F
constexpr int kAnyAlgorithm = -1;

Status statusOf(const char *what, int result) {
  return result == 0 ? Status()
                     : Status(ErrorCode::launch_failed, std::string(what) + " gave " + std::to_string(result));
}

} // namespace

Expected<double> cublasSpeed(const Machine &machine, DType dtype, int64_t size) {
  if (machine.device->target().name != "cuda")
    return Status(ErrorCode::unsupported, "cuBLAS is for GPUs");
  Expected<const Cublas *> cublas = functionsOf<Cublas>();
  if (!cublas)
    return cublas.status();
  Expected<std::vector<tools::DeviceTensor>> matrices = randomMatrices(*machine.device, dtype, size);
  if (!matrices)
    return matrices.status();
  Handle handle = nullptr;
  TEGULA_RETURN_IF_ERROR(statusOf("cublasCreate", (*cublas)->create(&handle)));
  const float one = 1, zero = 0;
  int n = int(size), type = typeOf(dtype);
  Expected<double> ms = tools::medianMs(*machine.device, [&] {
    return statusOf("cublasGemmEx", (*cublas)->gemm(handle, 0, 0, n, n, n, &one, matrices->at(0).view.data, type, n,
                                                    matrices->at(1).view.data, type, n, &zero,
                                                    matrices->at(2).view.data, type, n, kComputeF32, kAnyAlgorithm));
  });
  (*cublas)->destroy(handle);
  if (!ms)
    return ms;
  return tools::teraflops(productFlops(size), *ms);
}

} // namespace tegula::bench
