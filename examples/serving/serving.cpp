// SPDX-License-Identifier: MIT
// A server's attention: requests join and leave a batch, and their keys and values lie in pages of one pool. All begin
// with the system prompt, whose pages they share. In each step a request computes the next part of its prompt, or one
// new token. One plan appends rotated keys, and values, to the pages, and rotates queries; another one computes
// attention. Plain loops check the results.
//   serving [--target cpu|cuda] [--large]
#include "device_memory.h"
#include "tegula/append.h"
#include "tegula/cuda_device.h"
#include "tegula/decode.h"
#include "tegula/kernel_cache.h"
#include "tegula/worker_compiler.h"
#include "tokens.h"

#include <map>
#include <random>
#include <string_view>

using namespace tegula;

namespace {

struct Model {
  DType dtype;
  int64_t heads, kv_heads;
  int dim, page;
  int64_t pages, shared;                        ///< Pages of the pool, and of the system prompt.
  int64_t part, longest_prompt, longest_answer; ///< Tokens; a part of a prompt is computed at once.
  int requests, checks;                         ///< How many requests there are, and rows of a launch are checked.
  double tolerance;
};

constexpr Model kSmall{.dtype = f32,
                       .heads = 8,
                       .kv_heads = 2,
                       .dim = 64,
                       .page = 16,
                       .pages = 26,
                       .shared = 2,
                       .part = 8,
                       .longest_prompt = 60,
                       .longest_answer = 40,
                       .requests = 12,
                       .checks = 50,
                       .tolerance = 1e-5};
constexpr Model kLarge{.dtype = bf16,
                       .heads = 32,
                       .kv_heads = 8,
                       .dim = 128,
                       .page = 64,
                       .pages = 2560,
                       .shared = 16,
                       .part = 512,
                       .longest_prompt = 4000,
                       .longest_answer = 500,
                       .requests = 96,
                       .checks = 1,
                       .tolerance = 1e-2};
constexpr int64_t kMostTokens = 8192;
constexpr int kSystem = -1; ///< The request that is the system prompt.

struct Request {
  int id;
  int64_t prompt, length; ///< Tokens of the prompt, and of the prompt and the answer, with those of the system prompt.
  int64_t done = 0;       ///< Tokens whose keys are in the cache.
  std::vector<int32_t> pages = {};
};

/// The work of one kind.
struct Work {
  int64_t tokens = 0, launches = 0;
  double ms = 0;

  void print(const char *name) const {
    std::printf("%s: %lld tokens in %lld launches, %.3f ms each, %.0f tokens/s\n", name, (long long)tokens,
                (long long)launches, ms / double(launches), double(tokens) / ms * 1000);
  }
};

class Server {
public:
  Server(const Model &model, std::shared_ptr<Device> device)
      : m_(model), device_(device), compiler_(makeWorkerCompiler()), kernels_(*compiler_, device),
        append_(appendPlan()), prompts_(attentionPlan(64)), answers_(attentionPlan(int(m_.heads / m_.kv_heads))),
        timer_(valueOf(device->makeTimer())), k_(allocate(*device, m_.dtype, {m_.pages, m_.kv_heads, m_.page, m_.dim})),
        v_(allocate(*device, m_.dtype, {m_.pages, m_.kv_heads, m_.page, m_.dim})),
        rotary_(m_.dtype, m_.dim, kMostTokens),
        cos_(uploadNumbers(*device, m_.dtype, rotary_.cos, {kMostTokens, m_.dim / 2})),
        sin_(uploadNumbers(*device, m_.dtype, rotary_.sin, {kMostTokens, m_.dim / 2})) {
    for (int32_t page = 0; page < m_.pages; ++page)
      free_.push_back(page);
    const int64_t tokens = m_.shared * m_.page;
    join({kSystem, tokens, tokens});
    Request &system = running_.front();
    while (system.done < tokens)
      attend({&system}, std::min(m_.part, tokens - system.done));
    shared_ = std::move(system.pages);
    running_.clear();
  }

  /// Takes a request if there are pages for all of its tokens.
  bool join(Request request) {
    const auto own = size_t((request.length + m_.page - 1) / m_.page) - shared_.size();
    if (free_.size() < own)
      return false;
    request.done = tokensShared();
    request.pages = shared_;
    request.pages.insert(request.pages.end(), free_.end() - own, free_.end());
    free_.resize(free_.size() - own);
    running_.push_back(std::move(request));
    return true;
  }

  bool isIdle() const { return running_.empty(); }

  /// Computes the next tokens of all requests. Requests with equally many tokens are one launch. Those that are
  /// complete leave.
  void step() {
    std::map<int64_t, std::vector<Request *>> byTokens;
    for (Request &request : running_)
      byTokens[request.done < request.prompt ? std::min(m_.part, request.prompt - request.done) : 1].push_back(
          &request);
    for (const auto &[tokens, requests] : byTokens)
      attend(requests, tokens);
    std::erase_if(running_, [&](const Request &request) {
      if (request.done < request.length)
        return false;
      free_.insert(free_.end(), request.pages.begin() + shared_.size(), request.pages.end());
      return true;
    });
  }

  void print() const {
    prompt_work_.print("prompts");
    answer_work_.print("answers");
  }

private:
  int64_t tokensShared() const { return int64_t(shared_.size()) * m_.page; }

  Plan planOf(const Expected<PlanSpec> &spec) { return valueOf(Plan::make(valueOf(spec), kernels_)); }

  Plan appendPlan() {
    return planOf(appendToCache({.dtype = m_.dtype,
                                 .head_dim = m_.dim,
                                 .value_dim = m_.dim,
                                 .has_pages = true,
                                 .rotary_dim = m_.dim,
                                 .rotates_queries = true}));
  }

  /// Returns a plan for about `rows` rows of a head of k: queries of a request times query heads.
  Plan attentionPlan(int rows) {
    DecodeProblem problem{.dtype = m_.dtype, .head_dim = m_.dim, .value_dim = m_.dim};
    problem.page_size = m_.page;
    problem.lengths = CacheLengths::before; // Without the new keys.
    problem.prefix = true;
    problem.expected_rows = rows;
    return planOf(decodeAttention(problem, kernels_.target()));
  }

  /// Returns the next `tokens` of some requests, [batch, heads, tokens, dim].
  Array next(char kind, const std::vector<Request *> &requests, int64_t tokens, int64_t heads) {
    std::vector<float> numbers;
    for (const Request *request : requests)
      for (int64_t i = 0; i < tokens; ++i)
        for (int64_t place = 0; place < heads * m_.dim; ++place)
          numbers.push_back(number(request->id, kind, request->done + i, place));
    return ofHeads(uploadNumbers(*device_, m_.dtype, numbers, {int64_t(requests.size()), tokens, heads, m_.dim}));
  }

  /// Returns [batch, tokens, heads, dim] as [batch, heads, tokens, dim].
  static Array ofHeads(Array x) {
    x.ref = valueOf(permuted(x.ref, {0, 2, 1, 3}));
    return x;
  }

  /// Appends the next `tokens` of some requests to the cache, and computes their attention.
  void attend(const std::vector<Request *> &requests, int64_t tokens) {
    const auto batch = int64_t(requests.size());
    size_t columns = 0;
    for (const Request *request : requests)
      columns = std::max(columns, request->pages.size());
    std::vector<int32_t> done, own, pages(batch * columns, -1); // -1: no page.
    for (int64_t n = 0; n < batch; ++n) {
      done.push_back(int32_t(requests[n]->done));
      own.push_back(int32_t(requests[n]->done - tokensShared()));
      std::ranges::copy(requests[n]->pages, pages.begin() + n * columns);
    }
    const std::vector<int32_t> shared{int32_t(tokensShared())};
    const std::vector<int64_t> shape{batch, tokens, m_.heads, m_.dim};
    const Array q = next('q', requests, tokens, m_.heads), k = next('k', requests, tokens, m_.kv_heads),
                v = next('v', requests, tokens, m_.kv_heads), lengths = upload(*device_, i32, done, {batch}),
                own_lengths = upload(*device_, i32, own, {batch}),
                table = upload(*device_, i32, pages, {batch, int64_t(columns)}),
                prefix_lengths = upload(*device_, i32, shared, {1}),
                prefix_table = upload(*device_, i32, shared_, {1, int64_t(shared_.size())}),
                rotated = ofHeads(allocate(*device_, m_.dtype, shape)),
                o = ofHeads(allocate(*device_, m_.dtype, shape)),
                lse = allocate(*device_, f32, {batch, m_.heads, tokens});
    TensorRef own_table = table.ref; // Without the columns of the system prompt.
    own_table.data = static_cast<int32_t *>(own_table.data) + shared_.size();
    own_table.shape[1] -= int64_t(shared_.size());
    const Plan &plan = tokens == 1 ? answers_ : prompts_;
    const Sizes sizes = {{"batch", batch},
                         {"heads", m_.heads},
                         {"kv_heads", m_.kv_heads},
                         {"seqlen_q", tokens},
                         {"pages_of_prefix", int64_t(shared_.size())}};
    const Buffer workspace = valueOf(device_->allocate(valueOf(plan.workspaceBytes(sizes))));

    require(timer_->start());
    require(append_.launch({{"k_new", k.ref},
                            {"k", k_.ref},
                            {"lengths", lengths.ref},
                            {"page_table", table.ref},
                            {"cos", cos_.ref},
                            {"sin", sin_.ref},
                            {"v_new", v.ref},
                            {"v", v_.ref},
                            {"q", q.ref},
                            {"q_rotated", rotated.ref}}));
    require(plan.launch({{"q", rotated.ref},
                         {"k", k_.ref},
                         {"lengths", own_lengths.ref},
                         {"page_table", own_table},
                         {"prefix_lengths", prefix_lengths.ref},
                         {"prefix_page_table", prefix_table.ref},
                         {"v", v_.ref},
                         {"scale", float(1 / std::sqrt(double(m_.dim)))},
                         {"o", o.ref},
                         {"lse", lse.ref}},
                        {workspace.data(), workspace.bytes()}));
    require(timer_->stop());
    Work &work = tokens == 1 ? answer_work_ : prompt_work_;
    work.ms += valueOf(timer_->milliseconds()); // Waits.
    work.tokens += batch * tokens;
    ++work.launches;
    check(requests, tokens, download(*device_, o));
    for (Request *request : requests)
      request->done += tokens;
  }

  /// Compares some rows of o [batch, tokens, heads, dim] with plain loops.
  void check(const std::vector<Request *> &requests, int64_t tokens, const std::vector<float> &o) {
    for (int n = 0; n < m_.checks; ++n) {
      const auto row = int64_t(random_() % uint64_t(int64_t(requests.size()) * tokens * m_.heads));
      const Request &request = *requests[row / m_.heads / tokens];
      const int64_t position = request.done + row / m_.heads % tokens, head = row % m_.heads;
      const auto owner = [&](int64_t key) { return key < tokensShared() ? kSystem : request.id; };
      const std::vector<double> exact = plainAttention(rotary_, owner, position, head, head / (m_.heads / m_.kv_heads));
      for (int c = 0; c < m_.dim; ++c)
        if (const float found = o[row * m_.dim + c]; !(std::abs(found - exact[c]) < m_.tolerance)) {
          std::fprintf(stderr, "request %d, position %d, head %d, column %d: %g, not %g\n", request.id, int(position),
                       int(head), c, found, exact[c]);
          std::exit(EXIT_FAILURE);
        }
    }
  }

  const Model m_;
  const std::shared_ptr<Device> device_;
  const std::unique_ptr<Compiler> compiler_;
  KernelCache kernels_;
  const Plan append_, prompts_, answers_;
  const std::unique_ptr<Timer> timer_;
  const Array k_, v_; ///< [pages, kv_heads, page, dim]
  const Rotary rotary_;
  const Array cos_, sin_;
  std::vector<int32_t> free_, shared_; ///< Pages that no request has, and those of the system prompt.
  std::vector<Request> running_;
  Work prompt_work_, answer_work_;
  std::minstd_rand random_;
};

} // namespace

int main(int count, char **words) {
  Model model = kSmall;
  std::string_view target = "cpu";
  for (int n = 1; n < count; ++n) {
    const std::string_view word = words[n];
    if (word == "--large")
      model = kLarge;
    else if (word == "--target" && n + 1 < count)
      target = words[++n];
    else
      return std::fprintf(stderr, "usage: serving [--target cpu|cuda] [--large]\n"), EXIT_FAILURE;
  }
  Server server(model, valueOf(target == "cuda" ? cudaDevice() : cpuDevice()));

  std::vector<Request> waiting;
  for (int id = 0; id < model.requests; ++id) {
    const int64_t prompt = model.shared * model.page + 5 + id * 1709 % model.longest_prompt;
    waiting.push_back({id, prompt, prompt + 10 + id * 1291 % model.longest_answer});
  }
  int steps = 0, waits = 0;
  for (auto next = waiting.begin(); next != waiting.end() || !server.isIdle(); ++steps) {
    while (next != waiting.end() && server.join(*next))
      ++next;
    waits += next != waiting.end();
    server.step();
  }
  std::printf("%zu requests in %d steps, of which %d found no room for the next one\n", waiting.size(), steps, waits);
  server.print();
}
