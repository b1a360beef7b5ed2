// SPDX-License-Identifier: MIT
// tegula-measure: runs the candidates of the tuner. The tuner starts it with a socket as its standard input and sends
// the messages of messages.h. The program ends when the tuner closes the socket.
#include "session.h"
#include "tegula/frame.h"

#include <csignal>
#include <exception>
#include <sys/prctl.h>

using namespace tegula;
using namespace tegula::tuning;

namespace {

std::string answerTo(Session &session, const std::string &frame) {
  size_t end = frame.find('\n');
  try {
    Json request = Json::parse(frame.substr(0, end));
    std::string_view bytes = end == std::string::npos ? "" : std::string_view(frame).substr(end + 1);
    return session.answer(request, bytes).dump();
  } catch (const std::exception &error) {
    return failure({ErrorCode::internal, error.what()}).dump();
  }
}

} // namespace

int main() {
  prctl(PR_SET_PDEATHSIG, SIGKILL); // A kernel that hangs would outlive the tuner that waits for it.
  Session session;
  for (std::string frame; receiveFrame(kMeasurerSocket, frame) == FrameEnd::complete;)
    if (sendFrame(kMeasurerSocket, answerTo(session, frame)) != FrameEnd::complete)
      return 1;
  return 0;
}
