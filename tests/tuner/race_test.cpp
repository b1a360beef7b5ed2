// SPDX-License-Identifier: MIT
#include "race.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tegula::tuning {
namespace {

/// Runs a race of runners with these true times and a spread of `noise`. Returns the number of samples.
size_t run(Race &race, const std::vector<double> &times, double noise, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> spread(1, 1 + noise);
  size_t samples = 0;
  for (; !race.finished(); race.endRound())
    for (int lap = 0; lap < race.laps(); ++lap)
      for (size_t runner : race.nextLap()) {
        race.add(runner, {times[runner] * spread(random), times[runner] * spread(random)});
        samples += 2;
      }
  return samples;
}

size_t fastest(const Race &race) {
  size_t best = race.running().front();
  for (size_t runner : race.running())
    if (race.median(runner) < race.median(best))
      best = runner;
  return best;
}

TEST(Race, TheWinnerIsWithinTwoPercentDespiteNoise) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> time(1, 2);
    std::vector<double> times(96);
    for (double &t : times)
      t = time(random);
    Race race(times.size(), false, seed);
    run(race, times, 0.03, seed);
    double best = *std::min_element(times.begin(), times.end());
    EXPECT_LE(times[fastest(race)], 1.02 * best) << "seed " << seed;
  }
}

TEST(Race, TheSlowAreNotTimedToTheEnd) {
  std::vector<double> times(64, 2.0);
  times[7] = 1;
  Race race(times.size(), false, 1), full(times.size(), true, 1);
  EXPECT_LT(4 * run(race, times, 0.03, 1), run(full, times, 0.03, 1));
  EXPECT_EQ(race.running(), std::vector<size_t>{7});
  EXPECT_EQ(full.timed(), times.size());
  EXPECT_EQ(full.running(), std::vector<size_t>{7}) << "The last round is for those who are close.";
}

TEST(Race, LapsDifferInOrder) {
  Race race(20, false, 1);
  std::vector<size_t> first = race.nextLap(), second = race.nextLap();
  EXPECT_NE(first, second);
  std::sort(first.begin(), first.end());
  EXPECT_EQ(first, race.running());
}

TEST(Race, EqualsStay) {
  std::vector<double> times(10, 1.0);
  Race race(times.size(), false, 1);
  run(race, times, 0, 1);
  EXPECT_EQ(race.running().size(), times.size());
}

TEST(Race, WhoRetiresIsNotAskedAgain) {
  Race race(2, false, 1);
  race.retire(0);
  EXPECT_EQ(race.running(), std::vector<size_t>{1});
  race.retire(1);
  EXPECT_TRUE(race.finished());
}

} // namespace
} // namespace tegula::tuning
