// SPDX-License-Identifier: MIT
#include "compile_options.h"
#include "legal_values.h"

#include <algorithm>

#include <fmt/format.h>

namespace tegula::tools {
namespace {

constexpr const char *kExamples = R"(PROGRAM is what recording a kernel gives: MLIR text of the `tile` dialect.
Phases of both targets, in the order in which they run:
  tile      the program, checked and canonicalised
  simplify  softmax as elementary operations, exponentials to base 2
Phases of the cpu target:
  plan      decisions: which tile lives in memory, and in which order
  loops     loops over vectors, register-blocked matrix products
  llvm      optimised LLVM IR
  asm       assembly
  object    the shared object that the runtime loads
Phases of the cuda target:
  layouts   which thread holds which element, and what lies in shared memory
  roles     which warps load and which compute, and in which order
  shared    copies in flight, buffers, barriers
  threads   the program of one thread
  nvvm      the same with the machine's instructions
  calls     simt only: instructions as calls of the executor;
            then llvm, asm and object, as for the cpu
  llvm      optimised LLVM IR
  ptx       the assembler's input
  cubin     the machine code that the runtime loads
  report    registers, spills, instructions, and the work of each loop
  order     the order of MMAs, waits and releases in each loop of consumers

Examples:
  tegula compile program.mlir --target cpu --emit loops
  tegula compile program.mlir --target cpu --emit object -o program.so
  producer | tegula compile - --emit asm | less
  tegula compile --kernel flash2_forward --target cuda --arch sm_90a --dtype bf16 --head-dim 128 --emit ptx
  tegula compile --kernel flash2_forward --target cuda --arch sm_90a --dtype bf16 --head-dim 128 --bundle flash2_kernels

Exit code: 0 if all went well, 1 if the compiler refuses the program, 2 for bad input.)";

std::vector<std::string> phases(std::string_view target) {
  if (target == "cuda")
    return {"tile", "simplify", "layouts", "roles", "shared", "threads",
            "nvvm", "llvm",     "ptx",     "cubin", "report", "order"};
  if (target == "simt")
    return {"tile", "simplify", "layouts", "roles", "shared", "threads", "nvvm", "calls", "llvm", "asm", "object"};
  return {"tile", "simplify", "plan", "loops", "llvm", "asm", "object"};
}

std::vector<std::string> kernelNames() {
  std::vector<std::string> names;
  for (const AttentionProgram &program : attentionPrograms())
    names.emplace_back(program.name);
  return names;
}

void addSource(CLI::App &command, CompileOptions &o) {
  command.add_option("PROGRAM", o.program, "A file; - is standard input")->type_name(" ");
  command
      .add_option("--kernel", o.kernel,
                  "Instead of PROGRAM, a kernel of attention by its name, such as\nflash2_forward")
      ->check(oneOf(kernelNames()))
      ->type_name("NAME");
  addKernelOptions(command, o.choice);
  addVariantOption(command, o.choice);
  command
      .add_option("--variant-text", o.variant_text,
                  "A file with score, probability and mask of your own as text, which\napply after --variant; "
                  "- is standard input")
      ->type_name("FILE");
  command.add_flag("--lse-gradient", o.lse_gradient, "The backward pass takes the gradient of LSE, too");
}

} // namespace

void addCompileOptions(CLI::App &command, CompileOptions &options) {
  addSource(command, options);
  command.add_option("--target", options.target, "What to compile for: cpu, cuda, or simt, which imitates cuda (cpu)")
      ->check(oneOf({"cpu", "cuda", "simt"}))
      ->type_name("WORD");
  command
      .add_option("--arch", options.arch,
                  "cpu: a processor's name; cuda, simt: such as sm_90a\n(this machine's; without a GPU sm_80)")
      ->type_name("NAME");
  command.add_option("--emit", options.emit, "The phase to stop after, see below")->type_name("WORD");
  command
      .add_option("--bundle", options.bundle,
                  "Instead of --emit: add the compiled kernel to this folder, which\nhosts load without a compiler")
      ->type_name("FOLDER");
  command.add_option("-o,--output", options.output, "Write there instead of to standard output (-)")->type_name("FILE");
  addSchedule(command, options.schedule);
  addCheckFinite(command, options.debug.check_finite);
  command.add_flag("--print", options.debug.print, "Keep the program's prints, which write to a buffer");
  command.add_flag("--device-asserts", options.debug.device_asserts, "Keep the program's assertions, too");
  command.footer(kExamples);
}

Status checkOptions(const CompileOptions &options) {
  if (options.emit.empty() && options.bundle.empty())
    return {ErrorCode::invalid_argument, "--emit is required; `tegula compile --help` lists what is legal"};
  if (options.program.empty() == options.kernel.empty())
    return {ErrorCode::invalid_argument, options.program.empty()
                                             ? "there is nothing to compile: name a PROGRAM or a --kernel"
                                             : "--kernel: it takes the place of PROGRAM; give one of them"};
  if (options.kernel.empty() && !options.choice.variant.empty())
    return {ErrorCode::invalid_argument, "--variant: it modifies a --kernel; PROGRAM is what it is"};
  if (options.kernel.empty() && !options.variant_text.empty())
    return {ErrorCode::invalid_argument, "--variant-text: it modifies a --kernel; PROGRAM is what it is"};
  if (options.kernel.empty() && options.lse_gradient)
    return {ErrorCode::invalid_argument, "--lse-gradient: it modifies a --kernel; PROGRAM is what it is"};
  if (!options.bundle.empty() && options.debug != DebugOptions())
    return {ErrorCode::invalid_argument, "--bundle: its kernels report nothing; leave out --check-finite and --print"};
  if (!options.bundle.empty())
    return options.emit.empty() && options.output.empty()
               ? Status()
               : Status(ErrorCode::invalid_argument, "--bundle: it takes the place of --emit and --output");
  std::vector<std::string> legal = phases(options.target);
  if (std::find(legal.begin(), legal.end(), options.emit) == legal.end())
    return {ErrorCode::invalid_argument, fmt::format("--emit: '{}' is no phase of the {} target; its phases are {}",
                                                     options.emit, options.target, enumeration(legal))};
  return {};
}

} // namespace tegula::tools
