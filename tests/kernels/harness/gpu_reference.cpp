// SPDX-License-Identifier: MIT
#include "harness/gpu_reference.h"

#include "harness/reference_source.h"
#include "support/test_device.h"
#include "tegula/cuda_function.h"
#include "tegula/nvrtc.h"
#include "workload/device_tensor.h"

#include <limits>
#include <map>
#include <tuple>

namespace tegula::testing {
namespace {

using tools::DeviceTensor;

/// The struct of the same name in reference_source.cpp.
struct Sizes {
  int64_t batch, heads, kv_heads, queries, keys, shift;
  float scale;
};

constexpr int64_t kThreads = 128;
constexpr int64_t kSoftmaxBytes = 2 * sizeof(double);

int64_t shiftOf(const Case &c) {
  if (c.causal == Causal::none)
    return std::numeric_limits<int32_t>::max();
  return c.causal == Causal::bottom_right ? c.shape.seqlen_k - c.shape.seqlen_q : 0;
}

DeviceTensor upload(const std::vector<float> &numbers, DType dtype) {
  DeviceTensor tensor = valueOf(tools::allocateTensor(*testDevice(), dtype, {int64_t(numbers.size())}));
  require(tools::upload(*testDevice(), numbers, tensor));
  return tensor;
}

std::vector<double> download(const Buffer &buffer) {
  std::vector<double> numbers(size_t(buffer.bytes()) / sizeof(double));
  require(testDevice()->copyToHost(numbers.data(), buffer.data(), buffer.bytes()));
  require(testDevice()->synchronize());
  return numbers;
}

struct Results {
  std::vector<double> o, lse, dq, dk, dv;
};

/// One run of the reference, exact or plain.
class Run {
public:
  Run(const Case &c, const Tensors &t, std::string binary)
      : c_(c), binary_(std::move(binary)), q_(upload(t.inputs.q, c.dtype)), k_(upload(t.inputs.k, c.dtype)),
        v_(upload(t.inputs.v, c.dtype)), d_o_(upload(t.upstream, c.dtype)),
        sizes_{c.shape.batch,    c.shape.heads, c.shape.kv_heads, c.shape.seqlen_q,
               c.shape.seqlen_k, shiftOf(c),    float(c.scale())} {}

  Results compute(const std::string &kind) {
    const oracle::Shape &s = c_.shape;
    Buffer o = doubles(s.sizeO()), lse = doubles(s.sizeLse()),
           rows = valueOf(testDevice()->allocate(s.sizeLse() * kSoftmaxBytes));
    launch(kind + "_forward", s.sizeLse(), q_.view.data, k_.view.data, v_.view.data, o.data(), lse.data(), rows.data());
    Results results{download(o), download(lse), {}, {}, {}};
    if (!c_.backward)
      return results;
    Buffer dq = doubles(s.sizeQ()), dk = doubles(s.sizeK()), dv = doubles(s.sizeV());
    launch(kind + "_queries", s.sizeLse(), q_.view.data, k_.view.data, v_.view.data, d_o_.view.data, o.data(),
           dq.data(), rows.data());
    launch(kind + "_keys", s.batch * s.kv_heads * s.seqlen_k, q_.view.data, k_.view.data, v_.view.data, d_o_.view.data,
           dk.data(), dv.data(), rows.data());
    results.dq = download(dq);
    results.dk = download(dk);
    results.dv = download(dv);
    return results;
  }

private:
  static Buffer doubles(int64_t count) { return valueOf(testDevice()->allocate(count * int64_t(sizeof(double)))); }

  /// Launches kernel `name` with one thread for each of `count` rows.
  template <class... Pointers> void launch(const std::string &name, int64_t count, Pointers *...pointers) {
    auto function = valueOf(loadCudaFunction(*testDevice(), binary_, name, {.threads = int(kThreads)}));
    require(function->launch({.x = (count + kThreads - 1) / kThreads}, {}, sizes_, pointers...));
    require(testDevice()->synchronize());
  }

  const Case &c_;
  std::string binary_;
  DeviceTensor q_, k_, v_, d_o_;
  Sizes sizes_;
};

} // namespace

Expected<std::string> compileReference(const Case &c, const std::string &arch) {
  std::vector<std::string> options = {"-DELEMENT_" + std::string(toString(c.dtype)),
                                      "-DHEAD_DIM=" + std::to_string(c.shape.head_dim),
                                      "-DVALUE_DIM=" + std::to_string(c.shape.value_dim)};
  return compileCuda(kReferenceSource, arch, options);
}

/// Compiles the reference for the case, unless an earlier call has compiled it.
static Expected<std::string> referenceFor(const Case &c) {
  using Key = std::tuple<DType, int64_t, int64_t>;
  static std::map<Key, std::string> compiled;
  std::string &binary = compiled[Key(c.dtype, c.shape.head_dim, c.shape.value_dim)];
  if (!binary.empty())
    return binary;
  Expected<std::string> fresh = compileReference(c, testDevice()->target().arch);
  if (fresh)
    binary = *fresh;
  return fresh;
}

Expected<std::vector<NamedError>> measureOnGpu(const Case &c, const Tensors &t) {
  Expected<std::string> binary = referenceFor(c);
  if (!binary)
    return binary.status();
  Run run(c, t, std::move(*binary));
  Results exact = run.compute("exact"), plain = run.compute("plain");
  auto error = [&](const TestTensor &tensor, std::vector<double> Results::*result, DType dtype) {
    oracle::Error error = oracle::measure(tensor.numbers(), exact.*result, dtype);
    error.plain = oracle::plainError(plain.*result, exact.*result);
    return error;
  };
  std::vector<NamedError> errors = {{"o", error(t.o, &Results::o, c.dtype)}, {"lse", error(t.lse, &Results::lse, f32)}};
  if (c.backward)
    errors.insert(errors.end(), {{"dq", error(t.dq, &Results::dq, c.dtype)},
                                 {"dk", error(t.dk, &Results::dk, c.dtype)},
                                 {"dv", error(t.dv, &Results::dv, c.dtype)}});
  return errors;
}

} // namespace tegula::testing
