// SPDX-License-Identifier: MIT
// Who knows of what: vector clocks of the lanes of one program instance.
//
// Each lane has two. The generic one says what its own accesses come after. The other one says which of that the
// asynchronous proxy sees: a fence copies the generic one into it. Bulk copies and products of warpgroups come after
// what their lane's second clock holds, and after other asynchronous accesses that the lane knows to be complete.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tegula::simt {

/// A moment of an agent. Agents are the lanes and, after them, engines: whatever accesses memory for a lane and is
/// waited for later. An engine's times are what a wait counts: groups or phases.
struct Moment {
  uint32_t agent = 0;
  uint32_t time = 0;
};

/// A consumer's view of memory.
enum class Proxy : uint8_t { Generic, Async };

/// What one lane hands to others.
struct Knowledge {
  std::vector<uint32_t> generic, async; ///< Times of agents; `async` is empty while there was no fence.

  void clear() {
    generic.clear();
    async.clear();
  }
};

class Clocks {
public:
  explicit Clocks(uint32_t lanes) : lanes_(lanes) { reset(); }

  void reset();
  uint32_t lanes() const { return lanes_; }
  /// Of whose moments nobody knows yet.
  uint32_t addEngine();
  Moment now(uint32_t lane) const { return {lane, *at(lane, lane)}; }

  /// Whether what happened then comes before what the lane does next.
  bool knows(uint32_t lane, Moment moment) const {
    return moment.time <= common_[moment.agent] || moment.agent == lane || moment.time <= *at(lane, moment.agent);
  }
  /// Whether generic accesses of then come before asynchronous ones that the lane starts next.
  bool asyncKnows(uint32_t lane, Moment moment) const {
    return fenced_ && moment.time <= async_[size_t{lane} * stride_ + moment.agent];
  }
  /// The same for lanes [first, first + count) in what they do next together.
  bool allKnow(uint32_t first, uint32_t count, Moment moment, Proxy proxy) const;
  /// Whether all lanes know it.
  bool common(Moment moment) const { return moment.time <= common_[moment.agent]; }

  /// All of `lanes` have met: each knows what any of them knew, and what is in `arrived`.
  void meet(std::span<const uint32_t> lanes, Knowledge arrived = {});
  /// Adds what the lane knows to `knowledge`; what it does next is not part of that.
  void publish(uint32_t lane, Knowledge &knowledge);
  void acquire(uint32_t lane, const Knowledge &knowledge);
  /// The lane has waited for an engine up to and including that moment.
  void waited(uint32_t lane, Moment moment);
  /// A fence between the proxies.
  void fence(uint32_t lane);

private:
  const uint32_t *at(uint32_t lane, uint32_t agent) const { return &clocks_[size_t{lane} * stride_ + agent]; }
  std::span<uint32_t> genericOf(uint32_t lane) { return {&clocks_[size_t{lane} * stride_], agents_}; }
  std::span<uint32_t> asyncOf(uint32_t lane) { return {&async_[size_t{lane} * stride_], agents_}; }
  void widen();

  uint32_t lanes_, agents_ = 0, stride_ = 0;
  bool fenced_ = false;          ///< Some lane has; until then `async_` is not kept.
  std::vector<uint32_t> clocks_; ///< Of each lane, `stride_` apart: the latest moment of each agent that it knows.
  std::vector<uint32_t> async_;
  std::vector<uint32_t> common_; ///< The latest that all are known to know.
};

} // namespace tegula::simt
