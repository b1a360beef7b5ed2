// SPDX-License-Identifier: MIT
// cuBLAS works on the null stream of the GPU's primary context, which the devices of the runtime share.
#include "bench/attention/cublas.h"

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

Expected<CublasProduct> CublasProduct::make(const Device &device) {
  if (device.target().name != "cuda")
    return Status(ErrorCode::unsupported, "cuBLAS is for GPUs");
  Expected<const Cublas *> cublas = functionsOf<Cublas>();
  if (!cublas)
    return cublas.status();
  Handle handle = nullptr;
  TEGULA_RETURN_IF_ERROR(statusOf("cublasCreate", (*cublas)->create(&handle)));
  return CublasProduct(
      std::shared_ptr<void>(handle, [cublas = *cublas](void *it) { cublas->destroy(static_cast<Handle>(it)); }));
}

Status CublasProduct::launch(const TensorRef &a, const TensorRef &b, const TensorRef &c) const {
  Expected<const Cublas *> cublas = functionsOf<Cublas>();
  if (!cublas)
    return cublas.status();
  const float one = 1, zero = 0;
  const int m = static_cast<int>(c.shape[0]), n = static_cast<int>(c.shape[1]), k = static_cast<int>(a.shape[1]);
  const int type = typeOf(a.dtype);
  // cuBLAS counts columns first, so it sees the transposed matrices: C^T = B^T A^T.
  return statusOf("cublasGemmEx",
                  (*cublas)->gemm(static_cast<Handle>(handle_.get()), 0, 0, n, m, k, &one, b.data, type, n, a.data,
                                  type, k, &zero, c.data, type, n, kComputeF32, kAnyAlgorithm));
}

Expected<double> cublasSpeed(const Machine &machine, DType dtype, int64_t size) {
  Expected<CublasProduct> product = CublasProduct::make(*machine.device);
  if (!product)
    return product.status();
  Expected<std::vector<tools::DeviceTensor>> matrices = randomMatrices(*machine.device, dtype, size);
  if (!matrices)
    return matrices.status();
  Expected<double> ms = tools::medianMs(*machine.device, [&] {
    return product->launch(matrices->at(0).view, matrices->at(1).view, matrices->at(2).view);
  });
  if (!ms)
    return ms;
  return tools::teraflops(productFlops(size), *ms);
}

} // namespace tegula::bench
