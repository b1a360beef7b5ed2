// SPDX-License-Identifier: MIT
// The schedules for callers that give none.
#include "schedules.h"
#include "spaces.h"
#include "tegula/tuned_schedules.h"

#include <algorithm>

namespace tegula {
namespace {

/// Returns true if queries see only a window of the keys. Small blocks then visit fewer keys outside the window.
bool hasWindow(const Variant &variant) {
  return std::any_of(variant.bands.begin(), variant.bands.end(),
                     [](const Band &band) { return band.left.has_value(); });
}

/// The problems that a row is for. A field that is false or 0 admits all.
struct Only {
  bool causal = false;
  bool plain = false;  ///< No score modification and no mask function, which need registers.
  bool bare = false;   ///< No variant at all.
  bool ranges = false; ///< The variant has ranges, whose boundaries need more registers.
  bool tiles_of_scores = false;
  bool window = false;
  bool peak = false;     ///< The variant says at which diagonal its scores are largest.
  bool half = false;     ///< Elements are f16.
  bool contain = false;  ///< NaN and infinities are contained, which takes registers and shared memory.
  int64_t most_keys = 0; ///< The most keys of AttentionProblem::expected.

  bool admits(const AttentionProblem &problem) const {
    return (!causal || problem.causal != Causal::none) &&
           (!(plain || bare) || (!problem.variant.score && !problem.variant.mask)) &&
           (!bare || (problem.variant.bands.empty() && problem.variant.ranges.empty())) &&
           (!ranges || !problem.variant.ranges.empty()) && (!tiles_of_scores || hasTilesOfScores(problem.variant)) &&
           (!window || hasWindow(problem.variant)) && (!peak || problem.variant.peak) &&
           (!half || problem.dtype == f16) && (!contain || problem.contain_nonfinite) &&
           (most_keys == 0 || problem.expected.seqlen_k <= most_keys);
  }
};

/// A row of the table: a schedule, and the target (a GPU of one architecture, or all), program and element size that it
/// is for. A field that is empty or 0 stands for all of them.
struct Row {
  std::string_view target;
  std::string_view program;
  size_t element_bytes;
  int largest_dim; ///< The largest head_dim and value_dim.
  int shared_kib;  ///< The most shared memory that a program instance needs.
  Schedule schedule;
  Only only = {};
};

/// Returns a schedule of consumer warpgroups with 64 rows each, and a producer (docs/design.md).
constexpr Schedule warpSpecialized(int block_m, int block_n) {
  return {.block_m = block_m, .block_n = block_n, .num_warps = block_m / 16, .num_stages = 2, .roles = Roles::load};
}

constexpr Schedule overlapped(int block_m, int block_n) {
  Schedule schedule = warpSpecialized(block_m, block_n);
  schedule.overlap = Overlap::pingpong;
  return schedule;
}

constexpr Schedule staticPersistent(int block_m, int block_n) {
  Schedule schedule = overlapped(block_m, block_n);
  schedule.tile_scheduler = TileScheduler::static_persistent;
  return schedule;
}

/// Returns `schedule` with a dynamic persistent scheduler: an instance that is free takes the next block.
constexpr Schedule dynamic(Schedule schedule) {
  schedule.tile_scheduler = TileScheduler::dynamic_persistent;
  return schedule;
}

/// Returns `schedule` with the optimistic softmax. Kernels that wait for the tensor cores gain, at the price of power
/// and of the first block.
constexpr Schedule optimistic(Schedule schedule) {
  schedule.optimistic_softmax = true;
  return schedule;
}

constexpr Schedule lhsInRegisters(Schedule schedule) {
  schedule.lhs_in_registers = true;
  return schedule;
}

constexpr Schedule staged(Schedule schedule, int num_stages) {
  schedule.num_stages = num_stages;
  return schedule;
}

constexpr Schedule severalPerSm(Schedule schedule, int instances_per_sm) {
  schedule.instances_per_sm = instances_per_sm;
  return schedule;
}

constexpr Schedule grouped(Schedule schedule, int heads) {
  schedule.heads_in_l2 = heads;
  return schedule;
}

/// Several program instances of one warpgroup each on a multiprocessor. If rows see few keys, one instance computes
/// while others wait.
constexpr Schedule kThreeLhs = lhsInRegisters(dynamic(severalPerSm(overlapped(64, 64), 3)));
constexpr Schedule kThreeDynamic = optimistic(dynamic(grouped(severalPerSm(overlapped(64, 64), 3), 8)));
constexpr Schedule kThreeSmall = optimistic(severalPerSm(overlapped(64, 64), 3));
constexpr Schedule kFourByHeads = optimistic(grouped(severalPerSm(warpSpecialized(64, 64), 4), 8));
/// A schedule for scores that take more registers, such as those of a softcap.
constexpr Schedule kFourNarrow = optimistic(grouped(severalPerSm(warpSpecialized(64, 48), 4), 8));

/// Schedules for rows with few keys, and for problems in which three warpgroups spill.
constexpr Schedule kSquareDynamic = optimistic(dynamic(overlapped(128, 128)));
constexpr Schedule kSquareStatic = optimistic(staticPersistent(128, 128));
/// Schedules with a third warpgroup, which hides the exponentials, and with fewer bytes of keys and values for each
/// row.
constexpr Schedule kThreeFlat = optimistic(overlapped(192, 80));
constexpr Schedule kThreeDeep = staged(optimistic(overlapped(192, 64)), 3);
constexpr Schedule kThreeWide = optimistic(overlapped(192, 96));
constexpr Schedule kWideDynamic = dynamic(overlapped(192, 128));
/// A schedule for a head_dim of 256, for which shared memory holds fewer keys.
constexpr Schedule kNarrow = optimistic(overlapped(128, 64));

constexpr std::string_view kHopper = "cuda:sm_90a", kForward = "flash2_forward", kBackward = "flash2_backward",
                           kContain = "flash2_forward_contain";

// The first row that fits a problem is chosen.
constexpr Row kRows[] = {
    {kHopper, kForward, 2, 64, 41, kThreeSmall, {.plain = true, .ranges = true}},
    {kHopper, kForward, 2, 64, 41, kThreeSmall, {.plain = true, .window = true}},
    {kHopper, kForward, 2, 64, 57, kThreeLhs, {.causal = true, .plain = true, .most_keys = 512}},
    {kHopper, kForward, 2, 64, 57, kThreeDynamic, {.causal = true, .plain = true, .most_keys = 1024}},
    {kHopper, kForward, 2, 64, 137, grouped(kWideDynamic, 16), {.causal = true, .plain = true, .most_keys = 2048}},
    {kHopper, kForward, 2, 64, 137, grouped(kWideDynamic, 8), {.causal = true, .plain = true}},
    {kHopper, kForward, 2, 64, 137, kWideDynamic, {.plain = true}},
    {kHopper, kForward, 2, 64, 145, kThreeDeep, {.tiles_of_scores = true}},
    {kHopper, kForward, 2, 64, 41, kFourByHeads, {.peak = true, .most_keys = 2048}},
    {kHopper, kForward, 2, 64, 33, kFourNarrow, {.most_keys = 2048}},
    {kHopper, kForward, 2, 64, 73, grouped(kThreeWide, 4), {.causal = true}},
    {kHopper, kForward, 2, 64, 73, kThreeWide},
    {kHopper, kForward, 2, 128, 225, kSquareDynamic, {.plain = true, .ranges = true}},
    {kHopper, kForward, 2, 128, 225, kSquareDynamic, {.plain = true, .window = true}},
    {kHopper, kForward, 2, 128, 225, kSquareStatic, {.causal = true, .plain = true, .most_keys = 8192}},
    {kHopper, kForward, 2, 128, 129, grouped(kThreeFlat, 4), {.causal = true, .plain = true}},
    {kHopper, kForward, 2, 128, 225, kSquareStatic, {.plain = true, .most_keys = 1024}},
    {kHopper, kForward, 2, 128, 217, kThreeDeep, {.tiles_of_scores = true}},
    {kHopper, kForward, 2, 128, 225, kSquareDynamic, {.causal = true, .most_keys = 4096}},
    {kHopper, kForward, 2, 128, 129, grouped(kThreeFlat, 4), {.causal = true}},
    {kHopper, kForward, 2, 128, 225, kSquareDynamic, {.most_keys = 1024}},
    {kHopper, kForward, 2, 128, 145, kThreeDeep, {.peak = true, .half = true}},
    {kHopper, kForward, 2, 128, 169, staged(kThreeFlat, 3), {.peak = true}},
    {kHopper, kForward, 2, 128, 145, kThreeDeep},
    {kHopper, kForward, 2, 256, 225, kNarrow, {.most_keys = 1024}},
    {kHopper, kForward, 2, 256, 225, grouped(kNarrow, 8), {.causal = true, .most_keys = 4096}},
    {kHopper, kForward, 2, 256, 225, grouped(overlapped(128, 64), 4), {.causal = true}},
    {kHopper, kForward, 2, 256, 225, kNarrow},
    {"cuda", kForward, 2, 64, 64, {.block_m = 128, .block_n = 96, .num_warps = 4, .num_stages = 2}, {.bare = true}},
    {"cuda", kForward, 2, 64, 64, {.block_m = 128, .block_n = 64, .num_warps = 4, .num_stages = 2}},
    {"cuda", kForward, 2, 128, 100, {.block_m = 128, .block_n = 64, .num_warps = 4, .num_stages = 2}, {.bare = true}},
    {"cuda", kForward, 2, 128, 100, {.block_m = 64, .block_n = 64, .num_warps = 4, .num_stages = 2}},
    // Two instances share the 100 KiB of small GPUs. The schedule was chosen for this and for no spills, and was not
    // timed.
    {"cuda", kForward, 2, 128, 48, {.block_m = 64, .block_n = 64, .num_warps = 4, .num_stages = 1}},
    {"cuda", kForward, 2, 256, 209, {.block_m = 128, .block_n = 64, .num_warps = 8, .num_stages = 2}},
    {"cuda", kBackward, 2, 64, 96, {.block_m = 64, .block_n = 64, .num_warps = 4, .num_stages = 1}, {.contain = true}},
    {"cuda",
     kBackward,
     2,
     128,
     160,
     {.block_m = 64, .block_n = 64, .num_warps = 8, .num_stages = 1},
     {.contain = true}},
    {"cuda", kBackward, 0, 256, 96, {.block_m = 16, .block_n = 16, .num_warps = 2, .num_stages = 1}, {.contain = true}},
    {"cuda", kContain, 2, 128, 96, {.block_m = 64, .block_n = 32, .num_warps = 4, .num_stages = 1}},
    {"cuda", kContain, 0, 256, 96, {.block_m = 16, .block_n = 16, .num_warps = 2, .num_stages = 1}},
    {"cuda", kBackward, 2, 64, 160, {.block_m = 128, .block_n = 128, .num_warps = 8, .num_stages = 2}, {.bare = true}},
    {"cuda", kBackward, 2, 64, 136, {.block_m = 128, .block_n = 96, .num_warps = 8, .num_stages = 2}},
    {"cuda", kBackward, 2, 64, 96, {.block_m = 64, .block_n = 128, .num_warps = 8, .num_stages = 2}},
    {"cuda", kBackward, 2, 128, 160, {.block_m = 64, .block_n = 128, .num_warps = 8, .num_stages = 2}, {.bare = true}},
    {"cuda", kBackward, 2, 128, 136, {.block_m = 64, .block_n = 96, .num_warps = 8, .num_stages = 2}},
    {"cuda", kBackward, 2, 256, 208, {.block_m = 64, .block_n = 96, .num_warps = 8, .num_stages = 1}},
    {"cuda", kBackward, 2, 128, 80, {.block_m = 64, .block_n = 64, .num_warps = 8, .num_stages = 1}},
    {"cuda", kBackward, 4, 64, 80, {.block_m = 32, .block_n = 64, .num_warps = 4, .num_stages = 2}},
    {"cuda", kBackward, 4, 128, 144, {.block_m = 32, .block_n = 64, .num_warps = 8, .num_stages = 2}},
    {"cuda", kBackward, 4, 128, 72, {.block_m = 32, .block_n = 32, .num_warps = 4, .num_stages = 1}},
    {"cuda", kBackward, 4, 256, 136, {.block_m = 32, .block_n = 32, .num_warps = 4, .num_stages = 1}},
    {"cuda", "", 4, 64, 96, {.block_m = 64, .block_n = 64, .num_warps = 4, .num_stages = 2}},
    {"cuda", "", 4, 128, 177, {.block_m = 64, .block_n = 64, .num_warps = 4, .num_stages = 2}},
    {"cuda", "", 4, 128, 96, {.block_m = 64, .block_n = 32, .num_warps = 4, .num_stages = 1}},
    {"cuda", "", 4, 256, 160, {.block_m = 32, .block_n = 32, .num_warps = 4, .num_stages = 1}},
    {"cuda", "", 4, 256, 80, {.block_m = 16, .block_n = 16, .num_warps = 2, .num_stages = 1}},
    {"cuda", "", 0, 128, 96, {.block_m = 64, .block_n = 64, .num_warps = 4, .num_stages = 2}},
    {"cuda", "", 0, 256, 96, {.block_m = 32, .block_n = 32, .num_warps = 4, .num_stages = 1}},
    {"", "", 0, 128, 0, {.block_m = 96, .block_n = 96}},
    {"", "", 0, 256, 0, {.block_m = 64, .block_n = 64}},
};

/// Returns the KiB of shared memory that a thread block may have (CUDA C++ Programming Guide, table of compute
/// capabilities). An unnamed GPU counts as the smallest.
int sharedKib(const Target &target) {
  if (target.arch == "sm_80")
    return 163;
  return target.arch.starts_with("sm_90") || target.arch == "sm_100" ? 227 : 99;
}

bool isFor(const Row &row, const Target &target) {
  const std::string name = target.name == "simt" ? "cuda" : target.name; // simt runs the code of a GPU.
  return row.target.empty() || row.target == name || row.target == name + ":" + target.arch;
}

bool fits(const Row &row, const Target &target, std::string_view program, const AttentionProblem &problem) {
  return isFor(row, target) && row.only.admits(problem) && (row.program.empty() || row.program == program) &&
         (row.element_bytes == 0 || row.element_bytes == sizeOf(problem.dtype)) &&
         std::max(problem.head_dim, problem.value_dim) <= row.largest_dim && row.shared_kib <= sharedKib(target);
}

bool isSame(const ShippedSchedule &shipped, const AttentionProblem &problem, const Row &row) {
  const AttentionProblem &other = shipped.problem;
  return shipped.schedule == row.schedule && other.dtype == problem.dtype && other.causal == problem.causal &&
         other.head_dim == problem.head_dim && other.variant.name == problem.variant.name;
}

} // namespace

Schedule chooseSchedule(const Target &target, std::string_view program, const AttentionProblem &problem, Schedule given,
                        const TunedSchedules *tuned) {
  if (tuned != nullptr && given == Schedule())
    if (std::optional<Schedule> schedule = tuned->find(program, problem))
      return *schedule;
  if (program == kContain) // It rarely does anything, and may have its own blocks.
    given = {};
  // Roles, and the fields that depend on them, belong to the tiles of their row. If the caller gives a field, rows with
  // roles are left out.
  const bool isFree = given == Schedule();
  auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row &row) {
    return fits(row, target, program, problem) && (isFree || row.schedule.roles != Roles::load);
  });
  for (int Schedule::*field : {&Schedule::block_m, &Schedule::block_n, &Schedule::num_warps, &Schedule::num_stages})
    if (given.*field == 0)
      given.*field = row->schedule.*field;
  return isFree ? row->schedule : given;
}

std::vector<ShippedSchedule> shippedSchedules(const Target &target, std::string_view program) {
  std::vector<ShippedSchedule> shipped;
  const auto add = [&](const Row &row, AttentionProblem problem) {
    problem.head_dim = problem.value_dim = row.largest_dim;
    problem.expected.seqlen_k = row.only.most_keys != 0 ? row.only.most_keys : int64_t(1) << 20;
    for (const Variant &variant : {Variant(), softcap(30), alibi(Alignment::bottom_right), additiveBias(problem.dtype),
                                   documents(), slidingWindow(1024, 0, Alignment::bottom_right)}) {
      problem.variant = variant;
      const auto *chosen = std::find_if(std::begin(kRows), std::end(kRows),
                                        [&](const Row &other) { return fits(other, target, program, problem); });
      if (chosen != &row)
        continue;
      // Rows for other lengths may have the same schedule.
      if (std::none_of(shipped.begin(), shipped.end(),
                       [&](const ShippedSchedule &s) { return isSame(s, problem, row); }))
        shipped.push_back({problem, row.schedule});
      return;
    }
  };
  for (const Row &row : kRows)
    for (DType dtype : {f32, f16, bf16})
      for (Causal causal : {Causal::none, Causal::bottom_right})
        add(row, {.dtype = dtype, .causal = causal});
  return shipped;
}

} // namespace tegula
