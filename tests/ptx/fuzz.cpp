// SPDX-License-Identifier: MIT
// tegula_ptx_fuzz [--seed N] [--count N] [--mode compare|mutate|assemble|print]
//
// Prints `count` random kernels with our printer and with LLVM's, runs both texts on the same inputs, and compares what
// they store. Equal seeds give equal kernels. Prints the first failing kernels with the fewest instructions that still
// fail, and exits with 1 if there was one.
//
// --mode mutate checks that these kernels would show mistakes: it makes some in our texts. --mode assemble gives our
// texts to ptxas instead. --mode print only prints both texts.
#include "ptx/mutants.h"
#include "ptx/printers.h"
#include "ptx/random_kernel.h"
#include "ptx/shrink.h"
#include "ptx/verdict.h"

#include "compiler/emit/Emit.h"
#include "tegula/artifact.h"
#include "tegula/toolchain.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

#include <cctype>
#include <cstdlib>
#include <string>
#include <string_view>

namespace tegula::ptx_fuzz {
namespace {

constexpr int kSkipped = 77;     ///< The exit status if there is no ptxas.
constexpr uint64_t kReports = 5; ///< The number of failing kernels that are printed.

struct Options {
  uint64_t seed = 1;
  uint64_t count = 1000;
  std::string_view mode = "compare";
};

[[noreturn]] void usage(const char *word) {
  llvm::errs() << "unknown or incomplete option '" << word << "'\n"
               << "usage: tegula_ptx_fuzz [--seed N] [--count N] [--mode compare|mutate|assemble|print]\n";
  std::exit(2);
}

Options parseOptions(int argc, char **argv) {
  Options options;
  for (int n = 1; n < argc; n += 2) {
    std::string_view word = argv[n];
    if (n + 1 == argc)
      usage(argv[n]);
    const uint64_t number = std::strtoull(argv[n + 1], nullptr, 10);
    if (word == "--seed")
      options.seed = number;
    else if (word == "--count")
      options.count = number;
    else if (word == "--mode")
      options.mode = argv[n + 1];
    else
      usage(argv[n]);
  }
  return options;
}

std::string withoutDigits(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isdigit(c); });
  return text;
}

/// Returns true if both verdicts tell of the same defect, as far as one can know.
bool isAlike(const Verdict &a, const Verdict &b) {
  return a.kind == b.kind && (a.kind == Verdict::Kind::differs || withoutDigits(a.why) == withoutDigits(b.why));
}

/// Prints a kernel as the printers get it, and both texts.
void print(const llvm::Module &module, Settings settings) {
  std::unique_ptr<llvm::Module> kernel = compiled(module, settings);
  Expected<std::string> text = tegulaPtx(*kernel, settings.arch());
  llvm::outs() << *kernel << (text ? *text : text.status().message()) << llvmPtx(*kernel);
}

using Check = Verdict (*)(const llvm::Module &, Settings);

void report(const llvm::Module &module, Settings settings, const Verdict &verdict, Check check) {
  auto smallest = shrink(module, [&](const llvm::Module &other) { return isAlike(check(other, settings), verdict); });
  print(*smallest, settings);
  llvm::outs() << "FAILED --seed " << settings.seed << " --count 1 (" << settings.arch()
               << "): " << toString(verdict.kind) << ": " << check(*smallest, settings).why << "\n\n";
}

/// Returns what ptxas says of our text.
Verdict assemble(const llvm::Module &module, Settings settings) {
  Expected<std::string> text = tegulaPtx(*compiled(module, settings), settings.arch());
  if (!text)
    return {Verdict::Kind::refused, text.status().message()};
  AssemblerReport unused;
  const Status status = emit::assemble(*text, *emit::resolveGpu(settings.arch()), unused).status();
  return {status.ok() ? Verdict::Kind::equal : Verdict::Kind::rejected, status.message()};
}

/// Calls `check` for each kernel, and reports those that fail.
int forEachKernel(const Options &options, Check check) {
  uint64_t failures = 0;
  for (uint64_t seed = options.seed; seed < options.seed + options.count; ++seed) {
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> module = randomKernel(context, seed);
    const Verdict verdict = check(*module, Settings{seed});
    if (verdict.kind != Verdict::Kind::equal && ++failures <= kReports)
      report(*module, Settings{seed}, verdict, check);
  }
  llvm::outs() << failures << " of " << options.count << " kernels failed\n";
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/// Returns the exit status if there is no ptxas, which CI must have.
int noAssembler() {
  const char *ci = std::getenv("CI");
  const bool isCi = ci != nullptr && std::string_view(ci) == "true";
  llvm::outs() << "there is no ptxas; tools/setup --tests installs it\n";
  return isCi ? EXIT_FAILURE : kSkipped;
}

int run(const Options &options) {
  if (!hasLlvmPrinter())
    return llvm::errs() << "this LLVM has no NVPTX back end\n", EXIT_FAILURE;
  if (options.mode == "compare")
    return forEachKernel(options, judge);
  if (options.mode == "assemble")
    return findAssembler().empty() ? noAssembler() : forEachKernel(options, assemble);
  if (options.mode == "mutate")
    return runMutants(options.seed, options.count) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
  llvm::LLVMContext context;
  print(*randomKernel(context, options.seed), Settings{options.seed});
  return EXIT_SUCCESS;
}

} // namespace
} // namespace tegula::ptx_fuzz

int main(int argc, char **argv) {
  using namespace tegula::ptx_fuzz;
  return run(parseOptions(argc, argv));
}
