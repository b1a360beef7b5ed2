// SPDX-License-Identifier: MIT
// Reads the tuner's results as hosts do, with a fault at every call of a system function.
#include "cache/fault_injection.h"
#include "tegula/tuning_store.h"
#include "tuner/example_tuning.h"

#include <gtest/gtest.h>
#include <set>

namespace tegula {
namespace {

TEST(StoreFaults, AreSchedulesThatAreNotFound) {
  std::string folder = testing::TempDir() + "tegula-schedules-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const TuningStore store(folder);
  const Tuning tuning = test::exampleTuning();
  ASSERT_TRUE(store.save(tuning).ok());
  std::set<std::string> functions;
  std::string failed;
  int call = 0;
  do {
    size_t found = 0;
    {
      const test::InjectedFault fault(++call, test::Fault::fail);
      found = store.configurations(tuning.machine).size();
      failed = fault.failed();
    }
    EXPECT_EQ(found, failed.empty() ? 1u : 0u) << "call " << call << ", " << failed;
    functions.insert(failed);
  } while (!failed.empty());
  EXPECT_EQ(functions, (std::set<std::string>{"", "operator new", "open", "openat", "read"}));
  EXPECT_EQ(store.configurations(tuning.machine).size(), 1u);
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace tegula
