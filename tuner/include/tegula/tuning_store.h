// SPDX-License-Identifier: MIT
// Results of the tuner on disk: one file of JSON for each program, problem, class of shapes, device, driver and
// compiler.
#pragma once

#include "tegula/tuner.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

namespace tegula {

class TuningStore {
public:
  /// `schedules` in the user's cache directory; empty if there is none: then nothing is stored or found.
  static std::filesystem::path userFolder();

  explicit TuningStore(std::filesystem::path folder = userFolder()) : folder_(std::move(folder)) {}

  /// Replaces what was known for the same key at once: readers see the old file or the new one. ResourceExhausted names
  /// the folder if that cannot be written to.
  Status save(const Tuning &tuning) const;

  /// The result for exactly this key. What cannot be read does not count.
  std::optional<Tuning> find(const TuningTask &task, const TuningMachine &machine) const;

  /// Keeps other processes of this user from tuning on the machine, whose times would tell nothing then, as long as
  /// what is returned lives. Waits at most `patience`, and then goes on without.
  std::shared_ptr<void> lock(const TuningMachine &machine, std::chrono::milliseconds patience) const;

  /// All results of a machine, for plans. What cannot be read does not count, and neither does what has no place in
  /// memory.
  TunedSchedules schedules(const TuningMachine &machine) const noexcept;

private:
  std::filesystem::path folder_;
};

} // namespace tegula
