// SPDX-License-Identifier: MIT
// The tuner's side of the process that runs candidates.
#pragma once

#include "subject.h"
#include "tegula/internal/worker_process.h"
#include "tegula/search.h"

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace tegula::tuning {

/// The failure of a candidate, in place of an answer.
struct Failure {
  CandidateState state; ///< `faulted`, `hung` or `wrong`; `waiting` if the caller stopped the search.
  std::string why;

  bool isStop() const { return state == CandidateState::waiting; }
};

/// An answer, or how the candidate failed.
template <class T> using Answer = std::variant<T, Failure>;

/// Owns the process that measures. If the process dies or must be killed, the next request starts another, which
/// receives the kernels of its candidates again.
class Measurer {
public:
  /// `subject` and `options` must outlive the object. TuningOptions::stopped ends a request, and the process with it.
  Measurer(const TuningOptions &options, const Subject &subject);

  /// Returns internal, with a reason, if the program does not start or cannot do what the task asks for. Returns
  /// cancelled if the caller stopped the search.
  Status start();

  /// Adds what tells the process about the prepared subject, and programs that every candidate's plan needs. Call it
  /// before start().
  void share(const std::vector<CompiledProgram> &programs);
  /// Lets the process load the candidate while others are checked.
  void add(size_t index, const Candidate &candidate, const std::vector<CompiledProgram> &programs);

  /// Runs the check and returns the largest error ratio.
  Answer<double> check(size_t candidate);
  /// Makes the tensors, returns the milliseconds of one launch, and sets how long a candidate may take from then on.
  Answer<double> warmUp(size_t candidate);
  /// Returns the milliseconds of each launch.
  Answer<std::vector<double>> time(size_t candidate, int launches);

private:
  /// The messages that send a candidate.
  struct Entry {
    std::vector<std::string> kernels;
    std::string load;
  };

  /// Sends a message and returns the answer. After an error of the process itself (compile_crashed, compile_timeout),
  /// the process is gone.
  Expected<Json> ask(const std::string &message, std::chrono::milliseconds patience);
  Status load(size_t candidate);
  /// Has the process compute the reference, once for each process.
  Status prepare(size_t candidate);
  Expected<Json> askAbout(size_t candidate, Json request, std::chrono::milliseconds patience);
  Expected<Json> askOnce(size_t candidate, Json request, std::chrono::milliseconds patience);

  const TuningOptions &options_;
  std::string program_;
  const Subject &subject_;
  std::string open_;                ///< The message `open`.
  std::vector<std::string> shared_; ///< Messages that describe the subject and send the shared programs.
  std::chrono::milliseconds patience_;
  std::map<size_t, Entry> entries_;

  // The current process and its state.
  std::optional<WorkerProcess> process_;
  std::set<size_t> loaded_;
  std::set<size_t> answered_; ///< The part of loaded_ that has answered, and so is loaded indeed.
  bool has_reference_ = false;
  /// True after a process died while it loaded several candidates. Each candidate is then loaded with its first
  /// request.
  bool one_by_one_ = false;
};

} // namespace tegula::tuning
