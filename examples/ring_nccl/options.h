// SPDX-License-Identifier: MIT
// The options of the command line.
#pragma once

#include <cstdint>
#include <string>

struct Options {
  int gpus = 2;
  int64_t batch = 1, tokens = 32768, heads = 8, kv_heads = 0, head_dim = 128;
  bool causal = false, on_cpu = false, check = false, json = false;
  int repeat = 7;
  int timeout = 120; ///< Seconds in which some rank must finish a pass.
  std::string nccl = "libnccl.so.2";
};

/// Returns the options, of which a ring can be made. Ends the program with exit code 2 and the reason if they are not
/// legal.
Options parseOptions(int count, char **arguments);
