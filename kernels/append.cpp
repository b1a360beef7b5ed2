// SPDX-License-Identifier: MIT
#include "tegula/append.h"

#include "arguments.h"
#include "narrow.h"
#include "plan_check.h"
#include "spec_arguments.h"
#include "tegula/guard.h"

#include <span>

namespace tegula {
namespace {

constexpr int kRows = 16; ///< New rows of a program instance.
constexpr int kMostColumns = 1024;

/// Returns the columns that do not rotate.
Value otherColumns(const AppendProblem &problem, int columns) {
  return asRow(problem.rotary_dim + iota(columns - problem.rotary_dim));
}

/// The angles of the rows of a tile.
struct Angles {
  View cos, sin;
  Value position; ///< i32 [kRows]
};

/// Writes rows of `from`, a tile of [batch, head], which `to(tile, columns)` takes, rotated if there are angles.
template <class Store>
void copyRows(const AppendProblem &problem, const std::optional<Angles> &angles, View from, Value row, int columns,
              Store to) {
  const auto load = [&](Value at) { return from.gather(asColumn(row + iota(kRows)), at); };
  if (!angles)
    return to(load(asRow(iota(columns))), asRow(iota(columns)));
  const int half = problem.rotary_dim / 2;
  Value pair = iota(half), first = asRow(problem.interleaved ? pair * 2 : pair),
        second = asRow(problem.interleaved ? pair * 2 + 1 : pair + half);
  Value a = cast(f32, load(first)), b = cast(f32, load(second));
  const auto angle = [&](View table) { return cast(f32, table.gather(asColumn(angles->position), asRow(pair))); };
  Value cos = angle(angles->cos), sin = angle(angles->sin);
  to(a * cos - b * sin, first);
  to(a * sin + b * cos, second);
  if (columns > problem.rotary_dim)
    to(load(otherColumns(problem, columns)), otherColumns(problem, columns));
}

/// Returns cos and sin at the end of `views`, if there are any.
std::optional<Angles> anglesOf(std::span<const View> views, Value position) {
  if (views.size() < 2)
    return std::nullopt;
  return Angles{views[views.size() - 2], views[views.size() - 1], position};
}

/// Returns how many keys a sequence had before the `added` new ones.
Value keysBefore(const AppendProblem &problem, View lengths, Value batch, Value added) {
  const Value length = lengths.gather(batch);
  if (problem.lengths == CacheLengths::before)
    return length;
  return (problem.lengths == CacheLengths::all ? length : length + 1) - narrow(added);
}

/// Writes rows into a cache. `views` has the page table, if there is one, and cos and sin, if the rows rotate.
void append(const AppendProblem &problem, View New, View cache, View lengths, int columns,
            std::span<const View> views) {
  const Value row = programId(0) * kRows, head = programId(1), batch = programId(2);
  const Value number = narrow(row) + iota(kRows); // [kRows]
  const Value position = keysBefore(problem, lengths, batch, New.dim(2)) + number;
  const Value isNew = number < narrow(New.dim(2));
  Var owner = select(isNew, narrow(batch), -1), place = position;
  if (problem.has_pages) {
    const View table = views.front();
    const Value size = narrow(cache.dim(2)), page = position / size;
    const Value hasPage = isNew & (position >= 0) & (page < narrow(table.dim(1)));
    owner = select(hasPage, table.gather(batch, page), -1);
    place = position % size;
    views = views.subspan(1);
  }
  copyRows(problem, anglesOf(views, position), New.at(batch, head), row, columns, [&](Value tile, Value at) {
    cache.scatter(cast(cache.dtype(), tile), asColumn(owner), head, asColumn(place), at);
  });
}

/// Writes rotated queries.
void rotateQueries(const AppendProblem &problem, View q, View lengths, View rotated, std::span<const View> views) {
  const Value row = programId(0) * kRows, head = programId(1), batch = programId(2);
  const Value number = narrow(row) + iota(kRows);
  const Value first = keysBefore(problem, lengths, batch, q.dim(2));
  const Value position = first + (problem.same_position ? fill({kRows}, 0) : number);
  copyRows(problem, anglesOf(views, position), q.at(batch, head), row, problem.head_dim,
           [&](Value tile, Value at) { rotated.scatter(cast(q.dtype(), tile), batch, head, asColumn(number), at); });
}

/// Writes the rotated rows of x.
void rotate(const AppendProblem &problem, View x, View positions, View y, std::span<const View> views) {
  const Value row = programId(0) * kRows, head = programId(1), batch = programId(2);
  const Value position = positions.gather(batch, row + iota(kRows));
  copyRows(problem, anglesOf(views, position), x.at(batch, head), row, problem.head_dim, [&](Value tile, Value at) {
    y.scatter(cast(y.dtype(), tile), batch, head, asColumn(row + iota(kRows)), at);
  });
}

//===-- Plan -----------------------------------------------------------------------------------------------------===//

const Size kBatch("batch"), kHeads("heads"), kKvHeads("kv_heads"), kNew("seqlen_new"), kQueries("seqlen_q");

std::vector<TensorSpec> angleTensors(const AppendProblem &problem) {
  if (problem.rotary_dim == 0)
    return {};
  const std::vector<Size> shape = {Size("positions"), problem.rotary_dim / 2};
  return {input("cos", problem.dtype, shape), input("sin", problem.dtype, shape)};
}

/// Returns a kernel that `record` records for the tensors of `fixed` and of `list`.
template <class Record>
KernelSpec kernelOf(const char *name, const std::vector<TensorSpec> &fixed, const std::vector<TensorSpec> &list,
                    Record record) {
  std::vector<ArgumentSpec> arguments(fixed.begin(), fixed.end());
  arguments.insert(arguments.end(), list.begin(), list.end());
  std::vector<TensorArg> listed;
  for (const TensorSpec &tensor : list)
    listed.push_back(arg(tensor));
  return KernelSpec::ofPrograms(name, std::move(arguments), [record, listed](const Sizes &) { return record(listed); });
}

KernelSpec appendKernel(const AppendProblem &problem, const char *name, const std::string &tensor, int columns) {
  const TensorSpec rows = input(tensor + "_new", problem.dtype, {kBatch, kKvHeads, kNew, columns});
  const Size owners = problem.has_pages ? Size("pages") : kBatch;
  const Size room(problem.has_pages ? "page_size" : tensor == "k" ? "seqlen_k" : "seqlen_v");
  const TensorSpec cache = inout(tensor, problem.dtype, {owners, kKvHeads, room, columns});
  const TensorSpec lengths = input("lengths", i32, {kBatch});
  std::vector<TensorSpec> list;
  if (problem.has_pages)
    list.push_back(input("page_table", i32, {kBatch, Size("pages_of_sequence")}));
  const bool rotates = tensor == "k" && problem.rotary_dim != 0;
  for (const TensorSpec &angles : angleTensors(problem))
    if (rotates)
      list.push_back(angles);
  const auto record = [=](const std::vector<TensorArg> &listed) {
    const auto kernel = [&](View New, View cache, View lengths, std::span<const View> views) {
      append(problem, New, cache, lengths, columns, views);
    };
    return recordList(name, kernel, listed, arg(rows), arg(cache), arg(lengths));
  };
  return kernelOf(name, {rows, cache, lengths}, list, record).grid(ceilDiv(kNew, kRows), kKvHeads, kBatch);
}

KernelSpec queriesKernel(const AppendProblem &problem) {
  const std::vector<Size> shape = {kBatch, kHeads, kQueries, problem.head_dim};
  const TensorSpec q = input("q", problem.dtype, shape), rotated = output("q_rotated", problem.dtype, shape);
  const TensorSpec lengths = input("lengths", i32, {kBatch});
  const auto record = [=](const std::vector<TensorArg> &listed) {
    const auto kernel = [&](View q, View lengths, View rotated, std::span<const View> views) {
      rotateQueries(problem, q, lengths, rotated, views);
    };
    return recordList("append_queries", kernel, listed, arg(q), arg(lengths), arg(rotated));
  };
  return kernelOf("append_queries", {q, lengths, rotated}, angleTensors(problem), record)
      .grid(ceilDiv(kQueries, kRows), kHeads, kBatch);
}

KernelSpec rotaryKernel(const AppendProblem &problem) {
  const std::vector<Size> shape = {kBatch, kHeads, Size("length"), problem.head_dim};
  const TensorSpec x = input("x", problem.dtype, shape), y = output("y", problem.dtype, shape);
  const TensorSpec positions = input("positions", i32, {kBatch, Size("length")});
  const auto record = [=](const std::vector<TensorArg> &listed) {
    const auto kernel = [&](View x, View positions, View y, std::span<const View> views) {
      rotate(problem, x, positions, y, views);
    };
    return recordList("rotary_embedding", kernel, listed, arg(x), arg(positions), arg(y));
  };
  return kernelOf("rotary_embedding", {x, positions, y}, angleTensors(problem), record)
      .grid(ceilDiv(Size("length"), kRows), kHeads, kBatch);
}

Status checkAppend(const AppendProblem &problem) {
  const auto wrong = [](const char *name, int value, const std::string &legal) {
    return invalidArgument(name, "it is " + std::to_string(value) + "; it must be " + legal);
  };
  if (problem.dtype != f32 && problem.dtype != f16 && problem.dtype != bf16)
    return invalidArgument("dtype", "it must be f32, f16 or bf16");
  if (problem.head_dim < 1 || problem.head_dim > kMostColumns)
    return wrong("head_dim", problem.head_dim, "from 1 to 1024");
  if (problem.value_dim < 0 || problem.value_dim > kMostColumns)
    return wrong("value_dim", problem.value_dim, "from 0 to 1024");
  if (problem.rotary_dim < 0 || problem.rotary_dim > problem.head_dim || problem.rotary_dim % 2 != 0)
    return wrong("rotary_dim", problem.rotary_dim, "even, and from 0 to head_dim");
  if (problem.rotates_queries && problem.rotary_dim == 0)
    return invalidArgument("rotates_queries", "it is set, and rotary_dim is 0");
  if (problem.lengths == CacheLengths::last_page)
    return {ErrorCode::unsupported, "argument 'lengths': they are those of last pages; appending has no page_offsets"};
  return {};
}

} // namespace

Expected<PlanSpec> appendToCache(const AppendProblem &problem) noexcept {
  return guarded([&]() -> Expected<PlanSpec> {
    TEGULA_RETURN_IF_ERROR(checkAppend(problem));
    std::vector<KernelSpec> kernels = {appendKernel(problem, "append_keys", "k", problem.head_dim)};
    if (problem.value_dim != 0)
      kernels.push_back(appendKernel(problem, "append_values", "v", problem.value_dim));
    if (problem.rotates_queries)
      kernels.push_back(queriesKernel(problem));
    PlanSpec plan("append", std::move(kernels));
    if (!problem.rotates_queries || problem.lengths == CacheLengths::before)
      return plan;
    return std::move(plan).require(kQueries == kNew, "lengths count the new keys, so queries must be as many");
  });
}

Expected<PlanSpec> rotaryEmbedding(const RotaryProblem &problem) noexcept {
  return guarded([&]() -> Expected<PlanSpec> {
    const AppendProblem rotated{.dtype = problem.dtype,
                                .head_dim = problem.head_dim,
                                .rotary_dim = problem.rotary_dim,
                                .interleaved = problem.interleaved};
    TEGULA_RETURN_IF_ERROR(checkAppend(rotated));
    if (problem.rotary_dim == 0)
      return invalidArgument("rotary_dim", "it is 0; it must be even, and from 2 to head_dim");
    return PlanSpec("rotary_embedding", {rotaryKernel(rotated)});
  });
}

} // namespace tegula
