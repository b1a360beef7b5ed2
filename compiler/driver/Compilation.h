// SPDX-License-Identifier: MIT
// One compilation: the MLIR phases of a target, then the code generation of that target.
#pragma once

#include "compiler/driver/Program.h"
#include "compiler/emit/Emit.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

/// A schedule that needs less shared memory.
struct Fallback {
  Schedule schedule;
  std::string remark; ///< Says that it was taken; the reason follows.
};

/// A compilation of one request. Each target has a subclass. Call `run` once.
class Compilation {
public:
  explicit Compilation(const CompileRequest &request) : request_(request) {}
  virtual ~Compilation() = default;

  Expected<Artifact> run();

  /// Returns what to try if the shared memory of the target is exhausted. Returns nothing if that is an error.
  virtual std::optional<Fallback> fallback() const { return std::nullopt; }

protected:
  /// Checks the request's target and schedule, and sets the attributes of the module that passes read.
  virtual Status prepare(mlir::ModuleOp module) = 0;
  /// Generates code from the module that the last MLIR phase leaves: the text of the phase that the request asks for,
  /// or the binary.
  virtual Status generateCode() = 0;
  /// Looks at the module after an MLIR phase.
  virtual void end(llvm::StringRef /*phase*/) {}

  /// Generates code for the host from an LLVM module: the text of the phase that the request asks for, or the binary. A
  /// null `module` means that its translation has reported an error.
  Status generateHostCode(std::unique_ptr<llvm::Module> module, const emit::CpuTarget &host,
                          llvm::CodeGenOptLevel level);

  bool wants(std::string_view phase) const { return request_.emit == phase; }

  const CompileRequest &request_;
  SourceProgram source_;
  Artifact artifact_;

private:
  Status runPasses();
  Status link(const std::string &object);
};

std::unique_ptr<Compilation> makeCpuCompilation(const CompileRequest &request);
std::unique_ptr<Compilation> makeCudaCompilation(const CompileRequest &request);
std::unique_ptr<Compilation> makeSimtCompilation(const CompileRequest &request);

/// The phases after the MLIR phases. "llvm" always means LLVM IR, even if an MLIR phase has the same name.
inline constexpr std::string_view kLlvmPhase = "llvm", kAsmPhase = "asm";
std::vector<std::string_view> hostCodePhases();
std::vector<std::string_view> cudaCodePhases();

} // namespace tegula
