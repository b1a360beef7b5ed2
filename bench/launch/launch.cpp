// SPDX-License-Identifier: MIT
// tegula-bench-launch: the host's time for one launch of a small attention kernel on a GPU, by the driver's own call,
// by Kernel::launch, and by AttentionPlan::forward, side by side.
#include "compiler/client/InProcessCompiler.h"
#include "tegula/cuda_device.h"
#include "tegula/internal/system_library.h"
#include "workload/attention_run.h"
#include "workload/timing.h"

#include <algorithm>
#include <cstdio>
#include <functional>

namespace tegula::bench {
namespace {

constexpr int kLaunches = 200; ///< In a row: fewer than a driver's queue holds.
constexpr int kRounds = 301;

tools::AttentionCase smallCase() {
  return {.problem = {.dtype = bf16, .head_dim = 64, .value_dim = 64},
          .shape = {.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = 16, .seqlen_k = 16},
          .scale = 0.125f,
          .schedule = {.block_m = 64, .block_n = 64, .num_warps = 4}};
}

Expected<Artifact> compileKernel(Compiler &compiler, const Device &device, const tools::AttentionCase &attention) {
  Expected<KernelConfig> resolved = resolve(attention.problem, "flash2_forward", device.target(), attention.schedule);
  if (!resolved)
    return resolved.status();
  Expected<Program> program = recordFlash2Forward(resolved->config);
  if (!program)
    return program.status();
  return compiler.compile(
      {.program = program->text, .schedule = resolved->schedule, .target = device.target(), .emit = ""});
}

/// The part of the driver that a launch needs, with the types and numbers of cuda.h.
struct Driver {
  int (*device)(int *device, int ordinal) = nullptr;
  int (*retain)(void **context, int device) = nullptr;
  int (*push)(void *context) = nullptr;
  int (*load)(void **module, const void *image, unsigned count, int *options, void **values) = nullptr;
  int (*function)(void **function, void *module, const char *name) = nullptr;
  int (*set)(void *function, int attribute, int value) = nullptr;
  int (*launch)(void *function, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y,
                unsigned threads_z, unsigned shared_bytes, void *stream, void **arguments, void **extra) = nullptr;

  static SystemLibrary library() {
    return {.what = "CUDA driver", .variable = "TEGULA_LIBCUDA", .files = {"libcuda.so.1"}, .needed = "a CUDA driver"};
  }
  std::vector<Binding> bindings() {
    return {{"cuDeviceGet", reinterpret_cast<void **>(&device)},
            {"cuDevicePrimaryCtxRetain", reinterpret_cast<void **>(&retain)},
            {"cuCtxPushCurrent_v2", reinterpret_cast<void **>(&push)},
            {"cuModuleLoadDataEx", reinterpret_cast<void **>(&load)},
            {"cuModuleGetFunction", reinterpret_cast<void **>(&function)},
            {"cuFuncSetAttribute", reinterpret_cast<void **>(&set)},
            {"cuLaunchKernel", reinterpret_cast<void **>(&launch)}};
  }
};

constexpr int kMaxDynamicSharedBytes = 8;                // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr intptr_t kParameters = 1, kParametersSize = 2; // CU_LAUNCH_PARAM_BUFFER_POINTER and _SIZE

/// The driver's handle of the kernel, in the primary context, which stays current.
class RawKernel {
public:
  RawKernel(const Driver &driver, const Artifact &artifact) : driver_(driver), artifact_(artifact) {}

  Status load() {
    int device = 0;
    void *context = nullptr, *module = nullptr;
    TEGULA_RETURN_IF_ERROR(check("cuDeviceGet", driver_.device(&device, 0)));
    TEGULA_RETURN_IF_ERROR(check("cuDevicePrimaryCtxRetain", driver_.retain(&context, device)));
    TEGULA_RETURN_IF_ERROR(check("cuCtxPushCurrent", driver_.push(context)));
    TEGULA_RETURN_IF_ERROR(
        check("cuModuleLoadDataEx", driver_.load(&module, artifact_.binary.c_str(), 0, nullptr, nullptr)));
    TEGULA_RETURN_IF_ERROR(
        check("cuModuleGetFunction", driver_.function(&function_, module, artifact_.kernel.c_str())));
    return check("cuFuncSetAttribute", driver_.set(function_, kMaxDynamicSharedBytes, int(artifact_.shared_bytes)));
  }

  Status launch(std::vector<int64_t> &words) const {
    size_t bytes = words.size() * sizeof(int64_t);
    void *extra[] = {reinterpret_cast<void *>(kParameters), words.data(), reinterpret_cast<void *>(kParametersSize),
                     &bytes, nullptr};
    return check("cuLaunchKernel", driver_.launch(function_, 1, 1, 1, unsigned(artifact_.threads), 1, 1,
                                                  unsigned(artifact_.shared_bytes), nullptr, nullptr, extra));
  }

private:
  static Status check(const char *what, int result) {
    return result == 0 ? Status()
                       : Status(ErrorCode::launch_failed, std::string(what) + " gave " + std::to_string(result));
  }

  const Driver &driver_;
  const Artifact &artifact_;
  void *function_ = nullptr;
};

/// The parameter block of artifact.h.
std::vector<int64_t> wordsOf(std::initializer_list<Argument> arguments) {
  std::vector<int64_t> words;
  for (const Argument &argument : arguments)
    if (argument.kind() == Parameter::Kind::tensor) {
      const TensorRef &tensor = argument.tensor();
      words.push_back(reinterpret_cast<intptr_t>(tensor.data));
      words.insert(words.end(), tensor.shape, tensor.shape + tensor.rank);
      words.insert(words.end(), tensor.strides, tensor.strides + tensor.rank);
    } else {
      float value = argument.f32Value();
      words.push_back(0);
      std::copy_n(reinterpret_cast<const char *>(&value), sizeof value, reinterpret_cast<char *>(&words.back()));
    }
  return words;
}

struct Contender {
  const char *name;
  std::function<Status()> launch;
  std::vector<double> nanoseconds = {};
};

/// Takes turns, so that all see the same machine.
Status measure(Device &device, std::vector<Contender> &contenders) {
  for (int round = 0; round < kRounds; ++round)
    for (Contender &contender : contenders) {
      tools::Stopwatch stopwatch;
      for (int n = 0; n < kLaunches; ++n)
        TEGULA_RETURN_IF_ERROR(contender.launch());
      contender.nanoseconds.push_back(1e6 * stopwatch.milliseconds() / kLaunches);
      TEGULA_RETURN_IF_ERROR(device.synchronize());
    }
  return {};
}

Status run() {
  Expected<std::shared_ptr<Device>> device = cudaDevice();
  if (!device)
    return device.status();
  std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  KernelCache cache(*compiler, *device);
  tools::AttentionCase attention = smallCase();
  Expected<tools::AttentionRun> plan = tools::AttentionRun::make(attention, *device, cache);
  Expected<Artifact> artifact = compileKernel(*compiler, **device, attention);
  if (!plan || !artifact)
    return plan ? artifact.status() : plan.status();
  Expected<std::shared_ptr<Kernel>> kernel = (*device)->load(*artifact);
  Expected<const Driver *> driver = functionsOf<Driver>();
  if (!kernel || !driver)
    return kernel ? driver.status() : kernel.status();
  RawKernel raw(**driver, *artifact);
  TEGULA_RETURN_IF_ERROR(raw.load());

  const tools::AttentionTensors &t = plan->tensors();
  std::initializer_list<Argument> arguments = {t.q.view, t.k.view, t.v.view, t.o.view, t.lse.view, attention.scale};
  std::vector<int64_t> words = wordsOf(arguments);
  std::vector<Contender> contenders = {{"cuLaunchKernel", [&] { return raw.launch(words); }},
                                       {"Kernel::launch", [&] { return (*kernel)->launch({}, arguments); }},
                                       {"AttentionPlan::forward", [&] { return plan->forward(); }}};
  TEGULA_RETURN_IF_ERROR(measure(**device, contenders));
  double driver_alone = 0;
  for (Contender &contender : contenders) {
    auto middle = contender.nanoseconds.begin() + kRounds / 2;
    std::nth_element(contender.nanoseconds.begin(), middle, contender.nanoseconds.end());
    driver_alone = driver_alone == 0 ? *middle : driver_alone;
    std::printf("%-24s %8.0f ns  %+8.0f\n", contender.name, *middle, *middle - driver_alone);
  }
  return {};
}

} // namespace
} // namespace tegula::bench

int main() {
  tegula::Status status = tegula::bench::run();
  if (!status.ok())
    std::fprintf(stderr, "tegula-bench-launch: %s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
