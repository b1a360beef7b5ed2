// SPDX-License-Identifier: MIT
#include "cache/key.h"

#include "tegula/internal/digest.h"
#include "tegula/internal/program_text.h"
#include "tegula/profile_range.h"

namespace tegula {

ArtifactKey artifactKey(const CompileRequest &request, std::string environment) {
  const Target &target = request.target;
  ArtifactKey key;
  key.request = "target " + target.name + " " + target.arch + " " + target.features + "\nschedule " +
                toString(request.schedule) + "\n" + withoutLocations(request.program);
  key.environment = std::move(environment);
  key.request_digest = digest(key.request);
  key.digest = digest(key.request_digest + key.environment);
  return key;
}

std::string_view functionName(std::string_view program) {
  constexpr std::string_view function = "func.func @";
  const size_t at = program.find(function);
  if (at == std::string_view::npos)
    return {};
  program.remove_prefix(at + function.size());
  return program.substr(0, program.find('('));
}

/// Returns a line of a message, or nothing if there is no text.
static std::string line(const char *title, const std::string &text) {
  return text.empty() ? "" : std::string("\n") + title + " " + text;
}

Status ofKernel(const Status &status, std::string_view name, const Target &target, const Schedule &schedule) {
  std::string machine = target.name;
  for (const std::string *part : {&target.arch, &target.features})
    machine += (part->empty() ? "" : " ") + *part;
  const std::string fields = toString(schedule);
  return {status.code(), status.message() + line("kernel", std::string(name)) + line("target", machine) +
                             line("schedule", fields.empty() ? "of the compiler's choice" : fields)};
}

Status ofKernel(const Status &status, const CompileRequest &request) {
  return ofKernel(status, functionName(request.program), request.target, request.schedule);
}

static Status refused(const std::string &why, const CompileRequest &request, const ArtifactKey &key) {
  return ofKernel({ErrorCode::needs_compile, why + "\nkey " + key.digest}, request);
}

Status needsCompile(const CompileRequest &request, const ArtifactKey &key) {
  return refused("a kernel is not at hand, and the policy does not allow compiling it; allow that, or bring the kernel "
                 "in a bundle (tegula compile --bundle)",
                 request, key);
}

Status notLoaded(const CompileRequest &request, const ArtifactKey &key) {
  return refused("a kernel is not loaded, and the policy is loaded_only (in C: TEGULA_LOADED_ONLY); load the kernel "
                 "before this policy is set, or set the policy load_only or compile",
                 request, key);
}

Expected<Artifact> compileKernel(Compiler &compiler, const CompileRequest &request) {
  const ProfileRange range("compile", functionName(request.program));
  Expected<Artifact> artifact = compiler.compile(request);
  return artifact ? std::move(artifact) : ofKernel(artifact.status(), request);
}

} // namespace tegula
