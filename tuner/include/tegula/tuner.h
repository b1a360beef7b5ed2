// SPDX-License-Identifier: MIT
// The autotuner: measures the schedules of one attention program at one shape, and says which is fastest.
//
// Candidates come from the kernel's search space (search_space.h). A model of registers, shared memory and occupancy
// rules most of them out; the rest are compiled in parallel, compared with a reference that shares no code with
// kernels, and timed in interleaved laps with cold caches, where what has lost stops. All of them run in a process of
// their own: one that faults or hangs takes nobody along.
#pragma once

#include "tegula/attention.h"
#include "tegula/tuned_schedules.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

/// What is tuned. `problem.backward` says whether a backward program is.
struct TuningTask {
  /// Its variant, if it has one, must be of the class (problemClass) of one that `tegula attention --variant` names.
  /// Candidates are compiled, checked and timed with the latter. The result serves this class alone.
  AttentionProblem problem;
  AttentionShape shape;
  std::string program; ///< One that has a search space: "flash2_forward", "flash2_backward".

  /// The problem of launches of that shape, whatever `problem` expects.
  AttentionProblem problemOfShape() const;
};

/// What results depend on besides the task. Those of one machine say nothing about another.
struct TuningMachine {
  Target target;
  std::string device = {};   ///< "NVIDIA H100 80GB HBM3", "AMD EPYC 9554, 16 cores"
  std::string driver = {};   ///< "CUDA 13.0"; empty on a cpu.
  std::string compiler = {}; ///< Compiler::identity().

  // Limits of a GPU; 0 on a cpu.
  int multiprocessors = 0;
  int64_t shared_bytes_per_block = 0;
  int64_t shared_bytes_per_multiprocessor = 0;
};

/// The machine's cores ("cpu") or one of its GPUs ("cuda"); other words are InvalidArgument. Makes no context on the
/// GPU.
Expected<TuningMachine> tuningMachine(std::string_view target, const Compiler &compiler, int ordinal = 0);

/// How far a candidate came, from first to last.
enum class CandidateState {
  impossible, ///< The model: does not fit into shared memory or registers.
  unlikely,   ///< The model: too many others should be faster.
  waiting,    ///< The time ran out, or somebody stopped the tuning.
  refused,    ///< The compiler did not make it.
  spilled,    ///< The assembler ran out of registers, or had something else to say against it.
  faulted,    ///< It took its process along.
  hung,       ///< It did not end in time.
  wrong,      ///< Its results are not within the error bound.
  checked,    ///< It is right, and has not been timed.
  beaten,     ///< It was timed, and stopped when it had lost.
  finalist,   ///< It was timed to the end.
};

std::string_view toString(CandidateState state);
std::optional<CandidateState> parseCandidateState(std::string_view word);

struct Candidate {
  Schedule schedule;
  CandidateState state = CandidateState::waiting;
  std::string why = {}; ///< In words, where `state` is a failure.

  double model_cost = 0; ///< Only the order means something: less is faster.
  int registers = 0;     ///< Of each thread.
  int spill_bytes = 0;
  int64_t shared_bytes = 0;
  double error_ratio = 0; ///< The largest of all outputs; 0 before the check.
  double ms = 0;          ///< Median of the samples; 0 if there are none.
  double fastest_ms = 0;
  int samples = 0;

  bool timed() const { return samples > 0; }
};

/// What timing everything to the end has shown.
struct Exhaustive {
  size_t timed = 0;
  std::optional<size_t> best = {}; ///< Index of the fastest of all that are right.
};

struct Tuning {
  TuningTask task;
  TuningMachine machine;
  std::vector<Candidate> candidates = {};    ///< The first has the schedule that would be used without tuning.
  std::optional<size_t> best = {};           ///< Index of the fastest that is right; none if none was timed.
  bool complete = false;                     ///< Nobody stopped the race.
  std::optional<Exhaustive> exhaustive = {}; ///< Then `ms` of all candidates is from there.
  bool known = false;                        ///< Not measured now, but read from a store.
  double seconds = 0;

  const Candidate *winner() const { return best ? &candidates[*best] : nullptr; }
  /// How many came as far as `state`, and no further.
  size_t count(CandidateState state) const;
};

struct TuningProgress {
  std::string_view activity; ///< "compiling and checking", "timing"
  double fraction = 0;       ///< Of the activity.
};

struct TuningOptions {
  double budget_seconds = 60;
  int most_candidates = 192;    ///< How many are compiled: those that the model finds best.
  int compile_threads = 0;      ///< 0: one for each core.
  double patience_seconds = 20; ///< How long a candidate may take to answer.
  uint64_t seed = 0;            ///< Of the inputs.
  /// Compile, check and time everything that the compiler takes, to the end, whatever the model and the race say. There
  /// is no budget then.
  bool exhaustive = false;
  std::string measurer = {}; ///< Runs candidates; empty: the tegula-measure beside this code, or in ../bin.
  std::function<void(const TuningProgress &)> progress = {};
  std::function<bool()> stopped = {}; ///< Asked often: true ends the tuning with what it has.
};

/// Runs in the calling thread. InvalidArgument or Unsupported for a task that cannot be tuned; Internal if the process
/// that measures does not work at all. That single candidates fail is no error.
Expected<Tuning> tune(const TuningTask &task, const TuningMachine &machine, Compiler &compiler,
                      const TuningOptions &options = {});

/// All candidates with their figures, the fastest first, then how many came how far.
std::string toTable(const Tuning &tuning);
std::string toJson(const Tuning &tuning);
/// The landscape: a panel for each choice of the other fields, in it block_m over block_n, coloured by speed.
std::string toSvg(const Tuning &tuning);

/// The inverse of toJson, without the limits of the machine. InvalidArgument says what is wrong with the text.
Expected<Tuning> parseTuning(const std::string &json);

} // namespace tegula
