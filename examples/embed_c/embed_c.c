/* SPDX-License-Identifier: MIT */
/* Attention in a plain C program: forward and backward in one call each, on memory of its own, and a union
 * of a window with global tokens. */
#include "tegula/tegula.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const float kScale = 0.18f;
enum { kBatch = 1, kHeads = 2, kLength = 100, kDim = 32, kNumbers = kBatch * kHeads * kLength * kDim, kPlace = kNumbers - 7 };

static float q[kNumbers], k[kNumbers], v[kNumbers], o[kNumbers], lse[kBatch * kHeads * kLength];
static float d_o[kNumbers], dq[kNumbers], dk[kNumbers], dv[kNumbers];

static tegula_tensor view(float *data) {
  tegula_tensor tensor = {data, TEGULA_F32, 4, {kBatch, kHeads, kLength, kDim}, {0}};
  tensor.strides[3] = 1;
  for (int d = 2; d >= 0; --d)
    tensor.strides[d] = tensor.strides[d + 1] * tensor.shape[d + 1];
  return tensor;
}

static tegula_tensor rows(float *data) {
  tegula_tensor tensor = {data, TEGULA_F32, 3, {kBatch, kHeads, kLength}, {kHeads * kLength, kLength, 1}};
  return tensor;
}

static void fill(float *data, unsigned seed) {
  srand(seed);
  for (int i = 0; i < kNumbers; ++i)
    data[i] = (float)rand() / (float)RAND_MAX - 0.5f;
}

/* sum(o * d_o) as a function of the inputs; its gradients are dq, dk and dv. */
static double objective(void) {
  double sum = 0;
  for (int i = 0; i < kNumbers; ++i)
    sum += (double)o[i] * d_o[i];
  return sum;
}

static tegula_status forward(tegula_context *context, const tegula_attention_problem *problem, float scale,
                             tegula_error **error) {
  tegula_forward_args args = {.struct_size = sizeof args};
  args.q = view(q);
  args.k = view(k);
  args.v = view(v);
  args.o = view(o);
  args.lse = rows(lse);
  args.scale = scale;
  return tegula_attention_forward(context, problem, &args, error);
}

static tegula_status backward(tegula_context *context, const tegula_attention_problem *problem, tegula_error **error) {
  tegula_backward_args args = {.struct_size = sizeof args};
  args.q = view(q);
  args.k = view(k);
  args.v = view(v);
  args.o = view(o);
  args.lse = rows(lse);
  args.d_o = view(d_o);
  args.dq = view(dq);
  args.dk = view(dk);
  args.dv = view(dv);
  args.scale = kScale;
  return tegula_attention_backward(context, problem, &args, error);
}

/* Compares a gradient with what moving one number does. */
static int check(tegula_context *context, const tegula_attention_problem *problem, float *x, const float *dx) {
  const float step = 1e-2f, before = x[kPlace];
  x[kPlace] = before + step;
  if (forward(context, problem, kScale, NULL) != TEGULA_OK)
    return 0;
  double higher = objective();
  x[kPlace] = before - step;
  if (forward(context, problem, kScale, NULL) != TEGULA_OK)
    return 0;
  double slope = (higher - objective()) / (2 * step);
  x[kPlace] = before;
  printf("gradient %9.6f, slope %9.6f\n", dx[kPlace], slope);
  return fabs(slope - dx[kPlace]) < 1e-3;
}

/* Returns 1 if each query sees a window of 10 keys and the first 4 keys. All scores are about 0, so that exp(lse) counts
 * the keys that a query sees. */
static int check_union(tegula_context *context) {
  tegula_attention_problem problem = {.struct_size = sizeof problem};
  problem.dtype = TEGULA_F32;
  problem.head_dim = kDim;
  problem.causal = TEGULA_CAUSAL_TOP_LEFT;
  problem.any_of[0].variants = TEGULA_WINDOW;
  problem.any_of[0].window_left = 9;
  problem.any_of[1].variants = TEGULA_GLOBAL_TOKENS;
  problem.any_of[1].global_tokens = 4;
  if (forward(context, &problem, 1e-30f, NULL) != TEGULA_OK)
    return 0;
  printf("query 99 sees %.0f keys\n", exp(lse[kLength - 1]));
  for (int query = 0; query < kLength; ++query)
    if (lround(exp(lse[query])) != (query < 14 ? query + 1 : 14))
      return 0;
  return 1;
}

int main(void) {
  tegula_context *context = NULL;
  tegula_error *error = NULL;
  tegula_attention_problem problem = {.struct_size = sizeof problem};
  problem.dtype = TEGULA_F32;
  problem.head_dim = kDim;
  problem.causal = TEGULA_CAUSAL_TOP_LEFT;
  problem.backward = 1;
  fill(q, 1);
  fill(k, 2);
  fill(v, 3);
  fill(d_o, 4);
  if (tegula_context_create(NULL, &context, &error) != TEGULA_OK ||
      forward(context, &problem, kScale, &error) != TEGULA_OK || backward(context, &problem, &error) != TEGULA_OK) {
    fprintf(stderr, "%s\n", tegula_error_message(error));
    tegula_error_free(error);
    tegula_context_destroy(context);
    return EXIT_FAILURE;
  }
  int good = check(context, &problem, q, dq) & check(context, &problem, k, dk) & check(context, &problem, v, dv) &
             check_union(context);
  tegula_context_destroy(context);
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
