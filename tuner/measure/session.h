// SPDX-License-Identifier: MIT
// Runs the candidates of one search on a device.
#pragma once

#include "messages.h"
#include "received_kernels.h"
#include "runs.h"
#include "tegula/kernel_cache.h"
#include "tegula/timer.h"

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace tegula::tuning {

class Session {
public:
  /// Returns the answer to one request. Throws nlohmann::json::exception if the request is malformed.
  Json answer(const Json &request, std::string_view bytes);

private:
  Status open(const Json &request);
  /// Returns the milliseconds of each launch.
  Expected<std::vector<double>> time(size_t id, int launches);

  std::shared_ptr<Device> device_;
  ReceivedKernels kernels_;
  std::optional<KernelCache> cache_;
  std::unique_ptr<Runs> runs_;
  std::vector<std::unique_ptr<Timer>> timers_;
};

} // namespace tegula::tuning
