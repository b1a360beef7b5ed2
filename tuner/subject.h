// SPDX-License-Identifier: MIT
// What a search is about: the part of it that knows what is computed.
#pragma once

#include "messages.h"
#include "tegula/search.h"

#include <string>
#include <utility>
#include <vector>

namespace tegula::tuning {

class Subject {
public:
  virtual ~Subject() = default;

  /// Returns a result that says what is tuned on which machine, and has no candidates yet.
  const Tuning &about() const { return about_; }
  const Target &target() const { return about_.machine.target; }

  /// Returns the candidates in the order in which to compile them, the one without tuning first. At most `most` are
  /// `waiting`.
  virtual Expected<std::vector<Candidate>> candidates(int most) const = 0;
  /// Returns the candidate of a configuration that the caller gave, with what it leaves open chosen.
  virtual Expected<Candidate> candidateOf(const Configuration &given) const = 0;

  /// Computes what candidates are compared with, unless the process that measures does. Returns cancelled if
  /// TuningOptions::stopped asks for it between two steps.
  virtual Status prepare(Compiler &, const TuningOptions &) { return {}; }
  /// Compiles the kernel that is searched, and after it those that no other candidate shares. Called by several
  /// threads.
  virtual Expected<std::vector<CompiledProgram>> compile(const Candidate &candidate, Compiler &compiler) const = 0;
  /// Compiles what every candidate needs besides.
  virtual Expected<std::vector<CompiledProgram>> compileOthers(Compiler &compiler) const = 0;

  /// Returns the members of the message `open`, besides target and seed.
  virtual Json opening() const = 0;
  /// Returns the messages after `open` that tell the process about the subject. It is prepared.
  virtual std::vector<std::string> description() const { return {}; }
  /// Returns the members of the message `load` of a candidate, besides its id.
  virtual Json loading(const Candidate &candidate) const = 0;

  /// Returns results of other kernels that follow from one that has a winner. A store keeps them, too.
  virtual Expected<std::vector<Tuning>> implied(const Tuning &) const { return std::vector<Tuning>(); }

protected:
  explicit Subject(Tuning about) : about_(std::move(about)) {}

private:
  Tuning about_;
};

} // namespace tegula::tuning
