// SPDX-License-Identifier: MIT
#include "cache/key.h"

#include "digest.h"

#include <cctype>

namespace tegula {
namespace {

size_t skipDigits(std::string_view text, size_t at) {
  while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0)
    ++at;
  return at;
}

/// The end of ` loc("file":LINE:COLUMN)` if it stands at `at`, else `at`. No other MLIR reads so, not even inside of a
/// string, where a quote is escaped.
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
  size_t kept = 0; // Where what has not been copied begins.
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

/// The first two lines of a request, and the name of its function.
static std::string summary(std::string_view request) {
  const std::string_view head = request.substr(0, request.find('\n', request.find('\n') + 1));
  const std::string_view name = functionName(request);
  return (name.empty() ? "" : "kernel " + std::string(name) + "\n") + std::string(head);
}

Status needsCompile(const ArtifactKey &key) {
  return {ErrorCode::NeedsCompile,
          "a kernel is not at hand, and compiling it is not allowed\n" + summary(key.request) + "\nkey " + key.digest};
}

} // namespace tegula
