// SPDX-License-Identifier: MIT
#include "simt/fiber.h"

#include <atomic>
#include <cstdint>
#include <new>
#include <sys/mman.h>

#ifndef __x86_64__
#error "the switch between lanes is written for x86-64 only"
#endif

// A stack that is left has on it the six registers that a call preserves. A new fiber finds its entry in rbx and its
// argument in r12.
extern "C" {
void tegulaSimtSwitch(void **from, void *to);
void tegulaSimtStart();
}

asm(R"(
.text
.p2align 4
.globl tegulaSimtSwitch
.hidden tegulaSimtSwitch
.type tegulaSimtSwitch, @function
tegulaSimtSwitch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.globl tegulaSimtStart
.hidden tegulaSimtStart
.type tegulaSimtStart, @function
tegulaSimtStart:
  movq %r12, %rdi
  callq *%rbx
  ud2
)");

namespace tegula::simt {
namespace {

constexpr size_t kPage = 4096, kStackBytes = size_t{1} << 18;

/// Returns the distance of a stack's top from the end of its memory. Tops a power of two apart would all fall into the
/// same sets of the caches.
constexpr size_t staggerOf(size_t index) { return index % 64 * 832; }

} // namespace

void Fiber::prepare(void *top, void (*entry)(void *), void *argument) {
  struct Frame {
    void *r15, *r14, *r13, *r12, *rbx, *rbp, *returnAddress;
  };
  auto *frame = reinterpret_cast<Frame *>(static_cast<char *>(top) - sizeof(Frame));
  *frame = {.r15 = nullptr,
            .r14 = nullptr,
            .r13 = nullptr,
            .r12 = argument,
            .rbx = reinterpret_cast<void *>(entry),
            .rbp = nullptr,
            .returnAddress = reinterpret_cast<void *>(tegulaSimtStart)};
  stackPointer_ = frame;
}

void Fiber::switchTo(Fiber &next) { tegulaSimtSwitch(&stackPointer_, next.stackPointer_); }

/// The pages below stacks that trap, in all of the process. Each one divides a mapping, and a process may have 65,530.
static std::atomic<size_t> trappingPages = 0;
constexpr size_t kMostTrappingPages = size_t{1} << 14;

Stacks::Stacks(size_t count) : bytes_(count * kStackBytes) {
  void *memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw std::bad_alloc();
  memory_ = static_cast<char *>(memory);
  traps_ = trappingPages.fetch_add(count) + count <= kMostTrappingPages ? count : 0;
  trappingPages -= count - traps_;
  for (size_t i = 0; i < traps_; ++i)
    mprotect(memory_ + i * kStackBytes, kPage, PROT_NONE);
}

Stacks::~Stacks() {
  munmap(memory_, bytes_);
  trappingPages -= traps_;
}

void *Stacks::top(size_t index) const { return memory_ + (index + 1) * kStackBytes - staggerOf(index); }

} // namespace tegula::simt
