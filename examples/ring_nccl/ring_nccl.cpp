// SPDX-License-Identifier: MIT
// Ring attention in C++17 on the GPUs of one host, forward and backward: one process, a thread for each GPU, NCCL
// between them. With --target cpu the ranks are threads of the cpu.
#include "check.h"
#include "local_exchange.h"
#include "nccl_exchange.h"
#include "timing.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <optional>

using tegula::host::Context;

namespace {

Context makeContext(const Options &options, int ordinal) {
  auto wanted = tegula::host::make<tegula_context_options>();
  wanted.device = options.on_cpu ? TEGULA_CPU : TEGULA_CUDA;
  wanted.ordinal = ordinal;
  wanted.threads = 1; // Of the cpu: ranks already run side by side.
  return valueOf(Context::create(wanted), "tegula_context_create");
}

/// Runs the ring with this rank's device. Compares results if `whole` is not null. Returns false if they are wrong.
bool runRank(const Options &options, int rank, const Context &context, const Kernels &kernels, Device &device,
             Exchange &exchange, WholeOutputs *whole, Team &team) {
  team.doing("making inputs");
  Rank ring(options, {rank, options.gpus, options.tokens / options.gpus, options.causal}, kernels, device, exchange);
  auto run = [&](const char *what, Work work) {
    team.doing(what);
    team.meet();
    device.startTimer();
    ring.forward(work);
    ring.backward(work);
    device.stopTimer();
    device.milliseconds([&] { exchange.poll(); });
  };
  // CUDA may load a kernel at its first launch, and wait for the GPU then. No exchange must wait at the same time.
  run("the first launch of each kernel", Work::kernels);
  run("the first exchanges", Work::all);
  const bool right = whole == nullptr || isRight(options, ring, device, *whole, team);
  if (options.repeat > 0)
    timeRing(options, ring, device, exchange, team, context);
  team.meet();
  return right;
}

} // namespace

int main(int count, char **arguments) {
  const Options options = parseOptions(count, arguments);
  std::vector<std::unique_ptr<Device>> devices;
  for (int rank = 0; rank < options.gpus; ++rank)
    devices.push_back(options.on_cpu ? makeCpuDevice() : std::make_unique<CudaDevice>(rank));
  std::optional<NcclTeam> nccl;
  if (!options.on_cpu)
    nccl.emplace(options.nccl, options.gpus);
  Mailbox mailbox;
  std::vector<Context> contexts;
  std::vector<Kernels> kernels; // Made one after another: the first rank compiles, and the others load.
  for (int rank = 0; rank < options.gpus; ++rank) {
    contexts.push_back(makeContext(options, rank));
    kernels.emplace_back(contexts.back(), options);
  }
  std::optional<WholeOutputs> whole;
  if (options.check)
    whole.emplace(options);
  Team team(options.gpus, options.timeout);
  std::atomic<bool> right{true};
  team.run([&](int rank) {
    Device &device = *devices[rank];
    device.use();
    std::unique_ptr<Exchange> exchange;
    if (nccl)
      exchange = std::make_unique<NcclExchange>(*nccl, rank, static_cast<CudaDevice &>(device));
    else
      exchange = std::make_unique<LocalExchange>(mailbox, rank);
    if (!runRank(options, rank, contexts[rank], kernels[rank], device, *exchange, whole ? &*whole : nullptr, team))
      right = false;
  });
  return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
