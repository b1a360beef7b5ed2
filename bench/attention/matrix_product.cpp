// SPDX-License-Identifier: MIT
#include "bench/attention/limits.h"
#include "tegula/dsl.h"
#include "workload/timing.h"

namespace tegula::bench {
namespace {

/// C = A B, one program instance per tile of C.
Expected<Program> recordMatrixProduct(DType dtype, int block_m, int block_n, int block_k) {
  auto kernel = [=](View A, View B, View C) {
    Value i = programId(0) * block_m;
    Value j = programId(1) * block_n;
    Var c = fill({block_m, block_n}, 0.0); // [block_m, block_n]
    for (Value k : range(0, A.dim(1), block_k))
      c = dot(A.load({i, k}, {block_m, block_k}), B.load({k, j}, {block_k, block_n}), c);
    C.store({i, j}, c);
  };
  return record("matrix_product", kernel, TensorArg{"a", dtype, 2}, TensorArg{"b", dtype, 2}, TensorArg{"c", dtype, 2});
}

} // namespace

Expected<double> matrixProductSpeed(const Machine &machine, DType dtype, int64_t size) {
  bool gpu = machine.device->target().name == "cuda";
  int block_m = gpu && dtype != f32 ? 128 : 64, block_n = block_m, block_k = 32;
  Expected<Program> program = recordMatrixProduct(dtype, block_m, block_n, block_k);
  if (!program)
    return program.status();
  Schedule schedule{.num_warps = gpu ? 8 : 0, .num_stages = gpu ? 3 : 0};
  Expected<std::shared_ptr<Kernel>> kernel = machine.cache.get(program->text, schedule);
  if (!kernel)
    return kernel.status();
  Expected<std::vector<tools::DeviceTensor>> matrices = randomMatrices(*machine.device, dtype, size);
  if (!matrices)
    return matrices.status();
  Grid grid{.x = (size + block_m - 1) / block_m, .y = (size + block_n - 1) / block_n};
  Expected<double> ms = tools::medianMs(*machine.device, [&] {
    return (*kernel)->launch(grid, {matrices->at(0).view, matrices->at(1).view, matrices->at(2).view});
  });
  if (!ms)
    return ms;
  return tools::teraflops(productFlops(size), *ms);
}

} // namespace tegula::bench
