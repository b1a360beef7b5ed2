// SPDX-License-Identifier: MIT
// Options of the sanitizers. These tests let allocations be refused, and fork processes with threads, on purpose.

extern "C" {
const char *__asan_default_options() { return "allocator_may_return_null=1"; }
const char *__tsan_default_options() { return "allocator_may_return_null=1:die_after_fork=0"; }
}
