// SPDX-License-Identifier: MIT
#include "cpu_kernel.h"

#include "argument_words.h"
#include "checks.h"
#include "shared_object.h"

#include <array>
#include <cstring>

namespace tegula {
namespace {

/// The two tables that a CpuKernel reads; CpuKernel describes them.
struct Tables {
  std::array<void *, kMaxParameters> tensors;
  std::array<int64_t, kMaxParameters * kMaxLayoutWords> words;

  explicit Tables(std::span<const Argument> arguments) {
    void **tensor = tensors.data();
    int64_t *word = words.data();
    for (const Argument &argument : arguments)
      if (argument.kind() == Parameter::Kind::tensor) {
        *tensor++ = argument.tensor().data;
        word = writeLayout(word, argument.tensor());
      } else {
        *word++ = scalarWord(argument);
      }
  }
};

class LoadedCpuKernel final : public Kernel {
public:
  LoadedCpuKernel(const Artifact &artifact, SharedObject object, CpuKernel entry, std::shared_ptr<CpuPool> pool)
      : Kernel(artifact.kernel, artifact.parameters, pool->threads()), object_(std::move(object)), entry_(entry),
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

  Status clear(void *memory, size_t bytes, Stream stream) const override { return clearOnCpu(memory, bytes, stream); }

private:
  SharedObject object_;
  CpuKernel entry_;
  int64_t scratchBytes_;
  std::shared_ptr<CpuPool> pool_;
};

} // namespace

Status checkCpuStream(Stream stream) {
  return stream.handle == nullptr ? Status() : invalid("the cpu has only the default stream, whose handle is null");
}

Status clearOnCpu(void *memory, size_t bytes, Stream stream) {
  TEGULA_RETURN_IF_ERROR(checkCpuStream(stream));
  std::memset(memory, 0, bytes);
  return {};
}

Expected<std::shared_ptr<Kernel>> loadCpuKernel(const Artifact &artifact, std::shared_ptr<CpuPool> pool) {
  if (const Status status = checkArtifact(artifact, "cpu"); !status.ok())
    return named(artifact.kernel, status);
  Expected<SharedObject> object = SharedObject::load(artifact.binary, artifact.kernel);
  if (!object)
    return named(artifact.kernel, object.status());
  const Expected<void *> symbol = object->symbol(artifact.kernel);
  if (!symbol)
    return named(artifact.kernel, symbol.status());
  const auto entry = reinterpret_cast<CpuKernel>(*symbol);
  return std::shared_ptr<Kernel>(
      std::make_shared<LoadedCpuKernel>(artifact, std::move(*object), entry, std::move(pool)));
}

} // namespace tegula
