// SPDX-License-Identifier: MIT
// Vector clocks of the lanes of one program instance.
//
// Each lane has three. The generic clock has the accesses that happen before the lane's next access. The asynchronous
// clock has those of them that the asynchronous proxy sees; a fence copies the generic clock into it. Bulk copies and
// MMAs of warpgroups come after the accesses in the asynchronous clock of their lane, and after asynchronous accesses
// that the lane knows to be complete. Accesses to tensor memory come after those in the tensor clock of their lane,
// into which tcgen05.fence::after_thread_sync copies the generic clock.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tegula::simt {

/// An epoch of an agent. Agents are the lanes and, after them, engines. An engine is an asynchronous unit that accesses
/// memory for a lane, which waits for it later. The epochs of an engine are what a wait counts: commit groups, phases
/// or MMAs.
struct Epoch {
  uint32_t agent = 0;
  uint32_t time = 0;
};

/// The proxy through which an access sees memory.
enum class Proxy : uint8_t { Generic, Async };

/// The vector clocks that a lane passes to others.
struct VectorClock {
  std::vector<uint32_t> generic, async; ///< Times of agents; `async` is empty before the first fence.

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
  /// Adds an engine whose epochs no lane knows yet.
  uint32_t addEngine();
  Epoch now(uint32_t lane) const { return {lane, *at(lane, lane)}; }

  /// Returns true if accesses of the epoch `moment` happen before the lane's next access.
  bool knows(uint32_t lane, Epoch moment) const {
    return moment.time <= common_[moment.agent] || moment.agent == lane || moment.time <= *at(lane, moment.agent);
  }
  /// Returns true if generic accesses of the epoch `moment` happen before asynchronous ones that the lane starts next.
  bool asyncKnows(uint32_t lane, Epoch moment) const {
    return fenced_ && moment.time <= async_[size_t{lane} * stride_ + moment.agent];
  }
  /// Returns true if accesses of the epoch `moment` happen before accesses to tensor memory that the lane makes next.
  bool tensorKnows(uint32_t lane, Epoch moment) const {
    return !tensor_.empty() && moment.time <= tensor_[size_t{lane} * stride_ + moment.agent];
  }
  /// Returns true if each lane in [first, first + count) knows `moment` through `proxy`.
  bool allKnow(uint32_t first, uint32_t count, Epoch moment, Proxy proxy) const;
  /// Returns true if all lanes are known to know `moment`.
  bool common(Epoch moment) const { return moment.time <= common_[moment.agent]; }

  /// Joins the clocks of `lanes` and `arrived`: each lane then knows what any of them knew.
  void joinAll(std::span<const uint32_t> lanes, VectorClock arrived = {});
  /// Joins the lane's clocks into `knowledge`, without the lane's later accesses.
  void publish(uint32_t lane, VectorClock &knowledge);
  /// Joins into `knowledge` which work of engines the lane knows to be complete.
  void publishEngines(uint32_t lane, VectorClock &knowledge);
  /// Joins what an engine knows into `knowledge`, with its own work up to `moment`.
  static void publishWork(const VectorClock &known, Epoch moment, VectorClock &knowledge);
  void acquire(uint32_t lane, const VectorClock &knowledge);
  /// Records that the lane has waited for an engine up to and including `moment`.
  void waited(uint32_t lane, Epoch moment);
  /// Records a fence between the proxies: the lane's asynchronous clock then includes its generic clock.
  void fence(uint32_t lane);
  /// Records a tcgen05.fence::after_thread_sync: the lane's tensor clock then includes its generic clock.
  void fenceTensor(uint32_t lane);

private:
  const uint32_t *at(uint32_t lane, uint32_t agent) const { return &clocks_[size_t{lane} * stride_ + agent]; }
  std::span<uint32_t> genericOf(uint32_t lane) { return {&clocks_[size_t{lane} * stride_], agents_}; }
  std::span<uint32_t> asyncOf(uint32_t lane) { return {&async_[size_t{lane} * stride_], agents_}; }
  std::span<uint32_t> tensorOf(uint32_t lane) { return {&tensor_[size_t{lane} * stride_], agents_}; }
  void widen();

  uint32_t lanes_, agents_ = 0, stride_ = 0;
  bool fenced_ = false;          ///< Some lane has executed a fence; `async_` is kept only then.
  std::vector<uint32_t> clocks_; ///< For each lane, `stride_` apart, the last known time of each agent.
  std::vector<uint32_t> async_;
  std::vector<uint32_t> tensor_; ///< Empty before the first fence.
  std::vector<uint32_t> common_; ///< The last time of each agent that all lanes are known to know.
};

} // namespace tegula::simt
