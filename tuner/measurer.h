// SPDX-License-Identifier: MIT
// Measures candidates on a device in another process.
#pragma once

#include "remote_device.h"
#include "subject.h"
#include "tegula/kernel_cache.h"
#include "tegula/search.h"

#include <chrono>
#include <memory>
#include <vector>

namespace tegula::tuning {

/// Owns the process of the device, which ends with the object. If the process dies or must be killed, the next request
/// starts another.
class Measurer {
public:
  /// All must outlive the object. TuningOptions::stopped ends a request, and the process with it.
  Measurer(const TuningOptions &options, Subject &subject, Compiler &compiler);
  ~Measurer() { process_->end(); } // The subject's plans and tensors still hold process_.
  Measurer(const Measurer &) = delete;
  Measurer &operator=(const Measurer &) = delete;

  /// Starts the process. Returns internal, with a reason, if it does not start or has no device. Returns cancelled if
  /// the caller stopped the search.
  Status start();

  /// Returns the kernels of the device.
  KernelCache &cache() { return cache_; }
  /// Lets the process load kernels that have been made, while candidates are checked.
  void loadSoon();

  // The errors say how the candidate failed: compile_timeout if it hung, and cancelled if the caller stopped the
  // search, which says nothing about the candidate.

  Expected<Verdict> check(size_t candidate);
  /// Makes the tensors, returns the milliseconds of one launch, and sets how long a candidate may take from then on.
  Expected<double> warmUp(size_t candidate);
  /// Returns the milliseconds of each launch.
  Expected<std::vector<double>> time(size_t candidate, int launches);

private:
  /// Returns the result of `run`, which asks the process about one candidate.
  template <class Run> auto ask(Run run) -> decltype(run());
  /// The same; starts a process if there is none.
  template <class Run> auto askOnce(Run run) -> decltype(run());
  Expected<std::vector<double>> timed(size_t candidate, int launches, std::chrono::milliseconds patience);

  Subject &subject_;
  std::shared_ptr<RemoteProcess> process_;
  std::shared_ptr<Device> device_;
  KernelCache cache_;
  std::chrono::milliseconds patience_;
};

} // namespace tegula::tuning
