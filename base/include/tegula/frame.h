// SPDX-License-Identifier: MIT
// Messages through a stream socket: a length of 8 bytes, then as many bytes.
#pragma once

#include "tegula/status.h"

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace tegula {

using Deadline = std::chrono::steady_clock::time_point;
inline constexpr Deadline kNoDeadline = Deadline::max();
/// Returns the time point after `time` from now on, or kNoDeadline if the clock cannot represent it.
Deadline deadlineIn(std::chrono::milliseconds time);

/// The reason why the transfer of a frame ended.
enum class FrameEnd {
  complete,
  closed,   ///< The other side is gone, or sent bytes that are no frame.
  too_late, ///< The deadline passed.
  stopped,  ///< The caller asked to stop.
};

/// Returns true if a wait must end. Empty: never. It is asked every few hundredths of a second while a call waits, and
/// at each signal that interrupts the wait.
using StopRequest = std::function<bool()>;

/// Sends or receives one frame. Neither function raises a signal. The socket may be blocking or not. After an end that
/// is not `complete`, the stream cannot be used any more.
FrameEnd sendFrame(int socket, std::string_view bytes, Deadline deadline = kNoDeadline, const StopRequest &stop = {});
FrameEnd receiveFrame(int socket, std::string &bytes, Deadline deadline = kNoDeadline, const StopRequest &stop = {});

} // namespace tegula
