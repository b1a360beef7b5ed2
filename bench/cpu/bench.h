// SPDX-License-Identifier: MIT
// The parts of the cpu benchmark. Attention is always batch 1, 8 heads, f32, without a mask.
#pragma once

#include "tegula/artifact.h"
#include "tegula/attention_programs.h"
#include "tegula/kernel_cache.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tegula::bench {

/// The device and the compiler that the measurements use.
struct Machine {
  std::shared_ptr<Device> device;
  std::unique_ptr<Compiler> compiler;
  std::unique_ptr<KernelCache> cache;
};

/// Billions of operations per second of OpenBLAS's product of two f32 matrices of size x size, on all cores.
double sgemmGflops(int size);

/// One problem.
struct Throughput {
  int64_t seqlen = 0;
  int head_dim = 0;
  double forward_ms = 0, forward_gflops = 0;
  double backward_ms = 0, backward_gflops = 0; ///< 0 if only forward was asked for.
};
Expected<Throughput> attentionThroughput(const Machine &machine, int64_t seqlen, int head_dim, bool backward);

/// Memory that a forward pass takes beyond its tensors.
struct ExtraMemory {
  Algorithm algorithm = Algorithm::flash2;
  int64_t seqlen = 0;
  int64_t workspace_bytes = 0; ///< Bytes that the plan asks for.
  int64_t peak_bytes = 0;      ///< Growth of the process's resident memory, workspace included.
};
Expected<ExtraMemory> extraMemory(const Machine &machine, Algorithm algorithm, int64_t seqlen);

struct Report {
  std::string device;
  int gemm_size = 0;
  double sgemm_gflops = 0;
  Throughput headline;
  std::vector<Throughput> grid;
  std::vector<ExtraMemory> memory;

  /// Attention's speed as a share of the matrix product's.
  double ratio() const { return headline.forward_gflops / sgemm_gflops; }
};

std::string toJson(const Report &report);
std::string toTable(const Report &report);

} // namespace tegula::bench
