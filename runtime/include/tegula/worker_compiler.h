// SPDX-License-Identifier: MIT
// The compiler in processes of its own: whatever happens to it, this process goes on.
#pragma once

#include "tegula/artifact.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace tegula {

struct WorkerOptions {
  /// Path of tegula-cc. Empty: $TEGULA_CC (set but empty: none), or found beside this library or program, in ../bin
  /// or in ../../bin.
  std::string program = {};
  int workers = 2;                               ///< At most as many at a time; further compilations wait.
  std::chrono::milliseconds time_limit{120'000}; ///< For one compilation.
  int64_t memory_bytes = int64_t{4} << 30;       ///< Address space of a worker.
  int64_t program_bytes = int64_t{4} << 20;      ///< The longest program text that is accepted.
  /// Folder for the requests that made a worker fail. Empty: `reproducers` in the user's cache directory.
  std::string reproducers = {};
};

/// A compiler that asks worker processes. Each is started when it is needed, with nothing of this process but its
/// environment, working directory and user; it is kept for the next compilation, and replaced after it has failed. No
/// thread is made, and no signal handler changed; a worker that ends raises SIGCHLD, as every child does. All end with
/// the compiler, or with this process.
/// Further errors of compile(): compile_crashed (the worker died), compile_timeout and resource_exhausted (it ran into
/// a limit), each with what it said and the path of a file that `tegula-opt --replay` compiles again. Returns
/// unsupported if there is no tegula-cc; forked_child in a fork of the process that made the compiler.
std::unique_ptr<Compiler> makeWorkerCompiler(const WorkerOptions &options = {});

} // namespace tegula
