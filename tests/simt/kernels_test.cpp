// SPDX-License-Identifier: MIT
// Runs the library's kernels under thousands of schedules. Nothing must be reported, results must be within the bound,
// and their bits must be the same every time.
#include "schedules.h"

#include <gtest/gtest.h>
#include <tuple>

using namespace tegula;
using namespace tegula::testing;

namespace {

/// Returns how many launches of small tiles each test makes: the faster the kernel, the more. With those of
/// roles_test.cpp, all tests together make more than 20,000.
int64_t launchesOf(Algorithm algorithm, DType dtype, int dim) {
  if (algorithm == Algorithm::flash1)
    return 60;
  if (algorithm == Algorithm::standard)
    return 150;
  if (dtype == f32)
    return dim == 64 ? 300 : 150;
  return dim == 64 ? 7100 : 1500;
}

class SimtKernels : public ::testing::TestWithParam<std::tuple<Algorithm, DType, int>> {
protected:
  Case caseOf(Schedule schedule, int64_t queries, int64_t keys) const {
    const auto [algorithm, dtype, dim] = GetParam();
    Case c = attentionCase(dtype, dim, queries, keys);
    c.algorithm = algorithm;
    c.causal = Causal::bottom_right;
    c.backward = algorithm == Algorithm::flash2;
    c.schedule = schedule;
    return c;
  }
};

TEST_P(SimtKernels, WithTheTilesThatTheLibraryChooses) {
  for (const auto &[queries, keys] : {std::pair{100, 260}, std::pair{260, 100}, std::pair{1, 129}}) {
    Schedules schedules(caseOf({}, queries, keys), "simt");
    for (uint64_t seed = 0; seed < kSimtSchedulers; ++seed)
      schedules.run(seed);
  }
}

TEST_P(SimtKernels, WithSmallTiles) {
  const Schedule small{.block_m = 32, .block_n = 32, .num_warps = 2};
  Schedule lhsInRegisters = small;
  lhsInRegisters.lhs_in_registers = true;
  const auto [algorithm, dtype, dim] = GetParam();
  const int64_t most = launchesOf(algorithm, dtype, dim);
  int64_t launches = 0;
  Schedules ragged(caseOf(small, 33, 70), "simt"), rowsWithoutKeys(caseOf(small, 40, 5), "simt"),
      even(caseOf(lhsInRegisters, 32, 64), "simt");
  for (uint64_t seed = 0; launches < most && !HasFailure(); ++seed)
    for (Schedules *schedules : {&ragged, &rowsWithoutKeys, &even})
      launches += schedules->run(seed);
  RecordProperty("launches", int(launches));
}

TEST_P(SimtKernels, WithPersistentInstances) {
  for (TileScheduler scheduler : {TileScheduler::static_persistent, TileScheduler::dynamic_persistent}) {
    Schedules schedules(caseOf({.block_m = 32, .block_n = 32, .num_warps = 2, .tile_scheduler = scheduler}, 100, 70),
                        "simt");
    for (uint64_t seed = 0; seed < kSimtSchedulers; ++seed)
      schedules.run(seed);
  }
}

TEST_P(SimtKernels, WithAdditionsInTurns) {
  Case c = caseOf({.block_m = 32, .block_n = 32, .num_warps = 2}, 100, 130);
  c.deterministic = true;
  for (Causal causal : {Causal::none, Causal::top_left}) {
    c.causal = causal;
    Schedules schedules(c, "simt");
    for (uint64_t seed = 0; c.backward && seed < 2 * kSimtSchedulers; ++seed)
      schedules.run(seed);
  }
}

/// With 24 rows in a block, warps share rows of the scores. They must pass the same barriers, although each warp sees
/// only its own scores grow. With 1 row in a block, warps share only columns of the output, and hold different rows of
/// the scores.
TEST_P(SimtKernels, WithWarpsThatShareRows) {
  for (auto [block_m, family] :
       {std::pair(24, oracle::Family::growing_below), std::pair(1, oracle::Family::growing_max)}) {
    Case c = caseOf({.block_m = block_m, .block_n = 48, .num_warps = 4}, 2 * block_m + 3, 150);
    c.family = family;
    Schedules schedules(c, "simt");
    for (uint64_t seed = 0; seed < 3; ++seed)
      schedules.run(seed);
  }
}

std::string nameOf(const ::testing::TestParamInfo<SimtKernels::ParamType> &info) {
  const auto [algorithm, dtype, dim] = info.param;
  constexpr std::string_view names[] = {"standard", "flash1", "flash2"};
  return std::string(names[size_t(algorithm)]) + "_" + std::string(toString(dtype)) + "_" + std::to_string(dim);
}

INSTANTIATE_TEST_SUITE_P(All, SimtKernels,
                         ::testing::Combine(::testing::Values(Algorithm::flash2, Algorithm::flash1,
                                                              Algorithm::standard),
                                            ::testing::Values(f32, f16, bf16), ::testing::Values(64, 128)),
                         nameOf);

} // namespace
