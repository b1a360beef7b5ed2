// SPDX-License-Identifier: MIT
#include "race.h"

#include "workload/timing.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tegula::tuning {
namespace {

struct Round {
  int laps;
  double margin; ///< A runner whose best sample is slower than the leader's median by more than this part leaves.
};

constexpr Round kSchedule[] = {{1, 0.30}, {1, 0.15}, {2, 0.08}, {4, 0.06}, {6, 0.04}, {10, 0}};
/// A runner that is at most this part slower than the leader stays in the race, however many others do.
constexpr double kClose = 0.04;

} // namespace

Race::Race(size_t runners, bool to_the_end, unsigned seed)
    : samples_(runners), running_(runners), to_the_end_(to_the_end), random_(seed) {
  static_assert(std::size(kSchedule) == kRounds);
  std::iota(running_.begin(), running_.end(), size_t(0));
}

int Race::laps() const { return kSchedule[round_].laps; }

std::vector<size_t> Race::nextLap() {
  std::vector<size_t> lap = running_;
  std::shuffle(lap.begin(), lap.end(), random_);
  return lap;
}

void Race::add(size_t runner, const std::vector<double> &samples) {
  samples_[runner].insert(samples_[runner].end(), samples.begin(), samples.end());
}

void Race::retire(size_t runner) { std::erase(running_, runner); }

size_t Race::timed() const {
  return size_t(std::count_if(samples_.begin(), samples_.end(), [](const auto &samples) { return !samples.empty(); }));
}

double Race::median(size_t runner) const { return tools::median(samples_[runner]); }

bool Race::hasLost(size_t runner, double best) const {
  double fastest = *std::min_element(samples_[runner].begin(), samples_[runner].end());
  return fastest > best * (1 + kSchedule[round_].margin);
}

void Race::dropSlowHalf(double best) {
  std::sort(running_.begin(), running_.end(), [&](size_t a, size_t b) { return median(a) < median(b); });
  size_t half = (running_.size() + 1) / 2;
  while (running_.size() > half && median(running_.back()) > best * (1 + kClose))
    running_.pop_back();
}

void Race::endRound() {
  bool beforeLast = round_ + 2 == kRounds;
  if (!isLastRound() && !running_.empty() && (!to_the_end_ || beforeLast)) {
    double best = median(
        *std::min_element(running_.begin(), running_.end(), [&](size_t a, size_t b) { return median(a) < median(b); }));
    std::erase_if(running_, [&](size_t runner) { return hasLost(runner, best); });
    if (!to_the_end_)
      dropSlowHalf(best);
  }
  ++round_;
}

} // namespace tegula::tuning
