// SPDX-License-Identifier: MIT
// Makes a plan for f32 and head_dim 16 on the cpu, with the user's schedules, and prints what is compiled for it. The
// arguments may give the numbers of queries and keys.
#include "tegula/tegula.hpp"

#include <cstdio>
#include <cstdlib>

using namespace tegula::host;

int main(int argc, char **argv) {
  auto hooks = make<tegula_hooks>();
  hooks.compilation = [](void *, const tegula_compilation *compilation) {
    if (!compilation->finished)
      std::puts(compilation->schedule);
  };
  auto options = make<tegula_context_options>();
  options.cache_directory = "";
  options.hooks = &hooks;
  Expected<Context> context = Context::create(options);
  auto problem = make<tegula_attention_problem>();
  problem.dtype = TEGULA_F32;
  problem.head_dim = problem.value_dim = 16;
  if (argc == 3) {
    problem.seqlen_q = std::atoi(argv[1]);
    problem.seqlen_k = std::atoi(argv[2]);
  }
  return context && context->plan(problem) ? 0 : 1;
}
