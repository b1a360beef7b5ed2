// SPDX-License-Identifier: MIT
// These functions are in their own file, because g++ takes them for mismatched if it sees them inlined.
#include "allocations.h"

#include <cstdlib>
#include <new>

namespace {
thread_local int64_t count = 0;
}

int64_t tegula::test::allocations() noexcept { return count; }

void *operator new(size_t bytes) {
  ++count;
  if (void *memory = std::malloc(bytes))
    return memory;
  throw std::bad_alloc();
}

void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
