// SPDX-License-Identifier: MIT
#include "tegula/internal/fork.h"

#include <atomic>
#include <pthread.h>

namespace tegula {
namespace {

std::atomic<uint64_t> generation{0};

// Registered before main. If the first use registered it, a fork during the registration would hang the child.
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1); });

} // namespace

uint64_t forkGeneration() noexcept { return generation.load(std::memory_order_relaxed); }

Status ForkGuard::check() const {
  if (!inChild())
    return {};
  return {ErrorCode::forked_child, "the process was forked after this object was made; make a new device in the child"};
}

} // namespace tegula
