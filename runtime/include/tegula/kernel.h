// SPDX-License-Identifier: MIT
// Loaded kernels and their launches.
#pragma once

#include "tegula/artifact.h"
#include "tegula/status.h"
#include "tegula/stream.h"
#include "tegula/tensor.h"

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tegula {

/// Number of program instances along each axis. If one of them is 0, there are no instances.
struct Grid {
  int64_t x = 1;
  int64_t y = 1;
  int64_t z = 1;
};

/// The argument of a launch for one parameter: a tensor, or a scalar of type f32, i32 or i64. Scalars are never
/// converted.
class Argument {
public:
  Argument(const TensorRef &tensor) noexcept : kind_(Parameter::Kind::tensor), dtype_(tensor.dtype), tensor_(tensor) {}
  Argument(float value) noexcept : dtype_(DType::f32), f32_(value) {}
  Argument(int32_t value) noexcept : dtype_(DType::i32), integer_(value) {}
  Argument(int64_t value) noexcept : dtype_(DType::i64), integer_(value) {}
  template <class T>
    requires(!std::convertible_to<const T &, TensorRef> && !std::same_as<T, float> && !std::same_as<T, int32_t> &&
             !std::same_as<T, int64_t> && !std::same_as<T, Argument>)
  Argument(const T &) = delete; // an argument of launch is a TensorRef, float (0.125f), int32_t or int64_t

  Parameter::Kind kind() const noexcept { return kind_; }
  DType dtype() const noexcept { return dtype_; }
  /// Returns the tensor. Only for tensors.
  const TensorRef &tensor() const noexcept { return tensor_; }
  /// Returns the value. Only for f32.
  float f32Value() const noexcept { return f32_; }
  /// Returns the value, sign-extended for i32. Only for i32 and i64.
  int64_t integerValue() const noexcept { return integer_; }

private:
  Parameter::Kind kind_ = Parameter::Kind::scalar;
  DType dtype_;
  union {
    TensorRef tensor_;
    float f32_;
    int64_t integer_;
  };
};

/// A kernel that is loaded on a device. Device::load makes it. It is immutable: any number of threads may launch it at
/// the same time. The host keeps it alive until its launches have finished. It may outlive its Device.
class Kernel {
public:
  virtual ~Kernel() = default;
  Kernel(const Kernel &) = delete;
  Kernel &operator=(const Kernel &) = delete;

  /// Returns the name of the symbol, as in Artifact::kernel.
  const std::string &name() const noexcept { return name_; }
  const std::vector<Parameter> &parameters() const noexcept { return parameters_; }
  /// Returns the number of program instances that the device runs at the same time: its threads, or the instances that
  /// its multiprocessors hold.
  virtual int64_t concurrency() const noexcept { return concurrency_; }

  /// Runs every instance of `grid` once, in no particular order, with `arguments` in the order of parameters().
  /// Counters (Parameter::counter) are set to 0 first, in the order of `stream`. If the launch fails, no instance has
  /// run. An empty grid is checked like any other and runs nothing.
  ///
  /// Every error names the kernel. The error invalid_argument also names the parameter. It is returned for:
  /// - a wrong count, kind, dtype or rank;
  /// - a negative size, or a size of 2^31 or more, because positions inside a kernel have 32 bits;
  /// - a counter that does not have exactly one element;
  /// - data that is null or not aligned to its elements, or offsets beyond 63 bits;
  /// - a written tensor that overlaps another argument or itself;
  /// - a grid with a negative count, a count of 2^31 or more, or more than 2^62 instances;
  /// - on cuda, a grid with more than 65535 along y or z.
  ///
  /// Returns resource_exhausted if there is no memory for scratch, and forked_child in a fork of the process that made
  /// the device. On cuda also returns launch_failed if the driver refuses, and device_lost after a fault.
  Status launch(Grid grid, std::span<const Argument> arguments, Stream stream = {}) const noexcept;
  Status launch(Grid grid, std::initializer_list<Argument> arguments, Stream stream = {}) const noexcept {
    return launch(grid, std::span<const Argument>(arguments.begin(), arguments.size()), stream);
  }

  template <std::integral Count>
  Status launch(Count, std::initializer_list<Argument>, Stream = {}) const = delete; // write the grid as {.x = 8}

  /// Returns the error with which any device would refuse a launch, and runs nothing. Callers that launch several
  /// kernels check all of them before the first one runs.
  Status check(Grid grid, std::span<const Argument> arguments) const noexcept;

protected:
  Kernel(std::string name, std::vector<Parameter> parameters, int64_t concurrency)
      : name_(std::move(name)), parameters_(std::move(parameters)), concurrency_(concurrency) {}

  /// Runs a grid of at least one instance. launch has checked the arguments, and catches exceptions.
  virtual Status run(Grid grid, std::span<const Argument> arguments, Stream stream) const = 0;
  /// Launches `kernel` as its launch() does. Errors do not have its name yet.
  static Status launchUnnamed(const Kernel &kernel, Grid grid, std::span<const Argument> arguments, Stream stream);
  /// Sets memory of the device to 0.
  virtual Status clear(void *memory, size_t bytes, Stream stream) const = 0;

private:
  Status clearCounters(std::span<const Argument> arguments, Stream stream) const;

  std::string name_;
  std::vector<Parameter> parameters_;
  int64_t concurrency_;
};

} // namespace tegula
