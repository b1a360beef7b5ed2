// SPDX-License-Identifier: MIT
// A server's attention: requests join and leave a batch, and their keys and values lie in pages of one pool. All begin
// with the system prompt, whose pages they share. In each step a request computes the next part of its prompt, or one
// new token. One plan appends rotated keys, and values, to the pages, and rotates queries; another one computes
// attention. It cuts the batch once in each step, for all layers. Plain loops check the results.
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
  int64_t layers, heads, kv_heads;
  int dim, page;
  int64_t pages, shared;                        ///< Pages of the pool, and of the system prompt.
  int64_t part, longest_prompt, longest_answer; ///< Tokens; a part of a prompt is computed at once.
  int requests, checks;                         ///< How many requests there are, and rows of a launch are checked.
  double tolerance;
};

constexpr Model kSmall{.dtype = f32,
                       .layers = 2,
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
                       .layers = 2,
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
  int64_t tokens = 0, steps = 0;
  double ms = 0;

  void print(const char *name) const {
    std::printf("%s: %lld tokens in %lld steps, %.3f ms each, %.0f tokens/s\n", name, (long long)tokens,
                (long long)steps, ms / double(steps), double(tokens) / ms * 1000);
  }
};

class Server {
public:
  Server(const Model &model, std::shared_ptr<Device> device)
      : m_(model), device_(device), compiler_(makeWorkerCompiler()), kernels_(*compiler_, device),
        append_(appendPlan()), prompts_(attentionPlan(64)), answers_(attentionPlan(int(m_.heads / m_.kv_heads))),
        timer_(valueOf(device->makeTimer())), k_(caches()), v_(caches()), rotary_(m_.dtype, m_.dim, kMostTokens),
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
  /// Returns the pages of keys or values of each layer.
  std::vector<Array> caches() const {
    std::vector<Array> pages;
    for (int64_t layer = 0; layer < m_.layers; ++layer)
      pages.push_back(allocate(*device_, m_.dtype, {m_.pages, m_.kv_heads, m_.page, m_.dim}));
    return pages;
  }

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

  /// The tensors of a step that all layers have in common.
  struct Step {
    int64_t batch, tokens;
    Array lengths, own_lengths, table, prefix_lengths, prefix_table;
    TensorRef own_table; ///< Without the columns of the system prompt.
  };

  /// The tensors of one layer.
  struct Layer {
    Array q, k, v, rotated, o, lse;
  };

  Step stepOf(const std::vector<Request *> &requests, int64_t tokens) {
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
    Step step{.batch = batch,
              .tokens = tokens,
              .lengths = upload(*device_, i32, done, {batch}),
              .own_lengths = upload(*device_, i32, own, {batch}),
              .table = upload(*device_, i32, pages, {batch, int64_t(columns)}),
              .prefix_lengths = upload(*device_, i32, std::vector<int32_t>{int32_t(tokensShared())}, {1}),
              .prefix_table = upload(*device_, i32, shared_, {1, int64_t(shared_.size())}),
              .own_table = {}};
    step.own_table = step.table.ref;
    step.own_table.data = static_cast<int32_t *>(step.own_table.data) + shared_.size();
    step.own_table.shape[1] -= int64_t(shared_.size());
    return step;
  }

  Layer layerOf(const std::vector<Request *> &requests, int64_t tokens, int64_t layer) {
    const auto batch = int64_t(requests.size());
    const std::vector<int64_t> shape{batch, tokens, m_.heads, m_.dim};
    return {next('q', requests, tokens, m_.heads, layer),    next('k', requests, tokens, m_.kv_heads, layer),
            next('v', requests, tokens, m_.kv_heads, layer), ofHeads(allocate(*device_, m_.dtype, shape)),
            ofHeads(allocate(*device_, m_.dtype, shape)),    allocate(*device_, f32, {batch, m_.heads, tokens})};
  }

  /// Returns the next `tokens` of some requests in a layer, [batch, heads, tokens, dim].
  Array next(char kind, const std::vector<Request *> &requests, int64_t tokens, int64_t heads, int64_t layer) {
    std::vector<float> numbers;
    for (const Request *request : requests)
      for (int64_t i = 0; i < tokens; ++i)
        for (int64_t place = 0; place < heads * m_.dim; ++place)
          numbers.push_back(number(request->id, kind, request->done + i, layer * heads * m_.dim + place));
    return ofHeads(uploadNumbers(*device_, m_.dtype, numbers, {int64_t(requests.size()), tokens, heads, m_.dim}));
  }

  /// Returns [batch, tokens, heads, dim] as [batch, heads, tokens, dim].
  static Array ofHeads(Array x) {
    x.ref = valueOf(permuted(x.ref, {0, 2, 1, 3}));
    return x;
  }

  /// Appends the next `tokens` of some requests to the cache, and computes their attention, layer after layer.
  void attend(const std::vector<Request *> &requests, int64_t tokens) {
    const Step step = stepOf(requests, tokens);
    std::vector<Layer> layers;
    for (int64_t layer = 0; layer < m_.layers; ++layer)
      layers.push_back(layerOf(requests, tokens, layer));
    const Plan &plan = tokens == 1 ? answers_ : prompts_;
    const Sizes sizes = {{"batch", step.batch},
                         {"heads", m_.heads},
                         {"kv_heads", m_.kv_heads},
                         {"seqlen_q", tokens},
                         {"pages_of_prefix", int64_t(shared_.size())}};
    const Buffer workspace = valueOf(device_->allocate(valueOf(plan.workspaceBytes(sizes)))),
                 memory = valueOf(device_->allocate(valueOf(plan.preparedBytes(sizes))));
    const Workspace prepared{memory.data(), memory.bytes()};

    require(timer_->start());
    require(plan.prepare({{"q", layers.front().rotated.ref}, // Only its shape counts, and that of k.
                          {"k", k_.front().ref},
                          {"lengths", step.own_lengths.ref},
                          {"page_table", step.own_table},
                          {"prefix_lengths", step.prefix_lengths.ref},
                          {"prefix_page_table", step.prefix_table.ref}},
                         prepared));
    for (size_t n = 0; n < layers.size(); ++n)
      launch(plan, step, layers[n], k_[n], v_[n], {workspace.data(), workspace.bytes()}, prepared);
    require(timer_->stop());
    Work &work = tokens == 1 ? answer_work_ : prompt_work_;
    work.ms += valueOf(timer_->milliseconds()); // Waits.
    work.tokens += step.batch * tokens;
    ++work.steps;
    const size_t layer = random_() % layers.size();
    check(requests, tokens, int64_t(layer), download(*device_, layers[layer].o));
    for (Request *request : requests)
      request->done += tokens;
  }

  void launch(const Plan &plan, const Step &step, const Layer &layer, const Array &k, const Array &v,
              const Workspace &workspace, const Workspace &prepared) {
    require(append_.launch({{"k_new", layer.k.ref},
                            {"k", k.ref},
                            {"lengths", step.lengths.ref},
                            {"page_table", step.table.ref},
                            {"cos", cos_.ref},
                            {"sin", sin_.ref},
                            {"v_new", layer.v.ref},
                            {"v", v.ref},
                            {"q", layer.q.ref},
                            {"q_rotated", layer.rotated.ref}}));
    require(plan.launch({{"q", layer.rotated.ref},
                         {"k", k.ref},
                         {"lengths", step.own_lengths.ref},
                         {"page_table", step.own_table},
                         {"prefix_lengths", step.prefix_lengths.ref},
                         {"prefix_page_table", step.prefix_table.ref},
                         {"v", v.ref},
                         {"scale", float(1 / std::sqrt(double(m_.dim)))},
                         {"o", layer.o.ref},
                         {"lse", layer.lse.ref}},
                        workspace, {}, prepared));
  }

  /// Compares some rows of o [batch, tokens, heads, dim] with plain loops.
  void check(const std::vector<Request *> &requests, int64_t tokens, int64_t layer, const std::vector<float> &o) {
    for (int n = 0; n < m_.checks; ++n) {
      const auto row = int64_t(random_() % uint64_t(int64_t(requests.size()) * tokens * m_.heads));
      const Request &request = *requests[row / m_.heads / tokens];
      const int64_t position = request.done + row / m_.heads % tokens, head = row % m_.heads;
      const int64_t place = layer * m_.heads + head; // Among the heads of all layers.
      const auto owner = [&](int64_t key) { return key < tokensShared() ? kSystem : request.id; };
      const std::vector<double> exact =
          plainAttention(rotary_, owner, position, place, place / (m_.heads / m_.kv_heads));
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
  const std::vector<Array> k_, v_; ///< Pages of each layer, [pages, kv_heads, page, dim].
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
