// SPDX-License-Identifier: MIT
#include "cache/key.h"

#include "tegula/internal/digest.h"
#include "tegula/profile_range.h"

#include <cctype>

namespace tegula {
namespace {

size_t skipDigits(std::string_view text, size_t at) {
  while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0)
    ++at;
  return at;
}

/// Returns the end of ` loc("file":LINE:COLUMN)` if this text begins at `at`, otherwise `at`. No other MLIR has this
/// form, not even inside a string, where quotes are escaped.
size_t skipLocation(std::string_view text, size_t at) {
  constexpr std::string_view begin = " loc(\"";
  if (text.substr(at, begin.size()) != begin)
    return at;
  const size_t quote = text.find('"', at + begin.size());
  if (quote == std::string_view::npos || text.substr(quote, 2) != "\":")
    return at;
  const size_t colon = skipDigits(text, quote + 2);
  if (text.substr(colon, 1) != ":")
    return at;
  const size_t end = skipDigits(text, colon + 1);
  return text.substr(end, 1) == ")" ? end + 1 : at;
}

} // namespace

std::string withoutLocations(std::string_view program) {
  std::string text;
  text.reserve(program.size());
  size_t kept = 0; // Start of the text that has not been copied.
  for (size_t at = program.find(" loc("); at != std::string_view::npos; at = program.find(" loc(", at)) {
    const size_t end = skipLocation(program, at);
    if (end == at) {
      ++at;
      continue;
    }
    text.append(program.substr(kept, at - kept));
    kept = at = end;
  }
  return text.append(program.substr(kept));
}

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

Status needsCompile(const CompileRequest &request, const ArtifactKey &key) {
  return ofKernel(
      {ErrorCode::needs_compile,
       "a kernel is not at hand, and the policy does not allow compiling it; allow that, or bring the kernel "
       "in a bundle (tegula compile --bundle)\nkey " +
           key.digest},
      request);
}

Expected<Artifact> compileKernel(Compiler &compiler, const CompileRequest &request) {
  const ProfileRange range("compile", functionName(request.program));
  Expected<Artifact> artifact = compiler.compile(request);
  return artifact ? std::move(artifact) : ofKernel(artifact.status(), request);
}

} // namespace tegula
