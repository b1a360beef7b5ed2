// SPDX-License-Identifier: MIT
// Runs the candidates of one tuning on a device.
#pragma once

#include "messages.h"
#include "received_kernels.h"
#include "tegula/cpu_info.h"
#include "tegula/timer.h"
#include "workload/attention_check.h"
#include "workload/attention_data.h"

#include <future>
#include <map>
#include <memory>
#include <optional>
#include <semaphore>
#include <string_view>
#include <vector>

namespace tegula::tuning {

class Session {
public:
  /// Returns the answer to one request. Throws nlohmann::json::exception if the request is malformed.
  Json answer(const Json &request, std::string_view bytes);

private:
  Status open(const Json &request);
  /// Loads a candidate in a thread of its own. Without ptxas, the driver assembles the kernel, which takes long.
  void load(size_t id, const Schedule &schedule);
  Expected<AttentionPlan> makePlan(const Schedule &schedule);
  Status prepare(const AttentionPlan &plan);
  Expected<tools::AttentionErrors> check(const AttentionPlan &plan);
  Expected<std::vector<double>> time(const AttentionPlan &plan, int launches);

  Status run(const AttentionPlan &plan, const tools::AttentionData &data) const;
  /// Makes copies of the problem, until a launch finds nothing of its own tensors in the caches.
  Status makeRotation(const AttentionPlan &plan);
  /// Makes the task's problem at a shape; `set_variant` says what the tensors of its variant hold.
  tools::AttentionCase caseOf(const AttentionShape &shape,
                              void (*set_variant)(tools::AttentionCase &, const tools::NamedVariant &)) const;

  TuningTask task_;
  const tools::NamedVariant *variant_ = nullptr; ///< The task's variant; null for plain attention.
  uint64_t seed_ = 0;
  std::shared_ptr<Device> device_;
  ReceivedKernels kernels_;
  std::optional<KernelCache> cache_;
  std::counting_semaphore<> loaders_{usableCores()};
  std::map<size_t, std::shared_future<Expected<AttentionPlan>>> plans_;

  std::optional<tools::AttentionData> check_data_;
  std::optional<tools::AttentionReference> reference_;
  std::vector<tools::AttentionData> rotation_;
  size_t next_ = 0; ///< The number of launches so far, which selects a copy in rotation_.
  std::vector<std::unique_ptr<Timer>> timers_;
};

} // namespace tegula::tuning
