// SPDX-License-Identifier: MIT
// tegula-cc: compiles each request that the host sends, until the host closes the socket. See worker_protocol.h.
#include "compiler/driver/Compile.h"
#include "tegula/frame.h"
#include "tegula/serialize.h"
#include "tegula/worker_protocol.h"

#include "llvm/Support/ErrorHandling.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace tegula;

namespace {

bool isSocket(int descriptor) {
  struct stat file;
  return fstat(descriptor, &file) == 0 && S_ISSOCK(file.st_mode);
}

void setLimit(__rlimit_resource_t resource, rlim_t value) {
  rlimit limit;
  if (getrlimit(resource, &limit) != 0)
    return;
  limit.rlim_cur = value < limit.rlim_max ? value : limit.rlim_max;
  setrlimit(resource, &limit);
}

/// Limits the address space to `bytes`. If memory is refused, in LLVM or anywhere else, the process exits with
/// kWorkerOutOfMemory.
void limitMemory(rlim_t bytes) {
  setLimit(RLIMIT_AS, bytes);
  std::set_new_handler([] { _exit(kWorkerOutOfMemory); });
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { _exit(kWorkerOutOfMemory); });
}

/// Ends this process as soon as the host closes the socket, because the result could then not be sent. If this process
/// leads its process group, the whole group is killed: it contains only this process and ptxas.
void endWithTheHost() {
  std::thread([] {
    pollfd entry{.fd = kWorkerSocket, .events = POLLRDHUP, .revents = 0};
    while (poll(&entry, 1, -1) < 0 && errno == EINTR) {
    }
    if (getpgrp() == getpid())
      kill(0, SIGKILL);
    _exit(EXIT_SUCCESS);
  }).detach();
}

std::string answer(const std::string &bytes) {
  Expected<CompileRequest> request = parseCompileRequest(bytes);
  return serialize(request ? compile(*request) : Expected<Artifact>(request.status()));
}

} // namespace

int main(int argc, char **argv) {
  const unsigned long long memory = argc == 2 ? std::strtoull(argv[1], nullptr, 10) : 0;
  if (memory == 0 || !isSocket(kWorkerSocket)) {
    std::fputs("tegula-cc: this is Tegula's compiler; libtegula starts it when it is needed\n", stderr);
    return EXIT_FAILURE;
  }
  setLimit(RLIMIT_CORE, 0);
  setLimit(RLIMIT_FSIZE, memory); // Files, such as those of ptxas, lie in memory.
  signal(SIGXFSZ, SIG_IGN);       // A file that exceeds the limit is an error with a message.
  endWithTheHost();
  limitMemory(memory);
  std::string bytes;
  while (receiveFrame(kWorkerSocket, bytes) == FrameEnd::complete)
    if (sendFrame(kWorkerSocket, answer(bytes)) != FrameEnd::complete)
      break;
  return EXIT_SUCCESS;
}
