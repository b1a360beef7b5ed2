// SPDX-License-Identifier: MIT
#include "bench/attention/limits.h"
#include "bench/products/programs.h"
#include "workload/timing.h"

namespace tegula::bench {

Expected<double> matrixProductSpeed(const Machine &machine, DType dtype, int64_t size) {
  const bool onTensorCores = machine.device->target().name == "cuda" && dtype != f32;
  const ProductBlocks blocks = onTensorCores ? ProductBlocks{128, 256, 64} : ProductBlocks{64, 64, 32};
  Expected<Program> program = recordMatrixProduct(dtype, blocks);
  if (!program)
    return program.status();
  Expected<std::shared_ptr<Kernel>> kernel = machine.cache.get(program->text);
  if (!kernel)
    return kernel.status();
  Expected<std::vector<tools::DeviceTensor>> matrices = randomMatrices(*machine.device, dtype, size);
  if (!matrices)
    return matrices.status();
  auto tiles = [&](int block) { return (size + block - 1) / block; };
  const Grid grid{.x = tiles(blocks.block_m) * tiles(blocks.block_n)};
  Expected<double> ms = tools::medianMs(*machine.device, [&] {
    return (*kernel)->launch(grid, {matrices->at(0).view, matrices->at(1).view, matrices->at(2).view});
  });
  if (!ms)
    return ms;
  return tools::teraflops(productFlops(size), *ms);
}

} // namespace tegula::bench
