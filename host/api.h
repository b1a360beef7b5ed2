// SPDX-License-Identifier: MIT
// Conversions between the C interface and C++.
#pragma once

#include "tegula/append.h"
#include "tegula/attention.h"
#include "tegula/decode.h"
#include "tegula/guard.h"
#include "tegula/merge.h"
#include "tegula/packed.h"
#include "tegula/tegula.h"

#include <cstring>
#include <string>

namespace tegula {

/// Returns the code of `status`, and gives its message to *error.
tegula_status report(const Status &status, tegula_error **error) noexcept;

/// Runs a function that returns a Status, and reports the status. Also reports an exception.
template <class Function> tegula_status answer(tegula_error **error, Function &&function) noexcept {
  return report(guarded(function), error);
}

Status nullArgument(const char *name);
Status badSize(const char *name, uint32_t size, size_t known);

/// Returns the structure as this library knows it. Fields that the caller's version did not have are 0. Returns
/// invalid_argument for null and for an impossible size. Returns unsupported if the caller's structure is newer and
/// sets fields that this library does not know.
template <class T> Expected<T> readStruct(const char *name, const T *from) {
  if (from == nullptr)
    return nullArgument(name);
  const uint32_t size = from->struct_size;
  if (size < 2 * sizeof(uint32_t))
    return badSize(name, size, sizeof(T));
  const char *bytes = reinterpret_cast<const char *>(from);
  for (size_t i = sizeof(T); i < size; ++i)
    if (bytes[i] != 0)
      return badSize(name, size, sizeof(T));
  T result{};
  std::memcpy(&result, bytes, size < sizeof(T) ? size : sizeof(T));
  return result;
}

Expected<AttentionProblem> readProblem(const tegula_attention_problem *problem);
Expected<MergeProblem> readMergeProblem(const tegula_merge_problem *problem);
Expected<DecodeProblem> readDecodeProblem(const tegula_decode_problem *problem);
Expected<AppendProblem> readAppendProblem(const tegula_append_problem *problem);
Expected<RotaryProblem> readRotaryProblem(const tegula_rotary_problem *problem);
Expected<PackedPagesProblem> readPackedPagesProblem(const tegula_packed_pages_problem *problem);
/// Returns the fields of a schedule that the problem's text has.
Expected<Schedule> readSchedule(const tegula_attention_problem &problem);
/// Converts a tensor, and checks its dtype and rank.
Expected<TensorRef> readTensor(const char *name, const tegula_tensor &tensor);

} // namespace tegula
