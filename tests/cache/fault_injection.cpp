// SPDX-License-Identifier: MIT
#include "cache/fault_injection.h"

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <new>
#include <spawn.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

int remaining = 0; // Calls until the fault; 0: no fault will come.
tegula::test::Fault what;
const char *failedFunction = "";

/// Counts a call. Returns true if the call must fail; ends the process if the fault is `die`.
bool hits(const char *function) {
  if (remaining == 0 || --remaining > 0)
    return false;
  failedFunction = function;
  if (what == tegula::test::Fault::die)
    raise(SIGKILL);
  return true;
}

template <class Function> Function *real(Function *, const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

} // namespace

tegula::test::InjectedFault::InjectedFault(int n, Fault fault) {
  failedFunction = "";
  what = fault;
  remaining = n;
}

tegula::test::InjectedFault::~InjectedFault() { remaining = 0; }

const char *tegula::test::InjectedFault::failed() const { return failedFunction; }

void *operator new(size_t bytes) {
  void *memory = hits("operator new") ? nullptr : std::malloc(bytes != 0 ? bytes : 1);
  if (memory == nullptr)
    throw std::bad_alloc();
  return memory;
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

// Calls of this program find these functions before the C library's.
#define FAILING(RESULT, NAME, PARAMETERS, ARGUMENTS, ERROR)                                                            \
  extern "C" RESULT NAME PARAMETERS {                                                                                  \
    static auto *const function = real(&NAME, #NAME);                                                                  \
    if (hits(#NAME)) {                                                                                                 \
      errno = ERROR;                                                                                                   \
      return RESULT(-1);                                                                                               \
    }                                                                                                                  \
    return function ARGUMENTS;                                                                                         \
  }

FAILING(ssize_t, read, (int file, void *to, size_t bytes), (file, to, bytes), EIO)
FAILING(ssize_t, pread, (int file, void *to, size_t bytes, off_t at), (file, to, bytes, at), EIO)
FAILING(ssize_t, write, (int file, const void *from, size_t bytes), (file, from, bytes), ENOSPC)
FAILING(int, fsync, (int file), (file), EIO)
FAILING(int, mkdir, (const char *path, mode_t mode) noexcept, (path, mode), EROFS)
FAILING(int, renameat, (int a, const char *from, int b, const char *to) noexcept, (a, from, b, to), EIO)
FAILING(int, flock, (int file, int operation) noexcept, (file, operation), ENOLCK)
FAILING(int, socketpair, (int domain, int type, int protocol, int *pair) noexcept, (domain, type, protocol, pair),
        EMFILE)
FAILING(int, memfd_create, (const char *name, unsigned flags) noexcept, (name, flags), EMFILE)
FAILING(ssize_t, send, (int file, const void *from, size_t bytes, int flags), (file, from, bytes, flags), EPIPE)
FAILING(ssize_t, recv, (int file, void *to, size_t bytes, int flags), (file, to, bytes, flags), ECONNRESET)

extern "C" int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attributes, char *const *arguments, char *const *environment) {
  static auto *const function = real(&posix_spawn, "posix_spawn");
  return hits("posix_spawn") ? EAGAIN : function(pid, path, actions, attributes, arguments, environment);
}

extern "C" void *dlopen(const char *file, int mode) noexcept {
  static auto *const function = real(&dlopen, "dlopen");
  return function(hits("dlopen") ? "/nowhere" : file, mode);
}

extern "C" int openat(int folder, const char *path, int flags, ...) {
  static auto *const function = real(&openat, "openat");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (!hits("openat"))
    return function(folder, path, flags, mode);
  errno = EMFILE;
  return -1;
}

extern "C" int open(const char *path, int flags, ...) {
  static auto *const function = real(&open, "open");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (!hits("open"))
    return function(path, flags, mode);
  errno = EMFILE;
  return -1;
}
