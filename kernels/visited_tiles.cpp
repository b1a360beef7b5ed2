// SPDX-License-Identifier: MIT
#include "tegula/visited_tiles.h"

#include "arguments.h"
#include "blocks.h"
#include "kernel_config.h"
#include "list_plan.h"
#include "narrow.h"
#include "plan_check.h"
#include "scores.h"
#include "tegula/attention_words.h"
#include "tegula/checks.h"
#include "tegula/guard.h"
#include "variant_tensors.h"

#include <algorithm>

namespace tegula {
namespace {

/// The places of a row of visited_tiles.
enum Place : int64_t { first_of_strip, count_of_tiles, first_tile };

/// `views` are those of conditionTensors(), then the lists of tiles.
void writeVisits(const AttentionConfig &c, Pass pass, View visited, Value num_queries, Value num_keys,
                 std::span<const View> views) {
  const HeadIndex head{programId(2), programId(1), wide(num_queries), wide(num_keys)};
  const size_t conditions = conditionTensors(c).size();
  Scores scores(c, head, views.first(conditions), {}, views.subspan(conditions));
  const bool isForward = pass == Pass::forward;
  Value first = isForward ? scores.firstQuery(programId(0)) : programId(0) * c.block_n;
  ScoreStrip strip = isForward ? scores.ofQueries(first) : scores.ofKeys(first);
  View row = visited.at(head.batch, head.head, programId(0));
  auto store = [&](Value place, Value number) { row.store(place, broadcast(narrow(number), {1})); };
  Var next = constant(DType::index, first_tile);
  (isForward ? strip.visits() : visitsOfKeys(c, strip)).forEach([&](const Visit &tile) {
    store(next, tile.position);
    next = next + 1;
  });
  store(constant(DType::index, first_of_strip), first);
  store(constant(DType::index, count_of_tiles), next - int64_t(first_tile));
}

/// Returns the lists that decide which tiles are visited.
std::vector<TensorArg> listsOfTiles(const AttentionConfig &config) {
  std::vector<TensorArg> lists = listTensors(config);
  lists.resize(std::min<size_t>(lists.size(), 2));
  return lists;
}

/// The lists of a launch, in memory of their own. There are none without a block mask.
struct MadeLists {
  Buffer memory = {};
  ListTensors tensors = {};
};

Expected<MadeLists> makeLists(const AttentionProblem &problem, Pass pass, const AttentionLists &call,
                              KernelCache &cache, Device &device, const Schedule &given,
                              const TunedConfigurations *tuned) {
  const Expected<ListPlan> plan = ListPlan::make(problem, pass, cache, given, tuned);
  if (!plan)
    return plan.status();
  const Expected<int64_t> bytes = plan->listBytes(call.shape), making = plan->workspaceBytes(call.shape);
  if (!bytes || !making)
    return (bytes ? making : bytes).status();
  Expected<Buffer> memory = device.allocate(*bytes), workspace = device.allocate(*making);
  if (!memory || !workspace)
    return (memory ? workspace : memory).status();
  MadeLists lists{std::move(*memory)};
  lists.tensors = plan->tensors(call.shape, lists.memory.data());
  TEGULA_RETURN_IF_ERROR(plan->launch(call, lists.tensors, {workspace->data(), workspace->bytes()}, {}));
  TEGULA_RETURN_IF_ERROR(device.synchronize());
  return lists;
}

/// The sizes of visited_tiles.
struct Rows {
  int64_t batch, heads, strips, tiles;

  Rows(const AttentionConfig &config, Pass pass, const AttentionShape &shape)
      : batch(shape.batch), heads(shape.heads), strips(blocks(shape.seqlen_q, config.block_m)),
        tiles(blocks(shape.seqlen_k, config.block_n)) {
    if (pass == Pass::backward)
      std::swap(strips, tiles);
  }
  /// Returns the places of a row. The tiles of an interval need not begin at multiples of their size, so that there may
  /// be one more.
  int64_t places() const { return first_tile + tiles + 1; }
  int64_t total() const { return batch * heads * strips * tiles; }
  int64_t bytes() const { return batch * heads * strips * places() * int64_t(sizeof(int32_t)); }
};

std::vector<VisitedTile> tilesOf(const std::vector<int32_t> &numbers, const Rows &rows, Pass pass) {
  std::vector<VisitedTile> tiles;
  for (int64_t strip = 0; strip < rows.batch * rows.heads * rows.strips; ++strip) {
    const int32_t *row = &numbers[size_t(strip * rows.places())];
    const int64_t head = strip / rows.strips;
    for (int64_t tile = 0; tile < row[count_of_tiles]; ++tile) {
      const int64_t along = row[first_tile + tile], across = row[first_of_strip];
      tiles.push_back({.batch = head / rows.heads,
                       .head = head % rows.heads,
                       .query = pass == Pass::forward ? across : along,
                       .key = pass == Pass::forward ? along : across});
    }
  }
  return tiles;
}

/// Launches the program of a configuration, and returns what it writes. `call` is checked.
Expected<std::vector<int32_t>> findVisits(const AttentionConfig &config, Pass pass, const Rows &rows,
                                          const AttentionLists &call, const ListTensors &lists, KernelCache &cache,
                                          Device &device) {
  const Expected<Program> program = recordVisitedTiles(config, pass);
  if (!program)
    return program.status();
  const Expected<std::shared_ptr<Kernel>> kernel = cache.get(program->text);
  if (!kernel)
    return kernel.status();
  const Expected<Buffer> memory = device.allocate(rows.bytes());
  if (!memory)
    return memory.status();
  std::vector<Argument> arguments = {
      contiguous(memory->data(), i32, {rows.batch, rows.heads, rows.strips, rows.places()}), call.shape.seqlen_q,
      call.shape.seqlen_k};
  arguments.insert(arguments.end(), call.variant_tensors.begin(), call.variant_tensors.end());
  if (config.diagonal_offset)
    arguments.emplace_back(call.diagonal_offset);
  if (config.block_mask.exists())
    arguments.insert(arguments.end(), {lists.tiles, lists.counts});
  TEGULA_RETURN_IF_ERROR((*kernel)->launch({rows.strips, rows.heads, rows.batch}, arguments));
  std::vector<int32_t> numbers(size_t(rows.bytes()) / sizeof(int32_t));
  TEGULA_RETURN_IF_ERROR(device.copyToHost(numbers.data(), memory->data(), rows.bytes()));
  TEGULA_RETURN_IF_ERROR(device.synchronize());
  return numbers;
}

Expected<VisitedTiles> findTiles(const AttentionProblem &problem, Pass pass, AttentionLists call, KernelCache &cache,
                                 Device &device, const Schedule &given, const TunedConfigurations *tuned) {
  if (problem.algorithm != Algorithm::flash2)
    return Status(ErrorCode::invalid_argument, "visited tiles: the algorithm is " +
                                                   std::string(toString(problem.algorithm)) + "; it must be flash2");
  TEGULA_RETURN_IF_ERROR(checkShape(call.shape));
  TEGULA_RETURN_IF_ERROR(checkCall(problem, call));
  const Expected<KernelConfig> resolved = resolve(problem, visitorOf(pass), cache.target(), given, tuned);
  if (!resolved)
    return resolved.status();
  AttentionConfig config = resolved->config;
  config.strips = false;
  const Rows rows(config, pass, call.shape);
  VisitedTiles result{config.block_m, config.block_n, rows.total()};
  if (result.total == 0)
    return result;
  std::vector<TensorRef> tensors;
  for (size_t t = 0; t < call.variant_tensors.size(); ++t)
    tensors.push_back(broadcastTo(problem.variant.tensors[t], call.variant_tensors[t], call.shape));
  call.variant_tensors = tensors;
  call.diagonal_offset = broadcastTo(diagonalOffset(), call.diagonal_offset, call.shape);
  const Expected<MadeLists> lists =
      config.block_mask.exists() ? makeLists(problem, pass, call, cache, device, given, tuned) : MadeLists();
  if (!lists)
    return lists.status();
  const Expected<std::vector<int32_t>> numbers = findVisits(config, pass, rows, call, lists->tensors, cache, device);
  if (!numbers)
    return numbers.status();
  result.tiles = tilesOf(*numbers, rows, pass);
  return result;
}

} // namespace

Expected<Program> recordVisitedTiles(const AttentionConfig &config, Pass pass) {
  auto kernel = [&](View visited, Value num_queries, Value num_keys, std::span<const View> views) {
    writeVisits(config, pass, visited, num_queries, num_keys, views);
  };
  std::vector<TensorArg> list = conditionTensors(config);
  std::ranges::copy(listsOfTiles(config), std::back_inserter(list));
  return recordList("visited_tiles", kernel, list, TensorArg{"visited_tiles", i32, 4},
                    ScalarArg{"num_queries", DType::i64}, ScalarArg{"num_keys", DType::i64});
}

Expected<VisitedTiles> visitedTiles(const AttentionProblem &problem, Pass pass, const AttentionLists &call,
                                    KernelCache &cache, Device &device, const Schedule &given,
                                    const TunedConfigurations *tuned) noexcept {
  return guarded([&] { return findTiles(problem, pass, call, cache, device, given, tuned); });
}

} // namespace tegula
