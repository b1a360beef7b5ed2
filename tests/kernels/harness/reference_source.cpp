// SPDX-License-Identifier: MIT
#include "harness/reference_source.h"

const char *const tegula::testing::kReferenceSource = R"cuda(
typedef long long i64;

#if defined(ELEMENT_f32)
typedef float Element;
__device__ float load(Element x) { return x; }
__device__ float rounded(float x) { return x; }
#elif defined(ELEMENT_f16)
typedef unsigned short Element;
__device__ float load(Element x) { float y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x)); return y; }
__device__ float rounded(float x) { Element y; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x)); return load(y); }
#else
typedef unsigned short Element;
__device__ float load(Element x) { return __uint_as_float((unsigned)x << 16); }
__device__ float rounded(float x) {
  unsigned word = __float_as_uint(x);
  return load((Element)((word + 0x7fff + (word >> 16 & 1)) >> 16));
}
#endif
__device__ double rounded(double x) { return x; }

__device__ float infinity() { return __int_as_float(0x7f800000); }

/// Query i sees keys up to i + shift.
struct Sizes {
  i64 batch, heads, kv_heads, queries, keys, shift;
  float scale;
};

/// The row of one thread: its index among all query rows, its query, the first key of its head, and the number of keys
/// that it sees.
struct Row {
  i64 row, query, first_key, visible;

  __device__ Row(const Sizes &s, i64 row) : row(row), query(row % s.queries) {
    i64 head = row / s.queries % s.heads, batch = row / s.queries / s.heads;
    first_key = (batch * s.kv_heads + head / (s.heads / s.kv_heads)) * s.keys;
    i64 end = query + s.shift + 1;
    visible = end < 0 ? 0 : end < s.keys ? end : s.keys;
  }
};

__device__ i64 threadNumber() { return blockIdx.x * (i64)blockDim.x + threadIdx.x; }

template <class Number, int Count> __device__ void loadRow(Number (&to)[Count], const Element *from) {
#pragma unroll 8
  for (int c = 0; c < Count; ++c)
    to[c] = load(from[c]);
}

template <class Number, int Count> __device__ Number product(const Number (&a)[Count], const Element *b) {
  Number sum = 0;
#pragma unroll 8
  for (int c = 0; c < Count; ++c)
    sum += a[c] * (Number)load(b[c]);
  return sum;
}

template <class Number, int Count> __device__ void addScaled(Number (&sum)[Count], Number factor, const Element *row) {
#pragma unroll 8
  for (int c = 0; c < Count; ++c)
    sum[c] += factor * (Number)load(row[c]);
}

template <class Number, int Count> __device__ void storeRow(double *to, const Number (&from)[Count]) {
#pragma unroll 8
  for (int c = 0; c < Count; ++c)
    to[c] = rounded(from[c]);
}

template <class Number> __device__ Number score(const Number (&q)[HEAD_DIM], const Element *k, float scale) {
  return rounded((Number)scale * product(q, k));
}

/// The numbers from which the gradients of a row are computed.
struct Softmax {
  double lse, delta;
};

template <class Number> __device__ Number probability(Number s, const Softmax &softmax) {
  return rounded(exp(s - (Number)softmax.lse));
}

template <class Number>
__device__ void forward(const Sizes &sizes, const Element *Q, const Element *K, const Element *V, double *O, double *L,
                        Softmax *rows) {
  if (threadNumber() >= sizes.batch * sizes.heads * sizes.queries)
    return;
  Row row(sizes, threadNumber());
  const Element *k = K + row.first_key * HEAD_DIM, *v = V + row.first_key * VALUE_DIM;
  Number q[HEAD_DIM], o[VALUE_DIM] = {};
  loadRow(q, Q + row.row * HEAD_DIM);
  Number m = -infinity(), l = 0;
  for (i64 j = 0; j < row.visible; ++j)
    m = max(m, score(q, k + j * HEAD_DIM, sizes.scale));
  for (i64 j = 0; j < row.visible; ++j)
    l += exp(score(q, k + j * HEAD_DIM, sizes.scale) - m);
  for (i64 j = 0; j < row.visible; ++j)
    addScaled(o, rounded(exp(score(q, k + j * HEAD_DIM, sizes.scale) - m) / l), v + j * VALUE_DIM);
  storeRow(O + row.row * VALUE_DIM, o);
  Number lse = row.visible ? m + log(l) : -infinity();
  L[row.row] = lse;
  rows[row.row] = {lse, 0};
}

/// Computes D and dQ.
template <class Number>
__device__ void queryGradient(const Sizes &sizes, const Element *Q, const Element *K, const Element *V,
                              const Element *dO, const double *O, double *dQ, Softmax *rows) {
  if (threadNumber() >= sizes.batch * sizes.heads * sizes.queries)
    return;
  Row row(sizes, threadNumber());
  const Element *k = K + row.first_key * HEAD_DIM, *v = V + row.first_key * VALUE_DIM;
  Number q[HEAD_DIM], d_o[VALUE_DIM], dq[HEAD_DIM] = {};
  loadRow(q, Q + row.row * HEAD_DIM);
  loadRow(d_o, dO + row.row * VALUE_DIM);
  Number delta = 0;
  for (int c = 0; c < VALUE_DIM; ++c)
    delta += d_o[c] * (Number)O[row.row * VALUE_DIM + c];
  rows[row.row].delta = delta;
  for (i64 j = 0; j < row.visible; ++j) {
    Number p = probability(score(q, k + j * HEAD_DIM, sizes.scale), rows[row.row]);
    Number ds = rounded(p * (rounded(product(d_o, v + j * VALUE_DIM)) - delta));
    addScaled(dq, rounded((Number)sizes.scale * ds), k + j * HEAD_DIM);
  }
  storeRow(dQ + row.row * HEAD_DIM, dq);
}

/// Computes dK and dV, with one thread for each key.
template <class Number>
__device__ void keyGradients(const Sizes &sizes, const Element *Q, const Element *K, const Element *V,
                             const Element *dO, double *dK, double *dV, const Softmax *rows) {
  i64 key = threadNumber();
  if (key >= sizes.batch * sizes.kv_heads * sizes.keys)
    return;
  i64 group = sizes.heads / sizes.kv_heads, first_row = key / sizes.keys * group * sizes.queries;
  Number k[HEAD_DIM], v[VALUE_DIM], dk[HEAD_DIM] = {}, dv[VALUE_DIM] = {};
  loadRow(k, K + key * HEAD_DIM);
  loadRow(v, V + key * VALUE_DIM);
  for (i64 r = first_row; r < first_row + group * sizes.queries; ++r) {
    if (key % sizes.keys > r % sizes.queries + sizes.shift)
      continue;
    const Element *q = Q + r * HEAD_DIM, *d_o = dO + r * VALUE_DIM;
    Number p = probability(score(k, q, sizes.scale), rows[r]);
    Number ds = rounded(p * (rounded(product(v, d_o)) - (Number)rows[r].delta));
    addScaled(dk, rounded((Number)sizes.scale * ds), q);
    addScaled(dv, p, d_o);
  }
  storeRow(dK + key * HEAD_DIM, dk);
  storeRow(dV + key * VALUE_DIM, dv);
}

#define FUNCTIONS(name, Number)                                                                                        \
  extern "C" __global__ void name##_forward(Sizes s, const Element *q, const Element *k, const Element *v, double *o,  \
                                            double *lse, Softmax *rows) {                                              \
    forward<Number>(s, q, k, v, o, lse, rows);                                                                         \
  }                                                                                                                    \
  extern "C" __global__ void name##_queries(Sizes s, const Element *q, const Element *k, const Element *v,             \
                                            const Element *d_o, const double *o, double *dq, Softmax *rows) {          \
    queryGradient<Number>(s, q, k, v, d_o, o, dq, rows);                                                               \
  }                                                                                                                    \
  extern "C" __global__ void name##_keys(Sizes s, const Element *q, const Element *k, const Element *v,                \
                                         const Element *d_o, double *dk, double *dv, Softmax *rows) {                  \
    keyGradients<Number>(s, q, k, v, d_o, dk, dv, rows);                                                               \
  }
FUNCTIONS(exact, double)
FUNCTIONS(plain, float)
)cuda";
