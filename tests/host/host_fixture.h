// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/tegula.hpp"

#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace tegula::test {

/// Returns a folder that is deleted when the process ends.
const std::string &sharedFolder();

/// Returns the options of a cpu context with one thread, which keeps its kernels in sharedFolder().
tegula_context_options options();
host::Context makeContext(const tegula_context_options &options = test::options());

/// Returns a problem with f32 and head_dim 16.
tegula_attention_problem problem();

::testing::AssertionResult isOk(const Status &status);

/// One head of random numbers, and the results of attention.
struct Sequence {
  explicit Sequence(int64_t length);

  tegula_tensor view(std::vector<float> &x);
  tegula_forward_args forward();
  tegula_backward_args backward();
  /// Compares the results with those of plain loops over the keys that `sees` lets a query see.
  ::testing::AssertionResult isRight(
      const tegula_attention_problem &problem,
      const std::function<bool(int64_t query, int64_t key)> &sees = [](int64_t, int64_t) { return true; }) const;

  int64_t length;
  std::vector<float> q, k, v, o, lse, d_o, dq, dk, dv;

private:
  template <class Args> Args sharedArguments();
};

} // namespace tegula::test
