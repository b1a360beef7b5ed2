// SPDX-License-Identifier: MIT
// Who is fastest, with as few samples of the slow ones as it takes.
#pragma once

#include <cstddef>
#include <vector>

namespace tegula::tuning {

/// Runs rounds of laps. In each lap everybody who is still in the race is timed once, so that clock and temperature are
/// the same for all; after a round those leave whose best sample is worse than the leader's median by the round's
/// margin, and of the others the slower half that is not close to the leader.
class Race {
public:
  /// With `to_the_end` nobody leaves.
  Race(size_t runners, bool to_the_end);

  bool finished() const { return round_ == kRounds || running_.empty(); }
  /// Who is timed in each lap of this round.
  const std::vector<size_t> &running() const { return running_; }
  int laps() const;
  void endRound();
  /// From 0 to 1, by the rounds that have ended.
  double progress() const { return double(round_) / double(kRounds); }

  void add(size_t runner, const std::vector<double> &samples);
  /// Somebody cannot go on.
  void retire(size_t runner);

  const std::vector<double> &samples(size_t runner) const { return samples_[runner]; }
  double median(size_t runner) const; ///< Of at least one sample.

private:
  static constexpr size_t kRounds = 5;

  bool hasLost(size_t runner, double best) const;

  std::vector<std::vector<double>> samples_;
  std::vector<size_t> running_;
  size_t round_ = 0;
  bool to_the_end_;
};

} // namespace tegula::tuning
