// SPDX-License-Identifier: MIT
#include "messages.h"

#include "tegula/attention_words.h"
#include "tegula/serialize.h"
#include "tegula/tuned_schedules.h"
#include "workload/blocks_json.h"
#include "workload/named_variants.h"

namespace tegula::tuning {
namespace {

AttentionShape shapeOf(const Json &json) {
  return {.batch = json.at("batch"),
          .heads = json.at("heads"),
          .kv_heads = json.at("kv_heads"),
          .seqlen_q = json.at("seqlen_q"),
          .seqlen_k = json.at("seqlen_k")};
}

/// Returns the value that `parse` finds in a member. If there is none, throws the exception of a wrong type.
template <class Parse> auto parsed(const Json &json, const char *name, Parse parse) {
  auto value = parse(json.at(name).get<std::string>());
  if (!value)
    throw Json::other_error::create(500, std::string(name) + " is " + json.at(name).dump(), &json);
  return *value;
}

/// Makes the variant that a member names, for the rest of its problem; none for "".
Variant variantOf(const Json &json, const AttentionProblem &problem) {
  if (json.at("variant") == "")
    return {};
  return parsed(json, "variant", tools::findVariant).make(problem);
}

} // namespace

Status add(Expected<Program> program, const Schedule &schedule, const Target &target, Compiler &compiler,
           std::vector<CompiledProgram> &programs) {
  if (!program)
    return program.status();
  CompileRequest request{.program = std::move(program->text), .schedule = schedule, .target = target};
  Expected<Artifact> artifact = compiler.compile(request);
  if (artifact)
    programs.push_back({std::move(request), std::move(*artifact)});
  return artifact.status();
}

std::string kernelMessage(const CompiledProgram &program) {
  std::string request = serialize(program.request);
  Json json = {{"do", "kernel"}, {"request_bytes", request.size()}};
  return json.dump() + "\n" + request + serialize(program.artifact);
}

Expected<CompiledProgram> kernelOf(const Json &json, std::string_view bytes) {
  size_t size = json.at("request_bytes");
  if (size > bytes.size())
    return Status(ErrorCode::invalid_argument, "a kernel is cut off");
  Expected<CompileRequest> request = parseCompileRequest(bytes.substr(0, size));
  if (!request)
    return request.status();
  Expected<Artifact> artifact = parseArtifact(bytes.substr(size));
  if (!artifact)
    return artifact.status();
  return CompiledProgram{std::move(*request), std::move(*artifact)};
}

Json toJson(const TuningTask &task) {
  const AttentionProblem &problem = task.problem;
  return {{"program", task.program},
          {"algorithm", toString(problem.algorithm)},
          {"dtype", toString(problem.dtype)},
          {"head_dim", problem.head_dim},
          {"value_dim", problem.value_dim},
          {"causal", toString(problem.causal)},
          {"variant", problem.variant.name},
          {"backward", problem.backward},
          {"contain_nonfinite", problem.contain_nonfinite},
          {"deterministic", problem.deterministic},
          {"block_mask", toString(problem.block_mask.source)},
          {"dropout_p", problem.dropout_p},
          {"sinks", problem.sinks},
          {"shape", toJson(attentionSizes(task.shape))},
          {"diagonal_offset", problem.diagonal_offset ? Json(task.diagonal_offset) : Json()},
          {"blocks", task.blocks ? Json::parse(tools::toJson(*task.blocks)) : Json()}};
}

TuningTask taskOf(const Json &json) {
  AttentionProblem problem{.dtype = parsed(json, "dtype", parseDType),
                           .algorithm = parsed(json, "algorithm", parseAlgorithm),
                           .head_dim = json.at("head_dim"),
                           .value_dim = json.at("value_dim"),
                           .causal = parsed(json, "causal", parseCausal),
                           .block_mask = {.source = parsed(json, "block_mask", parseBlockMask)},
                           .backward = json.at("backward"),
                           .contain_nonfinite = json.value("contain_nonfinite", false),
                           .deterministic = json.value("deterministic", false),
                           .dropout_p = json.value("dropout_p", 0.0),
                           .sinks = json.value("sinks", false)};
  problem.variant = variantOf(json, problem);
  TuningTask task{.problem = problem, .shape = shapeOf(json.at("shape")), .program = json.at("program")};
  if (const Json offset = json.value("diagonal_offset", Json()); !offset.is_null()) {
    task.problem.diagonal_offset = true;
    task.diagonal_offset = offset;
  }
  if (const Json lists = json.value("blocks", Json()); !lists.is_null()) {
    Expected<tools::GivenBlocks> blocks = tools::parseBlocks(lists.dump(), task.shape);
    if (!blocks)
      throw Json::other_error::create(500, "blocks: " + blocks.status().message(), &json);
    task.problem.block_mask = blocks->mask();
    task.blocks = std::make_shared<tools::GivenBlocks>(std::move(*blocks));
  }
  return task;
}

Json toJson(const Sizes &sizes) {
  Json json = Json::object();
  for (const NamedSize &size : sizes)
    json[size.name] = size.value;
  return json;
}

Sizes sizesOf(const Json &json) {
  Sizes sizes;
  for (const auto &[name, value] : json.items())
    sizes.push_back({name, value.get<int64_t>()});
  return sizes;
}

Json failure(const Status &status) { return {{"code", int(status.code())}, {"message", status.message()}}; }

Status statusOf(const Json &answer) {
  if (!answer.contains("code"))
    return {};
  return {ErrorCode(answer["code"].get<int>()), answer.value("message", "")};
}

} // namespace tegula::tuning
