/* SPDX-License-Identifier: MIT */
/* A C host compiles, loads and launches kernels of its own, and plans of them. Prints what is wrong. */
#include "tegula/tegula.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void expect(int holds, const char *what, int line) {
  if (holds)
    return;
  ++failures;
  fprintf(stderr, "kernels_test.c:%d: %s\n", line, what);
}
#define EXPECT(condition) expect(condition, #condition, __LINE__)

/* Tests that a call failed with `code` and that its message contains `words`. Frees the error. */
static void expectError(tegula_status status, tegula_error *error, tegula_status code, const char *words, int line) {
  const char *message = error != NULL ? tegula_error_message(error) : "no error";
  if (status != code || strstr(message, words) == NULL) {
    ++failures;
    fprintf(stderr, "kernels_test.c:%d: status %d, \"%s\"; expected status %d, \"%s\"\n", line, status, message, code,
            words);
  }
  tegula_error_free(error);
}
#define EXPECT_ERROR(call, code, words)                                                                                \
  do {                                                                                                                 \
    tegula_error *error = NULL;                                                                                        \
    const tegula_status status = call;                                                                                 \
    expectError(status, error, code, words, __LINE__);                                                                 \
  } while (0)

static void expectOk(tegula_status status, tegula_error *error, int line) {
  if (status == TEGULA_OK)
    return;
  ++failures;
  fprintf(stderr, "kernels_test.c:%d: %s\n", line, tegula_error_message(error));
  tegula_error_free(error);
}
#define EXPECT_OK(call)                                                                                                \
  do {                                                                                                                 \
    tegula_error *error = NULL;                                                                                        \
    const tegula_status status = call;                                                                                 \
    expectOk(status, error, __LINE__);                                                                                 \
  } while (0)

/* z = a * x / y */
static const char kQuotient[] =
    "module attributes {tile.version = 1 : i64} {\n"
    "  func.func @quotient(%x: !tile.view<1xf32> {tile.name = \"x\"}, %y: !tile.view<1xf32> {tile.name = \"y\"},\n"
    "                      %z: !tile.view<1xf32> {tile.name = \"z\", tile.written}, %a: f32 {tile.name = \"a\"}) {\n"
    "    %c64 = arith.constant 64 : index\n"
    "    %p = tile.program_id 0\n"
    "    %i = arith.muli %p, %c64 : index\n"
    "    tile.print \"a\" %a : f32\n"
    "    %xs = tile.load %x[%i] : !tile.view<1xf32> -> tensor<64xf32>\n"
    "    %one = arith.constant dense<1.0> : tensor<64xf32>\n"
    "    %ys = tile.load %y[%i] {fill = 1.0 : f32} : !tile.view<1xf32> -> tensor<64xf32>\n"
    "    %as = tile.broadcast %a : f32 -> tensor<64xf32>\n"
    "    %ax = arith.mulf %as, %xs : tensor<64xf32>\n"
    "    %zs = arith.divf %ax, %ys : tensor<64xf32>\n"
    "    tile.store %zs, %z[%i] : tensor<64xf32>, !tile.view<1xf32>\n"
    "    return\n"
    "  }\n"
    "}\n";

/* part[i] = sum of 64 elements of x */
static const char kParts[] = "module attributes {tile.version = 1 : i64} {\n"
                             "  func.func @parts(%x: !tile.view<1xf32> {tile.name = \"x\"},\n"
                             "                   %part: !tile.view<1xf32> {tile.name = \"part\", tile.written}) {\n"
                             "    %c64 = arith.constant 64 : index\n"
                             "    %p = tile.program_id 0\n"
                             "    %i = arith.muli %p, %c64 : index\n"
                             "    %xs = tile.load %x[%i] : !tile.view<1xf32> -> tensor<64xf32>\n"
                             "    %row = tile.reshape %xs : tensor<64xf32> -> tensor<1x64xf32>\n"
                             "    %sum = tile.reduce add %row axis 1 : tensor<1x64xf32> -> tensor<1xf32>\n"
                             "    tile.store %sum, %part[%p] : tensor<1xf32>, !tile.view<1xf32>\n"
                             "    return\n"
                             "  }\n"
                             "}\n";

/* sum = sum of at most 64 parts */
static const char kMerge[] = "module attributes {tile.version = 1 : i64} {\n"
                             "  func.func @merge(%part: !tile.view<1xf32> {tile.name = \"part\"},\n"
                             "                   %sum: !tile.view<1xf32> {tile.name = \"sum\", tile.written}) {\n"
                             "    %c0 = arith.constant 0 : index\n"
                             "    %xs = tile.load %part[%c0] : !tile.view<1xf32> -> tensor<64xf32>\n"
                             "    %row = tile.reshape %xs : tensor<64xf32> -> tensor<1x64xf32>\n"
                             "    %s = tile.reduce add %row axis 1 : tensor<1x64xf32> -> tensor<1xf32>\n"
                             "    tile.store %s, %sum[%c0] : tensor<1xf32>, !tile.view<1xf32>\n"
                             "    return\n"
                             "  }\n"
                             "}\n";

enum { kLength = 200 };
static float x[kLength], y[kLength], z[kLength];

static tegula_tensor vector(float *data, int64_t length) {
  tegula_tensor tensor = {data, TEGULA_F32, 1, {0}, {0}};
  tensor.shape[0] = length;
  tensor.strides[0] = 1;
  return tensor;
}

static tegula_argument tensorArgument(const tegula_tensor *tensor) {
  tegula_argument argument = {TEGULA_TENSOR, 0, {NULL}};
  argument.value.tensor = tensor;
  return argument;
}

static tegula_argument f32Argument(float value) {
  tegula_argument argument = {TEGULA_SCALAR_F32, 0, {NULL}};
  argument.value.f32 = value;
  return argument;
}

static tegula_argument i64Argument(int64_t value) {
  tegula_argument argument = {TEGULA_SCALAR_I64, 0, {NULL}};
  argument.value.i64 = value;
  return argument;
}

static tegula_context *makeContext(int32_t check_finite, int32_t policy) {
  tegula_context *context = NULL;
  tegula_context_options options = {.struct_size = sizeof options};
  options.threads = 1;
  options.cache_directory = "";
  options.schedule_directory = "";
  options.check_finite = check_finite;
  options.policy = policy;
  EXPECT_OK(tegula_context_create(&options, &context, &error));
  return context;
}

static char printed[256];
static void keep(void *user, const char *text) {
  (void)user;
  strncat(printed, text, sizeof printed - strlen(printed) - 1);
}

static void testKernel(void) {
  tegula_context *context = makeContext(TEGULA_FINITE_UNCHECKED, TEGULA_COMPILE);
  tegula_kernel *kernel = NULL;
  EXPECT_OK(tegula_kernel_create(context, kQuotient, strlen(kQuotient), NULL, &kernel, &error));
  tegula_context_destroy(context); /* The kernel outlives it. */
  if (kernel == NULL)
    return;
  EXPECT(tegula_kernel_parameter_count(kernel) == 4);
  EXPECT(tegula_kernel_concurrency(kernel) == 1);
  tegula_parameter parameter = {.struct_size = sizeof parameter};
  EXPECT_OK(tegula_kernel_parameter(kernel, 2, &parameter, &error));
  EXPECT(strcmp(parameter.name, "z") == 0 && parameter.kind == TEGULA_TENSOR && parameter.dtype == TEGULA_F32);
  EXPECT(parameter.rank == 1 && parameter.written != 0);
  EXPECT_OK(tegula_kernel_parameter(kernel, 3, &parameter, &error));
  EXPECT(strcmp(parameter.name, "a") == 0 && parameter.kind == TEGULA_SCALAR_F32 && parameter.rank == 0);
  EXPECT_ERROR(tegula_kernel_parameter(kernel, 4, &parameter, &error), TEGULA_INVALID_ARGUMENT,
               "argument 'index': it is 4; there are 4 parameters");

  const tegula_tensor tensors[] = {vector(x, kLength), vector(y, kLength), vector(z, kLength)};
  tegula_argument arguments[] = {tensorArgument(&tensors[0]), tensorArgument(&tensors[1]), tensorArgument(&tensors[2]),
                                 f32Argument(3)};
  const int64_t grid[3] = {(kLength + 63) / 64, 1, 1};
  EXPECT_OK(tegula_kernel_launch(kernel, grid, arguments, 4, NULL, &error));
  for (int i = 0; i < kLength; ++i)
    EXPECT(fabsf(z[i] - 3 * x[i] / y[i]) <= 1e-6f * fabsf(z[i]));

  EXPECT_ERROR(tegula_kernel_launch(kernel, grid, arguments, 3, NULL, &error), TEGULA_INVALID_ARGUMENT, "got 3");
  arguments[3] = i64Argument(3);
  EXPECT_ERROR(tegula_kernel_launch(kernel, grid, arguments, 4, NULL, &error), TEGULA_INVALID_ARGUMENT,
               "argument 'a': expected f32, got i64");
  arguments[3].kind = 7;
  EXPECT_ERROR(tegula_kernel_launch(kernel, grid, arguments, 4, NULL, &error), TEGULA_INVALID_ARGUMENT,
               "argument 'arguments[3]': its kind is 7; legal are TEGULA_TENSOR (0)");
  arguments[0].value.tensor = NULL;
  EXPECT_ERROR(tegula_kernel_launch(kernel, grid, arguments, 4, NULL, &error), TEGULA_INVALID_ARGUMENT,
               "argument 'arguments[0]': it is null");
  EXPECT_ERROR(tegula_kernel_launch(NULL, grid, arguments, 4, NULL, &error), TEGULA_INVALID_ARGUMENT,
               "argument 'kernel': it is null");
  tegula_kernel_destroy(kernel);
}

static void testErrorsOfPrograms(void) {
  tegula_context *context = makeContext(TEGULA_FINITE_UNCHECKED, TEGULA_COMPILE);
  tegula_kernel *kernel = NULL;
  const char wrong[] = "module {\n  func.func @f(%x: !tile.view<1xf32>) {\n    tile.nonsense %x\n  }\n}\n";
  EXPECT_ERROR(tegula_kernel_create(context, wrong, strlen(wrong), NULL, &kernel, &error), TEGULA_COMPILE_FAILED,
               "program:3: error: ");
  EXPECT_ERROR(tegula_kernel_create(context, kParts, strlen(kParts), "num_wraps=4", &kernel, &error),
               TEGULA_INVALID_ARGUMENT, "schedule: 'num_wraps=4' is not name=value");
  EXPECT_ERROR(tegula_kernel_create(context, NULL, 0, NULL, &kernel, &error), TEGULA_INVALID_ARGUMENT,
               "argument 'text': it is null");
  tegula_context_destroy(context);
  context = makeContext(TEGULA_FINITE_UNCHECKED, TEGULA_LOAD_ONLY);
  EXPECT_ERROR(tegula_kernel_create(context, kParts, strlen(kParts), NULL, &kernel, &error), TEGULA_NEEDS_COMPILE,
               "kernel parts");
  EXPECT(kernel == NULL);
  tegula_context_destroy(context);
}

static void testReports(void) {
  tegula_context *context = NULL;
  tegula_context_options options = {.struct_size = sizeof options};
  options.threads = 1;
  options.cache_directory = "";
  options.check_finite = TEGULA_FINITE_INF;
  const tegula_hooks hooks = {.struct_size = sizeof hooks, .print = keep};
  options.hooks = &hooks;
  EXPECT_OK(tegula_context_create(&options, &context, &error));
  tegula_kernel *kernel = NULL;
  EXPECT_OK(tegula_kernel_create(context, kQuotient, strlen(kQuotient), NULL, &kernel, &error));
  tegula_context_destroy(context);
  float zeros[64] = {0};
  const tegula_tensor tensors[] = {vector(x, 64), vector(zeros, 64), vector(z, 64)};
  const tegula_argument arguments[] = {tensorArgument(&tensors[0]), tensorArgument(&tensors[1]),
                                       tensorArgument(&tensors[2]), f32Argument(0.5f)};
  const int64_t grid[3] = {1, 1, 1};
  EXPECT_ERROR(tegula_kernel_launch(kernel, grid, arguments, 4, NULL, &error), TEGULA_LAUNCH_FAILED,
               "kernel 'quotient': program:13: / makes the first infinity (inf): element [0] of f32 [64] in program "
               "instance 0, 0, 0");
  EXPECT(strcmp(printed, "program:7: a = 0.5 (program instance 0, 0, 0)\n") == 0);
  tegula_kernel_destroy(kernel);
}

static tegula_plan_description sumOfParts(const tegula_plan_step *steps, const char *const *tensors) {
  tegula_plan_description description = {.struct_size = sizeof description};
  description.step_count = 2;
  description.steps = steps;
  description.tensors = tensors;
  description.tensor_count = 3;
  return description;
}

static const tegula_plan_step kSteps[] = {{kParts, sizeof kParts - 1, NULL, "parts", NULL},
                                          {kMerge, sizeof kMerge - 1, NULL, "1", "parts > 0"}};
static const char *const kTensors[] = {"x[n]", "workspace part[parts]", "sum[1]"};
static const char *const kChoice = "parts = ceildiv(n, 64)";

static void testPlan(void) {
  tegula_context *context = makeContext(TEGULA_FINITE_UNCHECKED, TEGULA_COMPILE);
  tegula_plan_description description = sumOfParts(kSteps, kTensors);
  description.choices = &kChoice;
  description.choice_count = 1;
  description.preparation_count = 1;
  tegula_plan *plan = NULL;
  EXPECT_OK(tegula_plan_create_from_kernels(context, &description, &plan, &error));
  tegula_context_destroy(context); /* The plan outlives it. */
  if (plan == NULL)
    return;
  EXPECT(tegula_plan_argument_count(plan) == 2);
  tegula_parameter parameter = {.struct_size = sizeof parameter};
  EXPECT_OK(tegula_plan_argument(plan, 1, &parameter, &error));
  EXPECT(strcmp(parameter.name, "sum") == 0 && parameter.written != 0);

  const tegula_size size = {"n", kLength};
  int64_t bytes = 0;
  EXPECT_OK(tegula_plan_workspace_bytes(plan, &size, 1, &bytes, &error));
  EXPECT(bytes == 64); /* Four numbers, padded. */
  float sum = 0, expected = 0;
  for (int i = 0; i < kLength; ++i)
    expected += x[i];
  const tegula_tensor tensors[] = {vector(x, kLength), vector(&sum, 1)};
  const tegula_argument arguments[] = {tensorArgument(&tensors[0]), tensorArgument(&tensors[1]), i64Argument(1)};
  tegula_launch_args args = {.struct_size = sizeof args};
  args.argument_count = 2;
  args.arguments = arguments;
  EXPECT_ERROR(tegula_plan_launch(plan, &args, &error), TEGULA_INVALID_ARGUMENT,
               "argument 'workspace': it has 0 bytes; 64 are needed");
  args.workspace = aligned_alloc(64, 64);
  args.workspace_bytes = 64;
  EXPECT_OK(tegula_plan_launch(plan, &args, &error));
  EXPECT(fabsf(sum - expected) < 1e-4f);
  args.argument_count = 3; /* One part only. */
  EXPECT_OK(tegula_plan_launch(plan, &args, &error));
  EXPECT(sum < expected);

  size_t prepared_count = 0;
  bytes = 0;
  EXPECT_OK(tegula_plan_prepared(plan, &size, 1, &bytes, &prepared_count, &error));
  EXPECT(bytes == 64 && prepared_count == 1); /* The parts of x. */
  args.prepared = args.workspace;
  args.prepared_bytes = 64;
  args.argument_count = 1;
  EXPECT_OK(tegula_plan_prepare(plan, &args, &error));
  sum = 0;
  args.workspace = NULL;
  args.workspace_bytes = 0;
  args.argument_count = 2;
  EXPECT_OK(tegula_plan_launch(plan, &args, &error));
  EXPECT(fabsf(sum - expected) < 1e-4f);
  args.prepared_bytes = 128;
  EXPECT_ERROR(tegula_plan_launch(plan, &args, &error), TEGULA_INVALID_ARGUMENT,
               "argument 'prepared': it has 128 bytes; that of these sizes has 64");
  args.workspace = args.prepared;

  tegula_forward_args attention = {.struct_size = sizeof attention};
  EXPECT_ERROR(tegula_plan_forward(plan, &attention, &error), TEGULA_INVALID_ARGUMENT,
               "argument 'plan': tegula_plan_create_from_kernels, _create_merge, _create_decode, _create_append, "
               "_create_rotary, _create_packed or _create_packed_pages made it, for tegula_plan_launch");
  args.struct_size = 0;
  EXPECT_ERROR(tegula_plan_launch(plan, &args, &error), TEGULA_INVALID_ARGUMENT, "its struct_size is 0");
  free(args.workspace);
  tegula_plan_destroy(plan);
}

static void expectNoPlan(tegula_context *context, const tegula_plan_step *steps, const char *const *tensors,
                         const char *words, int line) {
  const tegula_plan_description description = sumOfParts(steps, tensors);
  tegula_plan *plan = NULL;
  tegula_error *error = NULL;
  const tegula_status status = tegula_plan_create_from_kernels(context, &description, &plan, &error);
  const tegula_status expected = status == TEGULA_INVALID_PROGRAM ? status : TEGULA_INVALID_ARGUMENT;
  expectError(status, error, expected, words, line);
}
#define EXPECT_NO_PLAN(steps, words, ...)                                                                              \
  do {                                                                                                                 \
    const char *const tensors[3] = {__VA_ARGS__};                                                                      \
    expectNoPlan(context, steps, tensors, words, __LINE__);                                                            \
  } while (0)

static void testErrorsOfPlans(void) {
  tegula_context *context = makeContext(TEGULA_FINITE_UNCHECKED, TEGULA_COMPILE);
  EXPECT_NO_PLAN(kSteps, "argument 'tensors[0]': 'x' is not of the form \"a[m, 2 * k]\"", "x", "part[p]", "sum[1]");
  EXPECT_NO_PLAN(kSteps, "argument 'tensors[1]': 'scratch' is no kind of tensor; legal are workspace and zeroed",
                 "x[n]", "scratch part[p]", "sum[1]");
  EXPECT_NO_PLAN(kSteps, "argument 'tensors[0]': 'x' has 2 sizes; the program of steps[0] has rank 1", "x[n, k]",
                 "part[p]", "sum[1]");
  EXPECT_NO_PLAN(kSteps, "argument 'tensors': 'sum' is missing: the program of steps[1] has it, of rank 1", "x[n]",
                 "part[p]", "total[1]");
  EXPECT_NO_PLAN(kSteps, "argument 'tensors[2]': 'x' is described twice", "x[n]", "part[p]", "x[1]");
  EXPECT_NO_PLAN(kSteps, "plan 'parts': the size 'parts' in 'parts' is no dimension of a caller's tensor", "x[n]",
                 "part[n]", "sum[1]");
  const tegula_plan_step badGrid[] = {{kParts, sizeof kParts - 1, NULL, "ceildiv(n", NULL},
                                      {kMerge, sizeof kMerge - 1, NULL, "1", NULL}};
  EXPECT_NO_PLAN(badGrid, "argument 'steps[0].grid': 'ceildiv(n' is no size: ", "x[n]", "part[p]", "sum[1]");
  const tegula_plan_step twoConditions[] = {{kParts, sizeof kParts - 1, NULL, "n", "n, min(n, 2)"},
                                            {kMerge, sizeof kMerge - 1, NULL, "1", NULL}};
  EXPECT_NO_PLAN(twoConditions, "argument 'steps[0].when': 'n, min(n, 2)' is more than one size", "x[n]", "part[p]",
                 "sum[1]");
  const tegula_plan_step swapped[] = {{kMerge, sizeof kMerge - 1, NULL, "1", NULL},
                                      {kParts, sizeof kParts - 1, NULL, "1", NULL}};
  EXPECT_NO_PLAN(swapped, "'part' is a workspace that no kernel has written before", "x[n]", "workspace part[n]",
                 "sum[1]");
  tegula_context_destroy(context);
}

int main(void) {
  EXPECT(tegula_abi_version() == TEGULA_ABI_VERSION);
  for (int i = 0; i < kLength; ++i) {
    x[i] = (float)(i % 13) / 8 + 0.25f;
    y[i] = (float)(i % 7) + 1;
  }
  testKernel();
  testErrorsOfPrograms();
  testReports();
  testPlan();
  testErrorsOfPlans();
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
