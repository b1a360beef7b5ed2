// SPDX-License-Identifier: MIT
// Finds the fastest runner with few samples of the slow ones.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

namespace tegula::tuning {

/// A race of runners in rounds of laps. Each lap times each running runner once, so that clock and temperature are the
/// same for all. After a round, a runner leaves if its best sample is worse than the leader's median by the round's
/// margin. Of the others, the slower half leaves, except runners close to the leader. Only runners close to the leader
/// run the last round.
class Race {
public:
  /// If `to_the_end`, no runner leaves before the last round.
  Race(size_t runners, bool to_the_end, unsigned seed);

  bool finished() const { return round_ == kRounds || running_.empty(); }
  /// Returns the runners that are still in the race.
  const std::vector<size_t> &running() const { return running_; }
  /// Returns the running runners in the order of the next lap. The order changes with each lap, because a runner's time
  /// depends on the runner before it.
  std::vector<size_t> nextLap();
  int laps() const;
  bool isLastRound() const { return round_ + 1 == kRounds; }
  void endRound();
  /// Returns the part of the rounds that have ended, from 0 to 1.
  double progress() const { return double(round_) / double(kRounds); }

  void add(size_t runner, const std::vector<double> &samples);
  /// Removes a runner that cannot go on.
  void retire(size_t runner);

  /// Returns the number of runners that have samples.
  size_t timed() const;
  const std::vector<double> &samples(size_t runner) const { return samples_[runner]; }
  double median(size_t runner) const; ///< Needs at least one sample.

private:
  static constexpr size_t kRounds = 6;

  bool hasLost(size_t runner, double best) const;
  void dropSlowHalf(double best);

  std::vector<std::vector<double>> samples_;
  std::vector<size_t> running_;
  size_t round_ = 0;
  bool to_the_end_;
  std::mt19937 random_;
};

} // namespace tegula::tuning
