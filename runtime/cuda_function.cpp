// SPDX-License-Identifier: MIT
#include "cuda_function.h"

#include "checks.h"
#include "elf_check.h"
#include "tegula/guard.h"

#include <utility>

namespace tegula {
namespace cuda {
namespace {

constexpr int64_t kMaxGridYZ = 65535;
constexpr int64_t kSharedWithoutAsking = 48 * 1024; ///< Dynamic shared memory that needs no attribute.

Status checkImage(const std::string &binary) {
  if (binary.empty())
    return invalid("the binary is empty");
  return binary.starts_with("\x7f"
                            "ELF")
             ? checkCubin(binary)
             : Status();
}

/// Returns the driver's log as the end of a sentence. The log is NUL-terminated in `buffer`.
std::string logged(const std::string &buffer) {
  const std::string text = buffer.c_str();
  const size_t end = text.find_last_not_of(" \t\r\n");
  return end == std::string::npos ? "" : ": " + text.substr(0, end + 1);
}

Status checkCudaGrid(const Grid &grid) {
  if (grid.y <= kMaxGridYZ && grid.z <= kMaxGridYZ)
    return {};
  return invalid("grid " + toString(grid) + ": on a GPU the counts of y and z are at most " +
                 std::to_string(kMaxGridYZ));
}

} // namespace

Expected<Function> Function::load(std::shared_ptr<Context> context, const std::string &binary, const std::string &name,
                                  const CudaBlock &block) {
  TEGULA_RETURN_IF_ERROR(context->check());
  TEGULA_RETURN_IF_ERROR(checkImage(binary));
  Function function(std::move(context), block);
  TEGULA_RETURN_IF_ERROR(function.loadModule(binary));
  const Status found =
      function.context_->run("cuModuleGetFunction", ErrorCode::invalid_argument, [&](const Driver &driver) {
        return driver.cuModuleGetFunction(&function.function_, function.module_, name.c_str());
      });
  if (!found.ok())
    return Status(found.code(), "the binary has no function '" + name + "': " + found.message());
  TEGULA_RETURN_IF_ERROR(function.readInfo());
  TEGULA_RETURN_IF_ERROR(function.prepare());
  return function;
}

Function::Function(Function &&other) noexcept
    : context_(std::move(other.context_)), block_(other.block_), module_(std::exchange(other.module_, nullptr)),
      function_(other.function_), info_(other.info_) {}

Function::~Function() {
  if (module_ != nullptr)
    context_->release([&](const Driver &driver) { driver.cuModuleUnload(module_); });
}

Status Function::loadModule(const std::string &binary) {
  std::string log(8192, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  const Status status = context_->run("cuModuleLoadDataEx", ErrorCode::invalid_argument, [&](const Driver &driver) {
    return driver.cuModuleLoadDataEx(&module_, binary.c_str(), std::size(options), options, values);
  });
  return status.ok() ? status : Status(status.code(), status.message() + logged(log));
}

Status Function::readAttribute(CUfunction_attribute attribute, int &value) {
  return context_->run("cuFuncGetAttribute", ErrorCode::internal,
                       [&](const Driver &driver) { return driver.cuFuncGetAttribute(&value, attribute, function_); });
}

/// Reads the function's attributes. This also makes the driver load the function here and not at its first launch,
/// which may be captured.
Status Function::readInfo() {
  int local = 0;
  int shared = 0;
  TEGULA_RETURN_IF_ERROR(readAttribute(CU_FUNC_ATTRIBUTE_NUM_REGS, info_.registers));
  TEGULA_RETURN_IF_ERROR(readAttribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, local));
  TEGULA_RETURN_IF_ERROR(readAttribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, shared));
  TEGULA_RETURN_IF_ERROR(readAttribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, info_.max_threads));
  info_.local_bytes = local;
  info_.static_shared_bytes = shared;
  return {};
}

Status Function::prepare() {
  if (block_.threads < 1 || block_.shared_bytes < 0)
    return invalid(std::to_string(block_.threads) + " threads and " + std::to_string(block_.shared_bytes) +
                   " bytes of shared memory are no block");
  if (block_.threads > info_.max_threads)
    return {ErrorCode::resource_exhausted, std::to_string(block_.threads) + " threads, but its " +
                                               std::to_string(info_.registers) + " registers allow at most " +
                                               std::to_string(info_.max_threads)};
  const Expected<int64_t> limit = sharedLimit();
  if (!limit)
    return limit.status();
  if (block_.shared_bytes > *limit - info_.static_shared_bytes)
    return {ErrorCode::resource_exhausted,
            std::to_string(block_.shared_bytes) + " bytes of dynamic and " + std::to_string(info_.static_shared_bytes) +
                " of static shared memory, but this GPU has " + std::to_string(*limit) + " for a block"};
  if (block_.shared_bytes <= kSharedWithoutAsking)
    return {};
  return context_->run("cuFuncSetAttribute", ErrorCode::invalid_argument, [&](const Driver &driver) {
    return driver.cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                     static_cast<int>(block_.shared_bytes));
  });
}

Expected<int64_t> Function::sharedLimit() const {
  int limit = 0;
  TEGULA_RETURN_IF_ERROR(context_->run("cuDeviceGetAttribute", ErrorCode::internal, [&](const Driver &driver) {
    return driver.cuDeviceGetAttribute(&limit, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
                                       context_->device());
  }));
  return limit;
}

Expected<int64_t> Function::concurrency() const {
  int blocks = 0, multiprocessors = 0;
  TEGULA_RETURN_IF_ERROR(
      context_->run("cuOccupancyMaxActiveBlocksPerMultiprocessor", ErrorCode::internal, [&](const Driver &driver) {
        return driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function_, block_.threads,
                                                                  size_t(block_.shared_bytes));
      }));
  TEGULA_RETURN_IF_ERROR(context_->run("cuDeviceGetAttribute", ErrorCode::internal, [&](const Driver &driver) {
    return driver.cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, context_->device());
  }));
  return int64_t(blocks) * multiprocessors;
}

Status Function::launch(Grid grid, Stream stream, void **parameters, void **extra) const {
  TEGULA_RETURN_IF_ERROR(checkCudaGrid(grid));
  return context_->run("cuLaunchKernel", ErrorCode::launch_failed, [&](const Driver &driver) {
    return driver.cuLaunchKernel(function_, static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y),
                                 static_cast<unsigned>(grid.z), static_cast<unsigned>(block_.threads), 1, 1,
                                 static_cast<unsigned>(block_.shared_bytes), static_cast<CUstream>(stream.handle),
                                 parameters, extra);
  });
}

namespace {

class LoadedFunction final : public CudaFunction {
public:
  LoadedFunction(std::string name, Function function) : name_(std::move(name)), function_(std::move(function)) {}

protected:
  Status launchRaw(Grid grid, Stream stream, const void *const *addresses) const noexcept override {
    return guarded([&] { return named(name_, launchUnnamed(grid, stream, const_cast<void **>(addresses))); });
  }

private:
  Status launchUnnamed(Grid grid, Stream stream, void **addresses) const {
    TEGULA_RETURN_IF_ERROR(checkGrid(grid));
    return isEmpty(grid) ? Status() : function_.launch(grid, stream, addresses, nullptr);
  }

  std::string name_;
  Function function_;
};

} // namespace
} // namespace cuda

Expected<std::shared_ptr<CudaFunction>> loadCudaFunction(Device &device, const std::string &binary,
                                                         const std::string &name, const CudaBlock &block) noexcept {
  return guarded([&]() -> Expected<std::shared_ptr<CudaFunction>> {
    Expected<std::shared_ptr<cuda::Context>> context = cuda::contextOf(device);
    if (!context)
      return context.status();
    Expected<cuda::Function> function = cuda::Function::load(std::move(*context), binary, name, block);
    if (!function)
      return named(name, function.status());
    return std::shared_ptr<CudaFunction>(std::make_shared<cuda::LoadedFunction>(name, std::move(*function)));
  });
}

} // namespace tegula
