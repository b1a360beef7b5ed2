// SPDX-License-Identifier: MIT
// Compiles the programs of a task's plan.
#pragma once

#include "messages.h"

#include <vector>

namespace tegula::tuning {

/// Compiles the program that is tuned, with a schedule.
Expected<CompiledProgram> compileCandidate(const TuningTask &task, const Target &target, const Schedule &schedule,
                                           Compiler &compiler);

/// Compiles the other programs that the plan needs, with the schedules of the untuned library.
Expected<std::vector<CompiledProgram>> compileOthers(const TuningTask &task, const Target &target, Compiler &compiler);

} // namespace tegula::tuning
