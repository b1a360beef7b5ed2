// SPDX-License-Identifier: MIT
// The programs of a task's plan, compiled.
#pragma once

#include "messages.h"

#include <vector>

namespace tegula::tuning {

/// The program that is tuned, with a schedule.
Expected<CompiledProgram> compileCandidate(const TuningTask &task, const Target &target, const Schedule &schedule,
                                           Compiler &compiler);

/// The other programs that its plan needs, with the schedules of the untuned library.
Expected<std::vector<CompiledProgram>> compileOthers(const TuningTask &task, const Target &target, Compiler &compiler);

} // namespace tegula::tuning
