// SPDX-License-Identifier: MIT
// Hand-written kernels with the CpuKernel interface. STEP and UNRESOLVED tell the builds of this file apart.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#ifndef STEP
#define STEP 1
#endif

#define KERNEL(name)                                                                                                   \
  void name(void *const *tensors, const int64_t *words, const int64_t *grid, void *scratch, int64_t first, int64_t last)
#define UNUSED (void)tensors, (void)words, (void)grid, (void)scratch, (void)first, (void)last

// counts: i32[n]. Adds STEP to counts[i] for instance i.
KERNEL(count) {
  UNUSED;
  int32_t *counts = tensors[0];
  for (int64_t i = first; i < last; ++i)
    counts[i * words[1]] += STEP;
}

// a: f32[2 dims], f: f32, i: i32, l: i64, out: i64[12]. Stores the parameters' words except those of `out`, the grid,
// and 1 if a[0, 1] is 7.
KERNEL(echo) {
  UNUSED;
  const float *a = tensors[0];
  int64_t *out = tensors[1];
  memcpy(out, words, 7 * sizeof *words);
  memcpy(out + 7, grid, 3 * sizeof *grid);
  out[10] = a[words[3]] == 7.0f;
}

// bytes: i64, offsets: i64[n]. Fills the scratch and stores its address modulo 64.
KERNEL(fill_scratch) {
  UNUSED;
  int64_t *offsets = tensors[0];
  for (int64_t i = first; i < last; ++i) {
    memset(scratch, (int)i, (size_t)words[0]);
    offsets[i] = (int64_t)((uintptr_t)scratch % 64);
  }
}

// x: f32, out: f32[n]. Stores x / 2.
KERNEL(halve) {
  UNUSED;
  float x;
  memcpy(&x, words, sizeof x);
  volatile float half = 0.5f;
  for (int64_t i = first; i < last; ++i)
    ((float *)tensors[0])[i] = x * half;
}

// arrived: i32[1]. Every instance waits until all instances of the grid run at the same time.
KERNEL(rendezvous) {
  UNUSED;
  _Atomic int32_t *arrived = tensors[0];
  for (int64_t i = first; i < last; ++i) {
    atomic_fetch_add(arrived, 1);
    while (atomic_load(arrived) < grid[0])
      sched_yield();
  }
}

// threads: i64[n]. Stores which thread ran instance i.
KERNEL(identify) {
  UNUSED;
  for (int64_t i = first; i < last; ++i) {
    ((int64_t *)tensors[0])[i] = (int64_t)(uintptr_t)pthread_self();
    sched_yield();
  }
}

#ifdef UNRESOLVED
extern int tegula_test_absent;
#else
static int tegula_test_absent;
#endif

// Has no parameters.
KERNEL(nothing) {
  UNUSED;
  (void)*(volatile int *)&tegula_test_absent;
}
