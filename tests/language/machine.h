// SPDX-License-Identifier: MIT
// Runs small programs of the language on the test device; on the cpu with vectors of 8 and of 16 elements.
#pragma once

#include "compiler/client/InProcessCompiler.h"
#include "support/test_device.h"
#include "support/test_tensor.h"
#include "tegula/dsl.h"
#include "tegula/kernel_cache.h"
#include "tegula/simt_device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tegula::language {

/// The bits of a bf16 number. Conversions round to nearest even.
struct Bf16 {
  uint16_t bits = 0;
  Bf16() = default;
  Bf16(float x) {
    uint32_t word;
    std::memcpy(&word, &x, 4);
    bits = static_cast<uint16_t>((word + 0x7fff + (word >> 16 & 1)) >> 16);
  }
  operator float() const {
    uint32_t word = uint32_t{bits} << 16;
    float x;
    std::memcpy(&x, &word, 4);
    return x;
  }
};

/// The bits of an e4m3 number. The conversions follow from the definition of the type, without arithmetic on bits.
struct E4m3 {
  uint8_t bits = 0;
  E4m3() = default;
  /// Takes the nearest number, or the one with the even code of two. The largest one stands for all that are larger.
  E4m3(float x) {
    constexpr int nan = 0x7f;
    double least = std::numeric_limits<double>::infinity();
    bits = std::isnan(x) ? nan : 0;
    for (int code = 0; code < nan && !std::isnan(x); ++code) {
      const double distance = std::fabs(std::fabs(double{x}) - valueOf(uint8_t(code)));
      if (distance < least || (distance == least && code % 2 == 0)) {
        least = distance;
        bits = uint8_t(code);
      }
    }
    if (!std::isnan(x) && std::signbit(x))
      bits |= 0x80;
  }
  operator float() const { return valueOf(bits); }

  static float valueOf(uint8_t code) {
    const int sign = code >> 7, exponent = code >> 3 & 0xf, fraction = code & 7;
    if (exponent == 0xf && fraction == 7)
      return std::numeric_limits<float>::quiet_NaN();
    const double magnitude =
        exponent == 0 ? fraction / 8.0 * std::pow(2.0, -6) : (1 + fraction / 8.0) * std::pow(2.0, exponent - 7);
    return static_cast<float>(sign ? -magnitude : magnitude);
  }
};

template <class T> struct DTypeOf;
template <> struct DTypeOf<float> {
  static constexpr DType value = f32;
};
template <> struct DTypeOf<Bf16> {
  static constexpr DType value = bf16;
};
template <> struct DTypeOf<E4m3> {
  static constexpr DType value = e4m3;
};
template <> struct DTypeOf<int64_t> {
  static constexpr DType value = i64;
};
template <> struct DTypeOf<int32_t> {
  static constexpr DType value = i32;
};
template <> struct DTypeOf<int8_t> {
  static constexpr DType value = i8;
};

/// A dense row-major tensor on the host.
template <class T> struct Array {
  std::vector<int64_t> shape;
  std::vector<T> data;

  explicit Array(std::vector<int64_t> shape, T value = T())
      : shape(std::move(shape)),
        data(std::accumulate(this->shape.begin(), this->shape.end(), int64_t{1}, std::multiplies<>()), value) {}

  static Array random(std::vector<int64_t> shape, int seed, double low = -2, double high = 2) {
    Array result(std::move(shape));
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> uniform(low, high);
    for (T &x : result.data)
      x = static_cast<T>(static_cast<float>(uniform(generator)));
    return result;
  }

  T &operator()(int64_t i) { return data[i]; }
  T &operator()(int64_t i, int64_t j) { return data[i * shape[1] + j]; }
  T &operator()(int64_t i, int64_t j, int64_t k) { return data[(i * shape[1] + j) * shape[2] + k]; }

  DType dtype() const { return DTypeOf<T>::value; }
};

/// An array in device memory, with NaNs around it.
template <class T> class OnDevice {
public:
  explicit OnDevice(Array<T> &array)
      : array_(array), tensor_(array.dtype(), array.shape, testing::Layout::contiguous, testing::Poison::ones,
                               std::as_bytes(std::span(array.data))) {}

  TensorRef ref() const { return tensor_.ref(); }

  /// Copies the device's numbers to the array. Returns true if the memory around them has not changed.
  bool readBack() const {
    const std::vector<std::byte> bits = tensor_.bits();
    std::memcpy(array_.data.data(), bits.data(), bits.size());
    return tensor_.surroundingsIntact();
  }

private:
  Array<T> &array_;
  testing::TestTensor tensor_;
};

/// Returns the test device if it is a GPU, otherwise the executor of sm_90a.
inline std::shared_ptr<Device> hopperDevice() {
  if (testing::testDevice()->target().name == "cuda")
    return testing::testDevice();
  return testing::valueOf(simtDevice({.arch = "sm_90a"}));
}

/// Returns the vector widths of the cpu to test; 0 leaves the choice to the target.
inline std::vector<int> testedLanes() { return testing::onGpu() ? std::vector<int>{0} : std::vector<int>{8, 16}; }

inline Expected<std::shared_ptr<Kernel>> compileFor(const Program &program, int lanes) {
  static std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  static KernelCache cache(*compiler, testing::testDevice());
  std::string text = program.text;
  const std::string version = "tile.version = 1 : i64";
  if (lanes > 0)
    text.replace(text.find(version), version.size(), version + ", tile.lanes = " + std::to_string(lanes) + " : i64");
  return cache.get(text);
}

/// Records kernel(views of the arrays...) and runs it on `grid`.
template <class KernelFunction, class... T>
void run(int lanes, Grid grid, const KernelFunction &kernel, Array<T> &...arrays) {
  int number = 0;
  std::tuple<decltype((void)arrays, TensorArg())...> parameters{
      TensorArg{"t" + std::to_string(number++), arrays.dtype(), static_cast<int>(arrays.shape.size())}...};
  Expected<Program> program =
      std::apply([&](auto &...parameter) { return record("kernel", kernel, parameter...); }, parameters);
  ASSERT_TRUE(program.ok()) << program.status().message();
  auto compiled = compileFor(*program, lanes);
  ASSERT_TRUE(compiled.ok()) << compiled.status().message() << program->text;
  std::tuple<OnDevice<T>...> device{arrays...};
  Status status =
      std::apply([&](const auto &...array) { return (*compiled)->launch(grid, {Argument(array.ref())...}); }, device);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_TRUE(std::apply([](const auto &...array) { return (array.readBack() & ...); }, device))
      << "memory outside an array was written";
}

/// A test that runs with every width of vectors.
class Language : public ::testing::TestWithParam<int> {
protected:
  template <class KernelFunction, class... T> void run(const KernelFunction &kernel, Array<T> &...arrays) {
    language::run(GetParam(), Grid{1, 1, 1}, kernel, arrays...);
  }
  template <class KernelFunction, class... T> void runOn(Grid grid, const KernelFunction &kernel, Array<T> &...arrays) {
    language::run(GetParam(), grid, kernel, arrays...);
  }
};

} // namespace tegula::language
