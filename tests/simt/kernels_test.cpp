// SPDX-License-Identifier: MIT
// The library's kernels under thousands of schedules: nothing is reported, results are within the bound and the same
// bits every time.
#include "harness/case.h"
#include "support/test_device.h"
#include "tegula/simt_device.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <tuple>

using namespace tegula;
using namespace tegula::testing;

namespace {

/// Launches of small tiles by each test: many of the fastest kernels. All tests together make more than 20,000.
int64_t launchesOf(Algorithm algorithm, DType dtype, int dim) {
  if (algorithm == Algorithm::flash1)
    return 60;
  if (algorithm == Algorithm::standard)
    return 150;
  if (dtype == f32)
    return 400;
  return dim == 64 ? 6500 : 2500;
}

SimtDevice &device() {
  static const bool chosen = setenv("TEGULA_TEST_TARGET", "simt", /*overwrite=*/1) == 0;
  EXPECT_TRUE(chosen);
  return dynamic_cast<SimtDevice &>(*testDevice());
}

/// One case under one schedule after the other.
class Schedules {
public:
  explicit Schedules(const Case &c) : case_(c) {}

  /// Launches made.
  int64_t run(uint64_t seed) {
    device().setSchedule({.scheduler = SimtScheduler(seed % 4), .seed = seed});
    Tensors tensors = makeTensors(case_);
    const Status status = launch(case_, tensors);
    const SimtReport report = device().takeReport();
    for (const SimtFinding &finding : report.findings)
      ADD_FAILURE() << toString(case_) << "\n" << finding.message;
    EXPECT_TRUE(status.ok()) << status.message();
    compare(tensors);
    return report.launches;
  }

private:
  /// Of dq, which is summed by additions in no order, the bits may differ.
  void compare(Tensors &tensors) {
    const std::vector<std::byte> bits[] = {tensors.o.bits(), tensors.lse.bits(), tensors.dk.bits(), tensors.dv.bits()};
    if (first_.empty()) {
      EXPECT_EQ(check(tensors, measure(case_, tensors)), "");
      first_.assign(std::begin(bits), std::end(bits));
      dq_ = tensors.dq.numbers();
      return;
    }
    for (size_t i = 0; i < first_.size(); ++i)
      EXPECT_EQ(bits[i], first_[i]) << toString(case_) << ": result " << i;
    if (case_.backward && tensors.dq.numbers() != dq_) {
      EXPECT_EQ(check(tensors, measure(case_, tensors)), "");
    }
  }

  Case case_;
  std::vector<std::vector<std::byte>> first_;
  std::vector<float> dq_;
};

class SimtKernels : public ::testing::TestWithParam<std::tuple<Algorithm, DType, int>> {
protected:
  Case caseOf(Schedule schedule, int64_t queries, int64_t keys) const {
    const auto [algorithm, dtype, dim] = GetParam();
    Case c;
    c.algorithm = algorithm;
    c.dtype = dtype;
    c.causal = Causal::bottom_right;
    c.backward = algorithm == Algorithm::flash2;
    c.schedule = schedule;
    c.shape = {.batch = 1,
               .heads = 2,
               .kv_heads = 1,
               .seqlen_q = queries,
               .seqlen_k = keys,
               .head_dim = dim,
               .value_dim = dim};
    return c;
  }
};

TEST_P(SimtKernels, WithTheTilesThatTheLibraryChooses) {
  for (const auto &[queries, keys] : {std::pair{100, 260}, std::pair{260, 100}, std::pair{1, 129}}) {
    Schedules schedules(caseOf({}, queries, keys));
    for (uint64_t seed = 0; seed < 4; ++seed)
      schedules.run(seed);
  }
}

TEST_P(SimtKernels, WithSmallTiles) {
  const Schedule small{.block_m = 32, .block_n = 32, .num_warps = 2};
  const auto [algorithm, dtype, dim] = GetParam();
  const int64_t most = launchesOf(algorithm, dtype, dim);
  int64_t launches = 0;
  Schedules ragged(caseOf(small, 33, 70)), rowsWithoutKeys(caseOf(small, 40, 5)), even(caseOf(small, 32, 64));
  for (uint64_t seed = 0; launches < most && !HasFailure(); ++seed)
    for (Schedules *schedules : {&ragged, &rowsWithoutKeys, &even})
      launches += schedules->run(seed);
  RecordProperty("launches", int(launches));
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
