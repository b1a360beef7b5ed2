// SPDX-License-Identifier: MIT
#include "host/host_fixture.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>

namespace tegula::test {
namespace {

constexpr int64_t kDim = 16;
constexpr float kScale = 0.25f;

struct Folder {
  std::string path = ::testing::TempDir() + "tegula-host-XXXXXX";

  Folder() {
    if (mkdtemp(path.data()) == nullptr)
      std::abort();
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

std::vector<float> randomNumbers(int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(static_cast<size_t>(count));
  std::generate(numbers.begin(), numbers.end(), [&] { return normal(generator); });
  return numbers;
}

} // namespace

const std::string &sharedFolder() {
  static const Folder folder;
  return folder.path;
}

tegula_context_options options() {
  auto options = host::make<tegula_context_options>();
  options.threads = 1;
  options.cache_directory = sharedFolder().c_str();
  options.reproducer_directory = sharedFolder().c_str();
  options.schedule_directory = "";
  return options;
}

host::Context makeContext(const tegula_context_options &options) {
  host::Expected<host::Context> context = host::Context::create(options);
  if (!context) {
    ADD_FAILURE() << context.status().message();
    std::abort();
  }
  return *context;
}

tegula_attention_problem problem() {
  auto problem = host::make<tegula_attention_problem>();
  problem.dtype = TEGULA_F32;
  problem.head_dim = kDim;
  problem.backward = 1;
  return problem;
}

::testing::AssertionResult isOk(const Status &status) {
  return status.ok() ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << status.message();
}

Sequence::Sequence(int64_t length)
    : length(length), q(randomNumbers(length * kDim, 1)), k(randomNumbers(length * kDim, 2)),
      v(randomNumbers(length * kDim, 3)), o(q.size()), lse(static_cast<size_t>(length)),
      d_o(randomNumbers(length * kDim, 4)), dq(q.size()), dk(q.size()), dv(q.size()) {}

tegula_tensor Sequence::view(std::vector<float> &x) { return host::tensor(x.data(), TEGULA_F32, {1, 1, length, kDim}); }

template <class Args> Args Sequence::sharedArguments() {
  auto args = host::make<Args>();
  args.scale = kScale;
  args.q = view(q);
  args.k = view(k);
  args.v = view(v);
  args.o = view(o);
  args.lse = host::tensor(lse.data(), TEGULA_F32, {1, 1, length});
  return args;
}

tegula_forward_args Sequence::forward() { return sharedArguments<tegula_forward_args>(); }

tegula_backward_args Sequence::backward() {
  auto args = sharedArguments<tegula_backward_args>();
  args.d_o = view(d_o);
  args.dq = view(dq);
  args.dk = view(dk);
  args.dv = view(dv);
  return args;
}

::testing::AssertionResult Sequence::isRight(const tegula_attention_problem &problem,
                                             const std::function<bool(int64_t query, int64_t key)> &sees) const {
  for (int64_t row = 0; row < length; ++row) {
    const int64_t keys = problem.causal == TEGULA_CAUSAL_NONE ? length : row + 1;
    std::vector<double> expected(kDim);
    double sum = 0;
    for (int64_t key = 0; key < keys; ++key) {
      if (!sees(row, key))
        continue;
      double score = 0;
      for (int64_t d = 0; d < kDim; ++d)
        score += double(q[row * kDim + d]) * k[key * kDim + d];
      score *= kScale;
      if ((problem.variants & TEGULA_SOFTCAP) != 0)
        score = problem.softcap * std::tanh(score / problem.softcap);
      sum += std::exp(score);
      for (int64_t d = 0; d < kDim; ++d)
        expected[d] += std::exp(score) * v[key * kDim + d];
    }
    for (int64_t d = 0; d < kDim; ++d)
      if (!(std::abs(o[row * kDim + d] - expected[d] / sum) < 1e-5))
        return ::testing::AssertionFailure()
               << "o[" << row << ", " << d << "] is " << o[row * kDim + d] << ", not " << expected[d] / sum;
  }
  return ::testing::AssertionSuccess();
}

} // namespace tegula::test
