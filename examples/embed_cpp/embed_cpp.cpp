// SPDX-License-Identifier: MIT
// A server in C++17: requests of different lengths on many threads, with the host's own memory and executor. Everything
// is compiled while it warms up; after that, compiling is forbidden.
#include "tegula/tegula.hpp"

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

using namespace tegula::host;

namespace {

constexpr int64_t kHeads = 4, kDim = 64;

/// The host's memory: blocks are kept and used again.
class Arena {
public:
  ~Arena() {
    for (auto &block : free_)
      std::free(block.second);
  }

  void *allocate(int64_t bytes) {
    const std::lock_guard lock(mutex_);
    for (auto block = free_.begin(); block != free_.end(); ++block)
      if (block->first == bytes) {
        void *memory = block->second;
        free_.erase(block);
        return memory;
      }
    return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  }
  void release(void *memory, int64_t bytes) {
    const std::lock_guard lock(mutex_);
    free_.emplace_back(bytes, memory);
  }

private:
  std::mutex mutex_;
  std::deque<std::pair<int64_t, void *>> free_;
};

/// The host's threads, one for each task, for the sake of brevity.
class Executor {
public:
  ~Executor() {
    for (std::thread &thread : threads_)
      thread.join();
  }

  void submit(void (*task)(void *), void *data) { threads_.emplace_back(task, data); }

private:
  std::vector<std::thread> threads_;
};

struct Host {
  Arena arena;
  Executor executor;
};

tegula_hooks hooksOf(Host &host) {
  auto hooks = make<tegula_hooks>();
  hooks.user = &host;
  hooks.allocate = [](void *user, int64_t bytes, void *) { return static_cast<Host *>(user)->arena.allocate(bytes); };
  hooks.release = [](void *user, void *memory, int64_t bytes, void *) {
    static_cast<Host *>(user)->arena.release(memory, bytes);
  };
  hooks.submit = [](void *user, void (*task)(void *), void *data) {
    static_cast<Host *>(user)->executor.submit(task, data);
  };
  hooks.compilation = [](void *, const tegula_compilation *compilation) {
    if (compilation->finished != 0)
      std::printf("compiled %s for %s, %s: %.0f ms\n", compilation->kernel, compilation->target, compilation->schedule,
                  compilation->milliseconds);
  };
  return hooks;
}

tegula_attention_problem problem() {
  auto problem = make<tegula_attention_problem>();
  problem.dtype = TEGULA_F32;
  problem.head_dim = kDim;
  problem.causal = TEGULA_CAUSAL_TOP_LEFT;
  problem.backward = 1;
  return problem;
}

/// One training step on a sequence whose keys are all alike: attention is then the mean of the values so far.
bool step(const Context &context, int64_t length) {
  std::vector<float> q(kHeads * length * kDim, 0.5f), k(q.size(), 0.25f), v(q.size()), o(q.size()),
      lse(kHeads * length);
  std::vector<float> d_o(q.size(), 1), dq(q.size()), dk(q.size()), dv(q.size());
  for (size_t i = 0; i < v.size(); ++i)
    v[i] = static_cast<float>(i / kDim % length);
  auto view = [&](std::vector<float> &x) { return tensor(x.data(), TEGULA_F32, {1, kHeads, length, kDim}); };

  auto forward = make<tegula_forward_args>();
  forward.scale = 0.125f;
  forward.q = view(q);
  forward.k = view(k);
  forward.v = view(v);
  forward.o = view(o);
  forward.lse = tensor(lse.data(), TEGULA_F32, {1, kHeads, length});
  auto backward = make<tegula_backward_args>();
  backward.scale = forward.scale;
  backward.q = forward.q;
  backward.k = forward.k;
  backward.v = forward.v;
  backward.o = forward.o;
  backward.lse = forward.lse;
  backward.d_o = view(d_o);
  backward.dq = view(dq);
  backward.dk = view(dk);
  backward.dv = view(dv);
  for (const Status &status : {context.forward(problem(), forward), context.backward(problem(), backward)})
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.message().c_str());
      return false;
    }
  for (int64_t row = 0; row < length; ++row)
    if (std::abs(o[row * kDim] - 0.5f * row) > 1e-3f * length)
      return false;
  return true;
}

} // namespace

int main() {
  Host host;
  const tegula_hooks hooks = hooksOf(host);
  auto options = make<tegula_context_options>();
  options.threads = 1; // Requests run side by side; one of them needs no more than a core.
  options.hooks = &hooks;
  Expected<Context> context = Context::create(options);
  if (!context || !step(*context, 100) || !context->setPolicy(TEGULA_LOADED_ONLY).ok()) {
    std::fprintf(stderr, "%s\n", context.status().message().c_str());
    return EXIT_FAILURE;
  }
  std::atomic<int> good{0};
  std::vector<std::thread> clients;
  for (int client = 0; client < 4; ++client)
    clients.emplace_back([&, client] {
      for (int64_t length = 10 + client; length < 200; length += 37)
        good += step(*context, length);
    });
  for (std::thread &client : clients)
    client.join();
  std::printf("%d steps of different lengths, %lld plan\n", good.load(),
              static_cast<long long>(context->counters()->plans));
  return good == 4 * 6 ? EXIT_SUCCESS : EXIT_FAILURE;
}
