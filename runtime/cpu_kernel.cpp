// SPDX-License-Identifier: MIT
#include "cpu_kernel.h"

#include "launch_limits.h"
#include "shared_object.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tegula {
namespace {

Status invalid(std::string message) { return {ErrorCode::InvalidArgument, std::move(message)}; }

/// The two tables that a CpuKernel reads; see there.
struct Tables {
  std::array<void *, kMaxParameters> tensors;
  std::array<int64_t, kMaxParameters * 2 * kMaxRank> words;

  explicit Tables(std::span<const Argument> arguments) {
    void **tensor = tensors.data();
    int64_t *word = words.data();
    for (const Argument &argument : arguments)
      if (argument.kind() == Parameter::Kind::Tensor) {
        *tensor++ = argument.tensor().data;
        word = addTensor(word, argument.tensor());
      } else {
        *word++ = scalarWord(argument);
      }
  }

private:
  static int64_t *addTensor(int64_t *word, const TensorRef &tensor) {
    word = std::copy_n(tensor.shape, tensor.rank, word);
    return std::copy_n(tensor.strides, tensor.rank, word);
  }

  static int64_t scalarWord(const Argument &argument) {
    if (argument.dtype() != DType::f32)
      return argument.integerValue();
    int64_t word = 0;
    const float value = argument.f32Value();
    std::memcpy(&word, &value, sizeof value);
    return word;
  }
};

class LoadedCpuKernel final : public Kernel {
public:
  LoadedCpuKernel(const Artifact &artifact, SharedObject object, CpuKernel entry, std::shared_ptr<CpuPool> pool)
      : Kernel(artifact.kernel, artifact.parameters), object_(std::move(object)), entry_(entry),
        scratchBytes_(artifact.scratch_bytes), pool_(std::move(pool)) {}

protected:
  Status run(Grid grid, std::span<const Argument> arguments, Stream stream) const override {
    TEGULA_RETURN_IF_ERROR(checkCpuStream(stream));
    const Tables tables(arguments);
    const int64_t counts[] = {grid.x, grid.y, grid.z};
    return pool_->run({.kernel = entry_,
                       .tensors = tables.tensors.data(),
                       .words = tables.words.data(),
                       .grid = counts,
                       .scratch_bytes = scratchBytes_,
                       .instances = grid.x * grid.y * grid.z});
  }

private:
  SharedObject object_;
  CpuKernel entry_;
  int64_t scratchBytes_;
  std::shared_ptr<CpuPool> pool_;
};

Status checkParameter(const Parameter &parameter) {
  const bool isTensor = parameter.kind == Parameter::Kind::Tensor;
  if (isTensor && (parameter.rank < 1 || parameter.rank > kMaxRank))
    return invalid("parameter '" + parameter.name + "': a tensor of rank " + std::to_string(parameter.rank) +
                   ", but ranks are 1 to " + std::to_string(kMaxRank));
  const DType dtype = parameter.dtype;
  if (!isTensor && dtype != f32 && dtype != i32 && dtype != i64)
    return invalid("parameter '" + parameter.name + "': a scalar of type " + std::string(toString(dtype)) +
                   ", but scalars are f32, i32 or i64");
  return {};
}

Status checkFields(const Artifact &artifact) {
  if (artifact.target != "cpu")
    return invalid("the artifact is for target '" + artifact.target + "', this device is 'cpu'");
  if (artifact.parameters.size() > kMaxParameters)
    return {ErrorCode::ResourceExhausted,
            std::to_string(artifact.parameters.size()) + " parameters, at most " + std::to_string(kMaxParameters)};
  if (artifact.scratch_bytes < 0)
    return invalid("scratch_bytes is " + std::to_string(artifact.scratch_bytes));
  for (const Parameter &parameter : artifact.parameters)
    TEGULA_RETURN_IF_ERROR(checkParameter(parameter));
  return {};
}

Status named(const Artifact &artifact, const Status &status) {
  return {status.code(), "kernel '" + artifact.kernel + "': " + status.message()};
}

} // namespace

Status checkCpuStream(Stream stream) {
  return stream.handle == nullptr ? Status() : invalid("the cpu has only the default stream, whose handle is null");
}

Expected<std::shared_ptr<Kernel>> loadCpuKernel(const Artifact &artifact, std::shared_ptr<CpuPool> pool) {
  if (const Status status = checkFields(artifact); !status.ok())
    return named(artifact, status);
  Expected<SharedObject> object = SharedObject::load(artifact.binary, artifact.kernel);
  if (!object)
    return named(artifact, object.status());
  const Expected<void *> symbol = object->symbol(artifact.kernel);
  if (!symbol)
    return named(artifact, symbol.status());
  const auto entry = reinterpret_cast<CpuKernel>(*symbol);
  return std::shared_ptr<Kernel>(
      std::make_shared<LoadedCpuKernel>(artifact, std::move(*object), entry, std::move(pool)));
}

} // namespace tegula
