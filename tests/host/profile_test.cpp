// SPDX-License-Identifier: MIT
// Tests what a profiler sees. A process decides only once whether there is a profiler, so each test has its own
// process.
#include "host/host_fixture.h"

#include <cstdlib>
#include <dlfcn.h>
#include <iostream>

using namespace tegula::host;
using namespace tegula::test;

namespace {

std::string eventsOf(const char *profiler) {
  void *library = dlopen(profiler, RTLD_NOW | RTLD_NOLOAD);
  auto *events =
      library != nullptr ? reinterpret_cast<const char *(*)()>(dlsym(library, "standInProfilerEvents")) : nullptr;
  return events != nullptr ? events() : "";
}

/// Runs attention and ends the process. Writes the profiler's events to stderr, after "failed" if attention failed.
[[noreturn]] void attendUnder(const char *profiler) {
  setenv("NVTX_INJECTION64_PATH", profiler, 1);
  tegula_context_options cold = options();
  cold.cache_directory = "";
  const Context context = makeContext(cold);
  tegula_attention_problem forward = problem();
  forward.backward = 0;
  Sequence sequence(20);
  for (int step = 0; step < 2; ++step)
    if (!context.forward(forward, sequence.forward()).ok() || !sequence.isRight(forward))
      std::cerr << "failed\n";
  std::cerr << eventsOf(profiler) << "end\n";
  std::exit(0);
}

class Profile : public ::testing::Test {
protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(Profile, ShowsPlansCompilationsAndLaunches) {
  EXPECT_EXIT(attendUnder(TEGULA_STAND_IN_PROFILER), ::testing::ExitedWithCode(0),
              "^tegula: plan flash2\n"
              "tegula: compile flash2_forward\ntegula: pop\n"
              "tegula: load flash2_forward\ntegula: pop\n"
              "tegula: pop\n"
              "tegula: launch flash2_forward\ntegula: pop\n"
              "tegula: launch flash2_forward\ntegula: pop\n"
              "end\n$");
}

TEST_F(Profile, NeedsAProfilerThatWantsTo) {
  setenv("STAND_IN_PROFILER_REFUSES", "1", 1);
  EXPECT_EXIT(attendUnder(TEGULA_STAND_IN_PROFILER), ::testing::ExitedWithCode(0), "^end\n$");
  unsetenv("STAND_IN_PROFILER_REFUSES");
}

TEST_F(Profile, NeedsAProfilerThatIsThere) {
  EXPECT_EXIT(attendUnder("/nowhere/profiler.so"), ::testing::ExitedWithCode(0), "^end\n$");
  EXPECT_EXIT(attendUnder("libm.so.6"), ::testing::ExitedWithCode(0), "^end\n$");
}

} // namespace
