// SPDX-License-Identifier: MIT
// The schedules that are used if the caller gives none. schedules.json has them.
#include "schedules.h"

#include "kernel_config.h"
#include "plan_check.h"
#include "spaces.h"
#include "tegula/tuned_schedules.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

namespace tegula {
namespace {

/// Returns whether a band bounds the keys to the left.
bool hasWindow(const Variant &variant) {
  return std::any_of(variant.bands.begin(), variant.bands.end(),
                     [](const Band &band) { return band.left.has_value(); });
}

/// The problems that a row is for: those that meet every condition. A field that is 0, false or empty is no condition.
/// The fields have the names of the keys in schedules.json; docs/tuning.md describes them.
struct Problems {
  int max_head_dim = 0; ///< The larger of head_dim, with the last dimensions of products, and value_dim.
  size_t element_bytes = 0;
  int64_t max_keys = 0; ///< Expected keys (AttentionProblem::expected).
  std::optional<DType> dtype = {};
  bool causal = false;   ///< There is a causal mask.
  bool no_score = false; ///< The variant has no functions `score` and `probability`, which need registers.
  /// Nor has it a function `mask`, and there is no dropout. These need registers, too.
  bool no_score_or_mask = false;
  bool no_variant = false;        ///< The variant has no bands, ranges and unions either.
  bool ranges = false;            ///< The variant has ranges or a union, whose edges need registers.
  bool tiles_of_scores = false;   ///< hasTilesOfScores is true.
  bool window = false;            ///< A query sees no keys far to its left, so that small tiles visit fewer.
  bool peak = false;              ///< The variant says at which diagonal its scores are largest.
  bool contain_nonfinite = false; ///< NaN and infinities are contained, which needs registers and shared memory.
  bool dropout = false;           ///< There is dropout, and the variant has no functions.
  bool probability = false;       ///< The variant modifies probabilities.
  bool block_mask = false;        ///< Tiles are listed. Those of a given block are its divisors if they can be.

  bool include(const AttentionProblem &problem) const {
    const Variant &variant = problem.variant;
    const bool hasFunctions = variant.score || variant.mask || variant.probability;
    return std::max(problem.head_dim + variant.productDims(), problem.value_dim) <= max_head_dim &&
           (element_bytes == 0 || element_bytes == sizeOf(problem.dtype)) &&
           (max_keys == 0 || problem.expected.seqlen_k <= max_keys) && (!dtype || problem.dtype == *dtype) &&
           (!causal || problem.causal != Causal::none) && (!no_score || (!variant.score && !variant.probability)) &&
           (!(no_score_or_mask || no_variant) || (!hasFunctions && problem.dropout_p == 0)) &&
           (!no_variant || (variant.bands.empty() && variant.ranges.empty() && variant.any_of.empty())) &&
           (!ranges || !variant.ranges.empty() || !variant.any_of.empty()) &&
           (!tiles_of_scores || hasTilesOfScores(variant)) && (!window || hasWindow(variant)) &&
           (!peak || variant.peak) && (!contain_nonfinite || problem.contain_nonfinite) &&
           (!dropout || (problem.dropout_p != 0 && !hasFunctions)) && (!probability || variant.probability) &&
           (!block_mask || blockMaskOf(problem).exists());
  }
};

/// A row of schedules.json. What is empty or 0 stands for all targets, all programs, and no need of shared memory.
struct Row {
  std::string_view target = {}; ///< `cpu` or `cuda`, or `cuda:` and an architecture.
  std::string_view program = {};
  Problems problems = {};
  int shared_kib = 0; ///< The most shared memory that a program instance needs.
  Schedule schedule = {};
};

// The first row that fits counts.
const Row kRows[] = {
#include "schedule_rows.inc"
};

constexpr std::string_view kContain = "flash2_forward_contain";

/// The schedule of GPUs for rows of more than kUsualHeadDim elements. All warps work on the same 16 rows, because the
/// registers of one warp do not hold 16 rows of o.
const Schedule kOfLongRows = {.block_m = 16, .block_n = 16, .num_warps = 4, .num_stages = 1, .roles = Roles::none};

bool hasLongRows(const AttentionProblem &problem) {
  return std::max(problem.head_dim + problem.variant.productDims(), problem.value_dim) > kUsualHeadDim;
}

/// Returns a bound of the shared memory that an instance with kOfLongRows needs, in KiB: tiles of 16 rows of q, k, v
/// and o, those of their gradients in f32, and room for what warps exchange. Tiles have whole panels of 64 columns.
/// Merges multiply nothing, and keep their rows in registers.
int64_t kibOfLongRows(std::string_view program, const AttentionProblem &problem) {
  if (program.starts_with("merge"))
    return 0;
  const int64_t rows = program.starts_with("flash2_backward") ? 81 : program == "flash1_forward" ? 57 : 49;
  const auto panels = [](int columns) { return (columns + 63) / 64 * 64; };
  const int64_t columns = panels(problem.head_dim + problem.variant.productDims()) + panels(problem.value_dim);
  return (rows * columns * int64_t(sizeOf(problem.dtype)) + 1023) / 1024;
}

/// Shared memory that a block may have (CUDA C++ Programming Guide, table of compute capabilities). An unnamed GPU is
/// the smallest.
int sharedKib(const Target &target) {
  if (target.arch == "sm_80")
    return 163;
  return target.arch.starts_with("sm_90") || target.arch.starts_with("sm_100") ? 227 : 99;
}

bool isFor(const Row &row, const Target &target) {
  const std::string name = target.name == "simt" ? "cuda" : target.name; // simt runs the code of a GPU.
  return row.target.empty() || row.target == name || row.target == name + ":" + target.arch;
}

bool fits(const Row &row, const Target &target, std::string_view program, const AttentionProblem &problem) {
  return isFor(row, target) && (row.program.empty() || row.program == program) && row.problems.include(problem) &&
         row.shared_kib <= sharedKib(target);
}

/// Returns the first row that fits.
const Row &rowFor(const Target &target, std::string_view program, const AttentionProblem &problem) {
  return *std::find_if(std::begin(kRows), std::end(kRows),
                       [&](const Row &row) { return fits(row, target, program, problem); });
}

/// Returns whether the row's tiles, warps and roles suit the given fields, too.
bool suits(const Row &row, const Schedule &given, const Target &target) {
  const Schedule &own = row.schedule;
  const auto agrees = [&](int Schedule::*field) { return given.*field == 0 || given.*field == own.*field; };
  const int instances = std::max(own.instances_per_sm, 1), stages = std::max(given.num_stages, own.num_stages);
  // An instance that works on one block after another loads the next block of queries early.
  const bool hasRoom = row.shared_kib * instances * stages <= sharedKib(target) * own.num_stages &&
                       (!isPersistent(given) || isPersistent(own));
  const bool mayKeepOperands = given.overlap != Overlap::none || own.lhs_in_registers != true;
  const bool hasRegisters =
      given.instances_per_sm <= instances && (given.lhs_in_registers != true || own.lhs_in_registers == true);
  return given.roles != Roles::none && given.steps.empty() && agrees(&Schedule::block_m) &&
         agrees(&Schedule::block_n) && agrees(&Schedule::num_warps) && hasRoom && hasRegisters && mayKeepOperands;
}

/// Returns the most warps of which each computes a part of a tile of scores. An MMA of a warp has 16 rows.
int warpsWithWork(const Schedule &schedule) {
  const auto fragments = [](int size) { return unsigned(size + 15) / 16; };
  return int(std::bit_floor(fragments(schedule.block_m) * fragments(schedule.block_n)));
}

/// Returns `schedule` with values in the fields that the compiler would choose: without them, an attention kernel has
/// no roles, no overlap and no additions by TMA. Only roles need the other two.
Schedule withoutChoices(Schedule schedule, const Target &target, std::string_view program) {
  if (target.name == "cpu")
    return schedule;
  schedule.roles = schedule.roles.value_or(Roles::none);
  if (schedule.roles == Roles::none)
    return schedule;
  schedule.overlap = schedule.overlap.value_or(Overlap::none);
  if (program == "flash2_backward")
    schedule.add_by_tma = schedule.add_by_tma.value_or(false);
  return schedule;
}

bool isSame(const ShippedSchedule &shipped, const AttentionProblem &problem, const Row &row) {
  const AttentionProblem &other = shipped.problem;
  return shipped.schedule == row.schedule && other.dtype == problem.dtype && other.causal == problem.causal &&
         other.head_dim == problem.head_dim && other.variant.name == problem.variant.name;
}

} // namespace

Status checkRoom(const Target &target, std::string_view program, const AttentionProblem &problem) {
  if (target.name == "cpu" || !hasLongRows(problem) || kibOfLongRows(program, problem) <= sharedKib(target))
    return {};
  return {ErrorCode::unsupported,
          "head_dim is " + std::to_string(problem.head_dim) + " and value_dim " + std::to_string(problem.value_dim) +
              ", for which '" + std::string(program) + "' needs " + std::to_string(kibOfLongRows(program, problem)) +
              " KiB of shared memory with " + std::string(toString(problem.dtype)) + "; " +
              (target.arch.empty() ? "an unknown GPU" : target.arch) + " has " + std::to_string(sharedKib(target)) +
              ". Dimensions up to " + std::to_string(kUsualHeadDim) + " always fit"};
}

Schedule chooseSchedule(const Target &target, std::string_view program, const AttentionProblem &problem, Schedule given,
                        const TunedConfigurations *tuned) {
  if (tuned != nullptr && given == Schedule())
    if (std::optional<Schedule> schedule = tunedSchedule(*tuned, program, problem))
      return withoutChoices(*schedule, target, program);
  if (target.name != "cpu" && hasLongRows(problem))
    return filled(std::move(given), kOfLongRows);
  if (program == kContain) // It rarely does anything, and may have its own blocks.
    given = {};
  // A producer belongs to the tiles of its row.
  const bool isFree = given == Schedule();
  const Schedule &chosen = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row &row) {
                             return fits(row, target, program, problem) &&
                                    (isFree || row.schedule.roles != Roles::load || suits(row, given, target));
                           })->schedule;
  if (isFree || chosen.roles == Roles::load)
    return filled(std::move(given), chosen);
  for (int Schedule::*field : {&Schedule::block_m, &Schedule::block_n, &Schedule::num_stages})
    if (given.*field == 0)
      given.*field = chosen.*field;
  if (given.num_warps == 0)
    given.num_warps = std::min(chosen.num_warps, warpsWithWork(given));
  return withoutChoices(std::move(given), target, program);
}

size_t shippedRow(const Target &target, std::string_view program, const AttentionProblem &problem) {
  return size_t(&rowFor(target, program, problem) - std::begin(kRows));
}

std::vector<ShippedSchedule> shippedSchedules(const Target &target, std::string_view program) {
  std::vector<ShippedSchedule> shipped;
  const auto add = [&](const Row &row, AttentionProblem problem) {
    problem.head_dim = problem.value_dim = row.problems.max_head_dim;
    problem.expected.seqlen_k = row.problems.max_keys != 0 ? row.problems.max_keys : int64_t(1) << 20;
    for (const Variant &variant : {Variant(), softcap(30), alibi(Alignment::bottom_right), additiveBias(problem.dtype),
                                   documents(), slidingWindow(1024, 0, Alignment::bottom_right)}) {
      problem.variant = variant;
      if (&rowFor(target, program, problem) != &row)
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
