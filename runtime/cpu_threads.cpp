// SPDX-License-Identifier: MIT
#include "cpu_threads.h"

#include <cerrno>
#include <limits>
#include <sched.h>
#include <xmmintrin.h>

namespace tegula {
namespace {

constexpr int64_t kAlignment = 64;
constexpr size_t kMaxCores = size_t{1} << 20;

struct Scratch {
  std::unique_ptr<void, Free> memory;
  int64_t bytes = -1;
};

size_t bytesOf(const std::vector<unsigned long> &bits) { return bits.size() * sizeof(unsigned long); }

cpu_set_t *asSet(std::vector<unsigned long> &bits) { return reinterpret_cast<cpu_set_t *>(bits.data()); }
const cpu_set_t *asSet(const std::vector<unsigned long> &bits) {
  return reinterpret_cast<const cpu_set_t *>(bits.data());
}

} // namespace

CoreSet CoreSet::ofThisThread() {
  CoreSet set;
  for (size_t cores = 1024; cores <= kMaxCores; cores *= 2) {
    set.bits_.assign(cores / (8 * sizeof(unsigned long)), 0);
    if (sched_getaffinity(0, bytesOf(set.bits_), asSet(set.bits_)) == 0)
      return set;
    if (errno != EINVAL) // EINVAL: the machine has more cores than fit.
      break;
  }
  return {};
}

int CoreSet::count() const { return bits_.empty() ? 0 : CPU_COUNT_S(bytesOf(bits_), asSet(bits_)); }

void CoreSet::applyToThisThread() const {
  if (!bits_.empty())
    sched_setaffinity(0, bytesOf(bits_), asSet(bits_));
}

#if !defined(__x86_64__)
#error "the cpu device has not been ported to this machine"
#endif

// Vector code obeys MXCSR alone. <cfenv> saves the x87 unit as well, which takes 0.2 us.
DefaultFloats::DefaultFloats() noexcept : previous_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
DefaultFloats::~DefaultFloats() { _mm_setcsr(previous_); }

void *allocateAligned(int64_t bytes) noexcept {
  if (bytes > std::numeric_limits<int64_t>::max() - kAlignment)
    return nullptr;
  const int64_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return std::aligned_alloc(kAlignment, static_cast<size_t>(whole > 0 ? whole : kAlignment));
}

void *threadScratch(int64_t bytes) noexcept {
  thread_local Scratch scratch;
  if (scratch.bytes >= bytes)
    return scratch.memory.get();
  scratch.memory.reset();
  scratch.memory.reset(allocateAligned(bytes));
  scratch.bytes = scratch.memory ? bytes : -1;
  return scratch.memory.get();
}

} // namespace tegula
