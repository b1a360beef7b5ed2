// SPDX-License-Identifier: MIT
// Parts that all lessons need: a device with its compiler and its memory, random numbers, and checks.
#pragma once

#include "tegula/convert.h"
#include "tegula/cuda_device.h"
#include "tegula/kernel_cache.h"
#include "tegula/worker_compiler.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Ends the program with the message of an error, if there is one.
inline void require(const tegula::Status &status) {
  if (status.ok())
    return;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}

/// Returns a value. Ends the program with the message of the error if there is none.
template <class T> T valueOf(tegula::Expected<T> expected) {
  require(expected.status());
  return std::move(*expected);
}

/// Returns multiples of 1/64 from -2 to 2, which f32, f16 and bf16 represent exactly.
inline std::vector<float> randomNumbers(int64_t count) {
  static std::mt19937 random(/*seed=*/1);
  std::vector<float> numbers(count);
  for (float &number : numbers)
    number = float(int(random() % 256) - 128) / 64;
  return numbers;
}

/// Returns the same numbers in double precision.
inline std::vector<double> exactly(const std::vector<float> &numbers) { return {numbers.begin(), numbers.end()}; }

/// Prints the largest difference between a result and the plain loops. Returns whether it is within the bound.
inline bool check(const char *name, const std::vector<float> &result, const std::vector<double> &exact, double bound) {
  double largest = 0;
  for (size_t n = 0; n < exact.size(); ++n) {
    const double difference = std::abs(result.at(n) - exact[n]);
    largest = std::isnan(difference) ? kInfinity : std::max(largest, difference);
  }
  std::printf("%s: largest difference from plain loops %.1e\n", name, largest);
  return largest <= bound;
}

/// Returns attention for one head in plain loops. `weightOf(query, key, product)` is the weight of a key, which need
/// not have a sum of 1. q, k and v are matrices with `dim` columns.
template <class Weight>
std::vector<double> plainAttention(const std::vector<double> &q, const std::vector<double> &k,
                                   const std::vector<double> &v, int64_t dim, Weight weightOf) {
  std::vector<double> o(q.size());
  for (int64_t i = 0; i < int64_t(q.size()) / dim; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < int64_t(k.size()) / dim; ++j) {
      const double weight = weightOf(i, j, std::inner_product(&q[i * dim], &q[i * dim] + dim, &k[j * dim], 0.0));
      sum += weight;
      for (int64_t d = 0; d < dim; ++d)
        o[i * dim + d] += weight * v[j * dim + d];
    }
    for (int64_t d = 0; d < dim; ++d)
      o[i * dim + d] /= sum;
  }
  return o;
}

/// A device with a compiler, and the tensors on it: the first GPU, or the cores of this machine if there is no GPU.
class Machine {
public:
  Machine() : Machine(anyDevice()) {}
  explicit Machine(std::shared_ptr<tegula::Device> device)
      : device(device), compiler(tegula::makeWorkerCompiler()), cache(*compiler, device) {
    std::printf("device: %s\n", std::string(device->name()).c_str());
  }

  /// Returns a view of new memory, which lives as long as this object.
  template <size_t Rank> tegula::TensorRef allocate(const int64_t (&shape)[Rank], tegula::DType dtype = tegula::f32) {
    tegula::TensorRef tensor = tegula::contiguous(nullptr, dtype, shape);
    buffers_.push_back(valueOf(device->allocate(valueOf(tegula::numel(tensor)) * int64_t(tegula::sizeOf(dtype)))));
    tensor.data = buffers_.back().data();
    return tensor;
  }

  /// Copies numbers to the device, as f32 or bf16.
  template <size_t Rank>
  tegula::TensorRef upload(const std::vector<float> &numbers, const int64_t (&shape)[Rank],
                           tegula::DType dtype = tegula::f32) {
    const tegula::TensorRef tensor = allocate(shape, dtype);
    std::vector<uint16_t> rounded(numbers.size());
    std::ranges::transform(numbers, rounded.begin(), tegula::toBf16);
    const void *data = dtype == tegula::bf16 ? static_cast<const void *>(rounded.data()) : numbers.data();
    require(device->copyToDevice(tensor.data, data, buffers_.back().bytes()));
    require(device->synchronize());
    return tensor;
  }

  /// Waits for the device. Returns the numbers of an f32 tensor.
  std::vector<float> download(const tegula::TensorRef &tensor) {
    std::vector<float> numbers(valueOf(tegula::numel(tensor)));
    require(device->copyToHost(numbers.data(), tensor.data, int64_t(numbers.size() * sizeof(float))));
    require(device->synchronize());
    return numbers;
  }

  const std::shared_ptr<tegula::Device> device;
  const std::unique_ptr<tegula::Compiler> compiler;
  tegula::KernelCache cache;

private:
  static std::shared_ptr<tegula::Device> anyDevice() {
    tegula::Expected<std::shared_ptr<tegula::Device>> gpu = tegula::cudaDevice();
    return gpu ? *gpu : valueOf(tegula::cpuDevice());
  }

  std::vector<tegula::Buffer> buffers_;
};
