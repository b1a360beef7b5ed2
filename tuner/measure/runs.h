// SPDX-License-Identifier: MIT
// The candidates of a search on the device: the part of a session that knows what is computed.
#pragma once

#include "messages.h"

#include <cstddef>
#include <string_view>

namespace tegula::tuning {

/// The verdict on a candidate.
struct Verdict {
  double error_ratio; ///< May be NaN.
  Status status;      ///< The reason if it is wrong.
};

class Runs {
public:
  virtual ~Runs() = default;

  /// Takes the message `tensor` or `expected`.
  virtual Status take(const Json &request, std::string_view bytes) = 0;
  /// Begins to load a candidate, in a thread of its own: without ptxas, the driver assembles kernels, which takes long.
  virtual Status load(size_t id, const Json &request) = 0;
  /// Waits until a candidate is loaded.
  virtual Status loaded(size_t id) = 0;

  /// Makes what all checks need, with any candidate.
  virtual Status prepare(size_t id) = 0;
  virtual Expected<Verdict> check(size_t id) = 0;

  /// Makes copies of the problem, until a launch finds nothing of its own tensors in the caches.
  virtual Status makeRoomFor(size_t id) = 0;
  /// Launches a candidate on the next copy. Does not wait.
  virtual Status launch(size_t id) = 0;
};

} // namespace tegula::tuning
