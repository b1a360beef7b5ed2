// SPDX-License-Identifier: MIT
// A worker that does what the program says, instead of compiling it.
#include "tegula/frame.h"
#include "tegula/serialize.h"
#include "tegula/worker_protocol.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

using namespace tegula;

namespace {

/// Ends this process, or never returns, if the program says so.
void misbehave(const std::string &program) {
  if (program == "abort") {
    std::fputs("LLVM ERROR: cannot select\n", stderr);
    std::abort();
  }
  if (program == "segfault") {
    std::signal(SIGSEGV, SIG_DFL); // A sanitizer has its own handler.
    raise(SIGSEGV);
  }
  if (program == "hang")
    pause();
  if (program == "memory")
    _exit(kWorkerOutOfMemory);
  if (program == "exit")
    _exit(3);
  if (program == "descriptors")
    _exit(dup(kWorkerSocket)); // The lowest free descriptor.
}

std::string answer(const CompileRequest &request) {
  misbehave(request.program);
  if (request.program == "garbage")
    return "tegula-artifact 3\n";
  if (request.program == "refuse")
    return serialize(Expected<Artifact>(Status(ErrorCode::compile_failed, "k.cpp:1: error: no")));
  Artifact artifact;
  artifact.target = request.target.name;
  artifact.kernel = "pid " + std::to_string(getpid());
  artifact.binary = request.program;
  return serialize(artifact);
}

} // namespace

int main() {
  std::string bytes;
  while (receiveFrame(kWorkerSocket, bytes) == FrameEnd::complete)
    if (sendFrame(kWorkerSocket, answer(*parseCompileRequest(bytes))) != FrameEnd::complete)
      break;
}
