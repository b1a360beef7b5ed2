// SPDX-License-Identifier: MIT
// A program of attention, as a search sees it.
#pragma once

#include "subject.h"
#include "tegula/tuner.h"

namespace tegula::tuning {

class AttentionSubject final : public Subject {
public:
  /// Both arguments must outlive the object.
  AttentionSubject(const TuningTask &task, const TuningDevice &machine) : task_(task), machine_(machine) {}

  Expected<std::vector<Candidate>> candidates(int most) const override;
  Expected<Candidate> candidateOf(const Configuration &given) const override;
  /// Compiles the program of the task, and the programs whose schedules depend on it: those that list its tiles.
  Expected<std::vector<CompiledProgram>> compile(const Candidate &candidate, Compiler &compiler) const override;
  /// Compiles the other programs of the plan, with the schedules of the untuned library.
  Expected<std::vector<CompiledProgram>> compileOthers(Compiler &compiler) const override;
  Json opening() const override;
  Json loading(const Candidate &candidate) const override;

private:
  Expected<KernelConfig> resolved(std::string_view program, const Schedule &given, const TunedSchedules *tuned) const;
  Expected<CompiledProgram> compiled(std::string_view program, const KernelConfig &config, Compiler &compiler) const;

  const TuningTask &task_;
  const TuningDevice &machine_;
};

} // namespace tegula::tuning
