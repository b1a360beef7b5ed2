// SPDX-License-Identifier: MIT
// What sanitizers need to know about these tests: refused allocations and forks of a process with threads are intended.

extern "C" {
const char *__asan_default_options() { return "allocator_may_return_null=1"; }
const char *__tsan_default_options() { return "allocator_may_return_null=1:die_after_fork=0"; }
}
