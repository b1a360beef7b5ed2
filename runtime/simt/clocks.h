// SPDX-License-Identifier: MIT
// Who knows of what: vector clocks of the lanes of one program instance.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tegula::simt {

/// A moment of an agent. Agents are the lanes and, after them, each lane's asynchronous copies, whose moments are
/// groups.
struct Moment {
  uint32_t agent = 0;
  uint32_t time = 0;
};

class Clocks {
public:
  explicit Clocks(uint32_t lanes) : lanes_(lanes) { reset(); }

  void reset();
  uint32_t lanes() const { return lanes_; }
  Moment now(uint32_t lane) const { return {lane, at(lane, lane)}; }
  Moment copies(uint32_t lane, uint32_t group) const { return {lanes_ + lane, group}; }

  /// Whether what happened then comes before what the lane does next.
  bool knows(uint32_t lane, Moment moment) const {
    return moment.time <= common_[moment.agent] || moment.agent == lane || moment.time <= at(lane, moment.agent);
  }
  /// The same for every lane of a warp, in what they do next together.
  bool warpKnows(uint32_t warp, Moment moment) const;
  /// Whether all lanes know it.
  bool common(Moment moment) const { return moment.time <= common_[moment.agent]; }

  /// All of `lanes` have met: each knows what any of them knew.
  void meet(std::span<const uint32_t> lanes);
  /// The lane has waited for its copies up to and including `group`.
  void waited(uint32_t lane, uint32_t group) { clocks_[lane * 2 * lanes_ + lanes_ + lane] = group; }

private:
  uint32_t at(uint32_t lane, uint32_t agent) const { return clocks_[lane * 2 * lanes_ + agent]; }

  uint32_t lanes_;
  std::vector<uint32_t> clocks_; ///< Of each lane: the latest moment of each agent that it knows.
  std::vector<uint32_t> common_; ///< The latest that all are known to know.
};

} // namespace tegula::simt
