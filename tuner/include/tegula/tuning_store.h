// SPDX-License-Identifier: MIT
// Results of searches on disk: one file of JSON for each kernel, class, sizes, device, driver and compiler.
#pragma once

#include "tegula/search.h"
#include "tegula/tuned_configurations.h"
#include "tegula/tuner.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

namespace tegula {

class TuningStore {
public:
  /// Returns the directory `schedules` in the user's cache directory. If there is none, the path is empty, and nothing
  /// is stored or found.
  static std::filesystem::path userDirectory();

  explicit TuningStore(std::filesystem::path folder = userDirectory()) : folder_(std::move(folder)) {}

  /// Replaces the result for the same key at once: readers see the old file or the new one. Returns false if there is
  /// no winner, or if the old result is better (isBetter) and stays, also if another process has just written it. The
  /// error resource_exhausted names the directory if it cannot be written to.
  Expected<bool> save(const Tuning &tuning) const;
  /// Returns the error that save() would return for every result.
  Status checkWritable() const;

  /// Returns the result for exactly this key: the kernel, its class and the sizes, rounded up to powers of two. A file
  /// that cannot be read does not count.
  std::optional<Tuning> find(const std::string &kernel, const std::string &kernel_class, const Sizes &sizes,
                             const TuningDevice &machine) const;
  std::optional<Tuning> find(const TuningTask &task, const TuningDevice &machine) const;

  /// Keeps other processes of this user from tuning on the machine as long as the returned object lives, because two
  /// tunings would disturb each other's times. Waits at most `patience`, or until `stopped` returns true, and then goes
  /// on without the lock.
  std::shared_ptr<void> lock(const TuningDevice &machine, std::chrono::milliseconds patience,
                             const std::function<bool()> &stopped = {}) const;

  /// Returns all results of a machine, for plans. A file that cannot be read does not count, nor does a result for
  /// which memory does not suffice.
  TunedConfigurations configurations(const TuningDevice &machine) const noexcept;

private:
  std::filesystem::path folder_;
};

} // namespace tegula
