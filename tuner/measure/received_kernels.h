// SPDX-License-Identifier: MIT
// A compiler that returns only the artifacts that it has received. Thread-safe.
#pragma once

#include "messages.h"

#include <map>
#include <mutex>
#include <string>

namespace tegula::tuning {

class ReceivedKernels : public Compiler {
public:
  void add(CompiledProgram program) {
    const std::lock_guard lock(mutex_);
    artifacts_[keyOf(program.request)] = std::move(program.artifact);
  }

  Expected<Artifact> compile(const CompileRequest &request) override {
    const std::lock_guard lock(mutex_);
    auto found = artifacts_.find(keyOf(request));
    if (found == artifacts_.end())
      return Status(ErrorCode::needs_compile, "no kernel was sent for the schedule " + toString(request.schedule));
    return found->second;
  }

private:
  static std::string keyOf(const CompileRequest &request) {
    return toString(request.schedule) + "\n" + request.program;
  }

  std::mutex mutex_;
  std::map<std::string, Artifact> artifacts_;
};

} // namespace tegula::tuning
