// SPDX-License-Identifier: MIT
// Lesson 8: which schedule is fastest on this machine? Candidates are compiled, checked and timed until the time is up.
#include "lesson.h"
#include "tegula/search_space.h"
#include "tegula/tuned_schedules.h"

#include <chrono>

using namespace tegula;

constexpr int64_t kDim = 64, kLength = 512, kCount = kLength * kDim;
constexpr std::chrono::seconds kBudget{3};

int main() {
  Machine machine;
  AttentionProblem problem{.dtype = f32, .head_dim = kDim, .value_dim = kDim};
  problem.expected = {.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = kLength, .seqlen_k = kLength};

  const std::vector<float> q = randomNumbers(kCount), k = randomNumbers(kCount), v = randomNumbers(kCount);
  AttentionForward call{.q = machine.upload(q, {1, 1, kLength, kDim}), .k = machine.upload(k, {1, 1, kLength, kDim})};
  call.v = machine.upload(v, {1, 1, kLength, kDim});
  call.o = machine.allocate({1, 1, kLength, kDim});
  call.lse = machine.allocate({1, 1, kLength});
  const TensorRef counter = machine.allocate({16}); // The workspace of some schedules.
  const std::vector<double> exact = plainAttention(
      exactly(q), exactly(k), exactly(v), kDim, [](int64_t, int64_t, double product) { return std::exp(product / 8); });

  const std::unique_ptr<Timer> timer = valueOf(machine.device->makeTimer());
  auto timeOf = [&](const AttentionPlan &plan) { // The milliseconds of the fastest of ten launches.
    double fastest = kInfinity;
    for (int n = 0; n < 10; ++n) {
      require(timer->start());
      require(plan.forward(call, {counter.data, 64}));
      require(timer->stop());
      fastest = std::min(fastest, valueOf(timer->milliseconds()));
    }
    return fastest;
  };

  // Each kernel names the schedules that are worth trying. The one without tuning comes first.
  const SearchSpace space = valueOf(findSearchSpace("flash2_forward"));
  std::vector<Schedule> candidates = enumerate(space.boxes(machine.device->target(), problem));
  std::printf("%zu candidates\n", candidates.size());
  std::shuffle(candidates.begin(), candidates.end(), std::mt19937(/*seed=*/1));
  const AttentionPlan untuned = valueOf(AttentionPlan::make(problem, machine.cache));
  candidates.insert(candidates.begin(), untuned.schedule("flash2_forward"));

  Schedule best;
  double fastest = kInfinity;
  const auto end = std::chrono::steady_clock::now() + kBudget;
  for (const Schedule &candidate : candidates) {
    Expected<AttentionPlan> plan = AttentionPlan::make(problem, machine.cache, candidate);
    if (!plan)
      continue; // The compiler refuses the schedule, for example because it needs too much memory.
    const double milliseconds = timeOf(*plan);
    std::printf("%.3f ms, %s, ", milliseconds, toString(candidate).c_str());
    if (check("o", machine.download(call.o), exact, 1e-5) && milliseconds < fastest) {
      fastest = milliseconds;
      best = candidate;
    }
    if (std::chrono::steady_clock::now() > end)
      break;
  }

  // A plan finds the result by the problem and its expected lengths.
  TunedConfigurations tuned;
  tuned.add({"flash2_forward", problemClass(problem), attentionSizes(problem.expected), toString(best)});
  const AttentionPlan plan = valueOf(AttentionPlan::make(problem, machine.cache, {}, &tuned));
  std::printf("chosen: %s\n", toString(plan.schedule("flash2_forward")).c_str());
  return fastest < kInfinity && plan.schedule("flash2_forward") == best ? 0 : 1;
}
