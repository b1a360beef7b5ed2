// SPDX-License-Identifier: MIT
// One compilation: the phases of a target in MLIR, which are the same for all, then its own.
#pragma once

#include "compiler/driver/Program.h"
#include "compiler/emit/Emit.h"

#include <memory>
#include <string_view>
#include <vector>

namespace tegula {

class Compilation {
public:
  explicit Compilation(const CompileRequest &request) : request_(request) {}
  virtual ~Compilation() = default;

  Expected<Artifact> run();

protected:
  /// Checks the request's target and schedule, and writes what passes must know of them on the module.
  virtual Status prepare(mlir::ModuleOp module) = 0;
  /// From the last phase of MLIR on, to the phase that the request asks for or to the binary.
  virtual Status generateCode() = 0;

  /// From an LLVM module for the host, null after a diagnostic, to the phase that the request asks for or to the
  /// binary.
  Status generateHostCode(std::unique_ptr<llvm::Module> module, const emit::CpuTarget &host);

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

/// The phases after those of MLIR. "llvm" means LLVM IR even where MLIR has a phase of that name.
inline constexpr std::string_view kLlvmPhase = "llvm", kAsmPhase = "asm";
std::vector<std::string_view> hostCodePhases();
std::vector<std::string_view> cudaCodePhases();

} // namespace tegula
