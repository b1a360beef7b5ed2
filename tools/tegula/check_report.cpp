// SPDX-License-Identifier: MIT
#include "check_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tegula::tools {
namespace {

std::string errorLine(const TensorError &tensor) {
  return fmt::format("  {:<9} {:>13.3g} {:>20.3f}   {}\n", tensor.name, tensor.error.worst, tensor.ratio(),
                     tensor.acceptable() ? "ok" : "TOO LARGE");
}

} // namespace

std::string toTable(const AttentionErrors &errors) {
  std::string text = fmt::format("\nAgainst double precision; at most {} times the plain formula's error is allowed:\n"
                                 "            largest error   relative to plain\n",
                                 kMaxErrorRatio);
  for (const TensorError &tensor : errors.forward)
    text += errorLine(tensor);
  for (const TensorError &tensor : errors.backward)
    text += errorLine(tensor);
  return text;
}

std::string toTable(const Reruns &reruns) {
  std::string text = fmt::format("\nBits in {} reruns:\n", reruns.runs);
  for (const RerunTensor &tensor : reruns.tensors)
    text += tensor.different == 0 ? fmt::format("  {:<9} always the same\n", tensor.name)
                                  : fmt::format("  {:<9} others in {}{}\n", tensor.name, tensor.different,
                                                tensor.promised ? ", although the same are promised"
                                                                : ", as sums without an order may have");
  return text;
}

nlohmann::ordered_json toJson(const Reruns &reruns) {
  nlohmann::ordered_json different;
  for (const RerunTensor &tensor : reruns.tensors)
    different[tensor.name] = tensor.different;
  return {{"runs", reruns.runs}, {"different", different}};
}

} // namespace tegula::tools
