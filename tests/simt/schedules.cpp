// SPDX-License-Identifier: MIT
#include "schedules.h"

#include "support/test_device.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <utility>

namespace tegula::testing {

static SimtDevice &simtTestDevice(const std::string &target) {
  static const bool chosen = setenv("TEGULA_TEST_TARGET", target.c_str(), /*overwrite=*/1) == 0;
  EXPECT_TRUE(chosen);
  return dynamic_cast<SimtDevice &>(*testDevice());
}

Case attentionCase(DType dtype, int64_t head_dim, int64_t queries, int64_t keys) {
  Case c;
  c.dtype = dtype;
  c.shape = {.batch = 1,
             .heads = 2,
             .kv_heads = 1,
             .seqlen_q = queries,
             .seqlen_k = keys,
             .head_dim = head_dim,
             .value_dim = head_dim};
  return c;
}

Schedules::Schedules(const Case &c, const std::string &target) : case_(c), device_(simtTestDevice(target)) {}

int64_t Schedules::run(uint64_t seed) {
  device_.setSchedule({.scheduler = SimtScheduler(seed % kSimtSchedulers), .seed = seed});
  Tensors tensors = makeTensors(case_);
  const Status status = launch(case_, tensors);
  const SimtReport report = device_.takeReport();
  for (const SimtFinding &finding : report.findings)
    ADD_FAILURE() << toString(case_) << "\n" << finding.message;
  EXPECT_TRUE(status.ok()) << status.message();
  compare(tensors);
  return report.launches;
}

void Schedules::compare(Tensors &tensors) {
  std::vector<std::vector<std::byte>> bits = {tensors.o.bits(), tensors.lse.bits(), tensors.dk.bits(),
                                              tensors.dv.bits()};
  if (case_.deterministic)
    bits.push_back(tensors.dq.bits());
  if (first_.empty()) {
    EXPECT_EQ(check(tensors, measure(case_, tensors)), "");
    first_ = std::move(bits);
    dq_ = tensors.dq.numbers();
    return;
  }
  for (size_t i = 0; i < first_.size(); ++i)
    EXPECT_EQ(bits[i], first_[i]) << toString(case_) << ": result " << i;
  if (case_.backward && tensors.dq.numbers() != dq_) {
    EXPECT_EQ(check(tensors, measure(case_, tensors)), "");
  }
}

} // namespace tegula::testing
