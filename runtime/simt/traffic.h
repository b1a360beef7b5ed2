// SPDX-License-Identifier: MIT
// Counts how well the accesses of a warp fit together: wavefronts of shared memory, sectors of global memory.
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

/// The accesses of the lanes of a warp in one execution of an instruction. A lane that takes no part has 0 bytes.
struct Request {
  std::array<uint64_t, kWarp> address{};
  std::array<uint32_t, kWarp> bytes{};
};

/// Sums over the executions of an instruction.
struct Traffic {
  int64_t requests = 0;
  int64_t transactions = 0; ///< Wavefronts or sectors.
  int64_t ideal = 0;        ///< The fewest transactions that the bytes need.

  Traffic &operator+=(const Traffic &other);
};

Traffic countShared(const Request &request);
Traffic countGlobal(const Request &request);

/// The traffic of each site, by memory space.
using TrafficSums = std::map<std::pair<uint32_t, Space>, Traffic>;
void addTo(TrafficSums &sums, const TrafficSums &more);

/// Counter of the traffic of a Block. The lanes of a warp reach an instruction at different times. The n-th execution
/// by one lane belongs to the n-th execution by the others.
class TrafficCounter {
public:
  /// Counts an access of a lane. `bytes` is 0 if the predicate is false.
  void add(uint32_t lane, uint32_t site, Space space, uint64_t address, uint32_t bytes);
  /// Returns the sums and starts again from 0.
  TrafficSums take();

private:
  struct Pending {
    std::array<int64_t, kWarp> times{};                ///< Executions by each lane.
    int64_t first = 0;                                 ///< Index of the execution that `requests` begins with.
    std::deque<std::pair<Request, uint32_t>> requests; ///< Each with the number of lanes that have come.
  };
  using Key = TrafficSums::key_type;

  void count(Key key, const Request &request);

  std::map<std::pair<uint32_t, Key>, Pending> pending_; ///< By warp and site.
  TrafficSums sums_;
};

} // namespace tegula::simt
