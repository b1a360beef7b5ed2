// SPDX-License-Identifier: MIT
#include "plan_messages.h"

#include "workload/elements.h"

#include <cstring>
#include <utility>

namespace tegula::tuning {
namespace {

constexpr std::string_view kAccesses[] = {"input", "output", "inout", "workspace"};

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

/// Throws an exception of this library for text that cannot be parsed.
template <class T> T parsed(Expected<T> value, const Json &json) {
  if (!value)
    throw Json::other_error::create(500, value.status().message(), &json);
  return std::move(*value);
}

Size sizeOf(const Json &json) { return parsed(parseSize(json.get<std::string>()), json); }

ArgumentSpec argumentOf(const Json &json) {
  const std::optional<DType> dtype = parseDType(json.at("dtype").get<std::string>());
  if (!dtype)
    throw Json::other_error::create(500, "unknown element type", &json);
  if (!json.contains("access"))
    return ScalarSpec{.name = json.at("name"), .dtype = *dtype};
  TensorSpec tensor{.name = json.at("name"), .dtype = *dtype, .zeroed = json.at("zeroed")};
  for (const Json &size : json.at("shape"))
    tensor.shape.push_back(sizeOf(size));
  const auto found = std::ranges::find(kAccesses, json.at("access").get<std::string>());
  if (found == std::end(kAccesses))
    throw Json::other_error::create(500, "unknown access", &json);
  tensor.access = Access(found - std::begin(kAccesses));
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

KernelSpec kernelOf(const Json &json) {
  const Program program{.name = json.at("name"), .text = json.at("program"), .parameters = {}};
  std::vector<ArgumentSpec> arguments;
  for (const Json &argument : json.at("arguments"))
    arguments.push_back(argumentOf(argument));
  const Json &grid = json.at("grid");
  return KernelSpec::ofPrograms(program.name, std::move(arguments),
                                [program](const Sizes &) -> Expected<Program> { return program; })
      .grid(sizeOf(grid.at(0)), sizeOf(grid.at(1)), sizeOf(grid.at(2)))
      .when(sizeOf(json.at("when")))
      .defaults(parsed(parseSchedule(json.at("schedule").get<std::string>()), json));
}

std::string withBytes(const Json &json, std::string_view bytes) { return json.dump() + "\n" + std::string(bytes); }

} // namespace

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
    kernels.push_back(kernelOf(kernel));
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

} // namespace tegula::tuning
