// SPDX-License-Identifier: MIT
// The arguments of the attention programs, and record() for programs that also take a variant's tensors.
#pragma once

#include "tegula/attention_programs.h"

#include <type_traits>
#include <utility>

namespace tegula {

// The arguments of attention_programs.h.
TensorArg tensor(const AttentionConfig &config, std::string name); ///< Rank 4, of the problem's element type.
TensorArg accumulator(std::string name);                           ///< f32, rank 4.
TensorArg statistic(std::string name);                             ///< f32 [batch, heads, seqlen_q]
/// Returns the tensors of block_lists.h that a program reads which visits listed tiles; none without a block mask.
std::vector<TensorArg> listTensors(const AttentionConfig &config);
/// Returns the tensors that decide which scores exist and what they are: those of the variant, then the offset of the
/// diagonal.
std::vector<TensorArg> conditionTensors(const AttentionConfig &config);
/// Returns the tensors that a program needs for the scores of a tile: the above, then the state of dropout.
std::vector<TensorArg> scoreTensors(const AttentionConfig &config);
/// Returns the list of blocks that a program has, query_strips or key_strips; none if AttentionConfig::strips is not
/// set.
std::vector<TensorArg> stripTensors(const AttentionConfig &config, Pass pass);
/// Returns the tensors that programs of the forward pass need for the softmax of a block of queries: the score tensors,
/// the list tensors, the sinks, then query_strips.
std::vector<TensorArg> forwardTensors(const AttentionConfig &config);
/// Returns the score tensors, then the gradients that the variant wants.
std::vector<TensorArg> scoreTensorsAndGradients(const AttentionConfig &config);

/// The views of listed tensors, by what they are.
struct ListedViews {
  VariantViews tensors;         ///< scoreTensors().
  VariantViews gradients;       ///< The gradients that the variant wants.
  std::span<const View> lists;  ///< listTensors().
  std::span<const View> sinks;  ///< One view if the program reads sinks, otherwise none.
  std::span<const View> strips; ///< stripTensors().
  std::span<const View> rest;   ///< All others.
};

struct QueryBlock;

/// Computes o and lse of a block of queries if the variant modifies probabilities (flash2_modified.cpp).
void flash2Modified(const AttentionConfig &c, View Q, View K, View V, View O, View L, Value scale,
                    const ListedViews &views, const QueryBlock &at);

/// Splits the views of forwardTensors() and others.
ListedViews splitForward(const AttentionConfig &config, std::span<const View> views);
/// Splits the views of scoreTensorsAndGradients(), listTensors(), stripTensors() and others.
ListedViews splitBackward(const AttentionConfig &config, std::span<const View> views);

inline constexpr size_t kMaxListedTensors = 16;

/// A kernel gets a TensorArg as a View, and a ScalarArg as a Value.
template <class Argument> using Recorded = std::conditional_t<std::is_same_v<Argument, TensorArg>, View, Value>;

namespace record_list_details {

template <size_t> using EachView = View;

template <size_t... I, class Kernel, class... Arguments>
Expected<Program> recordExactly(std::index_sequence<I...>, std::string_view name, const Kernel &kernel,
                                const std::vector<TensorArg> &list, const Arguments &...arguments) {
  auto spread = [&kernel](Recorded<Arguments>... fixed, EachView<I>... listed) {
    kernel(fixed..., std::vector<View>{listed...});
  };
  return record(name, spread, arguments..., list[I]...);
}

} // namespace record_list_details

/// Records `kernel(Recorded<Arguments>..., std::span<const View>)`. The tensors of `list`, which become the program's
/// last parameters, arrive as one span.
template <size_t Count = 0, class Kernel, class... Arguments>
Expected<Program> recordList(std::string_view name, const Kernel &kernel, const std::vector<TensorArg> &list,
                             const Arguments &...arguments) {
  if (list.size() == Count)
    return record_list_details::recordExactly(std::make_index_sequence<Count>(), name, kernel, list, arguments...);
  if constexpr (Count < kMaxListedTensors)
    return recordList<Count + 1>(name, kernel, list, arguments...);
  return Status(ErrorCode::invalid_argument,
                "a variant has too many tensors and gradients: " + std::to_string(list.size()) +
                    " with the counter of blocks and the state of dropout, if there are any; at most " +
                    std::to_string(kMaxListedTensors) + " are supported");
}

} // namespace tegula
