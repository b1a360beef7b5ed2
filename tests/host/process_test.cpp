// SPDX-License-Identifier: MIT
// Tests that the library changes nothing about the process.
#include "host/host_fixture.h"
#include "worker/process_state.h"

#include <dlfcn.h>

using namespace tegula::host;
using namespace tegula::test;

namespace {

TEST(Process, StaysAsItIs) {
  const ProcessState before = ProcessState::now();
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  {
    tegula_context_options cold = options();
    cold.cache_directory = "";
    const Context context = makeContext(cold);
    EXPECT_EQ(ProcessState::now().threads, before.threads);
    EXPECT_TRUE(children().empty());
    Sequence sequence(20);
    EXPECT_TRUE(isOk(context.forward(problem(), sequence.forward())));
    tegula_attention_problem wrong = problem();
    wrong.head_dim = 3;
    EXPECT_FALSE(context.forward(wrong, sequence.forward()).ok());
    EXPECT_EQ(ProcessState::now().handlers, before.handlers);
    EXPECT_EQ(ProcessState::now().threads, before.threads);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(ProcessState::now(), before);
  EXPECT_TRUE(children().empty());
}

TEST(Process, MayHaveAnLlvmOfItsOwn) {
  void *llvm = dlopen(TEGULA_OTHER_LLVM, RTLD_NOW | RTLD_GLOBAL);
  ASSERT_NE(llvm, nullptr) << dlerror();
  const Context context = makeContext();
  Sequence sequence(25);
  EXPECT_TRUE(isOk(context.forward(problem(), sequence.forward())));
  EXPECT_TRUE(sequence.isRight(problem()));
}

} // namespace
