// SPDX-License-Identifier: MIT
// A compiler in separate processes: if a compilation crashes, this process goes on.
#pragma once

#include "tegula/artifact.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace tegula {

struct WorkerOptions {
  /// Path of tegula-cc. If empty, the path is $TEGULA_CC. If this is not set either, tegula-cc is searched next to this
  /// library or program, in ../bin and in ../../bin. If $TEGULA_CC is set but empty, there is no compiler.
  std::string program = {};
  int workers = 2;                               ///< The most workers at a time; further compilations wait.
  std::chrono::milliseconds time_limit{120'000}; ///< Limit of one compilation.
  int64_t memory_bytes = int64_t{4} << 30;       ///< Address space of a worker.
  int64_t program_bytes = int64_t{4} << 20;      ///< The longest program text that is accepted.
  /// Directory for the requests that made a worker fail. If empty, it is `reproducers` in the user's cache directory.
  std::string reproducers = {};
  /// Asked every few hundredths of a second while compile() waits, by the thread that called it. True ends the
  /// compilation with the error `cancelled`, and its worker.
  std::function<bool()> stopped = {};
};

/// Makes a compiler that asks worker processes. A worker is started when it is needed. It gets nothing from this
/// process except the environment, the working directory and the user. It is kept for the next compilation, and
/// replaced after a failure. No thread is made, and no signal handler is changed; a worker that ends raises SIGCHLD, as
/// every child does. All workers end with the compiler, or with this process.
/// compile() has further errors: compile_crashed (the worker died), compile_timeout and resource_exhausted (the worker
/// ran into a limit), and cancelled (WorkerOptions::stopped). Each but the last has the worker's output and the path of
/// a file that `tegula-opt --replay` compiles again. Returns unsupported if there is no tegula-cc. Returns forked_child
/// in a fork of the process that made the compiler.
std::unique_ptr<Compiler> makeWorkerCompiler(const WorkerOptions &options = {});

/// Returns the path of tegula-cc that an empty WorkerOptions::program stands for. Returns unsupported, with where it
/// was looked for, if there is none.
Expected<std::string> findWorker();

} // namespace tegula
