// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/tegula.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace tegula::test {

/// Deleted when the process ends.
const std::string &sharedFolder();

/// A cpu context with one thread, whose kernels are kept in sharedFolder().
tegula_context_options options();
host::Context makeContext(const tegula_context_options &options = test::options());

/// f32, head_dim 16.
tegula_attention_problem problem();

::testing::AssertionResult isOk(const host::Status &status);

/// One head of random numbers, and what attention makes of them.
struct Sequence {
  explicit Sequence(int64_t length);

  tegula_tensor view(std::vector<float> &x);
  tegula_forward_args forward();
  tegula_backward_args backward();
  /// Against plain loops.
  ::testing::AssertionResult isRight(const tegula_attention_problem &problem) const;

  int64_t length;
  std::vector<float> q, k, v, o, lse, d_o, dq, dk, dv;

private:
  template <class Args> Args sharedArguments();
};

} // namespace tegula::test
