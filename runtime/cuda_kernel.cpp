// SPDX-License-Identifier: MIT
#include "cuda_kernel.h"

#include "argument_words.h"
#include "checks.h"
#include "cuda_function.h"
#include "cuda_tensor_map.h"
#include "tegula/guard.h"

#include <array>

namespace tegula {
namespace cuda {
namespace {

/// The parameters of a cuda artifact's kernel; see artifact.h.
class ParameterBlock {
public:
  ParameterBlock(std::span<const Argument> arguments, TensorMaps &maps) {
    int64_t *word = words_.data();
    const int64_t described = maps.describe(arguments, word);
    word += maps.count() * kTensorMapWords;
    for (const Argument &argument : arguments)
      if (argument.kind() == Parameter::Kind::tensor) {
        *word++ = reinterpret_cast<intptr_t>(argument.tensor().data);
        word = writeLayout(word, argument.tensor());
      } else {
        *word++ = scalarWord(argument);
      }
    if (maps.count() > 0)
      *word++ = described;
    bytes_ = reinterpret_cast<char *>(word) - reinterpret_cast<char *>(words_.data());
    firstWord_ = maps.count() * kTensorMapWords;
  }

  Status launch(const Function &function, Grid grid, Stream stream) {
    return firstWord_ == 0 ? function.launch(grid, stream, nullptr, bytes_ == 0 ? nullptr : extra().data())
                           : function.launch(grid, stream, addresses().data(), nullptr);
  }

private:
  static constexpr size_t kMaxWords = kMaxParameters * (1 + kMaxLayoutWords) + 1;

  std::array<void *, 5> extra() noexcept {
    return {CU_LAUNCH_PARAM_BUFFER_POINTER, words_.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes_, CU_LAUNCH_PARAM_END};
  }

  /// Returns the address of each parameter, with null at the end. The driver takes parameters one by one, because only
  /// it knows their offsets. ptxas aligns tensor maps in the constant bank, where parameters do not begin at a multiple
  /// of 64.
  std::array<void *, kMaxTensorMaps + kMaxWords + 1> addresses() noexcept {
    std::array<void *, kMaxTensorMaps + kMaxWords + 1> addresses;
    size_t count = 0;
    for (size_t word = 0; word < firstWord_; word += kTensorMapWords)
      addresses[count++] = &words_[word];
    for (size_t word = firstWord_; word < bytes_ / sizeof(int64_t); ++word)
      addresses[count++] = &words_[word];
    addresses[count] = nullptr;
    return addresses;
  }

  alignas(CUtensorMap) std::array<int64_t, kMaxTensorMaps * kTensorMapWords + kMaxWords> words_;
  size_t bytes_, firstWord_; ///< Words of tensor maps come before `firstWord_`.
};

class CudaKernel final : public Kernel {
public:
  CudaKernel(const Artifact &artifact, std::shared_ptr<Context> context, Function function, int64_t concurrency)
      : Kernel(artifact.kernel, artifact.parameters, concurrency), context_(context),
        maps_(artifact.tensor_maps, std::move(context)), function_(std::move(function)) {}

  const CudaKernelInfo &info() const noexcept { return function_.info(); }

protected:
  Status run(Grid grid, std::span<const Argument> arguments, Stream stream) const override {
    ParameterBlock block(arguments, maps_);
    return block.launch(function_, grid, stream);
  }

  Status clear(void *memory, size_t bytes, Stream stream) const override {
    return context_->run("cuMemsetD8Async", ErrorCode::launch_failed, [&](const Driver &driver) {
      return driver.cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(memory), 0, bytes,
                                    static_cast<CUstream>(stream.handle));
    });
  }

private:
  std::shared_ptr<Context> context_;
  mutable TensorMaps maps_;
  Function function_;
};

} // namespace

Expected<std::shared_ptr<Kernel>> loadKernel(const Artifact &artifact, std::shared_ptr<Context> context) {
  if (const Status status = checkArtifact(artifact, "cuda"); !status.ok())
    return named(artifact.kernel, status);
  if (const Status status = checkTensorMapCount(artifact); !status.ok())
    return named(artifact.kernel, status);
  Expected<Function> function = Function::load(context, artifact.binary, artifact.kernel,
                                               {.threads = artifact.threads, .shared_bytes = artifact.shared_bytes});
  if (!function)
    return named(artifact.kernel, function.status());
  Expected<int64_t> concurrency = function->concurrency();
  if (!concurrency)
    return named(artifact.kernel, concurrency.status());
  return std::shared_ptr<Kernel>(
      std::make_shared<CudaKernel>(artifact, std::move(context), std::move(*function), *concurrency));
}

} // namespace cuda

Expected<CudaKernelInfo> cudaKernelInfo(const Kernel &kernel) noexcept {
  return guarded([&]() -> Expected<CudaKernelInfo> {
    if (const auto *cudaKernel = dynamic_cast<const cuda::CudaKernel *>(&kernel))
      return cudaKernel->info();
    return invalid("kernel '" + kernel.name() + "' was not loaded by a cuda device");
  });
}

} // namespace tegula
