// SPDX-License-Identifier: MIT
#include "lanes.h"

#include "simt/device.h"

#include <gtest/gtest.h>

namespace tegula::test {
namespace {

simt::DeviceOfLanes &device() {
  static const std::shared_ptr<SimtDevice> device = *simtDevice();
  return static_cast<simt::DeviceOfLanes &>(*device);
}

std::vector<SimtSite> sitesOf(const Run &run) {
  std::vector<SimtSite> sites;
  for (uint32_t i = 0; i < 32; ++i)
    sites.push_back({"lanes", i, "op" + std::to_string(i), "kernel.cpp:" + std::to_string(i)});
  if (run.takes_turns)
    sites[2].instruction = "ld.acquire.gpu.global.b32";
  return sites;
}

} // namespace

Outcome run(const Run &run) {
  const std::vector<Parameter> parameters = {{.name = "in", .dtype = i32, .rank = 1},
                                             {.name = "out", .dtype = i32, .rank = 1, .written = true}};
  const auto kernel = simt::makeKernel("lanes", parameters,
                                       {.entry = run.kernel,
                                        .sites = sitesOf(run),
                                        .threads = run.threads,
                                        .shared_bytes = run.shared_bytes,
                                        .instances_per_sm = run.instances_per_sm,
                                        .cluster = run.cluster},
                                       nullptr, device().state());
  device().setSchedule(run.schedule);
  Outcome outcome{.out = std::vector<int32_t>(run.out_words, run.fill), .findings = {}, .traffic = {}};
  std::vector<int32_t> in = run.in;
  const Status status =
      kernel->launch({.x = run.instances}, {contiguous(in.data(), i32, {int64_t(in.size())}),
                                            contiguous(outcome.out.data(), i32, {int64_t(run.out_words)})});
  const SimtReport report = device().takeReport();
  outcome.findings = report.findings;
  outcome.traffic = report.traffic;
  EXPECT_EQ(status.ok(), outcome.findings.empty()) << status.message();
  return outcome;
}

std::vector<int32_t> results(const Run &lanes) {
  Outcome outcome = run(lanes);
  for (const SimtFinding &finding : outcome.findings)
    ADD_FAILURE() << finding.message;
  return outcome.out;
}

std::vector<int32_t> randomWords(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int32_t> words(count);
  for (int32_t &word : words)
    word = int32_t(random());
  return words;
}

} // namespace tegula::test
