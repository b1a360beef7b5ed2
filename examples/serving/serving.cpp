// SPDX-License-Identifier: MIT
// A server's attention: requests join and leave a batch, and their keys and values lie in pages of one pool. In each
// step a request computes the next part of its prompt, or one new token. Plain loops check each result. The layer
// around attention, which would make queries, keys and values of tokens, is a stand-in: a function of request and
// position.
#include "tegula/tegula.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

using namespace tegula::host;

namespace {

constexpr int64_t kHeads = 8, kKvHeads = 2, kDim = 64, kPage = 16, kPages = 24, kPrompt = 8; // Tokens of a part.

struct Request {
  int id;
  int64_t prompt, length; ///< Tokens of the prompt, and of the prompt and the answer.
  int64_t done = 0;       ///< Tokens whose keys are in the cache.
  std::vector<int32_t> pages = {};

  int64_t next() const { return done < prompt ? std::min(kPrompt, prompt - done) : 1; }
  int64_t pagesInAll() const { return (length + kPage - 1) / kPage; }
};

/// Returns a number of a token, from -1 to 1: `kind` is q, k or v.
float number(int request, char kind, int64_t position, int64_t place) {
  uint64_t x = uint64_t(request) << 48 ^ uint64_t(kind) << 40 ^ uint64_t(position) << 16 ^ uint64_t(place);
  x = (x ^ x >> 31) * 0x9E3779B97F4A7C15u; // SplitMix64.
  x = (x ^ x >> 27) * 0xBF58476D1CE4E5B9u;
  return float(x >> 40) / float(1 << 23) - 1;
}

class Server {
public:
  explicit Server(Plan plan) : plan_(std::move(plan)), k_(kPages * kPage * kKvHeads * kDim), v_(k_.size()) {
    for (int32_t page = 0; page < kPages; ++page)
      free_.push_back(page);
  }

  /// Takes a request if there are pages for all of its tokens.
  bool join(Request request) {
    if (int64_t(free_.size()) < request.pagesInAll())
      return false;
    request.pages.assign(free_.end() - request.pagesInAll(), free_.end());
    free_.resize(free_.size() - request.pages.size());
    running_.push_back(std::move(request));
    return true;
  }

  bool isIdle() const { return running_.empty(); }

  /// Computes the next tokens of all requests. Requests with equally many tokens are one launch. Those that are
  /// complete leave.
  bool step() {
    std::map<int64_t, std::vector<Request *>> byTokens;
    for (Request &request : running_)
      byTokens[request.next()].push_back(&request);
    for (const auto &[tokens, requests] : byTokens)
      if (!attend(requests, tokens))
        return false;
    for (const Request &request : running_)
      if (request.done == request.length)
        free_.insert(free_.end(), request.pages.begin(), request.pages.end());
    const auto isComplete = [](const Request &request) { return request.done == request.length; };
    running_.erase(std::remove_if(running_.begin(), running_.end(), isComplete), running_.end());
    return true;
  }

private:
  /// Returns where the cache has a head of a key.
  static int64_t placeOf(const Request &request, int64_t position, int64_t head) {
    return ((request.pages[position / kPage] * kKvHeads + head) * kPage + position % kPage) * kDim;
  }

  void append(Request &request, int64_t tokens) {
    for (const int64_t end = request.done + tokens; request.done < end; ++request.done)
      for (int64_t head = 0; head < kKvHeads; ++head)
        for (int64_t c = 0; c < kDim; ++c) {
          const int64_t place = placeOf(request, request.done, head) + c;
          k_[place] = number(request.id, 'k', request.done, head * kDim + c);
          v_[place] = number(request.id, 'v', request.done, head * kDim + c);
        }
  }

  /// Computes attention of the last `tokens` of some requests, [batch, tokens, heads, dim] in memory.
  bool attend(const std::vector<Request *> &requests, int64_t tokens) {
    const auto batch = int64_t(requests.size());
    int64_t columns = 0;
    for (Request *request : requests) {
      append(*request, tokens);
      columns = std::max(columns, int64_t(request->pages.size()));
    }
    std::vector<float> q(batch * tokens * kHeads * kDim), o(q.size()), lse(batch * kHeads * tokens);
    std::vector<int32_t> lengths, pages(batch * columns, -1); // -1: no page.
    for (int64_t n = 0; n < batch; ++n) {
      const Request &request = *requests[n];
      lengths.push_back(int32_t(request.done));
      std::copy(request.pages.begin(), request.pages.end(), pages.begin() + n * columns);
      for (int64_t i = 0; i < tokens * kHeads * kDim; ++i)
        q[n * tokens * kHeads * kDim + i] =
            number(request.id, 'q', request.done - tokens + i / (kHeads * kDim), i % (kHeads * kDim));
    }
    auto ofTokens = [&](float *data) { // [batch, heads, tokens, dim]
      tegula_tensor view = tensor(data, TEGULA_F32, {batch, tokens, kHeads, kDim});
      std::swap(view.shape[1], view.shape[2]);
      std::swap(view.strides[1], view.strides[2]);
      return view;
    };
    const tegula_tensor q_view = ofTokens(q.data()), o_view = ofTokens(o.data()),
                        k_view = tensor(k_.data(), TEGULA_F32, {kPages, kKvHeads, kPage, kDim}),
                        v_view = tensor(v_.data(), TEGULA_F32, {kPages, kKvHeads, kPage, kDim}),
                        lse_view = tensor(lse.data(), TEGULA_F32, {batch, kHeads, tokens}),
                        length_view = tensor(lengths.data(), TEGULA_I32, {batch}),
                        table = tensor(pages.data(), TEGULA_I32, {batch, columns});
    const float scale = 1 / std::sqrt(float(kDim));
    const std::vector<tegula_argument> arguments = {argument(q_view), argument(k_view),  argument(length_view),
                                                    argument(table),  argument(v_view),  argument(scale),
                                                    argument(o_view), argument(lse_view)};
    const Expected<int64_t> bytes =
        plan_.workspace({{"batch", batch}, {"heads", kHeads}, {"kv_heads", kKvHeads}, {"seqlen_q", tokens}});
    std::vector<float> workspace(bytes ? (*bytes + 63) / 4 + 16 : 0);
    auto args = make<tegula_launch_args>();
    args.arguments = arguments.data();
    args.argument_count = uint32_t(arguments.size());
    args.workspace = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(workspace.data()) + 63) / 64 * 64);
    args.workspace_bytes = bytes ? *bytes : 0;
    const Status status = bytes ? plan_.launch(args) : bytes.status();
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.message().c_str());
      return false;
    }
    for (int64_t n = 0; n < batch; ++n)
      for (int64_t i = 0; i < tokens; ++i)
        for (int64_t head = 0; head < kHeads; ++head)
          if (!isRight(*requests[n], requests[n]->done - tokens + i, head,
                       &o[((n * tokens + i) * kHeads + head) * kDim]))
            return false;
    return true;
  }

  /// Compares a row of o with softmax(q k^T / sqrt(dim)) v over the keys up to its position.
  static bool isRight(const Request &request, int64_t position, int64_t head, const float *o) {
    const int64_t kv = head / (kHeads / kKvHeads) * kDim;
    double sum = 0;
    std::vector<double> exact(kDim);
    for (int64_t key = 0; key <= position; ++key) {
      double score = 0;
      for (int64_t c = 0; c < kDim; ++c)
        score += double(number(request.id, 'q', position, head * kDim + c)) * number(request.id, 'k', key, kv + c);
      const double p = std::exp(score / std::sqrt(double(kDim)));
      sum += p;
      for (int64_t c = 0; c < kDim; ++c)
        exact[c] += p * number(request.id, 'v', key, kv + c);
    }
    for (int64_t c = 0; c < kDim; ++c)
      if (!(std::abs(o[c] - exact[c] / sum) < 1e-5)) {
        std::fprintf(stderr, "request %d, position %d, head %d: wrong\n", request.id, int(position), int(head));
        return false;
      }
    return true;
  }

  Plan plan_;
  std::vector<float> k_, v_; ///< [kPages, kKvHeads, kPage, kDim]
  std::vector<int32_t> free_;
  std::vector<Request> running_;
};

} // namespace

int main() {
  Expected<Context> context = Context::create();
  if (!context) {
    std::fprintf(stderr, "%s\n", context.status().message().c_str());
    return EXIT_FAILURE;
  }
  auto attention = make<tegula_attention_problem>();
  attention.dtype = TEGULA_F32;
  attention.head_dim = kDim;
  attention.causal = TEGULA_CAUSAL_BOTTOM_RIGHT;
  auto problem = make<tegula_decode_problem>();
  problem.page_size = kPage;
  problem.attention = &attention;
  Expected<Plan> plan = context->decodePlan(problem);
  if (!plan) {
    std::fprintf(stderr, "%s\n", plan.status().message().c_str());
    return EXIT_FAILURE;
  }

  Server server(*plan);
  std::vector<Request> waiting;
  for (int id = 0; id < 12; ++id) {
    const int64_t prompt = 5 + id * 17 % 60;
    waiting.push_back({id, prompt, prompt + 10 + id * 29 % 40});
  }
  int steps = 0, waits = 0;
  for (auto next = waiting.begin(); next != waiting.end() || !server.isIdle(); ++steps) {
    while (next != waiting.end() && server.join(*next))
      ++next;
    waits += next != waiting.end();
    if (!server.step())
      return EXIT_FAILURE;
  }
  std::printf("%zu requests in %d steps, of which %d found no room for the next one\n", waiting.size(), steps, waits);
}
