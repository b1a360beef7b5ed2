// SPDX-License-Identifier: MIT
#include "simt/kernel.h"

#include "checks.h"
#include "cpu_kernel.h"
#include "shared_object.h"

#include <atomic>
#include <numeric>
#include <sstream>

namespace tegula::simt {
namespace {

constexpr int kMaxThreads = 1024, kMaxSharedBytes = 1 << 20;

/// Returns true if program instances of the kernel wait for earlier ones.
bool takesTurns(const std::vector<SimtSite> &sites) {
  return std::any_of(sites.begin(), sites.end(),
                     [](const SimtSite &site) { return site.instruction.starts_with("ld.acquire"); });
}

/// A permutation of 0 to n - 1 that depends on the seed; the identity for seed 0.
class Order {
public:
  Order(int64_t n, uint64_t seed)
      : n_(n), step_(1 + static_cast<int64_t>(seed * 0x9E3779B97F4A7C15 % static_cast<uint64_t>(n))) {
    while (std::gcd(step_, n_) != 1)
      ++step_;
  }
  int64_t operator[](int64_t i) const { return static_cast<int64_t>(static_cast<__int128>(i) * step_ % n_); }

private:
  int64_t n_, step_;
};

/// One launch, as the threads of the pool see it.
struct Work {
  const Launch &launch;
  BlockPool &blocks;
  uint32_t lanes;
  Order order;
  std::atomic<int64_t> switches{0};
  std::atomic<bool> outOfMemory{false};
  std::mutex mutex{};
  TrafficSums traffic{}; ///< Guarded by the mutex.

  void run(int64_t first, int64_t last) noexcept try {
    std::unique_ptr<Block> block = blocks.take(lanes);
    const int64_t before = block->switches();
    for (int64_t i = first; i < last && !outOfMemory; ++i)
      block->run(launch, order[i]);
    switches += block->switches() - before;
    {
      const std::lock_guard lock(mutex);
      addTo(traffic, block->takeTraffic());
    }
    blocks.giveBack(std::move(block));
  } catch (const std::bad_alloc &) {
    outOfMemory = true;
    launch.turns.abandon();
  }
};

/// Runs the clusters [first, last) of a launch. It is a CpuKernel whose first tensor is the Work.
void runInstances(void *const *work, const int64_t *, const int64_t *, void *, int64_t first, int64_t last) {
  static_cast<Work *>(*work)->run(first, last);
}

class LoadedKernel final : public Kernel {
public:
  LoadedKernel(const std::string &name, const std::vector<Parameter> &parameters, KernelCode code,
               std::shared_ptr<void> owner, std::shared_ptr<DeviceState> device)
      : Kernel(name, parameters, device->concurrency), owner_(std::move(owner)), code_(std::move(code)),
        device_(std::move(device)), first_copies_(firstCopies(code_.sites)) {}

protected:
  Status run(Grid grid, std::span<const Argument> arguments, Stream stream) const override {
    TEGULA_RETURN_IF_ERROR(checkCpuStream(stream));
    const Memory memory(parameters(), arguments, code_.tensor_maps);
    Findings findings(first_copies_);
    Instances together;
    Arrivals arrivals;
    Turns turns;
    std::atomic<bool> mutationReached{false};
    if (grid.x % code_.cluster != 0)
      return invalid("the grid is no multiple of the cluster of " + std::to_string(code_.cluster));
    const Launch launch{.kernel = code_.entry,
                        .memory = memory,
                        .sites = code_.sites,
                        .grid = grid,
                        .cluster = code_.cluster,
                        .sharedBytes = code_.shared_bytes,
                        .instancesPerSm = code_.instances_per_sm,
                        .schedule = schedule(),
                        .findings = findings,
                        .instances = together,
                        .arrivals = arrivals,
                        .turns = turns,
                        .mutationReached = mutationReached};
    const int64_t instances = grid.x * grid.y * grid.z, clusters = instances / code_.cluster;
    Work work{launch, device_->blocks, code_.threads * code_.cluster,
              Order(clusters, takesTurns(code_.sites) ? 0 : launch.schedule.seed)};
    void *table = &work;
    const int64_t counts[] = {grid.x, grid.y, grid.z};
    TEGULA_RETURN_IF_ERROR(device_->pool->run({.kernel = runInstances,
                                               .tensors = &table,
                                               .words = memory.words(),
                                               .grid = counts,
                                               .scratch_bytes = 0,
                                               .instances = clusters}));
    if (work.outOfMemory)
      return {ErrorCode::resource_exhausted, "no memory for what the lanes did"};
    return report(findings.take(), instances, work);
  }

  Status clear(void *memory, size_t bytes, Stream stream) const override { return clearOnCpu(memory, bytes, stream); }

private:
  /// Returns the device's schedule, without a mutation of another kernel.
  SimtInterleaving schedule() const {
    const std::lock_guard lock(device_->mutex);
    SimtInterleaving schedule = device_->schedule;
    if (schedule.mutation && schedule.mutation->kernel != name())
      schedule.mutation.reset();
    return schedule;
  }

  Status report(std::vector<SimtFinding> findings, int64_t instances, const Work &work) const {
    const std::lock_guard lock(device_->mutex);
    ++device_->launches;
    device_->instances += instances;
    device_->switches += work.switches;
    device_->mutationReached |= work.launch.mutationReached;
    device_->findings.insert(device_->findings.end(), findings.begin(), findings.end());
    addTo(device_->traffic[name()], work.traffic);
    if (findings.empty())
      return {};
    const std::string more = findings.size() > 1 ? " (and " + std::to_string(findings.size() - 1) + " more)" : "";
    return {ErrorCode::launch_failed, findings.front().message + more};
  }

  std::shared_ptr<void> owner_;
  KernelCode code_;
  std::shared_ptr<DeviceState> device_;
  std::vector<uint32_t> first_copies_; ///< As Findings takes them.
};

std::vector<SimtSite> parseSites(const std::string &kernel, const char *text) {
  std::vector<SimtSite> sites;
  std::istringstream lines(text);
  SimtSite site;
  site.kernel = kernel;
  while (lines >> site.instruction && std::getline(lines >> std::ws, site.location)) {
    sites.push_back(site);
    ++site.number;
  }
  return sites;
}

Status checkBlock(const Artifact &artifact) {
  if (artifact.threads < 1 || artifact.threads > kMaxThreads || artifact.threads % kWarp != 0)
    return invalid("threads is " + std::to_string(artifact.threads) + ", but must be a multiple of 32 up to " +
                   std::to_string(kMaxThreads));
  if (artifact.shared_bytes < 0 || artifact.shared_bytes > kMaxSharedBytes)
    return invalid("shared_bytes is " + std::to_string(artifact.shared_bytes));
  if (artifact.instances_per_sm < 1)
    return invalid("instances_per_sm is " + std::to_string(artifact.instances_per_sm) + ", but must be at least 1");
  return {};
}

} // namespace

std::unique_ptr<Block> BlockPool::take(uint32_t lanes) {
  {
    const std::lock_guard lock(mutex_);
    std::vector<std::unique_ptr<Block>> &free = free_[lanes];
    if (!free.empty()) {
      std::unique_ptr<Block> block = std::move(free.back());
      free.pop_back();
      return block;
    }
  }
  return std::make_unique<Block>(lanes);
}

void BlockPool::giveBack(std::unique_ptr<Block> block) {
  const std::lock_guard lock(mutex_);
  free_[block->lanes()].push_back(std::move(block));
}

std::shared_ptr<Kernel> makeKernel(const std::string &name, const std::vector<Parameter> &parameters, KernelCode code,
                                   std::shared_ptr<void> owner, std::shared_ptr<DeviceState> device) {
  {
    const std::lock_guard lock(device->mutex);
    device->sites[name] = code.sites;
  }
  return std::make_shared<LoadedKernel>(name, parameters, std::move(code), std::move(owner), std::move(device));
}

Expected<std::shared_ptr<Kernel>> loadKernel(const Artifact &artifact, std::shared_ptr<DeviceState> device) {
  for (const Status &status : {checkArtifact(artifact, "simt"), checkBlock(artifact)})
    if (!status.ok())
      return named(artifact.kernel, status);
  Expected<SharedObject> object = SharedObject::load(artifact.binary, artifact.kernel);
  if (!object)
    return named(artifact.kernel, object.status());
  const Expected<void *> entry = object->symbol(artifact.kernel), sites = object->symbol(artifact.kernel + ".sites");
  if (!entry || !sites)
    return named(artifact.kernel, entry ? sites.status() : entry.status());
  KernelCode code{.entry = reinterpret_cast<SimtKernel>(*entry),
                  .sites = parseSites(artifact.kernel, static_cast<const char *>(*sites)),
                  .threads = static_cast<uint32_t>(artifact.threads),
                  .shared_bytes = static_cast<uint32_t>(artifact.shared_bytes),
                  .instances_per_sm = static_cast<uint32_t>(artifact.instances_per_sm),
                  .tensor_maps = artifact.tensor_maps};
  return makeKernel(artifact.kernel, artifact.parameters, std::move(code),
                    std::make_shared<SharedObject>(std::move(*object)), std::move(device));
}

} // namespace tegula::simt
