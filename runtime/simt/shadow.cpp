// SPDX-License-Identifier: MIT
#include "simt/shadow.h"

namespace tegula::simt {

void Shadow::reset(size_t sharedBytes) {
  shared_.assign((sharedBytes + 63) / 64, ShadowLine());
  global_.clear();
  accesses_.assign(1, Access());
  readNodes_.assign(1, ReadNode());
}

void Shadow::forget(uint32_t offset, uint32_t bytes) {
  for (uint32_t byte = offset; byte < offset + bytes; ++byte)
    shared_[byte / 64].write[byte % 64] = shared_[byte / 64].reads[byte % 64] = 0;
}

bool Shadow::ordered(const Access &earlier, const Access &later) const {
  if (isAtomic(earlier.kind) && isAtomic(later.kind))
    return true;
  if (isTensor(later.kind)) // A lane's MMAs are in order.
    return earlier.when.agent == later.when.agent || clocks_.tensorKnows(later.lane, earlier.when);
  const bool crosses = proxyOf(earlier.kind) == Proxy::Generic && proxyOf(later.kind) == Proxy::Async;
  return clocks_.allKnow(later.lane / later.group * later.group, later.group, earlier.when,
                         crosses ? Proxy::Async : Proxy::Generic);
}

/// Returns the list of reads with one more. A second read of a lane at the same time changes nothing. If all lanes know
/// of the last read, drops the reads that all lanes know of, because these can be in no conflict any more.
uint32_t Shadow::withRead(uint32_t reads, uint32_t access) {
  const Epoch now = accesses_[access].when;
  if (reads != 0) {
    const Epoch last = accesses_[readNodes_[reads].access].when;
    if (last.agent == now.agent && last.time == now.time)
      return reads;
    if (clocks_.common(last))
      reads = withoutCommon(reads);
  }
  return pushRead(access, reads);
}

uint32_t Shadow::withoutCommon(uint32_t reads) {
  uint32_t kept = 0;
  for (uint32_t node = reads; node != 0; node = readNodes_[node].next)
    if (!clocks_.common(accesses_[readNodes_[node].access].when))
      kept = pushRead(readNodes_[node].access, kept);
  return kept;
}

uint32_t Shadow::pushRead(uint32_t access, uint32_t next) {
  readNodes_.push_back({access, next});
  return static_cast<uint32_t>(readNodes_.size() - 1);
}

} // namespace tegula::simt
