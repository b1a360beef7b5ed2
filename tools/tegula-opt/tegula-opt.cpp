// SPDX-License-Identifier: MIT
// Runs passes on a program, as mlir-opt does: `tegula-opt --decompose-softmax --cse program.mlir`.
// `tegula-opt --until=simplify program.mlir` runs every phase up to the named one.
#include "compiler/Registration.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

using namespace tegula;

/// The flags that `--until=last` stands for: one per phase. Empty if there is no such phase.
static std::vector<std::string> phaseFlags(llvm::StringRef last) {
  std::vector<std::string> flags;
  for (const MlirPhase &phase : mlirPhases()) {
    flags.push_back("--" + phase.name.str());
    if (phase.name == last)
      return flags;
  }
  return {};
}

static void reportUnknownPhase(llvm::StringRef name) {
  auto names = llvm::map_range(mlirPhases(), [](const MlirPhase &phase) { return phase.name; });
  llvm::errs() << "tegula-opt: there is no phase '" << name << "'; the phases are " << llvm::join(names, ", ") << "\n";
}

int main(int argc, char **argv) {
  std::vector<std::string> words;
  for (llvm::StringRef word : llvm::ArrayRef(argv, argc)) {
    if (!word.consume_front("--until=")) {
      words.push_back(word.str());
      continue;
    }
    auto flags = phaseFlags(word);
    if (flags.empty())
      return reportUnknownPhase(word), EXIT_FAILURE;
    words.insert(words.end(), flags.begin(), flags.end());
  }
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());

  mlir::DialectRegistry registry;
  registerTegulaDialects(registry);
  registerTegulaPasses();
  int count = static_cast<int>(arguments.size());
  return mlir::asMainReturnCode(mlir::MlirOptMain(count, arguments.data(), "Tegula pass driver\n", registry));
}
