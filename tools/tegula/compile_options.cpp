// SPDX-License-Identifier: MIT
#include "compile_options.h"
#include "legal_values.h"

namespace tegula::tools {

constexpr const char *kCompileExamples = R"(PROGRAM is what recording a kernel gives: MLIR text of the `tile` dialect.
Phases, in the order in which they run:
  tile      the program, checked and canonicalised
  simplify  softmax as elementary operations, exponentials to base 2
  plan      decisions: which tile lives in memory, and in which order
  loops     loops over vectors, register-blocked matrix products
  llvm      optimised LLVM IR
  asm       assembly
  object    the shared object that the runtime loads

Examples:
  tegula compile program.mlir --target cpu --emit loops
  tegula compile program.mlir --target cpu --emit object -o program.so
  producer | tegula compile - --emit asm | less

Exit code: 0 if all went well, 1 if the compiler refuses the program, 2 for bad input.)";

void addCompileOptions(CLI::App &command, CompileOptions &options) {
  command.add_option("PROGRAM", options.program, "A file; - is standard input")->required()->type_name(" ");
  command.add_option("--target", options.target, "What to compile for: cpu (cpu)")
      ->check(oneOf({"cpu"}))
      ->type_name("WORD");
  command
      .add_option("--emit", options.emit, "The phase to stop after: tile, simplify, plan, loops, llvm, asm or object")
      ->required()
      ->check(oneOf({"tile", "simplify", "plan", "loops", "llvm", "asm", "object"}))
      ->type_name("WORD");
  command.add_option("-o,--output", options.output, "Write there instead of to standard output")->type_name("FILE");
  addSchedule(command, options.schedule);
  command.footer(kCompileExamples);
}

} // namespace tegula::tools
