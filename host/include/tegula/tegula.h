/* SPDX-License-Identifier: MIT */
/* Tegula for hosts, in C: attention forward and backward on the cores of this process or on a GPU.
 *
 * Every call that can fail answers a tegula_status. If it is not TEGULA_OK and `error` is not NULL, *error gets a message,
 * to be freed with tegula_error_free. A call that failed has changed nothing. No call throws, aborts, prints, changes a
 * signal handler, the current CUDA context, the locale or the working directory. All may be called from any thread;
 * contexts and plans are shared freely.
 *
 * Structures begin with their size, so that old hosts work with new libraries: initialise them with
 *   tegula_attention_problem problem = {.struct_size = sizeof problem};
 * and set the fields that matter; 0 is the default everywhere. */
#ifndef TEGULA_TEGULA_H
#define TEGULA_TEGULA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes if a program that was compiled for one value does not work with another. */
#define TEGULA_ABI_VERSION 1
/* TEGULA_ABI_VERSION of the library. */
uint32_t tegula_abi_version(void);
/* "0.1.0" */
const char *tegula_version(void);

/*===-- Errors ----------------------------------------------------------------------------------------------------===*/

typedef int32_t tegula_status;
enum {
  TEGULA_OK = 0,
  TEGULA_INVALID_ARGUMENT = 1,   /* The message names the argument, its value and what is legal. */
  TEGULA_INVALID_PROGRAM = 2,
  TEGULA_UNSUPPORTED = 3,        /* The message names the nearest thing that is. */
  TEGULA_NEEDS_COMPILE = 4,      /* The policy forbids to compile; the message names the kernel. */
  TEGULA_COMPILE_FAILED = 5,
  TEGULA_COMPILE_CRASHED = 6,    /* The message has the path of a reproducer. */
  TEGULA_COMPILE_TIMEOUT = 7,
  TEGULA_RESOURCE_EXHAUSTED = 8, /* The message names the limit. */
  TEGULA_LAUNCH_FAILED = 9,
  TEGULA_DEVICE_LOST = 10,       /* Only a new process helps. */
  TEGULA_FORKED_CHILD = 11,      /* The process was forked after the context was made. */
  TEGULA_CANCELLED = 12,
  TEGULA_INTERNAL = 13           /* A defect of Tegula. */
};

typedef struct tegula_error tegula_error;
const char *tegula_error_message(const tegula_error *error);
void tegula_error_free(tegula_error *error);

/*===-- Context ---------------------------------------------------------------------------------------------------===*/

/* A device with its kernels and their compiler. */
typedef struct tegula_context tegula_context;

enum { TEGULA_CPU = 0, TEGULA_CUDA = 1 };

/* How far a call may go to get a kernel. */
enum {
  TEGULA_COMPILE = 0,   /* Compile what is not at hand. */
  TEGULA_LOAD_ONLY = 1, /* Load what is kept, compile nothing. */
  TEGULA_LOADED_ONLY = 2 /* Use what is loaded already, nothing else. */
};

/* A compilation, for hosts that watch. */
typedef struct tegula_compilation {
  uint32_t struct_size;
  int32_t finished;     /* 0: it begins. */
  const char *target;   /* "cuda" */
  const char *schedule; /* "block_m=128 block_n=64 num_warps=4" */
  tegula_status status; /* Once it is finished, as the rest. */
  const char *message;  /* "" or what went wrong. */
  double milliseconds;
} tegula_compilation;

/* What a host may do itself. Each may be NULL. They are called from threads that call the library, never from a thread
 * of its own, and must not throw. `user` is passed on. */
typedef struct tegula_hooks {
  void *user;
  void (*compilation)(void *user, const tegula_compilation *compilation);
  /* Runs task(data) once, now or later, on any thread that does not itself wait for this library. The kernels of a plan
   * are then compiled side by side. */
  void (*submit)(void *user, void (*task)(void *data), void *data);
  /* Memory of the device for workspaces, 64-byte aligned; NULL if there is none. It is freed while the stream may
   * still work with it, in the stream's order. */
  void *(*allocate)(void *user, int64_t bytes, void *stream);
  void (*release)(void *user, void *memory, int64_t bytes, void *stream);
  /* Compiled kernels by key, for hosts that keep the bytes themselves. load() passes what save() was given to
   * receive(), or does nothing. */
  void (*load)(void *user, const char *key, void (*receive)(void *to, const void *bytes, size_t size), void *to);
  void (*save)(void *user, const char *key, const void *bytes, size_t size);
} tegula_hooks;

typedef struct tegula_context_options {
  uint32_t struct_size;
  int32_t device;                       /* TEGULA_CPU or TEGULA_CUDA */
  int32_t ordinal;                      /* Which GPU. */
  int32_t threads;                      /* Of the cpu; 0: one for each core. */
  int32_t policy;                       /* TEGULA_COMPILE, ... */
  int32_t workers;                      /* Compilations at a time; 0: 2. */
  const char *cache_directory;          /* NULL: `kernels` in the user's cache directory; "": none. */
  int64_t cache_limit_bytes;            /* 0: 1 GiB. */
  const char *const *read_only;         /* Folders with compiled kernels that are only read, such as bundles. */
  size_t read_only_count;
  const char *compiler;                 /* Path of tegula-cc; NULL: found beside the library. */
  int64_t compile_time_limit_ms;        /* 0: 120,000. */
  int64_t compile_memory_bytes;         /* 0: 4 GiB. */
  const char *reproducer_directory;     /* NULL: `reproducers` in the user's cache directory. */
  const char *schedule_directory;       /* Of `tegula tune`; NULL: `schedules` in the user's cache directory; "": none. */
  tegula_hooks hooks;
} tegula_context_options;

/* `options` may be NULL. Starts no thread and no process. */
tegula_status tegula_context_create(const tegula_context_options *options, tegula_context **context,
                                    tegula_error **error);
/* Plans that were made with it stay good. */
void tegula_context_destroy(tegula_context *context);

/* For the calls that follow. */
tegula_status tegula_context_set_policy(tegula_context *context, int32_t policy, tegula_error **error);

/* What a context has done so far. */
typedef struct tegula_counters {
  uint32_t struct_size;
  uint32_t reserved;
  int64_t plans;          /* Made, not found. */
  int64_t compilations;
  int64_t hits;           /* Kernels that were found in the user's folder, */
  int64_t read_only_hits; /* in folders that are only read, */
  int64_t store_hits;     /* with the host, */
  int64_t misses;         /* or nowhere. */
  int64_t faults;         /* Kept kernels that were damaged or foreign, and files that failed. Each was a miss. */
} tegula_counters;

tegula_status tegula_context_counters(const tegula_context *context, tegula_counters *counters, tegula_error **error);

/*===-- Attention -------------------------------------------------------------------------------------------------===*/

enum { TEGULA_F32 = 0, TEGULA_F16 = 1, TEGULA_BF16 = 2, TEGULA_I64 = 3, TEGULA_I32 = 4, TEGULA_I8 = 5 };

/* Which keys a query sees: all, or those up to its own position, counted from the first or from the last query. */
enum { TEGULA_CAUSAL_NONE = 0, TEGULA_CAUSAL_TOP_LEFT = 1, TEGULA_CAUSAL_BOTTOM_RIGHT = 2 };

/* Variants, applied in this order; together where they are or-ed. The tensors that they read are passed with each
 * call, in this order too. The diagonal is that of the causal mask, if there is one. */
enum {
  TEGULA_WINDOW = 1,    /* Keys from diagonal - window_left to diagonal + window_right. */
  TEGULA_SOFTCAP = 2,   /* score -> softcap * tanh(score / softcap) */
  TEGULA_ALIBI = 4,     /* score -> score - slopes[head] * |diagonal - key|; slopes: f32 [heads] */
  TEGULA_PREFIX_LM = 8, /* Keys up to the diagonal or before prefix_length[batch]; prefix_length: i32 [batch] */
  /* Keys of the query's document. key_begin, key_end: i32 [batch, seqlen_q], its first key and one past its last;
   * query_begin, query_end: i32 [batch, seqlen_k], the queries of a key's document. None decreases along a sequence. */
  TEGULA_DOCUMENTS = 16,
  TEGULA_BIAS = 32      /* score + bias[batch, head, query, key], of `dtype`; its gradient is f32 and is added to */
};

/* What is computed. Everything else is known at each call: no shape, stride or scale compiles anything. */
typedef struct tegula_attention_problem {
  uint32_t struct_size;
  int32_t dtype;        /* Of q, k, v, o and their gradients: TEGULA_F32, _F16 or _BF16. */
  int32_t head_dim;     /* Of q and k: a multiple of 8 up to 256. */
  int32_t value_dim;    /* Of v and o; 0: head_dim. */
  int32_t causal;       /* TEGULA_CAUSAL_... */
  int32_t backward;     /* Not 0: the backward pass, too. */
  int32_t variants;   /* TEGULA_WINDOW | ... */
  /* The diagonal of TEGULA_WINDOW, _ALIBI and _PREFIX_LM. With TEGULA_CAUSAL_NONE, 0 counts from the first query, and
   * all else from the last one. A causal mask decides: beside TEGULA_CAUSAL_BOTTOM_RIGHT both mean the last query, and
   * beside TEGULA_CAUSAL_TOP_LEFT it must be 0. */
  int32_t bottom_right;
  int64_t window_left, window_right;
  double softcap;
  /* About how long sequences will be; 0: 4096. Kernels are chosen for that and compute all lengths. Each power of two has a
   * plan of its own, and kernels where others are faster. */
  int64_t seqlen_q, seqlen_k;
  int32_t lse_gradient; /* Not 0: the backward pass takes d_lse, for losses that depend on lse. Needs `backward`. */
  /* Not 0: NaN and infinities in rows of q, k, v and d_o reach only results that see the row. It costs time on a GPU. On
   * the cpu it always holds. */
  int32_t contain_nonfinite;
} tegula_attention_problem;

/* Element (i, j, ...) lies at data + (i * strides[0] + j * strides[1] + ...) elements. */
typedef struct tegula_tensor {
  void *data;
  int32_t dtype;
  int32_t rank;
  int64_t shape[5];
  int64_t strides[5];
} tegula_tensor;

/* q, dq [batch, heads, seqlen_q, head_dim]      o, d_o [batch, heads, seqlen_q, value_dim]
 * k, dk [batch, kv_heads, seqlen_k, head_dim]   lse    [batch, heads, seqlen_q], f32, natural logarithm
 * v, dv [batch, kv_heads, seqlen_k, value_dim]  heads is a multiple of kv_heads. */
typedef struct tegula_forward_args {
  uint32_t struct_size;
  float scale;                     /* Factor on the scores; 0: 1 / sqrt(head_dim). */
  tegula_tensor q, k, v;
  tegula_tensor o, lse;            /* Written. */
  const tegula_tensor *variant_tensors;  /* The tensors that the variants read. */
  size_t variant_tensor_count;
  void *workspace;                 /* 64-byte aligned memory of the device, not used by another call meanwhile. */
  int64_t workspace_bytes;
  void *stream;                    /* CUstream or cudaStream_t; NULL on the cpu, which works inside the call. */
} tegula_forward_args;

/* The gradients of sum(o * d_o) + sum(lse * d_lse), where o and lse are what the forward pass wrote, and rows that see no
 * key count for nothing, whatever their d_lse is. */
typedef struct tegula_backward_args {
  uint32_t struct_size;
  float scale;              /* As in the forward call. */
  tegula_tensor q, k, v, o, lse, d_o;
  tegula_tensor dq, dk, dv; /* Written. */
  const tegula_tensor *variant_tensors;
  size_t variant_tensor_count;
  const tegula_tensor *variant_gradients; /* f32, added to; one for the bias, if there is one. */
  size_t variant_gradient_count;
  void *workspace;
  int64_t workspace_bytes;
  void *stream;
  tegula_tensor d_lse;      /* f32, shaped like lse, if the problem has lse_gradient; else all 0. */
} tegula_backward_args;

/* TEGULA_OK, or TEGULA_UNSUPPORTED or TEGULA_INVALID_ARGUMENT with the reason. Compiles nothing. */
tegula_status tegula_supports(tegula_context *context, const tegula_attention_problem *problem, tegula_error **error);

/* One call for the common case: finds the plan of the problem, or makes it as the policy allows, and launches. If
 * `workspace` is NULL and one is needed, it comes from the hooks; without them the cpu allocates it itself, and a GPU
 * answers TEGULA_INVALID_ARGUMENT with the number of bytes. */
tegula_status tegula_attention_forward(tegula_context *context, const tegula_attention_problem *problem,
                                       const tegula_forward_args *args, tegula_error **error);
tegula_status tegula_attention_backward(tegula_context *context, const tegula_attention_problem *problem,
                                        const tegula_backward_args *args, tegula_error **error);

/*===-- Plans -----------------------------------------------------------------------------------------------------===*/

/* The loaded kernels of one problem. Immutable; a launch neither compiles nor waits nor allocates on the device, and may
 * be captured into a CUDA graph. */
typedef struct tegula_plan tegula_plan;

/* Finds the plan of the problem, or makes it as the policy allows. */
tegula_status tegula_plan_create(tegula_context *context, const tegula_attention_problem *problem, tegula_plan **plan,
                                 tegula_error **error);
void tegula_plan_destroy(tegula_plan *plan);

typedef struct tegula_attention_shape {
  uint32_t struct_size;
  uint32_t reserved;
  int64_t batch, heads, kv_heads, seqlen_q, seqlen_k;
} tegula_attention_shape;

/* Bytes of workspace that a launch needs; often 0. Either pointer may be NULL. */
tegula_status tegula_plan_workspace(const tegula_plan *plan, const tegula_attention_shape *shape,
                                    int64_t *forward_bytes, int64_t *backward_bytes, tegula_error **error);

tegula_status tegula_plan_forward(const tegula_plan *plan, const tegula_forward_args *args, tegula_error **error);
tegula_status tegula_plan_backward(const tegula_plan *plan, const tegula_backward_args *args, tegula_error **error);

#ifdef __cplusplus
}
#endif
#endif
