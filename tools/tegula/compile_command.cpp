// SPDX-License-Identifier: MIT
#include "compile_command.h"
#include "compiler.h"
#include "files.h"
#include "tegula/bundle.h"
#include "tegula/cuda_device.h"

#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace tegula::tools {
namespace {

/// Returns the architecture to compile for. Empty leaves the choice to the compiler, which knows this machine's
/// processor but not its GPU.
std::string archFor(const CompileOptions &options) {
  if (options.target != "cuda" || !options.arch.empty())
    return options.arch;
  Expected<std::vector<CudaDeviceInfo>> gpus = cudaDevices();
  return gpus && !gpus->empty() ? gpus->front().arch : "";
}

/// Returns the variant of the options for a problem.
Expected<Variant> variantOf(const CompileOptions &options, const AttentionProblem &problem) {
  const NamedVariant *named = findVariant(options.choice.variant);
  Variant variant = named != nullptr ? named->make(problem) : Variant();
  if (options.variant_text.empty())
    return variant;
  const Expected<std::string> text = readFile("--variant-text", options.variant_text);
  if (!text)
    return text.status();
  Variant own = variantFromText(*text);
  return named != nullptr ? combine(std::move(variant), std::move(own)) : own;
}

/// Fills in the program and, for a built-in kernel, the fields of its schedule that are 0.
Status findProgram(const CompileOptions &options, CompileRequest &request) {
  request.schedule = options.schedule;
  request.debug = options.debug;
  if (options.kernel.empty()) {
    Expected<std::string> text = readFile("PROGRAM", options.program);
    if (text)
      request.program = std::move(*text);
    return text.status();
  }
  AttentionProblem problem = problemOf(options.choice);
  problem.backward = problem.lse_gradient = options.lse_gradient;
  Expected<Variant> variant = variantOf(options, problem);
  if (!variant)
    return variant.status();
  problem.variant = std::move(*variant);
  Expected<RecordedKernel> kernel = recordKernel(problem, options.kernel, request.target, options.schedule);
  if (!kernel)
    return kernel.status();
  request.program = std::move(kernel->program.text);
  request.schedule = kernel->schedule;
  return {};
}

/// Prints remarks about the schedule to stderr, because they belong to no phase.
void printRemarks(const Artifact &artifact) {
  std::string_view rest = artifact.remarks;
  for (size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    fmt::print(stderr, "tegula: remark: {}\n", rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
}

bool isBinary(const CompileOptions &options) { return options.emit == "object" || options.emit == "cubin"; }

Status bundle(const CompileOptions &options) {
  CompileRequest request;
  request.target = {options.target, archFor(options), ""};
  if (options.target == "cuda" && request.target.arch.empty())
    return {ErrorCode::invalid_argument, "--arch: without a GPU here, a bundle needs to be told which it is for"};
  TEGULA_RETURN_IF_ERROR(findProgram(options, request));
  Expected<Artifact> artifact = makeCompiler()->compile(request);
  if (!artifact)
    return artifact.status();
  printRemarks(*artifact);
  return addToBundle(options.bundle, {{request, std::move(*artifact)}});
}

Expected<std::string> lower(const CompileOptions &options) {
  CompileRequest request;
  request.target = {options.target, archFor(options), ""};
  TEGULA_RETURN_IF_ERROR(findProgram(options, request));
  request.emit = isBinary(options) ? "" : options.emit;
  Expected<Artifact> artifact = makeCompiler()->compile(request);
  if (!artifact)
    return artifact.status();
  printRemarks(*artifact);
  return std::move(isBinary(options) ? artifact->binary : artifact->text);
}

} // namespace

Status compileCommand(const CompileOptions &options) {
  TEGULA_RETURN_IF_ERROR(checkOptions(options));
  if (!options.bundle.empty())
    return bundle(options);
  const bool toStandardOutput = options.output.empty() || options.output == "-";
  if (isBinary(options) && toStandardOutput && isatty(STDOUT_FILENO))
    return {ErrorCode::invalid_argument,
            fmt::format("--emit: '{}' is not text; name a file with -o FILE", options.emit)};
  Expected<std::string> result = lower(options);
  if (!result)
    return result.status();
  return toStandardOutput ? print(*result) : writeFile("--output", options.output, *result);
}

} // namespace tegula::tools
