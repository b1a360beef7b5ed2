// SPDX-License-Identifier: MIT
#include "workload/attention_arrays.h"
#include "workload/npy.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

namespace tegula::tools {
namespace {

struct Member {
  const char *name;
  std::vector<float> AttentionArrays::*array;
  DeviceTensor AttentionTensors::*tensor;
};

constexpr Member kForward[] = {{"q", &AttentionArrays::q, &AttentionTensors::q},
                               {"k", &AttentionArrays::k, &AttentionTensors::k},
                               {"v", &AttentionArrays::v, &AttentionTensors::v},
                               {"o", &AttentionArrays::o, &AttentionTensors::o},
                               {"lse", &AttentionArrays::lse, &AttentionTensors::lse}};
constexpr Member kBackward[] = {{"do", &AttentionArrays::d_o, &AttentionTensors::d_o},
                                {"dq", &AttentionArrays::dq, &AttentionTensors::dq},
                                {"dk", &AttentionArrays::dk, &AttentionTensors::dk},
                                {"dv", &AttentionArrays::dv, &AttentionTensors::dv}};

std::vector<Member> members(bool backward) {
  std::vector<Member> result(std::begin(kForward), std::end(kForward));
  if (backward)
    result.insert(result.end(), std::begin(kBackward), std::end(kBackward));
  return result;
}

} // namespace

Expected<AttentionArrays> readArrays(const AttentionData &data, bool backward) {
  AttentionArrays arrays;
  for (const Member &member : members(backward)) {
    Expected<std::vector<float>> values = download(data.device(), data.tensors().*member.tensor);
    if (!values)
      return values.status();
    arrays.*member.array = std::move(*values);
  }
  return arrays;
}

Status saveArrays(const std::string &folder, const AttentionArrays &arrays, const AttentionTensors &tensors,
                  bool backward) {
  for (const Member &member : members(backward)) {
    std::filesystem::path file = std::filesystem::path(folder) / fmt::format("{}.npy", member.name);
    TEGULA_RETURN_IF_ERROR(saveNpy(file, arrays.*member.array, (tensors.*member.tensor).shape()));
  }
  return {};
}

} // namespace tegula::tools
