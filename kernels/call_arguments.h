// SPDX-License-Identifier: MIT
// The tensors of a call of attention, without those of its variant. Descriptions, checks and launches follow one table.
#pragma once

#include "tegula/attention.h"

#include <optional>
#include <span>
#include <string_view>

namespace tegula {

/// A field of AttentionProblem that gives calls another argument.
struct CallOption {
  std::string_view field;
  bool (*isSet)(const AttentionProblem &) = nullptr;
};

/// A tensor of a call, and the properties that it must have.
struct CallArgument {
  std::string_view name;
  TensorRef AttentionForward::*forward;   ///< Null if calls of the pass have no such tensor.
  TensorRef AttentionBackward::*backward; ///< The same.
  std::span<const Axis> axes;
  int (*last_dim)(const AttentionProblem &) = nullptr; ///< Returns the size of one more, last dimension, if it exists.
  std::optional<DType> dtype = {};                     ///< None if it is the problem's.
  std::optional<Pass> written_by = {};                 ///< None if each pass only reads it.
  CallOption option = {};                              ///< Only for optionalArguments().
  bool broadcasts = false;                             ///< As in VariantTensor.
  TensorRef AttentionLists::*lists = nullptr;          ///< As `forward`, for calls that only make lists.

  const TensorRef *in(const AttentionForward &call) const { return forward ? &(call.*forward) : nullptr; }
  const TensorRef *in(const AttentionBackward &call) const { return backward ? &(call.*backward) : nullptr; }
  const TensorRef *in(const AttentionLists &call) const { return lists ? &(call.*lists) : nullptr; }
  bool isIn(Pass pass) const { return pass == Pass::forward ? forward != nullptr : backward != nullptr; }
  DType dtypeOf(const AttentionProblem &problem) const { return dtype.value_or(problem.dtype); }
  int lastDimOf(const AttentionProblem &problem) const { return last_dim ? last_dim(problem) : 0; }
};

/// Returns the arguments of all problems: q and k first.
std::span<const CallArgument> usualArguments();
/// Returns the arguments that only some problems have.
std::span<const CallArgument> optionalArguments();

} // namespace tegula
