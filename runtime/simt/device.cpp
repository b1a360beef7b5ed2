// SPDX-License-Identifier: MIT
#include "simt/device.h"

#include "launch_limits.h"
#include "tegula/guard.h"
#include "tegula/profile_range.h"

#include <algorithm>
#include <utility>

namespace tegula {
namespace simt {

void DeviceOfLanes::setSchedule(const SimtInterleaving &schedule) noexcept {
  const std::lock_guard lock(state_->mutex);
  state_->schedule = schedule;
}

SimtReport DeviceOfLanes::takeReport() {
  const std::lock_guard lock(state_->mutex);
  SimtReport report{.findings = std::exchange(state_->findings, {}),
                    .launches = std::exchange(state_->launches, 0),
                    .program_instances = std::exchange(state_->instances, 0),
                    .switches = std::exchange(state_->switches, 0),
                    .mutation_reached = std::exchange(state_->mutationReached, false),
                    .traffic = {}};
  for (const auto &[kernel, sums] : state_->traffic)
    for (const auto &[key, traffic] : sums) {
      const auto [site, space] = key;
      report.traffic.push_back({state_->sites.at(kernel).at(site), space == Space::Global, traffic.requests,
                                traffic.transactions, traffic.ideal});
    }
  state_->traffic.clear();
  return report;
}

std::vector<SimtSite> DeviceOfLanes::sites() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<SimtSite> all;
  for (const auto &[kernel, sites] : state_->sites)
    all.insert(all.end(), sites.begin(), sites.end());
  return all;
}

Expected<std::shared_ptr<Kernel>> DeviceOfLanes::load(const Artifact &artifact) noexcept {
  return guarded([&]() -> Expected<std::shared_ptr<Kernel>> {
    TEGULA_RETURN_IF_ERROR(state_->pool->checkFork());
    const ProfileRange range("load", artifact.kernel);
    return loadKernel(artifact, state_);
  });
}

} // namespace simt

Expected<std::shared_ptr<SimtDevice>> simtDevice(const SimtOptions &options) noexcept {
  return guarded([&]() -> Expected<std::shared_ptr<SimtDevice>> {
    Expected<std::shared_ptr<Device>> host = cpuDevice(options.cpu);
    if (!host)
      return host.status();
    CoreSet cores = CoreSet::ofThisThread();
    const int threads = options.cpu.threads > 0 ? options.cpu.threads : std::max(cores.count(), 1);
    auto state = std::make_shared<simt::DeviceState>();
    state->pool = CpuPool::make(std::min(threads, kMaxThreads), std::move(cores));
    state->schedule = options.schedule;
    state->concurrency = options.concurrency;
    return std::shared_ptr<SimtDevice>(
        std::make_shared<simt::DeviceOfLanes>(std::move(*host), std::move(state), options.arch));
  });
}

} // namespace tegula
