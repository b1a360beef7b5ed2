// SPDX-License-Identifier: MIT
// A program of attention, as a search sees it.
#pragma once

#include "subject.h"
#include "tegula/tuner.h"

#include <string_view>

namespace tegula::tuning {

class AttentionSubject final : public Subject {
public:
  /// Returns invalid_argument or unsupported for a task that cannot be tuned.
  static Expected<AttentionSubject> make(const TuningTask &task, const TuningDevice &machine);

  Expected<std::vector<Candidate>> candidates(int most) const override;
  Expected<Candidate> candidateOf(const Configuration &given) const override;
  /// Compiles the program of the task, and the programs whose schedules depend on it: those that list its tiles.
  Expected<std::vector<CompiledProgram>> compile(const Candidate &candidate, Compiler &compiler) const override;
  /// Compiles the other programs of the plan, with the schedules of the untuned library.
  Expected<std::vector<CompiledProgram>> compileOthers(Compiler &compiler) const override;
  Json opening() const override;
  Json loading(const Candidate &candidate) const override;

private:
  AttentionSubject(TuningTask task, const TuningDevice &machine);

  /// Compiles a program of the task's plan and appends it.
  Status add(std::string_view program, const TunedConfigurations &tuned, Compiler &compiler,
             std::vector<CompiledProgram> &programs) const;

  TuningTask task_; ///< Its variant is the one of its class that tegula-measure can make by its name.
};

} // namespace tegula::tuning
