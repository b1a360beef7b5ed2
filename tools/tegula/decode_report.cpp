// SPDX-License-Identifier: MIT
#include "decode_report.h"
#include "check_report.h"
#include "lengths.h"

#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tegula::tools {
namespace {

using Json = nlohmann::ordered_json;

const char *causalOf(const DecodeProblem &problem) { return problem.causal ? "bottom_right" : "none"; }

const char *countOf(const DecodeProblem &problem) {
  return problem.lengths == CacheLengths::before ? "before" : "last_key";
}

std::string heading(const DecodeReport &report) {
  const auto &[decode, target, device] = std::tie(report.decode, report.target, report.device);
  const DecodeProblem &problem = decode.problem;
  std::string options = decode.variant ? fmt::format(", {}", decode.variant->name) : "";
  if (problem.sinks)
    options += ", sinks";
  if (decode.problem.latent)
    options += ", latent";
  if (problem.prefix)
    options += fmt::format(", a prefix of {} keys", decode.prefix);
  if (problem.page_size != 0)
    options += fmt::format(", pages of {} keys", problem.page_size);
  if (problem.page_table_v)
    options += ", others of values";
  if (problem.lengths != CacheLengths::all)
    options += fmt::format(", lengths count {}", countOf(problem));
  if (problem.keys_per_part != 0)
    options += fmt::format(", parts of {} keys", problem.keys_per_part);
  if (decode.prepared)
    options += ", prepared";
  if (decode.num_spans)
    options += fmt::format(", {} splits", *decode.num_spans);
  return fmt::format("Decoding ({}, causal: {}{}) on {}: {}\n"
                     "{}, {} heads on {}, {} queries, head dim {}, value dim {}\n",
                     toString(problem.dtype), causalOf(problem), options, target, device,
                     inWords(decode.lengths, "keys"), decode.heads, decode.kv_heads, decode.seqlen_q, problem.head_dim,
                     problem.value_dim);
}

Json shapeJson(const DecodeCase &decode) {
  return {{"batch", decode.lengths.size()},
          {"heads", decode.heads},
          {"kv_heads", decode.kv_heads},
          {"seqlen_q", decode.seqlen_q},
          {"lengths", decode.lengths},
          {"head_dim", decode.problem.head_dim},
          {"value_dim", decode.problem.value_dim},
          {"page_size", decode.problem.page_size}};
}

Json decodeJson(const DecodeReport &report) {
  Json json = {{"schedule", toString(report.schedule)},
               {"ms", report.ms},
               {"gb_per_s", report.gigabytesPerSecond()},
               {"copy_gb_per_s", report.copy_gb_per_s}};
  if (!report.errors)
    return json;
  const std::vector<TensorError> &errors = report.errors->forward;
  json["max_error"] = errors.front().error.worst;
  for (const TensorError &tensor : errors)
    json[tensor.name + "_error_ratio"] = tensor.ratio();
  return json;
}

} // namespace

double DecodeReport::gigabytesPerSecond() const { return 1e-6 * bytesRead(decode) / ms; }

std::string toJson(const DecodeReport &report) {
  const DecodeCase &decode = report.decode;
  Json json = {{"target", report.target},
               {"device", report.device},
               {"dtype", toString(decode.problem.dtype)},
               {"shape", shapeJson(decode)},
               {"causal", causalOf(decode.problem)}};
  if (decode.problem.sinks)
    json["sinks"] = true;
  if (decode.problem.latent)
    json["latent"] = true;
  if (decode.problem.prefix)
    json["prefix"] = decode.prefix;
  if (decode.problem.page_table_v)
    json["page_table_v"] = true;
  if (decode.problem.lengths != CacheLengths::all)
    json["lengths_count"] = countOf(decode.problem);
  if (decode.prepared)
    json["prepared"] = true;
  if (decode.variant)
    json["variant"] = decode.variant->name;
  json["compile_ms"] = report.compile_ms;
  json["compilations"] = report.compilations;
  json["decode"] = decodeJson(report);
  if (report.reruns)
    json["reruns"] = toJson(*report.reruns);
  return json.dump(2) + "\n";
}

std::string toTable(const DecodeReport &report) {
  std::string text = heading(report);
  text += fmt::format("\n  {:<9} {:>10.3f} ms, kernels: {} compiled, {} from the cache\n", "compile", report.compile_ms,
                      report.compilations, report.cached);
  text += fmt::format("  {:<9} {:>10.3f} ms {:>9.1f} GB/s  {}\n", "decode", report.ms, report.gigabytesPerSecond(),
                      toString(report.schedule));
  text += fmt::format("  {:<9} {:>10} {:>12.1f} GB/s\n", "copy", "", report.copy_gb_per_s);
  if (report.reruns)
    text += toTable(*report.reruns);
  return report.errors ? text + toTable(*report.errors) : text;
}

} // namespace tegula::tools
