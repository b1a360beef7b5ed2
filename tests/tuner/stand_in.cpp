// SPDX-License-Identifier: MIT
// A stand-in for tegula-measure. The schedule of a candidate decides its fate, and its time is known.
#include "fates.h"
#include "messages.h"
#include "tegula/frame.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <thread>
#include <unistd.h>

using namespace tegula;
using namespace tegula::tuning;

namespace {

[[noreturn]] void hang() {
  while (true)
    pause();
}

/// Crashes in the background, as a load may, while requests about other candidates arrive.
void crashSoon() {
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::raise(SIGSEGV);
}

struct StandIn {
  std::map<size_t, Schedule> candidates;
  bool has_reference = false;
  int timed = 0;

  Json answer(const Json &request) {
    std::string verb = request.at("do");
    if (verb == "prepare")
      has_reference = true;
    if (verb == "open" || verb == "kernel" || verb == "prepare")
      return Json::object();
    size_t id = request.at("id");
    if (verb == "load") {
      candidates[id] = *parseSchedule(request.at("schedule").get<std::string>());
      if (fateOf(candidates[id]) == Fate::crashesLoading)
        std::thread(crashSoon).detach();
      return Json::object();
    }
    if (verb == "check" && !has_reference)
      std::abort();
    return verb == "check" ? check(candidates.at(id)) : time(candidates.at(id), request.at("launches"));
  }

  static Json check(const Schedule &schedule) {
    switch (fateOf(schedule)) {
    case Fate::crashes:
      std::raise(SIGSEGV);
      [[fallthrough]];
    case Fate::hangs:
    case Fate::crashesLoading:
      hang();
    case Fate::isWrong:
      return {{"error_ratio", 9}, {"right", false}, {"why", "o has 9"}};
    case Fate::isNan:
      return {{"error_ratio", nullptr}, {"right", false}, {"why", "o has nan"}};
    case Fate::losesDevice:
      return failure({ErrorCode::device_lost, "the context is poisoned"});
    default:
      return {{"error_ratio", 0.5}, {"right", true}, {"why", ""}};
    }
  }

  Json time(const Schedule &schedule, int launches) {
    if (fateOf(schedule) == Fate::crashesLate)
      std::raise(SIGSEGV);
    Json ms = Json::array();
    for (int n = 0; n < launches; ++n)
      ms.push_back(msOf(schedule) * (1 + 0.01 * (timed++ % 5)));
    return {{"ms", ms}};
  }
};

} // namespace

int main() {
  StandIn stand_in;
  for (std::string frame; receiveFrame(kMeasurerSocket, frame) == FrameEnd::complete;)
    if (sendFrame(kMeasurerSocket, stand_in.answer(Json::parse(frame.substr(0, frame.find('\n')))).dump()) !=
        FrameEnd::complete)
      return 1;
}
