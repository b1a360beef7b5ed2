// SPDX-License-Identifier: MIT
// The tuner's side of the process that runs candidates.
#pragma once

#include "messages.h"
#include "worker/worker_process.h"

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace tegula::tuning {

/// What happened instead of an answer.
struct Failure {
  CandidateState state; ///< `faulted`, `hung` or `wrong`.
  std::string why;
};

/// An answer, or how the candidate failed.
template <class T> using Answer = std::variant<T, Failure>;

/// Keeps a process for measuring alive: after one that died or had to be killed comes another, which gets again what
/// its candidates need.
class Measurer {
public:
  Measurer(std::string program, const TuningTask &task, const TuningMachine &machine, uint64_t seed,
           std::chrono::milliseconds patience);

  /// Internal, with a reason, if the program does not start or cannot do what the task asks for.
  Status start();

  /// Programs that every candidate's plan needs; before start().
  void share(const std::vector<CompiledProgram> &programs);
  /// Lets the process load the candidate while others are checked.
  void add(size_t candidate, const Schedule &schedule, const CompiledProgram &program);

  /// The largest error ratio.
  Answer<double> check(size_t candidate);
  /// Milliseconds of one launch; makes the tensors, and decides how long a candidate may take from now on.
  Answer<double> warmUp(size_t candidate);
  /// Milliseconds of each launch.
  Answer<std::vector<double>> time(size_t candidate, int launches);

private:
  struct Entry {
    Schedule schedule;
    std::string kernel; ///< A message.
  };

  /// After an error of the process itself (CompileCrashed, CompileTimeout) it is gone.
  Expected<Json> ask(const std::string &message, std::chrono::milliseconds patience);
  Status load(size_t candidate);
  /// Has the reference computed, once for each process.
  Status prepare(size_t candidate);
  Expected<Json> askAbout(size_t candidate, Json request, std::chrono::milliseconds patience);
  Expected<Json> askOnce(size_t candidate, Json request, std::chrono::milliseconds patience);

  std::string program_;
  std::string open_;                ///< A message.
  std::vector<std::string> shared_; ///< Messages.
  std::chrono::milliseconds patience_;
  std::map<size_t, Entry> entries_;

  // The process at hand, and what it has.
  std::optional<WorkerProcess> process_;
  std::set<size_t> loaded_;
  std::set<size_t> answered_; ///< Of these: has been asked about, so that it is loaded indeed.
  bool has_reference_ = false;
  /// A process died while it loaded more than it was asked about: now each candidate is loaded when it is asked about.
  bool one_by_one_ = false;
};

} // namespace tegula::tuning
