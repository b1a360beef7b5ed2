// SPDX-License-Identifier: MIT
// Makes the n-th call of a system function by this program fail.
#pragma once

#include <string>

namespace tegula::test {

enum class Fault {
  fail, ///< The call does nothing and says so.
  die,  ///< The process is killed in its place.
};

/// While it lives, the `n`-th call (from 1 on) of one of these functions fails: operator new, open, openat, mkdir,
/// read, write, pread, fsync, renameat, flock, socketpair, memfd_create, posix_spawn, send, recv, dlopen.
class InjectedFault {
public:
  InjectedFault(int n, Fault fault);
  ~InjectedFault();
  InjectedFault(const InjectedFault &) = delete;
  InjectedFault &operator=(const InjectedFault &) = delete;

  /// The function that failed; empty if there were fewer than `n` calls.
  const char *failed() const;
};

} // namespace tegula::test
