// SPDX-License-Identifier: MIT
// Accesses of different program instances to the same byte of a written tensor. Only arrivals order them in a launch.
// Others may share a byte if they are reads or atomic additions.
#pragma once

#include "simt/arrivals.h"
#include "simt/shadow.h"

#include <array>
#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>

namespace tegula::simt {

/// An access of a program instance to a byte.
struct Touch {
  uint64_t instance = 0; ///< Counted from 1; 0 if there was no access.
  uint32_t site = 0;
  AccessKind kind = AccessKind::Read;
  uint32_t arrivals = 0;            ///< How often the instance had arrived.
  const Knowledge *known = nullptr; ///< Arrivals that happen before; null if there are none.
};

/// The accesses of all program instances of a launch. Threads may add accesses at the same time.
class Instances {
public:
  /// Adds the accesses to tensors that `shadow` recorded for `instance`, counted from 0. `known` is what the instance
  /// knew after each of its arrivals. Calls report(tensor, offset, earlier, later) for each byte at which an access of
  /// another instance conflicts.
  template <class Report>
  void add(uint64_t instance, const Shadow &shadow, std::span<const Knowledge *const> known, Report report) {
    const std::lock_guard lock(mutex_);
    shadow.forEachGlobal([&](const LineOfTensor &line, int64_t offset, const Access &access) {
      const Knowledge *knows = access.arrivals == 0 ? nullptr : known[access.arrivals - 1];
      const Touch touch{instance + 1, access.site, access.kind, access.arrivals, knows};
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
  /// The first access that was a read or an atomic addition, the last such access, and the last other write.
  using Byte = std::array<Touch, 3>;

  static bool conflict(const Touch &earlier, const Touch &later);
  static void remember(Byte &byte, const Touch &touch);

  std::mutex mutex_;
  std::unordered_map<LineOfTensor, std::array<Byte, 64>, HashOfLine> lines_;
};

} // namespace tegula::simt
