// SPDX-License-Identifier: MIT
// A device that runs what the compiler makes for a GPU on the cores of this process, lane by lane, and reports errors
// of synchronisation and of memory that a GPU would not show. It is a thousand times slower than a GPU.
#pragma once

#include "tegula/device.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

/// How the order of the lanes, and the moments at which asynchronous copies land, are chosen.
enum class SimtScheduler : uint8_t {
  uniform,  ///< Any lane that can go on; copies land at any moment.
  priority, ///< One warp goes as far as it can; which one changes now and then.
  eager,    ///< Lanes as uniform; copies land at once.
  lazy,     ///< Lanes as uniform; copies land when they are waited for.
  laggard,  ///< As uniform, but one lane of each warp goes on only where all others wait.
  /// As priority for a warpgroup of four warps, which no sequence barrier holds up; copies land when they are waited
  /// for.
  runaway,
};
constexpr uint32_t kSimtSchedulers = 6;

std::string_view toString(SimtScheduler scheduler);
/// The inverse of toString: "uniform", "priority", "eager", "lazy", "laggard", "runaway".
std::optional<SimtScheduler> parseSimtScheduler(std::string_view word);

/// What is done to an instruction that orders others.
enum class SimtChange : uint8_t {
  remove,
  /// A wait lets one group more be pending; a barrier of the block becomes one of each warp; an arrival at an mbarrier
  /// expects no bytes; if it expects none anyway it is .relaxed, as is a wait at an mbarrier: memory is not ordered.
  weaken,
  delay, ///< It waits for an access that it orders: each lane executes it behind that, or where the lane ends.
};

struct SimtMutation {
  std::string kernel; ///< Its name.
  uint32_t site = 0;  ///< SimtSite::number.
  SimtChange change = SimtChange::remove;
};

/// Everything that a run depends on besides the kernel and its arguments; the same schedule gives the same run, except
/// for the order of atomic additions of program instances that run at the same time.
struct SimtSchedule {
  SimtScheduler scheduler = SimtScheduler::uniform;
  uint64_t seed = 1;
  std::optional<SimtMutation> mutation = {};
  bool count_traffic = false; ///< Fill SimtReport::traffic, which takes time.
};

enum class SimtFault : uint8_t {
  race,          ///< Two accesses to a byte, at least one a write, that nothing orders.
  unwaited_copy, ///< An access to memory or registers that an asynchronous operation may still be using.
  missing_fence, ///< Two accesses that are ordered, but through different proxies without a fence between.
  uninitialised, ///< A read of shared memory that was not written.
  out_of_bounds,
  misaligned,
  illegal_map,    ///< A tensor map that a GPU's driver refuses to make.
  divergence,     ///< Lanes of a warp at different instructions that need all of them.
  barrier_misuse, ///< Wrong counts of arrivals, threads or bytes, or an mbarrier that is none.
  deadlock,       ///< No lane can go on.
  pending_copy,   ///< A lane ended without waiting for an asynchronous operation.
};

std::string_view toString(SimtFault fault);

/// One error. The same error of other lanes, bytes or program instances is not reported again in the same launch.
struct SimtFinding {
  SimtFault fault;
  std::string message; ///< The accesses with their lanes and lines of source, the bytes, and what is missing.
};

/// An instruction of a kernel that accesses memory or orders accesses.
struct SimtSite {
  std::string kernel;
  uint32_t number = 0;     ///< In the kernel.
  std::string instruction; ///< "ldmatrix.x4", "bar.sync", ...
  std::string location;    ///< "flash2_forward.cpp:24"
};

/// How well the lanes of warps fit together at one instruction.
struct SimtTraffic {
  SimtSite site;
  bool global = false;      ///< Sectors of 32 bytes, else wavefronts of the 32 banks of shared memory.
  int64_t requests = 0;     ///< Executions by a warp.
  int64_t transactions = 0; ///< Sectors or wavefronts.
  int64_t ideal = 0;        ///< As many as the bytes need at least.
};

/// Since the last takeReport.
struct SimtReport {
  std::vector<SimtFinding> findings;
  int64_t launches = 0; ///< Of kernels: each is one schedule.
  int64_t program_instances = 0;
  int64_t switches = 0;          ///< From one lane to another.
  bool mutation_reached = false; ///< A lane came to the instruction that the schedule changes.
  std::vector<SimtTraffic> traffic;
};

class SimtDevice : public Device {
public:
  /// For launches from now on.
  virtual void setSchedule(const SimtSchedule &schedule) noexcept = 0;
  virtual SimtReport takeReport() = 0;
  /// Of all kernels that this device has loaded.
  virtual std::vector<SimtSite> sites() const = 0;
};

struct SimtOptions {
  CpuOptions cpu; ///< Threads that run program instances.
  SimtSchedule schedule;
  std::string arch;        ///< The GPU whose instructions are run, such as "sm_90a"; empty means sm_80.
  int64_t concurrency = 2; ///< Of kernels (Kernel::concurrency), as if there were so many multiprocessors.
};

/// Its memory is the host's. A launch with findings returns launch_failed with the first of them; tensors then hold
/// what the kernel wrote. Errors as those of cpuDevice.
Expected<std::shared_ptr<SimtDevice>> simtDevice(const SimtOptions &options = {}) noexcept;

} // namespace tegula
