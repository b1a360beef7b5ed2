// SPDX-License-Identifier: MIT
#include "compile_command.h"
#include "compiler/client/InProcessCompiler.h"
#include "files.h"

#include <unistd.h>
#include <utility>

namespace tegula::tools {

static Expected<std::string> lower(const CompileOptions &options, bool object) {
  Expected<std::string> program = readFile("PROGRAM", options.program);
  if (!program)
    return program.status();
  CompileRequest request;
  request.program = std::move(*program);
  request.schedule = options.schedule;
  request.target.name = options.target;
  request.emit = object ? "" : options.emit;
  Expected<Artifact> artifact = makeInProcessCompiler()->compile(request);
  if (!artifact)
    return artifact.status();
  return std::move(object ? artifact->binary : artifact->text);
}

Status compileCommand(const CompileOptions &options) {
  bool object = options.emit == "object";
  if (object && options.output.empty() && isatty(STDOUT_FILENO))
    return {ErrorCode::InvalidArgument, "--emit: 'object' is not text; name a file with -o FILE"};
  Expected<std::string> result = lower(options, object);
  if (!result)
    return result.status();
  return options.output.empty() ? print(*result) : writeFile("--output", options.output, *result);
}

} // namespace tegula::tools
