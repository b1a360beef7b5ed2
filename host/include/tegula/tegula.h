/* SPDX-License-Identifier: MIT */
/* Tegula for hosts, in C: attention forward and backward, and kernels of any program, on the cores of this process or
 * on a GPU.
 *
 * Every call that can fail returns a tegula_status. If it is not TEGULA_OK and `error` is not NULL, *error gets a
 * message, which tegula_error_free frees. A call that failed has changed nothing. No call throws, aborts, prints, or
 * changes a signal handler, the current CUDA context, the locale or the working directory. Any thread may make any
 * call; threads may share contexts and plans.
 *
 * Limits: sizes of tensors and counts of a grid are below 2^31, because positions in a kernel have 32 bits. Attention
 * takes at most 2^30 - 1024 queries and keys. A kernel has at most 64 parameters, and its program text at most 4 MiB. On
 * a GPU a grid has at most 65,535 instances along y and z; attention has its batch and its heads there. Limits of fields
 * are with the fields. A call that exceeds a limit fails, and its message names the limit.
 *
 * Structures begin with their size, so that old hosts work with new libraries: initialise them with
 *   tegula_attention_problem problem = {.struct_size = sizeof problem};
 * and set the fields that matter; 0 is the default everywhere. They grow at their end only. Structures that lie in
 * arrays (tegula_tensor, tegula_argument, tegula_size, tegula_plan_step, tegula_key_set) have no size and never change.
 */
#ifndef TEGULA_TEGULA_H
#define TEGULA_TEGULA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the binary interface. It changes if a program that was compiled for one value does not work with
 * another. */
#define TEGULA_ABI_VERSION 2
/* Returns TEGULA_ABI_VERSION of the library. */
uint32_t tegula_abi_version(void);
/* Returns the version of the library, such as "0.1.0". */
const char *tegula_version(void);

/*===-- Errors ----------------------------------------------------------------------------------------------------===*/

typedef int32_t tegula_status;
enum {
  TEGULA_OK = 0,
  TEGULA_INVALID_ARGUMENT = 1,   /* The message names the argument, its value and what is legal. */
  TEGULA_INVALID_PROGRAM = 2,
  TEGULA_UNSUPPORTED = 3,        /* The message names the nearest problem that is supported. */
  TEGULA_NEEDS_COMPILE = 4,      /* The policy forbids compiling; the message names the kernel. */
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

/* The most that a call may do to get a kernel. */
enum {
  TEGULA_COMPILE = 0,   /* Load the kernel, or compile it if it is not kept. */
  TEGULA_LOAD_ONLY = 1, /* Load a kernel that is kept; compile nothing. */
  TEGULA_LOADED_ONLY = 2 /* Use a kernel that is loaded already; load nothing. */
};

/* The search for the first element that is not finite. */
enum {
  TEGULA_FINITE_UNCHECKED = 0,
  TEGULA_FINITE_NAN = 1, /* NaN */
  TEGULA_FINITE_INF = 2  /* NaN, and infinities that arithmetic makes from finite numbers */
};

/* One compilation, for hosts that observe them. */
typedef struct tegula_compilation {
  uint32_t struct_size;
  int32_t finished;     /* 0 when it begins. */
  const char *target;   /* "cuda" */
  const char *schedule; /* "block_m=128 block_n=64 num_warps=4"; once it has succeeded, with the compiler's choices. */
  tegula_status status; /* Valid once it is finished, as are the fields below. */
  const char *message;  /* The error, or "". */
  double milliseconds;
  const char *kernel; /* "flash2_forward", or "" if there is an error. */
} tegula_compilation;

/* Functions of the host. Each may be NULL. The library calls them from threads that call the library, never from its
 * own threads. They must not throw. Each gets `user`. */
typedef struct tegula_hooks {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */
  void *user;
  void (*compilation)(void *user, const tegula_compilation *compilation);
  /* Runs task(data) once, immediately or later, on any thread that does not itself wait for this library. The kernels
   * of a plan are then compiled at the same time. */
  void (*submit)(void *user, void (*task)(void *data), void *data);
  /* Memory of the device for workspaces, 64-byte aligned. allocate() returns NULL if there is none. release() is called
   * while the stream may still use the memory, and frees it in the stream's order. */
  void *(*allocate)(void *user, int64_t bytes, void *stream);
  void (*release)(void *user, void *memory, int64_t bytes, void *stream);
  /* Compiled kernels by key, for hosts that keep the bytes themselves. load() passes the bytes that save() was given to
   * receive(), or does nothing. */
  void (*load)(void *user, const char *key, void (*receive)(void *to, const void *bytes, size_t size), void *to);
  void (*save)(void *user, const char *key, const void *bytes, size_t size);
  /* Gets what kernels print, in whole lines. A launch that prints waits. NULL: print() has no effect. */
  void (*print)(void *user, const char *text);
} tegula_hooks;

typedef struct tegula_context_options {
  uint32_t struct_size;
  int32_t device;                       /* TEGULA_CPU or TEGULA_CUDA */
  int32_t ordinal;                      /* Index of the GPU. */
  int32_t threads;                      /* Threads of the cpu, up to 1024; 0: one for each core. */
  int32_t policy;                       /* TEGULA_COMPILE, ... */
  int32_t workers;                      /* Compilations at a time; 0: 2. */
  const char *cache_directory;          /* NULL: `kernels` in the user's cache directory; "": none. */
  int64_t cache_limit_bytes;            /* 0: 1 GiB. */
  const char *const *read_only;         /* Directories with compiled kernels that are only read, such as bundles. */
  size_t read_only_count;
  const char *compiler;                 /* Path of tegula-cc; NULL: found next to the library. */
  int64_t compile_time_limit_ms;        /* 0: 120,000. */
  int64_t compile_memory_bytes;         /* 0: 4 GiB. */
  const char *reproducer_directory;     /* NULL: `reproducers` in the user's cache directory. */
  const char *schedule_directory;       /* Tuning results; NULL: `schedules` in the user's cache directory; "": none. */
  const tegula_hooks *hooks;            /* NULL: none. Copied. */
  /* TEGULA_FINITE_...: kernels are slow, each launch waits, and TEGULA_LAUNCH_FAILED names the line of the program and
   * the element that is the first one not finite. */
  int32_t check_finite;
  /* Not 0: TEGULA_LAUNCH_FAILED names the first deviceAssert() of a kernel whose condition is false. Decoding asserts that
   * lengths and the pages that sequences need exist, and tegula_plan_create_packed that offsets do not decrease, and do
   * not end after the tensors. Kernels with assertions are slow, and each launch waits. */
  int32_t device_asserts;
} tegula_context_options;

/* Makes a context. `options` may be NULL. Starts no thread and no process. */
tegula_status tegula_context_create(const tegula_context_options *options, tegula_context **context,
                                    tegula_error **error);
/* Destroys a context. Plans that were made with it stay valid. */
void tegula_context_destroy(tegula_context *context);

/* Sets the policy of later calls. */
tegula_status tegula_context_set_policy(tegula_context *context, int32_t policy, tegula_error **error);

/* Counts of what a context has done so far. */
typedef struct tegula_counters {
  uint32_t struct_size;
  uint32_t reserved;
  int64_t plans;          /* Plans that were made, not found. */
  int64_t compilations;
  int64_t hits;           /* Kernels that were found in the user's directory, */
  int64_t read_only_hits; /* in directories that are only read, */
  int64_t store_hits;     /* with the host, */
  int64_t misses;         /* or nowhere. */
  int64_t faults;         /* Kept kernels that were damaged or foreign, and files that failed. Each was a miss. */
} tegula_counters;

tegula_status tegula_context_counters(const tegula_context *context, tegula_counters *counters, tegula_error **error);

/*===-- Attention -------------------------------------------------------------------------------------------------===*/

/* E4M3 is the type float8_e4m3fn of PyTorch and JAX. */
enum {
  TEGULA_F32 = 0,
  TEGULA_F16 = 1,
  TEGULA_BF16 = 2,
  TEGULA_I64 = 3,
  TEGULA_I32 = 4,
  TEGULA_I8 = 5,
  TEGULA_E4M3 = 6
};

/* The keys that a query sees: all, or keys up to its own position, counted from the first or from the last query. */
enum { TEGULA_CAUSAL_NONE = 0, TEGULA_CAUSAL_TOP_LEFT = 1, TEGULA_CAUSAL_BOTTOM_RIGHT = 2 };

/* Variants, applied in this order. Values that are or-ed apply together. Each call passes the tensors that they read,
 * in this order too. The diagonal is the causal mask's, if there is one. */
enum {
  /* Keys from diagonal - window_left to diagonal + window_right; both from 0 to 2^30, or TEGULA_NO_BOUND. */
  TEGULA_WINDOW = 1,
  TEGULA_SOFTCAP = 2,   /* score -> softcap * tanh(score / softcap), with a softcap from 1e-30 to 1e30. */
  TEGULA_ALIBI = 4,     /* score -> score - slopes[head] * |diagonal - key|; slopes: f32 [heads] */
  TEGULA_PREFIX_LM = 8, /* Keys up to the diagonal or before prefix_length[batch]; prefix_length: i32 [batch] */
  /* Keys of the query's document. key_begin, key_end: i32 [batch, seqlen_q], its first key and one past its last;
   * query_begin, query_end: i32 [batch, seqlen_k], the queries of a key's document. None decreases along a sequence. */
  TEGULA_DOCUMENTS = 16,
  /* score + bias[batch, head, query, key]. `bias` has the problem's dtype, or f32 with `bias_f32`, and repeats to
   * [batch, heads, seqlen_q, seqlen_k]: first dimensions may be missing, and sizes may be 1. Its gradient, dbias, is
   * f32 [batch, heads, seqlen_q, seqlen_k] and is added to. */
  TEGULA_BIAS = 32,
  /* Keys where mask[batch, head, query, key] is not 0. `mask` has type TEGULA_I8, such as the bytes of a boolean
   * tensor, and repeats to [batch, heads, seqlen_q, seqlen_k] as a bias does. Its last size may be less than seqlen_k:
   * keys beyond are hidden. A last size of 1 counts for all keys. */
  TEGULA_MASK = 64,
  /* As TEGULA_WINDOW, with bounds that each call gives: window_left, window_right: i32 [batch], or [1] for all batch
   * entries. Negative numbers are no bound. No bound compiles anything. */
  TEGULA_GIVEN_WINDOW = 128,
  /* Keys interval_begin[batch, query] to interval_end[batch, query] - 1, as TEGULA_DOCUMENTS has them, but without
   * bounds of keys. Both are i32 and repeat to [batch, seqlen_q] as a bias does: [batch, 1] has the lengths of padded
   * sequences. None decreases along a sequence. The backward pass skips nothing by it. */
  TEGULA_KEY_INTERVALS = 256,
  /* Of tegula_key_set only. Keys 0 to global_tokens - 1; all keys for queries whose diagonal is below global_tokens. */
  TEGULA_GLOBAL_TOKENS = 512,
  /* As TEGULA_DOCUMENTS, for sequences that lie one after another in each batch entry. Two more tensors follow,
   * query_offsets and key_offsets: i32 [sequences + 1], the first position of each sequence and the end of the last one
   * (cu_seqlens). Kernels begin their blocks where long sequences begin, and begin with the longest ones. */
  TEGULA_SEQUENCES = 1024,
  /* As TEGULA_KEY_INTERVALS, for queries of sequences that lie one after another in each batch entry. A third tensor
   * follows, query_offsets: i32 [sequences + 1], as in TEGULA_SEQUENCES. Blocks of queries begin where long sequences
   * begin, and those of the longest sequences start first. A problem with `backward` is refused. */
  TEGULA_PACKED_QUERIES = 2048
};

/* The value of window_left or window_right if a window has no bound on this side. */
enum { TEGULA_NO_BOUND = -1 };

/* A set of keys: those that all of its variants let a query see. */
typedef struct tegula_key_set {
  /* TEGULA_WINDOW | _PREFIX_LM | _DOCUMENTS | _GIVEN_WINDOW | _KEY_INTERVALS | _GLOBAL_TOKENS; 0: not a set. */
  int32_t variants;
  int32_t reserved;                  /* 0 */
  int64_t window_left, window_right; /* Of TEGULA_WINDOW: 0 to 2^30, or TEGULA_NO_BOUND. */
  int64_t global_tokens;             /* Of TEGULA_GLOBAL_TOKENS: 0 to 2^30. */
} tegula_key_set;

/* The tiles of scores that kernels need not visit, besides those that the causal mask, the window and the documents
 * hide. COMPUTED: a kernel evaluates all conditions, and lists the tiles in which scores exist. GIVEN: each call brings
 * lists of blocks, as FlexAttention's BlockMask has them. A score then exists if its block is listed as full, or as
 * partial while TEGULA_MASK and the mask of `variant_text` let it exist. Everything else that hides keys holds in both. */
enum { TEGULA_BLOCK_MASK_NONE = 0, TEGULA_BLOCK_MASK_COMPUTED = 1, TEGULA_BLOCK_MASK_GIVEN = 2 };

/* What a forward pass may write besides o and lse, for debugging and for losses that look at it. PRODUCTS: scale * q k^T,
 * also where a score does not exist. SCORES: what the variants make of them; -inf where a score does not exist.
 * PROBABILITIES: exp(score - lse), before `probability` of `variant_text`; 0 where a score does not exist. What dropout
 * drops is negated, and then -0 if it is 0. */
enum { TEGULA_SCORES_NONE = 0, TEGULA_SCORES_PRODUCTS = 1, TEGULA_SCORES_SCORES = 2, TEGULA_SCORES_PROBABILITIES = 3 };

/* The computation of a plan. Everything else belongs to each call: no shape, stride or scale compiles anything. */
typedef struct tegula_attention_problem {
  uint32_t struct_size;
  int32_t dtype;        /* Type of q, k, v, o and their gradients: TEGULA_F32, _F16 or _BF16. */
  int32_t head_dim;     /* Head dimension of q and k, 1 to 576. */
  int32_t value_dim;    /* Head dimension of v and o; 0: head_dim. */
  int32_t causal;       /* TEGULA_CAUSAL_... */
  int32_t backward;     /* Not 0: the plan also has the backward pass. */
  int32_t variants;     /* TEGULA_WINDOW | ... */
  /* The diagonal of TEGULA_WINDOW, _GIVEN_WINDOW, _ALIBI, _PREFIX_LM and _GLOBAL_TOKENS. With TEGULA_CAUSAL_NONE, 0
   * counts from the first query, and any other value from the last one. A causal mask decides itself: with
   * TEGULA_CAUSAL_BOTTOM_RIGHT all values mean the last query, and with TEGULA_CAUSAL_TOP_LEFT the value must be 0. */
  int32_t bottom_right;
  int64_t window_left, window_right; /* Of TEGULA_WINDOW: 0 to 2^30, or TEGULA_NO_BOUND. */
  double softcap;                    /* Of TEGULA_SOFTCAP: 1e-30 to 1e30. */
  /* Approximate lengths of the sequences, up to 2^40; 0: 4096. Kernels are chosen for these lengths, and compute all
   * lengths. Each power of two has its own plan, and its own kernels if others are faster. */
  int64_t seqlen_q, seqlen_k;
  int32_t lse_gradient; /* Not 0: the backward pass takes d_lse, for losses that depend on lse. Needs `backward`. */
  /* Not 0: NaN and infinities in rows of q, k, v and d_o reach only results that see the row. It costs time on a GPU.
   * The cpu always guarantees it. */
  int32_t contain_nonfinite;
  /* Not 0: two calls of the backward pass on the same device with the same arguments write the same bits. It costs
   * time. The forward pass always does so. */
  int32_t deterministic;
  int32_t block_mask; /* TEGULA_BLOCK_MASK_... */
  /* Of TEGULA_BLOCK_MASK_GIVEN. Not 0: entries of the batch, or query heads, have lists of their own. */
  int32_t block_mask_per_batch, block_mask_per_head;
  int32_t block_q, block_k; /* Queries and keys of a block; 0: 128. Multiples of a kernel's tile take less time. */
  /* The probability of dropping an element of softmax(S), from 0 on, below 1. The probability of keeping is rounded to a
   * multiple of 1/256. Both passes drop the same elements, which dropout_state decides. */
  double dropout_p;
  int32_t sinks; /* Not 0: each query head has an attention sink (tegula_forward_args). */
  int32_t bias_f32; /* Not 0: the bias of TEGULA_BIAS is f32, whatever `dtype` is. */
  /* Not 0: each call gives diagonal_offset, which is added to the diagonal of the causal mask and of the variants. A
   * new length of the past then compiles nothing. Needs a causal mask or a variant with a diagonal. */
  int32_t diagonal_offset;
  int32_t constant_bias; /* Not 0: the backward pass takes the bias as constant, and computes no dbias. */
  /* A union: a query sees only keys of at least one set. The causal mask and `variants` hold too. Without sets there is
   * no such limit. TEGULA_GLOBAL_TOKENS takes the room of two sets, of which there are four. A variant that reads
   * tensors appears once, in `variants` or in a set. The tensors of the sets follow those of `variants`. Kernels skip
   * tiles in which no set has keys. */
  tegula_key_set any_of[4];
  /* Not 0: scores are scale * (q k^T + q_added k_added^T), as with the rotary part of multi-head latent attention. It is
   * the last dimension of both; head_dim + product_dim is at most 576. q_added: [batch, heads,
   * seqlen_q, product_dim]; k_added: [batch, kv_heads, seqlen_k, product_dim], or 1 for kv_heads; of type `dtype`. They
   * are the last two of variant_tensors, and the f32 tensors dq_added and dk_added, which do not repeat, are the last two
   * of variant_gradients. */
  int32_t product_dim;
  int32_t constant_product; /* Not 0: the backward pass takes q_added and k_added as constant. */
  /* NULL, or the score, probability and mask functions of a variant of your own, as text (docs/kernels.md). They apply after
   * `variants`, and their tensors follow those of `variants` and `any_of`. The mask skips tiles only with `block_mask`.
   * The text is needed during the call only. */
  const char *variant_text;
  int32_t scores_output; /* TEGULA_SCORES_NONE, or what the forward pass writes to `scores`. */
  /* Not 0: k and v are pages with this number of rows, k [pages, kv_heads, page_size, head_dim] and v [pages, kv_heads,
   * page_size, value_dim]. All entries of the batch share one row of keys: key j is row j % page_size of page
   * page_table[j / page_size] (tegula_forward_args), and seqlen_k is the number of entries times page_size. With
   * TEGULA_PACKED_QUERIES each query sees the keys of its sequence (tegula_plan_create_packed_pages). Forward only,
   * without block_mask, product_dim and scores_output. */
  int32_t page_size;
  /* NULL, or fields of the schedules of all kernels, such as "block_m=128 block_n=64"; the other fields are chosen
   * (docs/kernels.md). The text is needed during the call only. */
  const char *schedule;
} tegula_attention_problem;

/* Element (i, j, ...) lies at data + (i * strides[0] + j * strides[1] + ...) elements. */
typedef struct tegula_tensor {
  void *data;
  int32_t dtype;
  int32_t rank;
  int64_t shape[5];
  int64_t strides[5];
} tegula_tensor;

/* The lists of TEGULA_BLOCK_MASK_GIVEN: for each row of blocks, which blocks of keys it has. The names are those of
 * FlexAttention. batch and heads are 1 unless block_mask_per_batch or _per_head. rows are ceil(seqlen_q / block_q). What
 * comes after the count of a row, and what names no block, is ignored. Without full blocks, the full lists are all 0. */
typedef struct tegula_block_mask {
  tegula_tensor kv_num_blocks;      /* i32 [batch, heads, rows] */
  tegula_tensor kv_indices;         /* i32 [batch, heads, rows, any] */
  tegula_tensor full_kv_num_blocks; /* i32 [batch, heads, rows] */
  tegula_tensor full_kv_indices;    /* i32 [batch, heads, rows, any] */
} tegula_block_mask;

/* The tensors of a call. A tensor that is written shares no memory with another one, nor with the workspace.
 *
 * q, dq [batch, heads, seqlen_q, head_dim]      o, d_o [batch, heads, seqlen_q, value_dim]
 * k, dk [batch, kv_heads, seqlen_k, head_dim]   lse    [batch, heads, seqlen_q], f32, natural logarithm
 * v, dv [batch, kv_heads, seqlen_k, value_dim]  heads is a multiple of kv_heads. */
typedef struct tegula_forward_args {
  uint32_t struct_size;
  float scale;                     /* Factor on the scores, finite; 0: 1 / sqrt(head_dim). */
  tegula_tensor q, k, v;
  tegula_tensor o, lse;            /* Written. */
  const tegula_tensor *variant_tensors;  /* The tensors that the variants read. */
  size_t variant_tensor_count;
  void *workspace;                 /* 64-byte aligned memory of the device that no other call uses meanwhile. */
  int64_t workspace_bytes;
  void *stream;                    /* CUstream or cudaStream_t; NULL on the cpu, which works inside the call. */
  const tegula_block_mask *blocks; /* The given blocks; NULL if there are none, or if `lists` is not NULL. */
  void *lists;                     /* What tegula_plan_make_lists wrote for this shape. NULL: made in the workspace. */
  int64_t lists_bytes;
  tegula_tensor dropout_state;     /* i64 [2]: seed and offset, if the problem has dropout_p; otherwise all 0. */
  /* f32 [heads], if the problem has sinks; otherwise all 0. A sink t is a logit in the denominator of each row:
   *
   * o = sum_j exp(s_j) v_j / (exp(t) + sum_j exp(s_j))    lse = log(exp(t) + sum_j exp(s_j))
   *
   * -inf is no sink. +inf and NaN make o and lse of the head NaN. A row that sees no key gives o = 0 and lse = t. */
  tegula_tensor sinks;
  /* If the problem has diagonal_offset, i32 [batch], or [1] for all batch entries; otherwise all 0. Query i counts from
   * key i + diagonal_offset[batch], plus seqlen_k - seqlen_q if the diagonal is the last query's. This key must lie
   * from -(2^30 - 1024) to 2^30 - 1024; an offset that leads beyond counts as the nearest one that does not. */
  tegula_tensor diagonal_offset;
  /* f32 [batch, heads, seqlen_q, seqlen_k], written, if the problem has scores_output; otherwise all 0. */
  tegula_tensor scores;
  /* If the problem has page_size, i32 [entries] each, otherwise all 0: the page of each page_size keys, and how many of
   * these exist, as the first rows of the page. A page that k or v does not have, such as -1, has no rows. What does not
   * exist is not read: it is 0, for a query that sees it. */
  tegula_tensor page_table, page_lengths;
} tegula_forward_args;

/* Arguments of the backward pass, which computes the gradients of sum(o * d_o) + sum(lse * d_lse). The forward pass
 * wrote o and lse. Rows that see no key count for nothing, whatever their d_lse is, except for d_sinks. */
typedef struct tegula_backward_args {
  uint32_t struct_size;
  float scale;              /* As in the forward call. */
  tegula_tensor q, k, v, o, lse, d_o;
  tegula_tensor dq, dk, dv; /* Written. */
  const tegula_tensor *variant_tensors;
  size_t variant_tensor_count;
  const tegula_tensor *variant_gradients; /* f32, added to: the bias's, then variant_text's. */
  size_t variant_gradient_count;
  void *workspace;
  int64_t workspace_bytes;
  void *stream;
  tegula_tensor d_lse;      /* f32, shaped like lse, if the problem has lse_gradient; otherwise all 0. */
  const tegula_block_mask *blocks; /* As in the forward call. */
  void *lists;
  int64_t lists_bytes;
  tegula_tensor dropout_state; /* As in the forward call, with the same numbers. */
  tegula_tensor sinks;         /* As in the forward call. */
  tegula_tensor d_sinks;       /* f32 [heads], written, if the problem has sinks; otherwise all 0. */
  tegula_tensor diagonal_offset; /* The same. */
} tegula_backward_args;

/* Returns TEGULA_OK, or TEGULA_UNSUPPORTED or TEGULA_INVALID_ARGUMENT with the reason. Compiles nothing. */
tegula_status tegula_supports(tegula_context *context, const tegula_attention_problem *problem, tegula_error **error);

/* Finds the plan of the problem, or makes it as the policy allows, and launches it: one call for the common case. If
 * `workspace` is NULL and one is needed, it comes from the hooks. Without them the cpu allocates it itself, and a GPU
 * returns TEGULA_INVALID_ARGUMENT with the number of bytes. */
tegula_status tegula_attention_forward(tegula_context *context, const tegula_attention_problem *problem,
                                       const tegula_forward_args *args, tegula_error **error);
tegula_status tegula_attention_backward(tegula_context *context, const tegula_attention_problem *problem,
                                        const tegula_backward_args *args, tegula_error **error);

/*===-- Plans -----------------------------------------------------------------------------------------------------===*/

/* The loaded kernels of one problem. A plan is immutable. A launch neither compiles nor waits nor allocates on the
 * device, and may be captured into a CUDA graph. */
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

/* Computes the bytes of workspace that a launch needs; often 0. Either pointer may be NULL. For plans of
 * tegula_plan_create. */
tegula_status tegula_plan_workspace(const tegula_plan *plan, const tegula_attention_shape *shape,
                                    int64_t *forward_bytes, int64_t *backward_bytes, tegula_error **error);

/* Computes the bytes of the lists of a block mask, and of the workspace that tegula_plan_make_lists needs. Both are 0
 * without a block mask. Either pointer may be NULL. For plans of tegula_plan_create. */
tegula_status tegula_plan_lists(const tegula_plan *plan, const tegula_attention_shape *shape, int64_t *lists_bytes,
                                int64_t *workspace_bytes, tegula_error **error);

typedef struct tegula_lists_args {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */
  tegula_attention_shape shape;
  const tegula_tensor *variant_tensors; /* The tensors that the variants read. */
  size_t variant_tensor_count;
  const tegula_block_mask *blocks; /* The given blocks; NULL if there are none. */
  void *lists;                     /* 64-byte aligned memory of the device, which is written. */
  int64_t lists_bytes;
  void *workspace; /* As in a call. */
  int64_t workspace_bytes;
  void *stream;
  tegula_tensor diagonal_offset; /* As in a call. */
} tegula_lists_args;

/* Makes the lists of a block mask once for many calls of this shape, with the same contents of the variants' tensors
 * and the same blocks. The lists must not change while a call reads them: it may then hang. */
tegula_status tegula_plan_make_lists(const tegula_plan *plan, const tegula_lists_args *args, tegula_error **error);

/* For plans of tegula_plan_create. */
tegula_status tegula_plan_forward(const tegula_plan *plan, const tegula_forward_args *args, tegula_error **error);
tegula_status tegula_plan_backward(const tegula_plan *plan, const tegula_backward_args *args, tegula_error **error);

/*===-- Kernels of any program ------------------------------------------------------------------------------------===*/

/* The loaded kernel of a program. Immutable: any number of threads may launch it. Keep it until its launches have
 * finished. */
typedef struct tegula_kernel tegula_kernel;

enum { TEGULA_TENSOR = 0, TEGULA_SCALAR_F32 = 1, TEGULA_SCALAR_I32 = 2, TEGULA_SCALAR_I64 = 3 };

/* An argument of a launch. Scalars are never converted: a parameter of type f32 needs TEGULA_SCALAR_F32. */
typedef struct tegula_argument {
  int32_t kind; /* TEGULA_TENSOR, ... */
  int32_t reserved;
  union {
    const tegula_tensor *tensor;
    float f32;
    int32_t i32;
    int64_t i64;
  } value;
} tegula_argument;

/* A parameter of a kernel, or an argument of a plan. */
typedef struct tegula_parameter {
  uint32_t struct_size;
  int32_t kind;    /* TEGULA_TENSOR, ... */
  int32_t dtype;   /* TEGULA_F32, ... */
  int32_t rank;    /* 0 for a scalar. */
  int32_t written; /* Not 0: a tensor that kernels store or add to. */
  int32_t reserved;
  const char *name; /* Lives as long as the kernel or the plan. */
} tegula_parameter;

/* Finds the kernel of a program's text, or compiles and loads it as the policy of the context allows. The text is what
 * record() of the language gives, from a file or from Python; `schedule` is a line such as "num_warps=4", or NULL for
 * the compiler's choice. */
tegula_status tegula_kernel_create(tegula_context *context, const char *text, size_t text_size, const char *schedule,
                                   tegula_kernel **kernel, tegula_error **error);
void tegula_kernel_destroy(tegula_kernel *kernel);

size_t tegula_kernel_parameter_count(const tegula_kernel *kernel);
tegula_status tegula_kernel_parameter(const tegula_kernel *kernel, size_t index, tegula_parameter *parameter,
                                      tegula_error **error);
/* Returns the number of program instances that the device runs at the same time. */
int64_t tegula_kernel_concurrency(const tegula_kernel *kernel);

/* Runs each instance of the grid once, with arguments in the order of the parameters. Checks them first; if it fails,
 * nothing has run. Neither compiles nor waits nor allocates on the device, and may be captured into a CUDA graph. On
 * the cpu the work is done when it returns. */
tegula_status tegula_kernel_launch(const tegula_kernel *kernel, const int64_t grid[3], const tegula_argument *arguments,
                                   size_t argument_count, void *stream, tegula_error **error);

/*===-- Plans of any kernels --------------------------------------------------------------------------------------===*/

/* One kernel of a plan. Sizes are expressions of names, as "ceildiv(m, 64) * heads". */
typedef struct tegula_plan_step {
  const char *text;
  size_t text_size;
  const char *schedule; /* As in tegula_kernel_create. */
  const char *grid;     /* One to three sizes with commas. `concurrency` is that of the kernel. */
  const char *when;     /* The kernel runs if this is not 0, as "splits > 1"; NULL: always. */
} tegula_plan_step;

/* Kernels that run one after another. They share tensors and scalars by name. */
typedef struct tegula_plan_description {
  uint32_t struct_size;
  uint32_t step_count;
  const tegula_plan_step *steps;
  /* Each tensor of the programs once, with its shape: "a[m, k]" is the caller's, "workspace part[m, splits]" the
   * plan's, and "zeroed sums[m]" the plan's and 0 when the first kernel starts. A dimension that is a plain name gives
   * this size its value at each launch; all others are checked. */
  const char *const *tensors;
  size_t tensor_count;
  /* Sizes that a launch may give, and their values otherwise: "splits = ceildiv(n, 256)". May be NULL. */
  const char *const *choices;
  size_t choice_count;
  /* How many kernels, from the first one on, tegula_plan_prepare runs. They write no tensor of the caller, and no other
   * kernel writes their tensors of the workspace. */
  size_t preparation_count;
} tegula_plan_description;

/* Compiles or loads the kernels, as the policy allows, and makes their plan. Checks that the programs agree with the
 * description. Keeps none of its strings. */
tegula_status tegula_plan_create_from_kernels(tegula_context *context, const tegula_plan_description *description,
                                              tegula_plan **plan, tegula_error **error);

/* A merge of partial results of attention, whose keys are disjoint, by their lse. */
typedef struct tegula_merge_problem {
  uint32_t struct_size;
  int32_t dtype;        /* Type of o, the parts' o and their gradients: TEGULA_F32, _F16 or _BF16. */
  int32_t value_dim;    /* 1 to 576. */
  int32_t backward;     /* Not 0: the plan computes the gradients of the parts, and does not merge. */
  int32_t lse_gradient; /* Not 0: the backward plan takes d_lse. */
  int32_t reserved;     /* 0 */
} tegula_merge_problem;

/* Makes a plan for tegula_plan_launch, which needs no workspace. Its arguments are tensors, in this order:
 *
 *   o_parts     [parts, batch, heads, seqlen_q, value_dim]
 *   lse_parts   f32 [parts, batch, heads, seqlen_q]
 *   o           [batch, heads, seqlen_q, value_dim]   written, and read by the backward plan
 *   lse         f32 [batch, heads, seqlen_q]          the same
 *
 * lse = log(sum_i exp(lse_i)), and o = sum_i exp(lse_i - lse) o_i. A part with lse_i = -inf counts for nothing, even if
 * its o is NaN. The backward plan then takes d_o, d_lse if the problem has lse_gradient, and writes d_o_parts and
 * d_lse_parts, for the backward passes of the parts. Only one part may have the sinks. */
tegula_status tegula_plan_create_merge(tegula_context *context, const tegula_merge_problem *problem, tegula_plan **plan,
                                       tegula_error **error);

/* The keys that the lengths of a cache count. New keys are those that a call appends, or those of its queries. */
enum {
  TEGULA_LENGTHS_USUAL = 0,    /* In decoding as _ALL, in appending as _BEFORE. */
  TEGULA_LENGTHS_ALL = 1,      /* All keys of a sequence. */
  TEGULA_LENGTHS_BEFORE = 2,   /* The keys before the new ones. */
  TEGULA_LENGTHS_LAST_KEY = 3, /* The number of the last key: one less than _ALL. */
  /* The keys in the last page of a sequence; the pages before it are full. Only in decoding with page_offsets. */
  TEGULA_LENGTHS_LAST_PAGE = 4
};

/* Attention of a few new queries of each sequence on the keys and values of a cache. */
typedef struct tegula_decode_problem {
  uint32_t struct_size;
  int32_t page_size;     /* The keys of a page, fastest if a multiple of 16; 0: k and v have no pages. */
  int32_t expected_rows; /* About seqlen_q * heads / kv_heads; 0: 8. Others are as correct. */
  /* Not 0: sequences are cut after this number of keys, a multiple of 256. If page_size is a multiple of 16, the largest
   * power of two that divides it is enough. The bits of a result then do not depend on the other sequences, unless the
   * launch gives num_spans. */
  int32_t keys_per_part;
  /* dtype, head_dim, value_dim, causal (TEGULA_CAUSAL_NONE or _BOTTOM_RIGHT), variants (TEGULA_WINDOW, _SOFTCAP,
   * _ALIBI, _BIAS and _MASK) with their fields, variant_text, sinks and schedule. A window needs bottom_right or a
   * causal mask. */
  const tegula_attention_problem *attention;
  int32_t begins;       /* Not 0: sequences have a first key that queries see, such as after padding on the left. */
  int32_t page_offsets; /* Not 0: the page tables of all sequences lie one after another (CSR). Needs page_size. */
  int32_t prefix;       /* Not 0: all sequences begin with the same keys, which are read once for all of them. */
  /* Not 0: v is the first value_dim columns of k, as in the absorbed form of multi-head latent attention (DeepSeek-V2).
   * Kernels load each key once, and there is no argument v, and no prefix_v. */
  int32_t latent;
  int32_t page_table_v; /* Not 0: v has a page table of its own. Not with prefix, nor with latent. */
  int32_t lengths;      /* TEGULA_LENGTHS_... */
} tegula_decode_problem;

/* Makes a plan for tegula_plan_launch. Its arguments are, in this order:
 *
 *   q           [batch, heads, seqlen_q, head_dim]
 *   k           [batch, kv_heads, seqlen_k, head_dim], or [pages, kv_heads, page_size, head_dim]
 *   lengths     i32 [batch]: the keys of each sequence, those of its queries included, or what the field lengths says
 *   page_table  i32 [batch, any], with pages only: key j lies in page page_table[j / page_size], at j % page_size. With
 *               page_offsets it is i32 [any]
 *   page_table_v  the same for v, with page_table_v only; otherwise page_table is that of v, too
 *   page_offsets  i32 [batch + 1], with page_offsets only: the row of sequence b are the entries page_offsets[b] to
 *               page_offsets[b + 1] - 1
 *   begins      i32 [batch], with begins only: no query sees the keys before it
 *   prefix_lengths  i32 [1], with prefix only: the keys of the prefix
 *   prefix_page_table  i32 [1, any], with prefix and pages only: the pages of the prefix
 *   prefix_k    [1, kv_heads, prefix_keys, head_dim], with prefix and without pages only
 *   v           shaped like k, with value_dim; not with latent
 *   scale       f32
 *   the tensors of the variants, with all of their dimensions
 *   prefix_v    shaped like prefix_k, with value_dim, the same
 *   o           [batch, heads, seqlen_q, value_dim], written
 *   lse         f32 [batch, heads, seqlen_q], written
 *   sinks       f32 [heads], with sinks only
 *
 * and then the choice num_spans, the parts into which the keys of all sequences are cut, and with a prefix the choice
 * num_prefix_parts, the parts of the prefix; left out, the device decides. The workspace depends on batch, heads, kv_heads,
 * seqlen_q and the choices; with keys_per_part also on seqlen_k, on pages_of_sequence, the columns of page_table, or on
 * table_entries, its elements; with a prefix also on prefix_keys, or on pages_of_prefix, the columns of its table.
 *
 * With a prefix, the keys of a sequence are those of the prefix and then its own. k, lengths, page_table and begins are
 * about its own keys, which may be none. A causal mask, windows and scores count all keys.
 *
 * All i32 tensors are read on the device: a launch waits for nothing, and a captured one may be replayed with others.
 * Lengths and offsets are clipped to the tensors, pages that do not exist are zeros, and what lies before the first or
 * after the last key of a sequence reaches no result. */
tegula_status tegula_plan_create_decode(tegula_context *context, const tegula_decode_problem *problem,
                                        tegula_plan **plan, tegula_error **error);

/* New keys and values that are written into a cache. */
typedef struct tegula_append_problem {
  uint32_t struct_size;
  int32_t dtype;           /* Type of all tensors but the lengths and the table: TEGULA_F32, _F16 or _BF16. */
  int32_t head_dim;        /* 1 to 1024 */
  int32_t value_dim;       /* 0 to 1024; 0: there is no v. */
  int32_t has_pages;       /* Not 0: the caches are pages with a table. */
  int32_t rotary_dim;      /* The columns of k and q that rotate, an even number up to head_dim; 0: none. */
  int32_t interleaved;     /* Not 0: columns 2 i and 2 i + 1 are a pair; otherwise i and i + rotary_dim / 2. */
  int32_t rotates_queries; /* Not 0: queries rotate, too. */
  int32_t same_position;   /* Not 0: all queries have the position of the first new key. */
  int32_t lengths;         /* TEGULA_LENGTHS_... If they count new keys, queries that rotate are as many. */
} tegula_append_problem;

/* Makes a plan for tegula_plan_launch, which needs no workspace. Its arguments are tensors, in this order:
 *
 *   k_new       [batch, kv_heads, seqlen_new, head_dim]
 *   k           [batch, kv_heads, seqlen_k, head_dim], or [pages, kv_heads, page_size, head_dim], written
 *   lengths     i32 [batch]: how many keys each sequence had before, or what the field lengths says
 *   page_table  i32 [batch, any], with pages only; pages have any size
 *   cos, sin    [positions, rotary_dim / 2], with rotary_dim only
 *   v_new, v    as k_new and k, with value_dim; only if there is a v
 *   q           [batch, heads, seqlen_q, head_dim], only if queries rotate
 *   q_rotated   shaped like q, written
 *
 * New key i and query i of a sequence get the position i after the keys that it had before; with same_position, all queries
 * get the first one. A pair of columns (a, b) becomes (a cos - b sin, a sin + b cos). Positions beyond cos and sin have
 * cos = sin = 0. The plan drops rows that have no place in the cache. */
tegula_status tegula_plan_create_append(tegula_context *context, const tegula_append_problem *problem,
                                        tegula_plan **plan, tegula_error **error);

/* A rotary embedding. */
typedef struct tegula_rotary_problem {
  uint32_t struct_size;
  int32_t dtype;       /* Type of all tensors but the positions: TEGULA_F32, _F16 or _BF16. */
  int32_t head_dim;    /* 1 to 1024 */
  int32_t rotary_dim;  /* As in tegula_append_problem, but not 0. */
  int32_t interleaved; /* The same. */
  int32_t reserved;    /* 0 */
} tegula_rotary_problem;

/* Makes a plan for tegula_plan_launch, which needs no workspace. It rotates as that of tegula_plan_create_append. Its
 * arguments are tensors, in this order:
 *
 *   x          [batch, heads, length, head_dim]
 *   positions  i32 [batch, length]
 *   y          shaped like x, written
 *   cos, sin   [count, rotary_dim / 2]
 */
tegula_status tegula_plan_create_rotary(tegula_context *context, const tegula_rotary_problem *problem,
                                        tegula_plan **plan, tegula_error **error);

/* Makes a plan for tegula_plan_launch, which needs no workspace. It writes what TEGULA_DOCUMENTS takes for sequences of any
 * lengths that lie one after another. Its arguments are, in this order:
 *
 *   offsets_q  i32 [sequences + 1]: the first query of each sequence, and the end of the last one (cu_seqlens)
 *   offsets_k  i32 [sequences + 1]: the same for keys
 *   left       i32: a query sees keys from its own - left on; negative: no bound
 *   right      i32: and keys up to its own + right; negative: no bound. A causal mask is 0. The last query and the last key
 *              of a sequence have one position
 *   begin, end              i32 [queries], written: the keys that a query sees
 *   query_begin, query_end  i32 [keys], written: the queries that see a key
 *
 * Offsets are read on the device: a launch waits for nothing, and a captured one may be replayed with others. What comes
 * after the last sequence sees nothing. */
tegula_status tegula_plan_create_packed(tegula_context *context, tegula_plan **plan, tegula_error **error);

typedef struct tegula_packed_pages_problem {
  uint32_t struct_size;
  int32_t page_size;    /* At least 1. */
  int32_t page_offsets; /* Not 0: the pages of all sequences stand one after another in the table. */
  int32_t reserved;     /* 0 */
} tegula_packed_pages_problem;

/* Makes a plan for tegula_plan_launch. It puts the pages of sequences into one row of keys, and writes which of them the
 * queries of tegula_plan_create_packed see. A problem with TEGULA_PACKED_QUERIES and page_size takes begin, end and
 * offsets_q as the tensors of its variant, and pages and page_lengths. The arguments of the plan are, in this order:
 *
 *   lengths       i32 [sequences]: the keys of each sequence
 *   page_table    i32 [sequences, room]: the pages of each sequence; with page_offsets i32 [room]
 *   page_offsets  i32 [sequences + 1], if the problem has them: the first entry of each sequence in page_table, and the
 *                 end of the last one
 *   offsets_q, left, right  as of tegula_plan_create_packed
 *   begin, end              i32 [queries], written: the keys that a query sees
 *   pages, page_lengths     i32 [entries], written: page_table and page_lengths of tegula_forward_args. Sequences have as
 *                           many entries as their keys need; what is left has no keys
 *
 * Keys for which a sequence has no pages do not exist. All numbers are read on the device. The workspace depends on the size
 * `sequences`. */
tegula_status tegula_plan_create_packed_pages(tegula_context *context, const tegula_packed_pages_problem *problem,
                                              tegula_plan **plan, tegula_error **error);

/* The functions below are for plans of tegula_plan_create_from_kernels, _create_merge, _create_decode, _create_append,
 * _create_rotary, _create_packed and _create_packed_pages. */

/* Arguments of a launch: the caller's tensors and scalars, by their first appearance in the programs. */
size_t tegula_plan_argument_count(const tegula_plan *plan);
tegula_status tegula_plan_argument(const tegula_plan *plan, size_t index, tegula_parameter *parameter,
                                   tegula_error **error);

typedef struct tegula_size {
  const char *name;
  int64_t value;
} tegula_size;

/* Computes the bytes of workspace that a launch of these sizes needs; often 0. Choices may be left out. */
tegula_status tegula_plan_workspace_bytes(const tegula_plan *plan, const tegula_size *sizes, size_t size_count,
                                          int64_t *bytes, tegula_error **error);

typedef struct tegula_launch_args {
  uint32_t struct_size;
  uint32_t argument_count;
  const tegula_argument *arguments; /* Then the values of choices, TEGULA_SCALAR_I64; the last ones may be left out. */
  void *workspace;                  /* 64-byte aligned memory of the device that no other call uses meanwhile. */
  int64_t workspace_bytes;
  void *stream;
  /* 64-byte aligned memory of the device, which tegula_plan_prepare writes, and which a launch only reads. NULL: the
   * launch prepares itself, in the workspace. */
  void *prepared;
  int64_t prepared_bytes; /* As many as tegula_plan_prepared says. */
} tegula_launch_args;

/* Gives sizes their values, checks all kernels, then launches them. If it fails, nothing has run. With `prepared`, the
 * workspace may have prepared_bytes less. */
tegula_status tegula_plan_launch(const tegula_plan *plan, const tegula_launch_args *args, tegula_error **error);

/* Some plans have a preparation: their first kernels depend only on the first arguments, and many launches may share what
 * they compute, such as those of all layers of a model. A plan of tegula_plan_create_decode has one. It takes the arguments
 * before v and scale. Of these it reads only the i32 tensors; of the others their shapes count, so that layers may have
 * queries, keys and values of their own. */

/* Computes the bytes that tegula_plan_prepare writes for launches of these sizes, and how many arguments it takes. Both are
 * 0 if the plan has no preparation. A pointer may be NULL. */
tegula_status tegula_plan_prepared(const tegula_plan *plan, const tegula_size *sizes, size_t size_count, int64_t *bytes,
                                   size_t *argument_count, tegula_error **error);

/* Launches the preparation with the first arguments of the launches, and then their choices. `prepared` of the arguments is
 * written; there is no workspace. Any number of launches may read it then, on this stream or after it, if these arguments
 * have the same shapes and the i32 tensors the same numbers. A launch whose sizes need another number of bytes fails. Other
 * differences are not found: results are then undefined, but nothing outside of the tensors is accessed. A launch may run very
 * long if nothing has prepared its memory. May be captured into a CUDA graph, with or without the launches. */
tegula_status tegula_plan_prepare(const tegula_plan *plan, const tegula_launch_args *args, tegula_error **error);

#ifdef __cplusplus
}
#endif
#endif
