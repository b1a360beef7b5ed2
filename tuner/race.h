// SPDX-License-Identifier: MIT
// Who is fastest, with as few samples of the slow ones as it takes.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

namespace tegula::tuning {

/// Runs rounds of laps. In each lap everybody who is still in the race is timed once, so that clock and temperature are
/// the same for all; after a round those leave whose best sample is worse than the leader's median by the round's
/// margin, and of the others the slower half that is not close to the leader. The last round is for those who are close
/// to the leader.
class Race {
public:
  /// With `to_the_end` nobody leaves before the last round.
  Race(size_t runners, bool to_the_end, unsigned seed);

  bool finished() const { return round_ == kRounds || running_.empty(); }
  /// Who is still in the race.
  const std::vector<size_t> &running() const { return running_; }
  /// Those in the order of the next lap, which is another one each time: how fast one is depends on who was before.
  std::vector<size_t> nextLap();
  int laps() const;
  bool isLastRound() const { return round_ + 1 == kRounds; }
  void endRound();
  /// From 0 to 1, by the rounds that have ended.
  double progress() const { return double(round_) / double(kRounds); }

  void add(size_t runner, const std::vector<double> &samples);
  /// Somebody cannot go on.
  void retire(size_t runner);

  /// How many have samples.
  size_t timed() const;
  const std::vector<double> &samples(size_t runner) const { return samples_[runner]; }
  double median(size_t runner) const; ///< Of at least one sample.

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
