// SPDX-License-Identifier: MIT
// Records of the last accesses to each byte of a block's shared memory and of the tensors that the kernel writes. They
// show two accesses that nothing orders.
#pragma once

#include "simt/clocks.h"

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace tegula::simt {

/// The kind of an access. Copy means cp.async. Bulk means the asynchronous proxy: bulk copies and MMAs of operands in
/// shared memory. Tensor means an access to tensor memory.
enum class AccessKind : uint8_t {
  Read,
  Write,
  Atomic,
  CopyRead,
  CopyWrite,
  BulkRead,
  BulkWrite,
  BulkAtomic,
  TensorRead,
  TensorWrite
};

constexpr bool isWrite(AccessKind kind) {
  return kind != AccessKind::Read && kind != AccessKind::CopyRead && kind != AccessKind::BulkRead &&
         kind != AccessKind::TensorRead;
}
constexpr bool isAtomic(AccessKind kind) { return kind == AccessKind::Atomic || kind == AccessKind::BulkAtomic; }
constexpr bool isCopy(AccessKind kind) { return kind == AccessKind::CopyRead || kind == AccessKind::CopyWrite; }
constexpr bool isTensor(AccessKind kind) { return kind >= AccessKind::TensorRead; }
constexpr Proxy proxyOf(AccessKind kind) {
  return kind >= AccessKind::BulkRead && !isTensor(kind) ? Proxy::Async : Proxy::Generic;
}

/// An access by a lane, or by an engine that a lane has started.
struct Access {
  Epoch when;
  uint32_t site = 0;
  uint16_t lane = 0;
  AccessKind kind = AccessKind::Read;
  /// Number of lanes that make the access together. The first lane's number is a multiple of it. An earlier access must
  /// happen before the accesses of all these lanes.
  uint8_t group = 1;
  uint32_t arrivals = 0; ///< How often the program instance had arrived at a counter.
};

/// Two accesses to a byte that nothing orders; `earlier` is the recorded one.
struct Conflict {
  const Access *earlier;
  int64_t byte;
};

/// The last accesses to each of 64 consecutive bytes.
struct ShadowLine {
  std::array<uint32_t, 64> write{}; ///< The last write, as an index of an access; 0 if none.
  std::array<uint32_t, 64> reads{}; ///< The reads after that write, as an index of a ReadNode; 0 if none.
};

/// The line with the bytes 64 * line to 64 * line + 63 of a tensor.
struct LineOfTensor {
  uint32_t tensor;
  int64_t line;
  bool operator==(const LineOfTensor &) const = default;
};
struct HashOfLine {
  size_t operator()(const LineOfTensor &key) const {
    return (static_cast<uint64_t>(key.line) * 64 + key.tensor) * 0x9E3779B97F4A7C15;
  }
};

class Shadow {
public:
  explicit Shadow(const Clocks &clocks) : clocks_(clocks) { reset(0); }

  void reset(size_t sharedBytes);

  /// Records the access and calls report(Conflict) for each earlier access that conflicts with it.
  template <class Report> void shared(uint32_t offset, uint32_t bytes, const Access &access, Report report) {
    record(offset, bytes, access, report, [&](int64_t line) -> ShadowLine & { return shared_[line]; });
  }
  /// Records an access to bytes of a tensor in the same way. `offset` may be negative.
  template <class Report>
  void global(uint32_t tensor, int64_t offset, uint32_t bytes, const Access &access, Report report) {
    record(offset, bytes, access, report, [&](int64_t line) -> ShadowLine & { return global_[{tensor, line}]; });
  }

  /// Calls visit(line of tensor, byte in it, access) for the last write of each byte and for the last read after that.
  template <class Visit> void forEachGlobal(Visit visit) const;

  /// Forgets the accesses to bytes, which then count as unwritten.
  void forget(uint32_t offset, uint32_t bytes);

  bool isWritten(uint32_t offset) const { return shared_[offset / 64].write[offset % 64] != 0; }
  const Access &lastWrite(uint32_t offset) const { return accesses_[shared_[offset / 64].write[offset % 64]]; }

private:
  struct ReadNode {
    uint32_t access, next;
  };

  template <class Report, class LineOf>
  void record(int64_t offset, uint32_t bytes, const Access &access, Report &report, LineOf lineOf);
  template <class Report>
  void check(const Access &access, uint32_t write, uint32_t reads, int64_t byte, Report &report) const;
  bool ordered(const Access &earlier, const Access &later) const;
  uint32_t withRead(uint32_t reads, uint32_t access);
  uint32_t withoutCommon(uint32_t reads);
  uint32_t pushRead(uint32_t access, uint32_t next);

  const Clocks &clocks_;
  std::vector<ShadowLine> shared_;
  std::unordered_map<LineOfTensor, ShadowLine, HashOfLine> global_;
  std::vector<Access> accesses_;
  std::vector<ReadNode> readNodes_;
};

//===-- Templates -------------------------------------------------------------------------------------------------===//

template <class Report, class LineOf>
void Shadow::record(int64_t offset, uint32_t bytes, const Access &access, Report &report, LineOf lineOf) {
  const auto index = static_cast<uint32_t>(accesses_.size());
  accesses_.push_back(access);
  // Neighbouring bytes mostly have the same earlier accesses, which are then checked once.
  uint32_t knownWrite = ~0U, knownReads = ~0U, newReads = 0;
  ShadowLine *line = nullptr;
  for (int64_t byte = offset; byte < offset + bytes; ++byte) {
    if (line == nullptr || (byte & 63) == 0)
      line = &lineOf(byte >> 6);
    uint32_t &write = line->write[byte & 63], &reads = line->reads[byte & 63];
    if (write != knownWrite || reads != knownReads) {
      check(access, write, reads, byte, report);
      knownWrite = write;
      knownReads = reads;
      newReads = isWrite(access.kind) ? 0 : withRead(reads, index);
    }
    if (isWrite(access.kind))
      write = index;
    reads = newReads;
  }
}

template <class Report>
void Shadow::check(const Access &access, uint32_t write, uint32_t reads, int64_t byte, Report &report) const {
  if (write != 0 && !ordered(accesses_[write], access))
    report(Conflict{&accesses_[write], byte});
  if (!isWrite(access.kind))
    return;
  for (uint32_t node = reads; node != 0; node = readNodes_[node].next)
    if (const Access &read = accesses_[readNodes_[node].access]; !ordered(read, access))
      return report(Conflict{&read, byte});
}

template <class Visit> void Shadow::forEachGlobal(Visit visit) const {
  for (const auto &[key, line] : global_)
    for (int64_t byte = 0; byte < 64; ++byte) {
      if (line.write[byte] != 0)
        visit(key, byte, accesses_[line.write[byte]]);
      if (line.reads[byte] != 0)
        visit(key, byte, accesses_[readNodes_[line.reads[byte]].access]);
    }
}

} // namespace tegula::simt
