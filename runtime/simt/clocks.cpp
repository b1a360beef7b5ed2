// SPDX-License-Identifier: MIT
#include "simt/clocks.h"

#include <algorithm>

namespace tegula::simt {
namespace {

void join(std::span<uint32_t> into, std::span<const uint32_t> more) {
  for (size_t i = 0; i < more.size(); ++i)
    into[i] = std::max(into[i], more[i]);
}

/// Joins `more` into `into`, which may be shorter.
void join(std::vector<uint32_t> &into, std::span<const uint32_t> more) {
  into.resize(std::max(into.size(), more.size()));
  join(std::span(into), more);
}

} // namespace

void Clocks::reset() {
  agents_ = lanes_;
  stride_ = std::max(stride_, lanes_);
  clocks_.assign(size_t{lanes_} * stride_, 0);
  common_.assign(stride_, 0);
  fenced_ = false;
  tensor_.clear();
  for (uint32_t lane = 0; lane < lanes_; ++lane)
    genericOf(lane)[lane] = 1;
}

uint32_t Clocks::addEngine() {
  if (agents_ == stride_)
    widen();
  return agents_++;
}

void Clocks::widen() {
  const uint32_t wider = stride_ + std::max(stride_ / 2, 64U);
  for (std::vector<uint32_t> *clocks : {&clocks_, &async_, &tensor_}) {
    if (clocks->empty())
      continue;
    std::vector<uint32_t> moved(size_t{lanes_} * wider, 0);
    for (uint32_t lane = 0; lane < lanes_; ++lane)
      std::copy_n(clocks->begin() + size_t{lane} * stride_, agents_, moved.begin() + size_t{lane} * wider);
    *clocks = std::move(moved);
  }
  stride_ = wider;
  common_.resize(stride_, 0);
}

bool Clocks::allKnow(uint32_t first, uint32_t count, Epoch moment, Proxy proxy) const {
  if (proxy == Proxy::Generic && common(moment))
    return true;
  for (uint32_t lane = first; lane < first + count; ++lane)
    if (!(proxy == Proxy::Generic ? knows(lane, moment) : asyncKnows(lane, moment)))
      return false;
  return true;
}

void Clocks::joinAll(std::span<const uint32_t> lanes, VectorClock arrived) {
  for (uint32_t lane : lanes)
    publish(lane, arrived);
  for (uint32_t lane : lanes)
    acquire(lane, arrived);
  if (lanes.size() == lanes_)
    join(std::span(common_), arrived.generic);
}

void Clocks::publish(uint32_t lane, VectorClock &knowledge) {
  join(knowledge.generic, genericOf(lane));
  if (fenced_)
    join(knowledge.async, asyncOf(lane));
  ++genericOf(lane)[lane];
}

void Clocks::publishEngines(uint32_t lane, VectorClock &knowledge) {
  std::vector<uint32_t> ofEngines(genericOf(lane).begin(), genericOf(lane).end());
  std::fill_n(ofEngines.begin(), lanes_, 0);
  join(knowledge.generic, ofEngines);
}

void Clocks::publishWork(const VectorClock &known, Epoch moment, VectorClock &knowledge) {
  join(knowledge.generic, known.generic);
  knowledge.generic.resize(std::max<size_t>(knowledge.generic.size(), moment.agent + 1));
  uint32_t &time = knowledge.generic[moment.agent];
  time = std::max(time, moment.time);
}

void Clocks::acquire(uint32_t lane, const VectorClock &knowledge) {
  join(genericOf(lane), knowledge.generic);
  if (!knowledge.async.empty())
    join(asyncOf(lane), knowledge.async);
}

void Clocks::waited(uint32_t lane, Epoch moment) {
  uint32_t &known = genericOf(lane)[moment.agent];
  known = std::max(known, moment.time);
}

void Clocks::fence(uint32_t lane) {
  if (!fenced_)
    async_.assign(clocks_.size(), 0);
  fenced_ = true;
  join(asyncOf(lane), genericOf(lane));
  ++genericOf(lane)[lane];
}

void Clocks::fenceTensor(uint32_t lane) {
  if (tensor_.empty())
    tensor_.assign(clocks_.size(), 0);
  join(tensorOf(lane), genericOf(lane));
}

} // namespace tegula::simt
