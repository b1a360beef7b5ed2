// SPDX-License-Identifier: MIT
// A device that runs a GPU's code on the cores of this process, lane by lane. It reports errors of synchronisation and
// of memory that a GPU would not show. It is about 1,000 times slower than a GPU.
#pragma once

#include "tegula/device.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

/// The rule that orders the lanes and that decides when asynchronous copies complete.
enum class SimtScheduler : uint8_t {
  uniform,  ///< Any lane that can go on; copies complete at any moment.
  priority, ///< One warp goes as far as it can; which one changes now and then.
  eager,    ///< Lanes as in uniform; copies complete at once.
  lazy,     ///< Lanes as in uniform; copies complete when a lane waits for them.
  laggard,  ///< As uniform, but one lane of each warp goes on only when all others wait.
  /// As priority, but for warpgroups of four warps, which no sequence barrier stops. Copies complete when a lane waits
  /// for them.
  runaway,
};
constexpr uint32_t kSimtSchedulers = 6;

std::string_view toString(SimtScheduler scheduler);
/// The inverse of toString: "uniform", "priority", "eager", "lazy", "laggard", "runaway".
std::optional<SimtScheduler> parseSimtScheduler(std::string_view word);

/// A change to an instruction that orders others.
enum class SimtChange : uint8_t {
  remove,
  /// Makes the order weaker. A wait lets one more group be pending. A barrier of the block becomes one of each warp. An
  /// arrival at an mbarrier expects no bytes. An arrival that expects none anyway, and a wait at an mbarrier, become
  /// .relaxed: they do not order memory.
  weaken,
  /// Makes the instruction late. Each lane executes it after an access to shared memory as soon as the launch has an
  /// error, at the latest where the lane ends.
  delay,
};

struct SimtMutation {
  std::string kernel; ///< Name of the kernel.
  uint32_t site = 0;  ///< SimtSite::number.
  SimtChange change = SimtChange::remove;
};

/// The choices on which a run depends, besides the kernel and its arguments. The same schedule gives the same run,
/// except for the order of atomic additions of program instances that run at the same time.
struct SimtInterleaving {
  SimtScheduler scheduler = SimtScheduler::uniform;
  uint64_t seed = 1;
  std::optional<SimtMutation> mutation = {};
  bool count_traffic = false; ///< Fills SimtReport::traffic, which takes time.
};

/// The kind of an error.
enum class SimtErrorKind : uint8_t {
  race,          ///< Two accesses to a byte, at least one a write, that nothing orders.
  unwaited_copy, ///< An access to memory or registers that an asynchronous operation may still be using.
  missing_fence, ///< Two accesses that are ordered, but are of different proxies without a fence between them.
  uninitialised, ///< A read of shared memory that no lane wrote.
  out_of_bounds,
  misaligned,
  illegal_map,    ///< A tensor map that a GPU's driver refuses to make.
  divergence,     ///< Lanes of a warp at different instructions that need all of them.
  barrier_misuse, ///< Wrong counts of arrivals, threads or bytes, or an address without an mbarrier.
  deadlock,       ///< No lane can go on.
  pending_copy,   ///< A lane ended without waiting for an asynchronous operation.
};

std::string_view toString(SimtErrorKind fault);

/// One error, reported once in a launch for all lanes, bytes, program instances and copies of an unrolled instruction.
struct SimtFinding {
  SimtErrorKind fault;
  std::string message; ///< The accesses with their lanes and lines of source, the bytes, and what is missing.
};

/// An instruction of a kernel that accesses memory or orders accesses.
struct SimtSite {
  std::string kernel;
  uint32_t number = 0;     ///< Index in the kernel's list of sites.
  std::string instruction; ///< "ldmatrix.x4", "bar.sync", ...
  std::string location;    ///< "flash2_forward.cpp:24"
};

/// The memory traffic of one instruction, which shows how well the accesses of a warp's lanes fit together.
struct SimtTraffic {
  SimtSite site;
  bool global = false;      ///< True: sectors of 32 bytes. False: wavefronts of the 32 banks of shared memory.
  int64_t requests = 0;     ///< Executions by a warp.
  int64_t transactions = 0; ///< Sectors or wavefronts.
  int64_t ideal = 0;        ///< The fewest transactions that the bytes need.
};

/// The report of a device since the last takeReport.
struct SimtReport {
  std::vector<SimtFinding> findings;
  int64_t launches = 0; ///< Launches of kernels. Each one is one schedule.
  int64_t program_instances = 0;
  int64_t switches = 0;          ///< Switches from one lane to another.
  bool mutation_reached = false; ///< A lane came to the instruction that the schedule changes.
  std::vector<SimtTraffic> traffic;
};

class SimtDevice : public Device {
public:
  /// Sets the schedule of later launches.
  virtual void setSchedule(const SimtInterleaving &schedule) noexcept = 0;
  /// Returns the report and begins an empty one.
  virtual SimtReport takeReport() = 0;
  /// Returns the sites of all kernels that the device has loaded.
  virtual std::vector<SimtSite> sites() const = 0;
};

struct SimtOptions {
  CpuOptions cpu = {}; ///< Threads that run program instances.
  SimtInterleaving schedule = {};
  std::string arch = {};   ///< The GPU whose instructions are run, such as "sm_90a"; empty means sm_80.
  int64_t concurrency = 2; ///< Kernel::concurrency of its kernels, as on a GPU with this many multiprocessors.
};

/// Makes a simt device, whose memory is the host's. A launch with findings returns launch_failed with the first one.
/// Tensors then hold what the kernel wrote. Other errors are those of cpuDevice.
Expected<std::shared_ptr<SimtDevice>> simtDevice(const SimtOptions &options = {}) noexcept;

} // namespace tegula
