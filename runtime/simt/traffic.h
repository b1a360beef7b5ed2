// SPDX-License-Identifier: MIT
// How well the accesses of a warp fit together: wavefronts of shared memory, sectors of global memory.
#pragma once

#include "simt/fragments.h"
#include "tegula/simt_device.h"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

namespace tegula::simt {

enum class Space : uint8_t { Shared, Global };

/// What the lanes of a warp access in one instruction. A lane that takes no part has 0 bytes.
struct Request {
  std::array<uint64_t, kWarp> address{};
  std::array<uint32_t, kWarp> bytes{};
};

/// Sums of one instruction.
struct Traffic {
  int64_t requests = 0;
  int64_t transactions = 0; ///< Wavefronts or sectors.
  int64_t ideal = 0;        ///< As many as the bytes need at least.

  Traffic &operator+=(const Traffic &other);
};

Traffic countShared(const Request &request);
Traffic countGlobal(const Request &request);

/// By site.
using TrafficSums = std::map<std::pair<uint32_t, Space>, Traffic>;
void addTo(TrafficSums &sums, const TrafficSums &more);

/// Of one program instance. Lanes come to an instruction at different times: the n-th time of one belongs to the n-th
/// time of the others.
class TrafficCounter {
public:
  /// `bytes` is 0 where the predicate does not hold.
  void add(uint32_t lane, uint32_t site, Space space, uint64_t address, uint32_t bytes);
  /// Starts anew.
  TrafficSums take();

private:
  struct Pending {
    std::array<int64_t, kWarp> times{};                ///< Of each lane.
    int64_t first = 0;                                 ///< Time of the first of `requests`.
    std::deque<std::pair<Request, uint32_t>> requests; ///< And how many lanes have come.
  };
  using Key = TrafficSums::key_type;

  void count(Key key, const Request &request);

  std::map<std::pair<uint32_t, Key>, Pending> pending_; ///< By warp and site.
  TrafficSums sums_;
};

} // namespace tegula::simt
