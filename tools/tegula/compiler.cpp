// SPDX-License-Identifier: MIT
#include "compiler.h"

#include "compiler/client/InProcessCompiler.h"
#include "tegula/worker_compiler.h"
#include "worker/find_worker.h"

namespace tegula::tools {

std::unique_ptr<Compiler> makeCompiler(int workers) {
  const Expected<std::string> program = findWorker();
  return program ? makeWorkerCompiler({.program = *program, .workers = workers}) : makeInProcessCompiler();
}

} // namespace tegula::tools
