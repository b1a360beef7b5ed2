// SPDX-License-Identifier: MIT
#include "tegula/frame.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>

namespace tegula {
namespace {

/// The longest frame. No program and no artifact is as long: a greater length comes from a process that is broken.
constexpr uint64_t kLongestFrame = uint64_t{1} << 30;
/// The most bytes to allocate at a time. A wrong length therefore costs no memory.
constexpr size_t kChunk = 1 << 20;
/// The longest time between two questions whether to stop.
constexpr int kMillisecondsToStop = 50;

/// The conditions under which a transfer waits.
struct Patience {
  Deadline deadline;
  const StopRequest &stop;

  bool isOver() const { return deadline != kNoDeadline && std::chrono::steady_clock::now() >= deadline; }
  bool isStopped() const { return stop && stop(); }

  /// Returns the milliseconds that poll may wait; -1 is without a limit.
  int slice() const {
    const int longest = stop ? kMillisecondsToStop : -1;
    if (deadline == kNoDeadline)
      return longest;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    return static_cast<int>(std::clamp<int64_t>(left.count(), 0, stop ? kMillisecondsToStop : INT_MAX));
  }
};

FrameEnd waitFor(int socket, short events, const Patience &patience) {
  while (true) {
    pollfd entry{.fd = socket, .events = events, .revents = 0};
    const int ready = poll(&entry, 1, patience.slice());
    if (ready > 0)
      return FrameEnd::complete;
    if (ready < 0 && errno != EINTR)
      return FrameEnd::closed;
    if (patience.isStopped())
      return FrameEnd::stopped;
    if (ready == 0 && patience.isOver())
      return FrameEnd::too_late;
  }
}

/// Calls `move(done, left)`, which is send or recv, until `bytes` bytes have been moved.
template <class Move> FrameEnd transfer(int socket, short events, size_t bytes, const Patience &patience, Move move) {
  for (size_t done = 0; done < bytes;) {
    const FrameEnd end = waitFor(socket, events, patience);
    if (end != FrameEnd::complete)
      return end;
    const ssize_t moved = move(done, bytes - done);
    if (moved == 0 || (moved < 0 && errno != EINTR && errno != EAGAIN))
      return FrameEnd::closed;
    done += static_cast<size_t>(std::max<ssize_t>(moved, 0));
  }
  return FrameEnd::complete;
}

FrameEnd sendAll(int socket, std::string_view bytes, const Patience &patience) {
  return transfer(socket, POLLOUT, bytes.size(), patience, [&](size_t done, size_t left) {
    return send(socket, bytes.data() + done, left, MSG_NOSIGNAL | MSG_DONTWAIT);
  });
}

FrameEnd receiveAll(int socket, char *bytes, size_t count, const Patience &patience) {
  return transfer(socket, POLLIN, count, patience,
                  [&](size_t done, size_t left) { return recv(socket, bytes + done, left, MSG_DONTWAIT); });
}

} // namespace

Deadline deadlineIn(std::chrono::milliseconds time) {
  const Deadline now = Deadline::clock::now();
  return time < std::chrono::duration_cast<std::chrono::milliseconds>(kNoDeadline - now) ? now + time : kNoDeadline;
}

FrameEnd sendFrame(int socket, std::string_view bytes, Deadline deadline, const StopRequest &stop) {
  const Patience patience{deadline, stop};
  const uint64_t length = bytes.size();
  char header[sizeof length];
  std::memcpy(header, &length, sizeof length);
  const FrameEnd end = sendAll(socket, {header, sizeof header}, patience);
  return end == FrameEnd::complete ? sendAll(socket, bytes, patience) : end;
}

FrameEnd receiveFrame(int socket, std::string &bytes, Deadline deadline, const StopRequest &stop) {
  const Patience patience{deadline, stop};
  char header[sizeof(uint64_t)] = {};
  FrameEnd end = receiveAll(socket, header, sizeof header, patience);
  uint64_t length;
  std::memcpy(&length, header, sizeof length);
  if (end == FrameEnd::complete && length > kLongestFrame)
    end = FrameEnd::closed;
  bytes.clear();
  while (end == FrameEnd::complete && bytes.size() < length) {
    const size_t begin = bytes.size();
    bytes.resize(begin + std::min<size_t>(kChunk, length - begin));
    end = receiveAll(socket, bytes.data() + begin, bytes.size() - begin, patience);
  }
  return end;
}

} // namespace tegula
