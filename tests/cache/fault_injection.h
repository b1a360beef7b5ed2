// SPDX-License-Identifier: MIT
// Makes the n-th call of a system function by this program fail.
#pragma once

#include <string>

namespace tegula::test {

enum class Fault {
  fail, ///< The call does nothing and returns an error.
  die,  ///< The process is killed instead of the call.
};

/// A fault for as long as this object lives: the `n`-th call (from 1 on) of one of these functions fails. The functions
/// are operator new, open, openat, mkdir, read, write, pread, fsync, renameat, flock, socketpair, memfd_create,
/// posix_spawn, send, recv and dlopen.
class InjectedFault {
public:
  InjectedFault(int n, Fault fault);
  ~InjectedFault();
  InjectedFault(const InjectedFault &) = delete;
  InjectedFault &operator=(const InjectedFault &) = delete;

  /// Returns the function that failed, or an empty string if there were fewer than `n` calls.
  const char *failed() const;
};

} // namespace tegula::test
