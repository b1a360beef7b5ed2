// SPDX-License-Identifier: MIT
#include "simt/clocks.h"

#include <algorithm>

namespace tegula::simt {

void Clocks::reset() {
  const size_t agents = 2 * size_t{lanes_};
  clocks_.assign(lanes_ * agents, 0);
  common_.assign(agents, 0);
  for (uint32_t lane = 0; lane < lanes_; ++lane)
    clocks_[lane * agents + lane] = 1;
}

bool Clocks::warpKnows(uint32_t warp, Moment moment) const {
  if (common(moment))
    return true;
  for (uint32_t lane = 32 * warp; lane < 32 * warp + 32; ++lane)
    if (!knows(lane, moment))
      return false;
  return true;
}

void Clocks::meet(std::span<const uint32_t> lanes) {
  const size_t agents = 2 * size_t{lanes_};
  std::vector<uint32_t> joined(agents, 0);
  for (uint32_t lane : lanes)
    for (size_t agent = 0; agent < agents; ++agent)
      joined[agent] = std::max(joined[agent], clocks_[lane * agents + agent]);
  for (uint32_t lane : lanes) {
    std::copy(joined.begin(), joined.end(), clocks_.begin() + static_cast<ptrdiff_t>(lane * agents));
    ++clocks_[lane * agents + lane];
  }
  if (lanes.size() == lanes_)
    common_ = joined;
}

} // namespace tegula::simt
