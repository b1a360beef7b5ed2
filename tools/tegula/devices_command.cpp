// SPDX-License-Identifier: MIT
#include "devices_command.h"
#include "compiler.h"
#include "files.h"
#include "tegula/attention.h"
#include "tegula/cuda_device.h"
#include "workload/open_device.h"

#include <fmt/format.h>

namespace tegula::tools {
namespace {

std::string line(const std::string &device, const std::string &name, const std::string &arch,
                 const std::string &multiprocessors, int64_t bytes, const std::string &driver) {
  std::string memory = fmt::format("{:.1f} GiB", double(bytes) / (1 << 30));
  return fmt::format("{:<7} {:<36} {:<14} {:>4} {:>10}  {}\n", device, name, arch, multiprocessors, memory, driver);
}

Expected<std::string> cpuLine() {
  Expected<std::shared_ptr<Device>> cpu = openDevice("cpu");
  if (!cpu)
    return cpu.status();
  Expected<MemoryInfo> memory = (*cpu)->memory();
  const std::string &arch = (*cpu)->target().arch;
  return line("cpu", describe(**cpu), arch.empty() ? "this machine" : arch, "-", memory ? memory->total_bytes : 0, "-");
}

std::string gpuLines() {
  Expected<std::vector<CudaDeviceInfo>> gpus = cudaDevices();
  if (!gpus)
    return fmt::format("cuda    {}\n", gpus.status().message());
  std::string text;
  for (const CudaDeviceInfo &gpu : *gpus)
    text +=
        line(fmt::format("cuda {}", gpu.ordinal), gpu.name, gpu.arch, std::to_string(gpu.multiprocessors),
             gpu.memory_bytes, fmt::format("CUDA {}.{}", gpu.driver_version / 1000, gpu.driver_version % 1000 / 10));
  return text.empty() ? "cuda    the driver finds no GPU\n" : text;
}

/// Compiles a small kernel and returns a line about its assembler.
Expected<std::string> assemblerLine() {
  AttentionProblem problem{.dtype = f32, .head_dim = 8, .value_dim = 8};
  Expected<KernelConfig> resolved = resolve(problem, "flash2_backward_postprocess", Target{.name = "cuda"});
  if (!resolved)
    return resolved.status();
  Expected<Program> program = recordFlash2BackwardPostprocess(resolved->config);
  if (!program)
    return program.status();
  Expected<Artifact> artifact = makeCompiler()->compile(
      {.program = program->text, .schedule = resolved->schedule, .target = {"cuda", "sm_80", ""}, .emit = ""});
  if (!artifact)
    return artifact.status();
  const std::string &assembler = artifact->report.assembler;
  return fmt::format("\nassembler for GPUs: {}\n",
                     assembler.empty() ? "no ptxas was found; the driver assembles" : assembler);
}

} // namespace

Status devicesCommand() {
  Expected<std::string> cpu = cpuLine(), assembler = assemblerLine();
  if (!cpu)
    return cpu.status();
  if (!assembler)
    return assembler.status();
  return print(
      fmt::format("{:<7} {:<36} {:<14} {:>4} {:>10}  {}\n", "device", "name", "arch", "SMs", "memory", "driver") +
      *cpu + gpuLines() + *assembler);
}

} // namespace tegula::tools
