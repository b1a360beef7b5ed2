// SPDX-License-Identifier: MIT
#include "simt/traffic.h"

#include <algorithm>
#include <set>

namespace tegula::simt {
namespace {

constexpr uint32_t kBanks = 32, kBankBytes = 4, kSectorBytes = 32;

uint32_t widest(const Request &request) { return *std::max_element(request.bytes.begin(), request.bytes.end()); }

/// Returns the distinct units of memory that the lanes [first, last) access.
std::set<uint64_t> units(const Request &request, uint32_t first, uint32_t last, uint32_t unitBytes) {
  std::set<uint64_t> all;
  for (uint32_t lane = first; lane < last; ++lane)
    for (uint64_t byte = 0; byte < request.bytes[lane]; byte += std::min(unitBytes, request.bytes[lane]))
      all.insert((request.address[lane] + byte) / unitBytes);
  return all;
}

/// Returns how often the busiest bank is needed.
int64_t wavefronts(const std::set<uint64_t> &words) {
  std::array<int64_t, kBanks> uses{};
  for (uint64_t word : words)
    ++uses[word % kBanks];
  return *std::max_element(uses.begin(), uses.end());
}

} // namespace

Traffic &Traffic::operator+=(const Traffic &other) {
  requests += other.requests;
  transactions += other.transactions;
  ideal += other.ideal;
  return *this;
}

/// Counts half a warp at a time if a lane accesses 8 bytes, and a quarter of a warp if it accesses 16 bytes.
Traffic countShared(const Request &request) {
  const uint32_t lanes = kWarp / std::max(1U, widest(request) / kBankBytes);
  Traffic traffic{.requests = 1};
  for (uint32_t first = 0; first < kWarp; first += lanes) {
    const std::set<uint64_t> words = units(request, first, first + lanes, kBankBytes);
    traffic.transactions += wavefronts(words);
    traffic.ideal += words.empty() ? 0 : 1;
  }
  return traffic;
}

Traffic countGlobal(const Request &request) {
  const auto sectors = static_cast<int64_t>(units(request, 0, kWarp, kSectorBytes).size());
  const auto bytes = static_cast<int64_t>(units(request, 0, kWarp, 1).size());
  return {.requests = 1, .transactions = sectors, .ideal = (bytes + kSectorBytes - 1) / kSectorBytes};
}

void addTo(TrafficSums &sums, const TrafficSums &more) {
  for (const auto &[key, traffic] : more)
    sums[key] += traffic;
}

void TrafficCounter::add(uint32_t lane, uint32_t site, Space space, uint64_t address, uint32_t bytes) {
  const Key key{site, space};
  Pending &pending = pending_[{lane / kWarp, key}];
  const auto index = static_cast<size_t>(pending.times[lane % kWarp]++ - pending.first);
  if (index >= pending.requests.size())
    pending.requests.resize(index + 1);
  auto &[request, lanes] = pending.requests[index];
  request.address[lane % kWarp] = address;
  request.bytes[lane % kWarp] = bytes;
  ++lanes;
  while (!pending.requests.empty() && pending.requests.front().second == kWarp) {
    count(key, pending.requests.front().first);
    pending.requests.pop_front();
    ++pending.first;
  }
}

void TrafficCounter::count(Key key, const Request &request) {
  if (widest(request) > 0)
    sums_[key] += key.second == Space::Shared ? countShared(request) : countGlobal(request);
}

TrafficSums TrafficCounter::take() {
  for (const auto &[key, pending] : pending_)
    for (const auto &[request, lanes] : pending.requests)
      count(key.second, request);
  pending_.clear();
  return std::exchange(sums_, {});
}

} // namespace tegula::simt
