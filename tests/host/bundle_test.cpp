// SPDX-License-Identifier: MIT
// Uses kernels that the command line compiled ahead of time, without a compiler.
#include "host/host_fixture.h"

#include <cstdlib>

using namespace tegula::host;
using namespace tegula::test;

namespace {

TEST(Bundle, RunsWithoutACompiler) {
  const std::string folder = sharedFolder() + "/bundle";
  for (const char *kernel :
       {"flash2_forward", "flash2_backward_preprocess", "flash2_backward_preprocess --lse-gradient", "flash2_backward",
        "flash2_backward_postprocess"})
    ASSERT_EQ(std::system((std::string(TEGULA " compile --dtype f32 --head-dim 16 --kernel ") + kernel + " --bundle '" +
                           folder + "'")
                              .c_str()),
              0);
  const char *const bundles[] = {folder.c_str()};
  tegula_context_options bundled = options();
  bundled.cache_directory = "";
  bundled.compiler = "/nowhere/tegula-cc";
  bundled.policy = TEGULA_LOAD_ONLY;
  bundled.read_only = bundles;
  bundled.read_only_count = 1;
  const Context context = makeContext(bundled);
  Sequence sequence(70);
  ASSERT_TRUE(isOk(context.forward(problem(), sequence.forward())));
  EXPECT_TRUE(sequence.isRight(problem()));
  ASSERT_TRUE(isOk(context.backward(problem(), sequence.backward())));
  EXPECT_EQ(context.counters()->read_only_hits, 4);
  tegula_attention_problem both = problem();
  both.lse_gradient = 1;
  EXPECT_TRUE(isOk(context.plan(both).status()));
  EXPECT_EQ(context.counters()->read_only_hits, 5); // The other kernels are loaded already.
}

} // namespace
