// SPDX-License-Identifier: MIT
#include "simt/schedule.h"

#include <bit>
#include <iterator>

namespace tegula {
namespace {
constexpr std::string_view kSchedulers[kSimtSchedulers] = {"uniform", "priority", "eager",
                                                           "lazy",    "laggard",  "runaway"};
}

std::string_view toString(SimtScheduler scheduler) { return kSchedulers[static_cast<size_t>(scheduler)]; }

std::optional<SimtScheduler> parseSimtScheduler(std::string_view word) {
  for (size_t i = 0; i < std::size(kSchedulers); ++i)
    if (kSchedulers[i] == word)
      return static_cast<SimtScheduler>(i);
  return std::nullopt;
}

} // namespace tegula

namespace tegula::simt {

Chooser::Chooser(SimtScheduler scheduler, uint64_t seed, uint32_t warps)
    : scheduler_(scheduler), random_(seed), warpsOfPriority_(scheduler == SimtScheduler::runaway ? 4 : 1),
      priorities_(warps), laggards_(warps), hurrying_(warps) {
  for (uint32_t &priority : priorities_)
    priority = random_.next();
  for (uint32_t &lane : laggards_)
    lane = 1U << random_.below(32);
  lastIsLast_ = seed % 2 != 0;
}

uint32_t Chooser::lane(std::span<const uint32_t> ready, uint32_t last) {
  if (scheduler_ == SimtScheduler::laggard)
    ready = withoutLaggards(ready);
  const uint32_t warp = hasPriorities() ? firstWarp(ready) : anyWarp(ready);
  // The search mostly begins after the last lane, because a warp runs faster in order than in a random order.
  const uint32_t from = (hasPriorities() || random_.below(4) != 0 ? last + 1 : random_.next()) % 32;
  return 32 * warp +
         (static_cast<uint32_t>(std::countr_zero(std::rotr(ready[warp], static_cast<int>(from)))) + from) % 32;
}

uint32_t Chooser::anyWarp(std::span<const uint32_t> ready) {
  const auto warps = static_cast<uint32_t>(ready.size());
  uint32_t warp = random_.below(warps);
  while (ready[warp] == 0)
    warp = warp + 1 == warps ? 0 : warp + 1;
  return warp;
}

uint32_t Chooser::firstWarp(std::span<const uint32_t> ready) {
  if (random_.below(512) == 0)
    priorities_[random_.below(static_cast<uint32_t>(ready.size()))] = random_.next();
  uint32_t best = anyWarp(ready);
  for (uint32_t warp = 0; warp < ready.size(); ++warp)
    if (ready[warp] != 0 && priorityOf(warp) > priorityOf(best))
      best = warp;
  return best;
}

bool Chooser::anyHurries(std::span<const uint32_t> ready) const {
  uint32_t any = 0;
  for (size_t warp = 0; warp < ready.size(); ++warp)
    any |= ready[warp] & ~(scheduler_ == SimtScheduler::laggard ? laggards_[warp] : 0);
  return any != 0;
}

/// Removes the laggards from the ready lanes. If only laggards are ready, keeps the laggard of one warp: the first one
/// if `lastIsLast_`, otherwise the last one.
std::span<const uint32_t> Chooser::withoutLaggards(std::span<const uint32_t> ready) {
  const auto warps = static_cast<uint32_t>(ready.size());
  uint32_t any = 0;
  for (uint32_t warp = 0; warp < warps; ++warp)
    any |= hurrying_[warp] = ready[warp] & ~laggards_[warp];
  for (uint32_t i = 0; any == 0; ++i) {
    const uint32_t warp = lastIsLast_ ? i : warps - 1 - i;
    any = hurrying_[warp] = ready[warp];
  }
  return hurrying_;
}

bool Chooser::copyCompletesAtOnce() {
  if (scheduler_ == SimtScheduler::eager)
    return true;
  return !landsLate() && random_.below(4) == 0;
}

bool Chooser::copyLandsNow() { return !landsLate() && scheduler_ != SimtScheduler::eager && random_.below(32) == 0; }

} // namespace tegula::simt
