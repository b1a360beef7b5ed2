// SPDX-License-Identifier: MIT
// Accesses of different program instances to the same byte of a written tensor: nothing orders them in a launch, so
// only reads, and atomic additions among themselves, may meet.
#pragma once

#include "simt/shadow.h"

#include <array>
#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace tegula::simt {

/// Who accessed a byte.
struct Touch {
  uint64_t instance = 0; ///< Counted from 1; 0 if nobody has.
  uint32_t site = 0;
  AccessKind kind = AccessKind::Read;
};

/// Of one launch; threads may add at the same time.
class Instances {
public:
  /// Adds what `shadow` saw in tensors during `instance` (counted from 0), and calls report(tensor, offset, earlier,
  /// later) where another instance did something that conflicts.
  template <class Report> void add(uint64_t instance, const Shadow &shadow, Report report) {
    const std::lock_guard lock(mutex_);
    shadow.forEachGlobal([&](const LineOfTensor &line, int64_t offset, const Access &access) {
      const Touch touch{instance + 1, access.site, access.kind};
      Byte &byte = lines_[line][offset];
      for (const Touch &earlier : byte)
        if (conflict(earlier, touch)) {
          report(line.tensor, 64 * line.line + offset, earlier, touch);
          break;
        }
      remember(byte, touch);
    });
  }

private:
  /// The first that only read or added, the last that did, and the last that wrote.
  using Byte = std::array<Touch, 3>;

  static bool conflict(const Touch &earlier, const Touch &later);
  static void remember(Byte &byte, const Touch &touch);

  std::mutex mutex_;
  std::unordered_map<LineOfTensor, std::array<Byte, 64>, HashOfLine> lines_;
};

} // namespace tegula::simt
