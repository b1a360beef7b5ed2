// SPDX-License-Identifier: MIT
#include "tegula/internal/write_all.h"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <unistd.h>

namespace tegula {
namespace {

/// A scope in which the calling thread gets no SIGXFSZ from its own writes.
class FileSizeSignalBlocked {
public:
  FileSizeSignalBlocked() noexcept {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    sigset_t pending;
    wasPending_ = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &signal_, &previous_);
  }
  ~FileSizeSignalBlocked() { pthread_sigmask(SIG_SETMASK, &previous_, nullptr); }
  FileSizeSignalBlocked(const FileSizeSignalBlocked &) = delete;
  FileSizeSignalBlocked &operator=(const FileSizeSignalBlocked &) = delete;

  /// Removes the signal of a write that has failed. The system keeps one SIGXFSZ of a thread, so that a signal that was
  /// pending before is still the only one.
  void consume() const noexcept {
    constexpr timespec now{};
    if (!wasPending_)
      sigtimedwait(&signal_, nullptr, &now);
  }

private:
  sigset_t signal_, previous_;
  bool wasPending_;
};

} // namespace

int writeAll(int descriptor, std::string_view bytes) noexcept {
  const FileSizeSignalBlocked blocked;
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    const int error = count < 0 ? errno : 0;
    if (error == EFBIG)
      blocked.consume();
    if (error != 0 && error != EINTR)
      return error;
    bytes.remove_prefix(count < 0 ? 0 : static_cast<size_t>(count));
  }
  return 0;
}

} // namespace tegula
