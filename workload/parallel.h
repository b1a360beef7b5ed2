// SPDX-License-Identifier: MIT
// Work on all cores.
#pragma once

#include "tegula/cpu_info.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace tegula::tools {

/// Calls `work(0)` to `work(count - 1)` on all cores.
template <class Work> void forEachInParallel(int64_t count, Work work) {
  std::atomic<int64_t> next = 0;
  auto worker = [&] {
    for (int64_t index; (index = next++) < count;)
      work(index);
  };
  std::vector<std::jthread> threads;
  for (int64_t n = 1; n < std::min<int64_t>(count, usableCores()); ++n)
    threads.emplace_back(worker);
  worker();
}

} // namespace tegula::tools
