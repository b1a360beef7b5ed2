// SPDX-License-Identifier: MIT
// The programs that list the tiles of scores which a kernel visits, if a problem has a block mask. attention_programs.h
// has the lists.
#include "block_lists.h"

#include "arguments.h"
#include "scores.h"
#include "tegula/checks.h"

namespace tegula {
namespace {

/// The states of a tile.
enum State { hidden, partial, whole };

enum class Strips { queries, keys };

/// The numbers of a row that a program works on at once.
constexpr int kChunk = 128;

TensorArg matrixOf(std::string name) { return {std::move(name), i32, 4}; }

/// The lengths of a problem, i64 scalars.
struct Lengths {
  Value queries, keys;
};

/// Returns the index of program instance {block of queries, head, batch}.
HeadIndex headOfInstance(const Lengths &lengths) {
  return {programId(2), programId(1), cast(DType::index, lengths.queries), cast(DType::index, lengths.keys)};
}

/// Returns the scores of the block of queries of a program instance.
ScoreStrip stripOfInstance(const AttentionConfig &c, const Scores &scores) {
  return scores.ofQueries(programId(0) * c.block_m);
}

/// Returns the number of true elements of a matrix: i32 [1].
Value countOf(Value condition) { return reduceSum(reduceSum(select(condition, 1, 0), 1), 0); }

/// Returns the state of a tile from its scores: i32 [1].
Value stateOf(const AttentionConfig &c, Value allowed, Value seqlen_q) {
  Value row = programId(0) * c.block_m;
  Value isRow = asColumn(row + iota(c.block_m)) < seqlen_q; // [block_m, 1]
  Value count = countOf(broadcast(allowed & isRow, {c.block_m, c.block_n}));
  Value all = min(cast(i32, seqlen_q - row), c.block_m) * c.block_n;
  return select(count == 0, int(hidden), select(count == all, int(whole), int(partial)));
}

/// `views` are those of conditionTensors(), then block_states if blocks are given.
void tileStates(const AttentionConfig &c, Strips strips, View states, const Lengths &lengths,
                std::span<const View> views) {
  const HeadIndex head = headOfInstance(lengths);
  const size_t tensors = conditionTensors(c).size();
  Scores scores(c, head, views.first(tensors), views.subspan(tensors));
  ScoreStrip strip = stripOfInstance(c, scores);
  View of = states.at(head.batch, head.head);
  strip.visits().aligned().forEach([&](const Visit &tile) {
    Value block = programId(0), keys = tile.position / c.block_n;
    auto storeState = [&](Value state) {
      if (strips == Strips::queries)
        of.store({block, keys}, reshape(state, {1, 1}));
      else
        of.store({keys, block}, reshape(state, {1, 1}));
    };
    // Most tiles are whole or hidden, which bounds of their positions tell.
    auto store = [&] {
      Value allowed = strip.allowed({tile.position});
      const Enclosure bounds = enclose(allowed);
      when(bounds.always, [&] { storeState(fill({1}, int(whole))); });
      when(bounds.sometimes & !bounds.always, [&] { storeState(stateOf(c, allowed, head.seqlen_q)); });
    };
    if (c.hasTilesInBlocks())
      when(strip.blockState(tile.position) != 0, store);
    else
      store();
  });
}

void setToZero(View row) {
  for (Value first : range(0, row.dim(0), kChunk))
    row.store(first, fill({kChunk}, 0));
}

/// Adds `weight` to the states of the blocks that one list of a row names.
void addListed(View states, View count, View indices, int weight) {
  const Value listed = min(count.gather(programId(0)), cast(i32, indices.dim(0)));
  for (Value entry : range(0, cast(DType::index, listed), kChunk)) {
    Value isListed = cast(i32, entry) + iota(kChunk) < listed; // [kChunk]
    Value block = indices.load(entry, {kChunk});               // [kChunk]
    states.scatterAdd(fill({kChunk}, weight), select(isListed, block, -1));
  }
}

void blockStates(View states, View partial_count, View partial, View full_count, View full) {
  const Value row = programId(0), head = programId(1), batch = programId(2);
  View of = states.at(batch, head, row);
  setToZero(of);
  addListed(of, partial_count.at(batch, head), partial.at(batch, head, row), 1);
  addListed(of, full_count.at(batch, head), full.at(batch, head, row), kFullBlock);
}

/// Writes the numbers of the tiles in `state`, from place `first` of the list on. Returns the place after them. Places
/// are i32 [1].
Value listTiles(View states, State state, View list, Value first) {
  Var next = first;
  for (Value tile : range(0, states.dim(0), kChunk)) {
    Value listed = select(states.load(tile, {kChunk}) == int(state), 1, 0); // [kChunk]
    Value place = select(listed == 1, next + cumsum(listed, 0) - 1, -1);    // [kChunk], -1 is dropped
    list.scatterAdd(cast(i32, tile) + iota(kChunk), place);
    next = next + reduceSum(listed, 0);
  }
  return next;
}

void visitLists(View states, View tiles, View counts) {
  Value strip = programId(0), head = programId(1), batch = programId(2);
  View row = states.at(batch, head, strip), list = tiles.at(batch, head, strip);
  setToZero(list);
  Value afterWhole = listTiles(row, whole, list, fill({1}, 0));
  Value afterAll = listTiles(row, partial, list, afterWhole);
  counts.at(batch, head, strip).store(0, afterAll);
  counts.at(batch, head, strip).store(1, afterWhole);
}

/// Writes the strips to column 2 of `counts`, those that list most tiles first.
void visitOrder(View counts) {
  Value strip = programId(0), head = programId(1), batch = programId(2);
  View of = counts.at(batch, head);
  Value tiles = of.gather(strip, 0);
  Var place = fill({1}, 0);
  for (Value first : range(0, of.dim(0), kChunk)) {
    Value other = cast(i32, first) + iota(kChunk), listed = of.gather(other, 0); // [kChunk], 0 where there is no strip
    Value isEarlier = (listed > tiles) | ((listed == tiles) & (other < cast(i32, strip)));
    place = place + reduceSum(select(isEarlier, 1, 0), 0);
  }
  of.scatter(broadcast(cast(i32, strip), {1}), place, fill({1}, 2));
}

void visitRanks(View states, View ranks) {
  Value tile = programId(0), head = programId(1), batch = programId(2);
  View of = states.at(batch, head), to = ranks.at(batch, head);
  Value strips = of.dim(0);
  Var later = fill({1}, 0);
  for (Value done : range(0, strips, kChunk)) {
    Value first = strips - kChunk - done;                                              // May be negative.
    Value listed = select(of.gather(first + iota(kChunk), tile) != int(hidden), 1, 0); // [kChunk]
    Value rank = later + cumsum(listed, 0, true) - listed;                             // [kChunk]
    to.store({first, tile}, asColumn(rank));
    later = later + reduceSum(listed, 0);
  }
}

Expected<Program> recordStates(const char *name, const AttentionConfig &config, Strips strips) {
  auto kernel = [&](View states, Value num_queries, Value num_keys, VariantViews tensors) {
    tileStates(config, strips, states, {num_queries, num_keys}, tensors);
  };
  std::vector<TensorArg> list = conditionTensors(config);
  if (config.block_mask.source == BlockMask::Source::given)
    list.push_back(matrixOf("block_states"));
  return recordList(name, kernel, list, matrixOf("tile_states"), ScalarArg{"num_queries", DType::i64},
                    ScalarArg{"num_keys", DType::i64});
}

} // namespace

Expected<Program> recordTileStatesOfQueries(const AttentionConfig &config) {
  return recordStates("tile_states_of_queries", config, Strips::queries);
}

Expected<Program> recordTileStatesOfKeys(const AttentionConfig &config) {
  return recordStates("tile_states_of_keys", config, Strips::keys);
}

Expected<Program> recordBlockStates(const AttentionConfig &) {
  return record("block_states", blockStates, matrixOf("block_states"), TensorArg{"kv_num_blocks", i32, 3},
                matrixOf("kv_indices"), TensorArg{"full_kv_num_blocks", i32, 3}, matrixOf("full_kv_indices"));
}

Expected<Program> recordVisitLists(const AttentionConfig &) {
  return record("visit_lists", visitLists, matrixOf("tile_states"), matrixOf("visit_tiles"), matrixOf("visit_counts"));
}

Expected<Program> recordVisitOrder(const AttentionConfig &) {
  return record("visit_order", visitOrder, matrixOf("visit_counts"));
}

Expected<Program> recordVisitRanks(const AttentionConfig &) {
  return record("visit_ranks", visitRanks, matrixOf("tile_states"), matrixOf("visit_ranks"));
}

Expected<ListAxes> listAxes(const AttentionConfig &config) {
  ListAxes axes = {config.block_mask.per_batch, config.block_mask.per_head};
  auto kernel = [&](Value num_queries, Value num_keys, VariantViews tensors) {
    const HeadIndex head = headOfInstance({num_queries, num_keys});
    Scores scores(config, head, tensors, {});
    Value exists = stripOfInstance(config, scores).allowed({constant(DType::index, 0)});
    axes.batch |= dependsOn(exists, head.batch);
    axes.heads |= dependsOn(exists, head.head);
  };
  const Expected<Program> recorded =
      recordList("block_mask", kernel, conditionTensors(config), ScalarArg{"num_queries", DType::i64},
                 ScalarArg{"num_keys", DType::i64});
  if (!recorded)
    return recorded.status();
  return axes;
}

} // namespace tegula
