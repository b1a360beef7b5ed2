// SPDX-License-Identifier: MIT
// tegula-bench-products: matrix products and a chain of two, beside cuBLAS where there is a GPU. All contestants of a
// size run in rounds after each other, so that the clock of the GPU is the same for all.
#include "bench/attention/cublas.h"
#include "bench/products/programs.h"
#include "compiler/client/InProcessCompiler.h"
#include "tegula/kernel_cache.h"
#include "workload/device_tensor.h"
#include "workload/open_device.h"
#include "workload/timing.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <random>

namespace tegula::bench {
namespace {

struct Options {
  std::string target = "cuda", json;
  std::vector<int64_t> sizes = {4096, 8192};
  int rounds = 5;
  double budget_ms = 100;
};

/// A way to compute C = A B, and the milliseconds that it took in each round.
struct Contestant {
  std::string name;
  std::function<Status()> launch;
  std::vector<double> ms = {};
};

/// A kernel for C with the schedule that a user gives; an empty one is the compiler's choice.
struct Variant {
  bool isPersistent;
  ProductBlocks blocks;
  std::string schedule;
};

std::vector<Variant> variants() {
  return {
      {false, {128, 128, 64}, ""},
      {false, {128, 256, 64}, ""},
      {false, {128, 128, 64}, "num_warps=8 num_stages=3 roles=none"},
      {false, {128, 128, 64}, "num_warps=8 num_stages=4 roles=load instances_per_sm=1"},
      {false, {128, 256, 64}, "num_warps=8 num_stages=3 roles=load"},
      {false, {128, 256, 64}, "num_warps=8 num_stages=4 roles=load"},
      {false, {128, 256, 64}, "num_warps=8 num_stages=4 roles=load overlap=none"},
      {false, {192, 192, 64}, "num_warps=12 num_stages=4 roles=load"},
      {true, {128, 256, 64}, "num_warps=8 num_stages=3 roles=load"},
      {true, {128, 128, 64}, "num_warps=8 num_stages=5 roles=load"},
      {true, {192, 128, 64}, "num_warps=12 num_stages=4 roles=load"},
  };
}

struct Matrices {
  tools::DeviceTensor a, b, c;
};

Expected<tools::DeviceTensor> randomMatrix(Device &device, int64_t rows, int64_t columns, uint64_t seed) {
  Expected<tools::DeviceTensor> matrix = tools::allocateTensor(device, bf16, {rows, columns});
  if (matrix)
    TEGULA_RETURN_IF_ERROR(tools::fillWithNormalNumbers(device, *matrix, seed));
  return matrix;
}

Expected<Matrices> makeMatrices(Device &device, int64_t size) {
  Matrices made;
  for (auto [number, matrix] : {std::pair(1, &made.a), {2, &made.b}, {3, &made.c}}) {
    Expected<tools::DeviceTensor> random = randomMatrix(device, size, size, static_cast<uint64_t>(number));
    if (!random)
      return random.status();
    *matrix = std::move(*random);
  }
  return made;
}

/// Compares some elements of C with double precision. bf16 rounds the result, and f32 sums in another order.
Status check(Device &device, const Matrices &m) {
  Expected<std::vector<float>> a = tools::download(device, m.a), b = tools::download(device, m.b),
                               c = tools::download(device, m.c);
  for (const auto *values : {&a, &b, &c})
    if (!*values)
      return values->status();
  const int64_t size = m.a.view.shape[0];
  std::mt19937_64 random(7);
  for (int sample = 0; sample < 200; ++sample) {
    const int64_t row = static_cast<int64_t>(random() % size), column = static_cast<int64_t>(random() % size);
    double sum = 0, magnitude = 0;
    for (int64_t k = 0; k < size; ++k) {
      const double product = double((*a)[row * size + k]) * double((*b)[k * size + column]);
      sum += product;
      magnitude += std::abs(product);
    }
    const double error = std::abs((*c)[row * size + column] - sum);
    if (!(error <= std::abs(sum) * 0x1p-8 + magnitude * 0x1p-20))
      return {ErrorCode::internal,
              fmt::format("C[{}, {}] is {}, and should be {}", row, column, (*c)[row * size + column], sum)};
  }
  return {};
}

class Bench {
public:
  Bench(Options options, Device &device, KernelCache &cache)
      : options_(std::move(options)), device_(device), cache_(cache) {}

  Status run() {
    for (int64_t size : options_.sizes)
      TEGULA_RETURN_IF_ERROR(runSize(size));
    if (!options_.json.empty())
      std::ofstream(options_.json) << results_.dump(1) << '\n';
    return {};
  }

private:
  Expected<Contestant> make(const Variant &variant, const Matrices &m) {
    const auto [block_m, block_n, block_k] = variant.blocks;
    Contestant made{.name = fmt::format("{}{}x{}x{} {}", variant.isPersistent ? "persistent " : "", block_m, block_n,
                                        block_k, variant.schedule.empty() ? "(no schedule)" : variant.schedule),
                    .launch = {}};
    Expected<Program> program = variant.isPersistent ? recordPersistentMatrixProduct(bf16, variant.blocks)
                                                     : recordMatrixProduct(bf16, variant.blocks);
    if (!program)
      return program.status();
    Expected<Schedule> schedule = parseSchedule(variant.schedule);
    if (!schedule)
      return schedule.status();
    Expected<std::shared_ptr<Kernel>> kernel = cache_.get(program->text, *schedule);
    if (!kernel)
      return kernel.status();
    auto tiles = [](int64_t size, int block) { return (size + block - 1) / block; };
    const int64_t all = tiles(m.c.view.shape[0], block_m) * tiles(m.c.view.shape[1], block_n);
    const Grid grid{.x = variant.isPersistent ? std::min(all, (*kernel)->concurrency()) : all};
    made.launch = [kernel = *kernel, grid, &m] { return kernel->launch(grid, {m.a.view, m.b.view, m.c.view}); };
    return made;
  }

  Status runSize(int64_t size) {
    Expected<Matrices> matrices = makeMatrices(device_, size);
    if (!matrices)
      return matrices.status();
    std::vector<Contestant> contestants;
    Expected<CublasProduct> cublas = CublasProduct::make(device_);
    if (cublas)
      contestants.push_back(
          {"cuBLAS", [&] { return cublas->launch(matrices->a.view, matrices->b.view, matrices->c.view); }});
    for (const Variant &variant : variants()) {
      Expected<Contestant> contestant = make(variant, *matrices);
      if (contestant)
        contestants.push_back(std::move(*contestant));
      else
        fmt::print("{}: {}\n", variant.schedule, contestant.status().message());
    }
    for (Contestant &contestant : contestants) {
      TEGULA_RETURN_IF_ERROR(tools::fillWithNormalNumbers(device_, matrices->c, 9));
      TEGULA_RETURN_IF_ERROR(contestant.launch());
      if (Status right = check(device_, *matrices); !right.ok())
        return {right.code(), contestant.name + ": " + right.message()};
    }
    for (int round = 0; round < options_.rounds; ++round)
      for (Contestant &contestant : contestants) {
        Expected<double> ms = tools::medianMs(device_, contestant.launch, options_.budget_ms);
        if (!ms)
          return ms.status();
        contestant.ms.push_back(*ms);
      }
    report(size, contestants);
    return {};
  }

  void report(int64_t size, const std::vector<Contestant> &contestants) {
    const double flops = 2.0 * double(size) * double(size) * double(size);
    for (const Contestant &contestant : contestants) {
      if (contestant.ms.empty())
        continue;
      const double speed = tools::teraflops(flops, tools::median(contestant.ms));
      fmt::print("{:5}  {:7.1f} TFLOP/s  {}\n", size, speed, contestant.name);
      results_.push_back({{"size", size}, {"name", contestant.name}, {"tflops", speed}, {"ms", contestant.ms}});
    }
    std::fflush(stdout);
  }

  Options options_;
  Device &device_;
  KernelCache &cache_;
  nlohmann::json results_ = nlohmann::json::array();
};

Status run(Options options) {
  Expected<std::shared_ptr<Device>> device = tools::openDevice(options.target);
  if (!device)
    return device.status();
  std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  KernelCache cache(*compiler, *device);
  return Bench(std::move(options), **device, cache).run();
}

} // namespace
} // namespace tegula::bench

int main(int argc, char **argv) {
  tegula::bench::Options options;
  CLI::App app("Matrix products in the tile language, beside cuBLAS.");
  app.add_option("--target", options.target, "cuda, or simt:sm_90a to check without a GPU")->capture_default_str();
  app.add_option("--size", options.sizes, "Rows and columns of each matrix")->capture_default_str();
  app.add_option("--rounds", options.rounds, "How often each contestant runs")->capture_default_str();
  app.add_option("--budget-ms", options.budget_ms, "Milliseconds of a contestant in a round")->capture_default_str();
  app.add_option("--json", options.json, "A file for the results");
  CLI11_PARSE(app, argc, argv);
  tegula::Status status = tegula::bench::run(options);
  if (!status.ok())
    std::fprintf(stderr, "tegula-bench-products: %s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
