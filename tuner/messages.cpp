// SPDX-License-Identifier: MIT
#include "messages.h"

#include "tegula/attention_words.h"
#include "tegula/serialize.h"
#include "tegula/tuned_schedules.h"
#include "workload/blocks_json.h"
#include "workload/elements.h"
#include "workload/named_variants.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace tegula::tuning {
namespace {

constexpr std::string_view kAccesses[] = {"input", "output", "inout", "workspace"};

/// Returns the value that `parse` finds in a text. If there is none, throws the exception of a wrong type.
template <class Parse> auto parsed(const Json &json, const char *what, Parse parse) {
  auto value = parse(json.get<std::string>());
  if (!value)
    throw Json::other_error::create(500, std::string(what) + " is " + json.dump(), &json);
  return *value;
}

AttentionShape shapeOf(const Json &json) {
  return {.batch = json.at("batch"),
          .heads = json.at("heads"),
          .kv_heads = json.at("kv_heads"),
          .seqlen_q = json.at("seqlen_q"),
          .seqlen_k = json.at("seqlen_k")};
}

/// Makes the variant that a member names, for the rest of its problem; none for "".
Variant variantOf(const Json &json, const AttentionProblem &problem) {
  if (json.at("variant") == "")
    return {};
  return parsed(json.at("variant"), "variant", tools::findVariant).make(problem);
}

Json toJson(const ArgumentSpec &argument, const Sizes &tunables) {
  if (const auto *scalar = std::get_if<ScalarSpec>(&argument))
    return {{"name", scalar->name}, {"dtype", toString(scalar->dtype)}};
  const auto &tensor = std::get<TensorSpec>(argument);
  Json shape = Json::array();
  for (const Size &size : tensor.shape)
    shape.push_back(toString(substituted(size, tunables)));
  return {{"name", tensor.name},
          {"dtype", toString(tensor.dtype)},
          {"access", kAccesses[size_t(tensor.access)]},
          {"zeroed", tensor.zeroed},
          {"shape", shape}};
}

Size sizeOf(const Json &json) { return parsed(json, "a size", parseSize); }

Access accessOf(const Json &json) {
  const auto find = [](const std::string &word) -> std::optional<Access> {
    const auto found = std::ranges::find(kAccesses, word);
    return found != std::end(kAccesses) ? std::optional(Access(found - std::begin(kAccesses))) : std::nullopt;
  };
  return parsed(json, "access", find);
}

ArgumentSpec argumentOf(const Json &json) {
  const DType dtype = parsed(json.at("dtype"), "dtype", parseDType);
  if (!json.contains("access"))
    return ScalarSpec{.name = json.at("name"), .dtype = dtype};
  TensorSpec tensor{.name = json.at("name"), .dtype = dtype, .zeroed = json.at("zeroed")};
  for (const Json &size : json.at("shape"))
    tensor.shape.push_back(sizeOf(size));
  tensor.access = accessOf(json.at("access"));
  return tensor;
}

Expected<Json> toJson(const KernelSpec &kernel, const Configuration &configuration) {
  Expected<Program> program = kernel.record(configuration);
  if (!program)
    return program.status();
  const Sizes &tunables = configuration.tunables;
  Json arguments = Json::array(), grid = Json::array();
  for (const ArgumentSpec &argument : kernel.arguments())
    arguments.push_back(toJson(argument, tunables));
  for (const Size &size : kernel.gridSizes())
    grid.push_back(toString(substituted(size, tunables)));
  return Json{{"name", kernel.name()},
              {"program", program->text},
              {"schedule", toString(configuration.schedule)},
              {"arguments", arguments},
              {"grid", grid},
              {"when", toString(substituted(kernel.condition(), tunables))}};
}

KernelSpec kernelSpecOf(const Json &json) {
  const Program program{.name = json.at("name"), .text = json.at("program"), .parameters = {}};
  std::vector<ArgumentSpec> arguments;
  for (const Json &argument : json.at("arguments"))
    arguments.push_back(argumentOf(argument));
  const Json &grid = json.at("grid");
  return KernelSpec::ofPrograms(program.name, std::move(arguments),
                                [program](const Sizes &) -> Expected<Program> { return program; })
      .grid(sizeOf(grid.at(0)), sizeOf(grid.at(1)), sizeOf(grid.at(2)))
      .when(sizeOf(json.at("when")))
      .defaults(parsed(json.at("schedule"), "schedule", parseSchedule));
}

std::string withBytes(const Json &json, std::string_view bytes) { return json.dump() + "\n" + std::string(bytes); }

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
  const std::string request = serialize(program.request);
  return withBytes({{"do", "kernel"}, {"request_bytes", request.size()}}, request + serialize(program.artifact));
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
  AttentionProblem problem{.dtype = parsed(json.at("dtype"), "dtype", parseDType),
                           .algorithm = parsed(json.at("algorithm"), "algorithm", parseAlgorithm),
                           .head_dim = json.at("head_dim"),
                           .value_dim = json.at("value_dim"),
                           .causal = parsed(json.at("causal"), "causal", parseCausal),
                           .block_mask = {.source = parsed(json.at("block_mask"), "block_mask", parseBlockMask)},
                           .backward = json.at("backward"),
                           .contain_nonfinite = json.at("contain_nonfinite"),
                           .deterministic = json.at("deterministic"),
                           .dropout_p = json.at("dropout_p"),
                           .sinks = json.at("sinks")};
  problem.variant = variantOf(json, problem);
  TuningTask task{.problem = problem, .shape = shapeOf(json.at("shape")), .program = json.at("program")};
  if (const Json &offset = json.at("diagonal_offset"); !offset.is_null()) {
    task.problem.diagonal_offset = true;
    task.diagonal_offset = offset;
  }
  if (const Json &lists = json.at("blocks"); !lists.is_null()) {
    Expected<tools::GivenBlocks> blocks = tools::parseBlocks(lists.dump(), task.shape);
    if (!blocks)
      throw Json::other_error::create(500, "blocks: " + blocks.status().message(), &json);
    task.problem.block_mask = blocks->mask();
    task.blocks = std::make_shared<tools::GivenBlocks>(std::move(*blocks));
  }
  return task;
}

Expected<Json> toJson(const PlanSpec &plan, std::span<const Configuration> configurations) {
  Json kernels = Json::array(), choices = Json::array(), requirements = Json::array();
  for (size_t n = 0; n < plan.kernels().size(); ++n) {
    Expected<Json> kernel = toJson(plan.kernels()[n], configurations[n]);
    if (!kernel)
      return kernel.status();
    kernels.push_back(std::move(*kernel));
  }
  for (const Choice &choice : plan.choices())
    choices.push_back({{"name", choice.name}, {"otherwise", toString(choice.otherwise)}});
  for (const Requirement &requirement : plan.requirements())
    requirements.push_back({{"fits", toString(requirement.condition)}, {"why", requirement.why}});
  return Json{{"name", plan.name()}, {"kernels", kernels}, {"choices", choices}, {"requirements", requirements}};
}

PlanSpec planOf(const Json &json) {
  std::vector<KernelSpec> kernels;
  for (const Json &kernel : json.at("kernels"))
    kernels.push_back(kernelSpecOf(kernel));
  PlanSpec plan(json.at("name").get<std::string>(), std::move(kernels));
  for (const Json &choice : json.at("choices"))
    std::move(plan).choice(choice.at("name"), sizeOf(choice.at("otherwise")));
  for (const Json &requirement : json.at("requirements"))
    std::move(plan).require(sizeOf(requirement.at("fits")), requirement.at("why"));
  return plan;
}

Json toJson(const std::vector<ScalarValue> &scalars) {
  Json json = Json::object();
  for (const ScalarValue &scalar : scalars)
    json[scalar.name] = scalar.value;
  return json;
}

std::vector<ScalarValue> scalarsOf(const Json &json) {
  std::vector<ScalarValue> scalars;
  for (const auto &[name, value] : json.items())
    scalars.push_back({name, value.get<double>()});
  return scalars;
}

std::string tensorMessage(std::string_view purpose, const HostTensor &tensor) {
  std::string bytes(tensor.values.size() * tegula::sizeOf(tensor.dtype), '\0');
  tools::encode(tensor.values.data(), tensor.values.size(), tensor.dtype, bytes.data());
  return withBytes({{"do", "tensor"}, {"purpose", purpose}, {"name", tensor.name}}, bytes);
}

std::string expectedMessage(const HostTensor &tensor) {
  const std::string_view bytes(reinterpret_cast<const char *>(tensor.values.data()),
                               tensor.values.size() * sizeof(double));
  return withBytes({{"do", "expected"}, {"name", tensor.name}}, bytes);
}

std::vector<double> valuesOf(std::string_view bytes) {
  std::vector<double> values(bytes.size() / sizeof(double));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(double));
  return values;
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
