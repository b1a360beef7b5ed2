// SPDX-License-Identifier: MIT
#include "timing.h"

#include <algorithm>
#include <cstdio>

namespace {

constexpr int kPasses = 3;                    // In a row. The host enqueues one while the device runs another.
constexpr int64_t kOneDeviceTokens = 1 << 17; // The most that one device's kernel is timed with.

struct Times {
  std::vector<double> all, kernels, exchanges;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

/// Returns the operations of a pass. A causal mask counts as half, and the backward pass as five products for two.
double operations(const Options &options, int64_t tokens, bool backward) {
  const double products = 4.0 * options.batch * options.heads * options.head_dim * tokens * tokens;
  return products * (options.causal ? 0.5 : 1) * (backward ? 2.5 : 1);
}

/// Returns the milliseconds of a call, between events around kPasses of them.
double millisecondsOf(const std::function<void()> &call, Device &device, Exchange &exchange) {
  device.startTimer();
  for (int i = 0; i < kPasses; ++i)
    call();
  device.stopTimer();
  return device.milliseconds([&] { exchange.poll(); }) / kPasses;
}

/// Times all ranks. In each repetition, all kinds of work take turns.
Times timesOf(const std::function<void(Work)> &pass, int repeat, Device &device, Exchange &exchange, Team &team) {
  Times times;
  for (int i = 0; i <= repeat; ++i)
    for (const auto &[work, samples] : {std::pair(Work::all, &times.all), std::pair(Work::kernels, &times.kernels),
                                        std::pair(Work::exchanges, &times.exchanges)}) {
      team.doing("timing");
      team.meet(); // All ranks start together.
      const double slowest = team.meet(millisecondsOf([&, work = work] { pass(work); }, device, exchange));
      if (i > 0) // The first repetition warms up.
        samples->push_back(slowest);
    }
  return times;
}

/// The one-device kernel, on the first tokens of the sequence.
struct OneDevice {
  int64_t tokens;
  double forward, backward; ///< Median milliseconds.
};

OneDevice timeOneDevice(Options options, Device &device, Exchange &exchange, Team &team,
                        const tegula::host::Context &context) {
  options.tokens = std::min(options.tokens, kOneDeviceTokens);
  options.gpus = 1;
  const Kernels kernels(context, options);
  Rank rank(options, {0, 1, options.tokens, options.causal}, kernels, device, exchange);
  std::vector<double> forward, backward;
  for (int i = 0; i <= options.repeat; ++i) {
    team.doing("timing one device");
    forward.push_back(millisecondsOf([&] { rank.forwardOfOwnKeys(); }, device, exchange));
    backward.push_back(millisecondsOf([&] { rank.backwardOfOwnKeys(); }, device, exchange));
  }
  return {options.tokens, median({forward.begin() + 1, forward.end()}), median({backward.begin() + 1, backward.end()})};
}

void print(const Options &options, bool backward, const Times &times, int64_t bytes, const OneDevice &one) {
  const double ms = median(times.all), one_ms = backward ? one.backward : one.forward;
  const double tflops = operations(options, options.tokens, backward) / options.gpus / ms / 1e9;
  const double one_tflops = operations(options, one.tokens, backward) / one_ms / 1e9;
  const char *format =
      options.json ? "{\"gpus\": %d, \"tokens\": %lld, \"mask\": \"%s\", \"pass\": \"%s\", \"ms\": %.4f, "
                     "\"tflops_per_gpu\": %.1f, \"kernels_ms\": %.4f, \"exchanges_ms\": %.4f, \"bytes_per_gpu\": %lld, "
                     "\"one_gpu_tokens\": %lld, \"one_gpu_ms\": %.4f, \"one_gpu_tflops\": %.1f}\n"
                   : "%d ranks, %lld tokens, %s, %s: %.3f ms, %.1f TFLOP/s each; kernels alone %.3f ms, exchanges "
                     "alone %.3f ms; "
                     "%lld bytes each; one device, %lld tokens: %.3f ms, %.1f TFLOP/s\n";
  std::printf(format, options.gpus, static_cast<long long>(options.tokens), options.causal ? "causal" : "full",
              backward ? "backward" : "forward", ms, tflops, median(times.kernels), median(times.exchanges),
              static_cast<long long>(bytes), static_cast<long long>(one.tokens), one_ms, one_tflops);
}

} // namespace

void timeRing(const Options &options, Rank &rank, Device &device, Exchange &exchange, Team &team,
              const tegula::host::Context &context) {
  const Times forward = timesOf([&](Work work) { rank.forward(work); }, options.repeat, device, exchange, team);
  rank.forward(Work::all); // The backward pass shall read right results.
  const Times backward = timesOf([&](Work work) { rank.backward(work); }, options.repeat, device, exchange, team);
  if (rank.plan().rank == 0) {
    const OneDevice one = timeOneDevice(options, device, exchange, team, context);
    print(options, false, forward, rank.bytes(), one);
    print(options, true, backward, rank.bytes(), one);
  }
  team.meet();
}
