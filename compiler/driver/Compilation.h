// SPDX-License-Identifier: MIT
// One compilation: the MLIR phases of a target, then the code generation of that target.
#pragma once

#include "compiler/driver/Program.h"
#include "compiler/emit/Emit.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

/// A schedule that needs less shared memory or fewer registers than the compiler's first choice.
struct Fallback {
  Schedule schedule;
  std::string remark; ///< Says that it was taken; what is wrong with the first choice follows.
};

/// A compilation of one request. Each target has a subclass. Call `run` once.
class Compilation {
public:
  /// `user` is the schedule that the user gives. The request's own may also have choices of the compiler.
  Compilation(const CompileRequest &request, const Schedule &user) : request_(request), user_(user) {}
  virtual ~Compilation() = default;

  Expected<Artifact> run();

  /// Returns what to try after `run` has exhausted the shared memory of the target, the best first. A field that the
  /// user or the program gives keeps its value, except in kernels that report.
  virtual std::vector<Fallback> fallbacks() const { return {}; }

  /// Returns the schedule that the user gives.
  const Schedule &user() const { return user_; }
  /// Returns what to try if the compiler's first choice spills registers, the best first.
  virtual std::vector<Fallback> neighbours() const { return {}; }
  /// Returns the line to which remarks on the schedule belong.
  virtual std::string place() const { return artifact_.kernel; }

protected:
  /// Checks the request's target and schedule, and sets the attributes of the module that passes read.
  virtual Status prepare(mlir::ModuleOp module) = 0;
  /// Generates code from the module that the last MLIR phase leaves: the text of the phase that the request asks for,
  /// or the binary.
  virtual Status generateCode() = 0;
  /// Looks at the module after an MLIR phase.
  virtual Status end(llvm::StringRef /*phase*/) { return {}; }

  /// Generates code for the host from an LLVM module: the text of the phase that the request asks for, or the binary. A
  /// null `module` means that its translation has reported an error.
  Status generateHostCode(std::unique_ptr<llvm::Module> module, const emit::CpuTarget &host,
                          llvm::CodeGenOptLevel level);

  bool wants(std::string_view phase) const { return request_.emit == phase; }

  const CompileRequest &request_;
  const Schedule user_;
  SourceProgram source_;
  Artifact artifact_;

private:
  Status runPasses();
  Status link(const std::string &object);
};

std::unique_ptr<Compilation> makeCpuCompilation(const CompileRequest &request, const Schedule &user);
std::unique_ptr<Compilation> makeCudaCompilation(const CompileRequest &request, const Schedule &user);
std::unique_ptr<Compilation> makeSimtCompilation(const CompileRequest &request, const Schedule &user);

/// The phases after the MLIR phases. "llvm" always means LLVM IR, even if an MLIR phase has the same name.
inline constexpr std::string_view kLlvmPhase = "llvm", kAsmPhase = "asm";
std::vector<std::string_view> hostCodePhases();
std::vector<std::string_view> cudaCodePhases();

} // namespace tegula
