// SPDX-License-Identifier: MIT
// Searches: candidates that are compiled, compared with a reference, and timed until the fastest is known. Tunings of
// attention (tuner.h) and of described kernels (plan_tuner.h) differ in their tasks only.
//
// A model of registers, shared memory and occupancy may rule candidates out. The rest are compiled in parallel,
// checked, and timed in interleaved laps with cold caches; a candidate that has lost is not timed again. Candidates run
// in a separate process, so that one that faults or hangs does not end the search.
#pragma once

#include "tegula/artifact.h"
#include "tegula/kernel_spec.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

/// The machine that results hold for. Results of one machine say nothing about another.
struct TuningDevice {
  Target target;
  std::string device = {};   ///< Such as "NVIDIA H100 80GB HBM3" or "AMD EPYC 9554, 16 cores".
  std::string driver = {};   ///< Such as "CUDA 13.0"; empty on a cpu.
  std::string compiler = {}; ///< Result of Compiler::identity().

  // Limits of a GPU; 0 on a cpu.
  int multiprocessors = 0;
  int64_t shared_bytes_per_block = 0;
  int64_t shared_bytes_per_multiprocessor = 0;
};

/// Describes the machine's cores ("cpu") or one of its GPUs ("cuda"). Other words are invalid_argument. Makes no
/// context on the GPU.
Expected<TuningDevice> tuningDevice(std::string_view target, const Compiler &compiler, int ordinal = 0);

/// The last step that a candidate reached, from first to last.
enum class CandidateState {
  impossible, ///< By the model, it does not fit into shared memory or registers.
  unlikely,   ///< By the model, too many others should be faster.
  waiting,    ///< The time ran out, or the caller stopped the tuning.
  refused,    ///< The compiler refused it.
  spilled,    ///< ptxas spilled, serialized matrix products or ignored a register budget.
  faulted,    ///< It ended the process that ran it.
  hung,       ///< It did not end in time.
  wrong,      ///< Its results are not within the error bound.
  checked,    ///< Its results are right; it has not been timed.
  beaten,     ///< It was timed, and stopped when it had lost. Its few samples are rough.
  unfinished, ///< It was timed, and the search ended before it had lost.
  finalist,   ///< It was timed to the end.
};

std::string_view toString(CandidateState state);
std::optional<CandidateState> parseCandidateState(std::string_view word);

struct Candidate {
  Schedule schedule;
  CandidateState state = CandidateState::waiting;
  std::string why = {}; ///< The reason, in words, if `state` is a failure.

  double model_cost = 0; ///< Comparable between candidates only: less is faster.
  int registers = 0;     ///< Registers of each thread.
  int spill_bytes = 0;
  int64_t shared_bytes = 0;
  double error_ratio = 0; ///< The largest error ratio of all outputs; 0 before the check.
  double ms = 0;          ///< Median of the samples; 0 if there are none.
  double fastest_ms = 0;
  int samples = 0;
  std::optional<double> clock_mhz = {}, watts = {}; ///< Averages over its windows, if NVML told (Tuning::given).
  Sizes tunables = {};                              ///< Values of the tunables of a described kernel.

  bool timed() const { return samples > 0; }
  bool timedToTheEnd() const { return state == CandidateState::finalist; }
  Configuration configuration() const { return {tunables, schedule}; }
};

/// The result of timing every candidate to the end.
struct Exhaustive {
  size_t timed = 0;
  /// Index of the fastest candidate that is right. Nothing if the caller stopped the comparison.
  std::optional<size_t> best = {};
};

/// The candidates of a search with their figures, and the fastest of them. They hold for a kernel with some sizes on a
/// machine.
struct Tuning {
  std::string kernel = {};       ///< The name of the kernel, or of the program of attention.
  std::string kernel_class = {}; ///< As in TunedConfiguration.
  Sizes sizes = {};              ///< All sizes of the plan.
  std::string task = {};         ///< The TuningTask as JSON; empty for a described kernel.
  TuningDevice machine = {};
  /// The first has the configuration that would be used without tuning, unless `given`.
  std::vector<Candidate> candidates = {};
  std::optional<size_t> best = {};           ///< Index of the fastest candidate that is right; none if none was timed.
  bool complete = false;                     ///< The race was not stopped.
  std::optional<Exhaustive> exhaustive = {}; ///< If it has a best candidate, `ms` of all candidates is from it.
  bool known = false;                        ///< The result was read from a store instead of measured.
  bool given = false;                        ///< The candidates were TuningOptions::given, in their order.
  double seconds = 0;
  /// The programs of a kernel of several. The tunable `program` of a candidate is the value of one of them.
  std::vector<ProgramIdentity> programs = {};
  bool outranked = false;  ///< tuneOnce(): the store keeps an earlier result, which is better (isBetter).
  Status store_error = {}; ///< tuneOnce(): why the result could not be kept.

  const Candidate *winner() const { return best ? &candidates[*best] : nullptr; }
  /// Returns the program of a candidate; null if the kernel has only one.
  const ProgramIdentity *programOf(const Candidate &candidate) const;
  /// Returns the configuration as people read it: the name of the program first, if there are several.
  std::string nameOf(const Candidate &candidate) const;
  /// Returns the number of candidates whose state is `state`.
  size_t count(CandidateState state) const;
};

/// Returns true if `a` says more than `b` about the same problem on the same machine. A result that was not stopped is
/// better than one that was. Then one whose winner was timed to the end is better than one whose winner was not. Of two
/// that were not timed to the end, the one with more samples of its winner is better.
bool isBetter(const Tuning &a, const Tuning &b);

/// Returns a table of the candidates that were timed to the end, one of those with few samples, and the number of
/// candidates in each state. The fastest come first. Tunables come before the fields of the schedule.
std::string toTable(const Tuning &tuning);
std::string toJson(const Tuning &tuning);
/// Returns a page for a browser: tables of the times over the first two fields that differ, such as block_m and
/// block_n, coloured by speed. There is one table for each choice of the other fields.
std::string toHtml(const Tuning &tuning);

/// Parses a result of toJson, without the limits of the machine. The error invalid_argument says what is wrong with the
/// text.
Expected<Tuning> parseTuning(const std::string &json);

struct TuningProgress {
  std::string_view activity; ///< "compiling and checking" or "timing".
  double fraction = 0;       ///< The part of the activity that is done.
  size_t timed = 0;          ///< The number of candidates that have been timed so far.
};

struct TuningOptions {
  double budget_seconds = 60;
  /// The number of candidates to compile. Attention: those with the least model cost; described kernels: a random part.
  int max_candidates = 192;
  int compile_threads = 0;      ///< 0: one for each core.
  double patience_seconds = 20; ///< The time that a candidate may take to answer.
  uint64_t seed = 0;            ///< Decides attention's inputs and the order of laps.
  /// Compile, check and time every candidate that the compiler takes, to the end, whatever the model and the race say.
  /// There is no budget then.
  bool exhaustive = false;
  /// If there are any, these alone are compiled, checked and timed to the end, in `rounds` rounds. There is no budget
  /// then. A round gives each candidate one window of time; every other round runs in reversed order.
  std::vector<Configuration> given = {};
  int rounds = 5;
  double window_seconds = 0.1;
  /// The program that runs candidates. Empty: tegula-measure next to this code, in ../bin or in ../../bin.
  std::string measurer = {};
  std::function<void(const TuningProgress &)> progress = {};
  /// Asked often, also while a call waits for the process that measures. True ends the search within a fraction of a
  /// second, with the results so far. Compilations end with it if the compiler is asked, too (WorkerOptions::stopped).
  std::function<bool()> stopped = {};
};

} // namespace tegula
