// SPDX-License-Identifier: MIT
// Runs passes on a program, as mlir-opt does: `tegula-opt --decompose-softmax --cse program.mlir`.
// `tegula-opt --until=threads program.mlir` runs every phase up to the named one. A phase that several targets have is
// the cpu's, or that of `--target=cuda`. `tegula-opt --replay FILE` repeats a compilation that made the worker fail.
// `tegula-opt --ptx FILE` prints PTX for sm_90a from LLVM IR that is optimised already.
#include "compiler/Registration.h"

#include "compiler/driver/Compile.h"
#include "compiler/emit/Emit.h"
#include "compiler/ptx/Ptx.h"
#include "tegula/serialize.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>
#include <vector>

using namespace tegula;

namespace {

/// The command line, with `--until` and `--target` taken out of it.
struct CommandLine {
  std::vector<std::string> words;
  std::optional<std::string> target, until;

  CommandLine(int argc, char **argv) {
    for (llvm::StringRef word : llvm::ArrayRef(argv, argc))
      if (word.consume_front("--until="))
        until = word.str();
      else if (word.consume_front("--target="))
        target = word.str();
      else
        words.push_back(word.str());
  }

  /// Replaces `--until` by the phases that it stands for. False if there is no such phase.
  bool addPhases() {
    for (llvm::StringRef name : targetNames()) {
      if (target && *target != name)
        continue;
      auto phases = mlirPhases(name);
      auto last = llvm::find_if(phases, [&](const MlirPhase &phase) { return phase.name == *until; });
      if (last == phases.end())
        continue;
      for (const MlirPhase &phase : llvm::make_range(phases.begin(), std::next(last)))
        words.push_back(("--" + name + "-" + phase.name).str());
      return true;
    }
    return false;
  }

  void reportUnknownPhase() const {
    llvm::errs() << "tegula-opt: there is no phase '" << *until << "'";
    for (llvm::StringRef name : targetNames()) {
      auto names = llvm::map_range(mlirPhases(name), [](const MlirPhase &phase) { return phase.name; });
      if (!target || *target == name)
        llvm::errs() << "; the phases of " << name << " are " << llvm::join(names, ", ");
    }
    llvm::errs() << "\n";
  }
};

/// Compiles the request in a file, and returns the error; empty if it compiles.
std::string replay(const char *path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return file.getError().message();
  Expected<CompileRequest> request = parseCompileRequest((*file)->getBuffer());
  if (!request)
    return request.status().message();
  return compile(*request).status().message();
}

Expected<std::string> ptxOf(const char *path) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  std::unique_ptr<llvm::Module> module = llvm::parseIRFile(path, problem, context);
  if (!module)
    return Status(ErrorCode::invalid_argument, problem.getMessage().str());
  Expected<emit::GpuTarget> gpu = emit::resolveGpu("sm_90a");
  return ptx::toPtx(*module, {gpu->arch, gpu->ptx, gpu->number});
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 3 && llvm::StringRef(argv[1]) == "--replay") {
    std::string problem = replay(argv[2]);
    llvm::errs() << (problem.empty() ? "it compiles" : problem) << "\n";
    return problem.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  if (argc == 3 && llvm::StringRef(argv[1]) == "--ptx") {
    Expected<std::string> ptx = ptxOf(argv[2]);
    (ptx ? llvm::outs() : llvm::errs()) << (ptx ? *ptx : ptx.status().message() + "\n");
    return ptx ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  CommandLine line(argc, argv);
  if (line.until && !line.addPhases())
    return line.reportUnknownPhase(), EXIT_FAILURE;
  std::vector<char *> arguments;
  for (std::string &word : line.words)
    arguments.push_back(word.data());

  mlir::DialectRegistry registry;
  registerTegulaDialects(registry);
  registerTegulaPasses();
  int count = static_cast<int>(arguments.size());
  return mlir::asMainReturnCode(mlir::MlirOptMain(count, arguments.data(), "Tegula pass driver\n", registry));
}
