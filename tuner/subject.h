// SPDX-License-Identifier: MIT
// What a search is about: the part of it that knows what is computed.
#pragma once

#include "tegula/kernel_cache.h"
#include "tegula/search.h"

#include <memory>
#include <utility>
#include <vector>

namespace tegula::tuning {

/// The verdict on a candidate.
struct Verdict {
  double error_ratio; ///< May be NaN.
  Status status;      ///< The reason if it is wrong.
};

class Subject {
public:
  virtual ~Subject() = default;

  /// Returns a result that says what is tuned on which machine, and has no candidates yet.
  const Tuning &about() const { return about_; }
  const Target &target() const { return about_.machine.target; }

  /// Returns the candidates in the order in which to compile them, the one without tuning first. At most `most` are
  /// `waiting`.
  virtual Expected<std::vector<Candidate>> candidates(int most) const = 0;
  /// Returns the candidate of a configuration that the caller gave, with what it leaves open chosen.
  virtual Expected<Candidate> candidateOf(const Configuration &given) const = 0;

  /// Does what comes before all candidates, such as to compute what they are compared with. `cache` has the kernels of
  /// the device. Returns cancelled if TuningOptions::stopped asks for it between two steps.
  virtual Status prepare(KernelCache &cache, Compiler &compiler, const TuningOptions &options) = 0;
  /// Makes the plan of a candidate, by which the functions below know it. Returns the kernel that is searched. Called
  /// by several threads.
  virtual Expected<std::shared_ptr<Kernel>> makePlan(size_t index, const Candidate &candidate, KernelCache &cache) = 0;

  /// Makes the tensors of all checks, unless there are any.
  virtual Status prepareCheck(size_t index, const std::shared_ptr<Device> &device) = 0;
  /// Runs a candidate at a small shape.
  virtual Expected<Verdict> check(size_t index) = 0;
  /// Makes copies of the problem, until a launch finds nothing of its own tensors in the caches.
  virtual Status prepareLaunches(size_t index, const std::shared_ptr<Device> &device) = 0;
  /// Launches a candidate on the next copy. Does not wait.
  virtual Status launch(size_t index) = 0;
  /// Forgets all tensors, because their device is gone.
  virtual void forgetTensors() = 0;

  /// Returns results of other kernels that follow from one that has a winner. A store keeps them, too.
  virtual Expected<std::vector<Tuning>> implied(const Tuning &) const { return std::vector<Tuning>(); }

protected:
  explicit Subject(Tuning about) : about_(std::move(about)) {}

private:
  Tuning about_;
};

} // namespace tegula::tuning
