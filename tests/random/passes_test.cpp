// SPDX-License-Identifier: MIT
// Runs each pass twice on random programs. The second run changes nothing.
#include "compiler/Registration.h"
#include "compiler/tile/Settings.h"
#include "random/build.h"
#include "random/generate.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <gtest/gtest.h>

#include <set>

namespace tegula::random_programs {
namespace {

using namespace mlir;

constexpr int kPrograms = 100;

/// Passes whose second run changes a program by nature.
const std::set<std::string> kChangeAgain = {
    "assign-layouts",   // Its input has no layouts. It chooses anew from what it has made.
    "lower-to-loops",   // Refuses the ops that it has made.
    "lower-to-threads", // The same.
    "cse",              // MLIR's. Finds ops that its first run has made equal.
};

std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

/// Writes a target and a schedule on the module, as the compiler does before the first pass.
void prepare(ModuleOp module, int64_t arch, const Schedule &schedule) {
  Builder b(module.getContext());
  auto set = [&](const char *name, int64_t value) { module->setAttr(name, b.getI64IntegerAttr(value)); };
  set("tile.arch", arch);
  set("tile.shared_limit", (arch == 90 ? 228 << 10 : 164 << 10) / schedule.instances_per_sm - 1024);
  tile::setSchedule(module, schedule);
}

/// Returns the passes of a pipeline one by one, in the form that parsePassPipeline reads.
void splitPipeline(llvm::StringRef text, const std::string &before, const std::string &after,
                   std::vector<std::string> &passes) {
  while (!text.empty()) {
    size_t end = 0;
    for (int depth = 0; end < text.size() && (depth > 0 || text[end] != ','); ++end)
      depth += llvm::StringRef("({").contains(text[end]) - llvm::StringRef(")}").contains(text[end]);
    llvm::StringRef item = text.take_front(end);
    text = text.drop_front(std::min(end + 1, text.size()));
    auto [name, inner] = item.split('(');
    if (inner.empty() || name.contains('{'))
      passes.push_back(before + item.str() + after);
    else
      splitPipeline(inner.drop_back(), before + name.str() + "(", ")" + after, passes);
  }
}

std::vector<std::string> passesOf(MLIRContext *context, const MlirPhase &phase) {
  PassManager manager(context, ModuleOp::getOperationName());
  phase.build(manager);
  std::string text;
  llvm::raw_string_ostream stream(text);
  manager.printAsTextualPipeline(stream);
  std::vector<std::string> passes;
  llvm::StringRef inner = text;
  inner.consume_front("builtin.module(");
  splitPipeline(inner.drop_back(), "", "", passes);
  return passes;
}

/// Runs one pass. Returns false if it fails.
bool runPass(ModuleOp module, const std::string &pass) {
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  manager.enableVerifier(false);
  EXPECT_TRUE(succeeded(parsePassPipeline(pass, manager))) << pass;
  return succeeded(manager.run(module));
}

/// Returns the first lines in which two texts differ.
std::string difference(llvm::StringRef once, llvm::StringRef twice) {
  while (!once.empty() && once.split('\n').first == twice.split('\n').first) {
    once = once.split('\n').second;
    twice = twice.split('\n').second;
  }
  return ("once:  " + once.split('\n').first + "\ntwice: " + twice.split('\n').first).str();
}

class Passes : public ::testing::TestWithParam<std::string> {};

TEST_P(Passes, ChangeNothingWhenTheyRunAgain) {
  [[maybe_unused]] static const bool registered = (registerTegulaPasses(), true);
  DialectRegistry registry;
  registerTegulaDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.getDiagEngine().registerHandler([](Diagnostic &) { return success(); });
  const std::string target = GetParam() == "cpu" ? "cpu" : "cuda";
  std::set<std::string> changed;
  int compiled = 0;
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    Choices choices(seed);
    const Case program = generate(choices);
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(build(program)->text, &context);
    ASSERT_TRUE(module);
    if (target == "cpu")
      (*module)->setAttr("tile.lanes", Builder(&context).getI64IntegerAttr(8));
    else if (GetParam() == "sm_80")
      prepare(*module, 80, program.sm80);
    else
      prepare(*module, 90, program.sm90);
    bool compiles = true;
    for (const MlirPhase &phase : mlirPhases(target)) {
      if (phase.name == "llvm" || phase.name == "nvvm")
        break; // Passes of MLIR, and passes without names.
      for (const std::string &pass : passesOf(&context, phase)) {
        compiles = compiles && runPass(*module, pass);
        if (!compiles || kChangeAgain.contains(pass) || changed.contains(pass))
          continue;
        OwningOpRef<ModuleOp> again = module->clone();
        const bool runs = runPass(*again, pass);
        const std::string once = textOf(*module), twice = textOf(*again);
        if (runs && once == twice)
          continue;
        changed.insert(pass);
        ADD_FAILURE() << pass << (runs ? " changes" : " refuses") << " the program of seed " << seed
                      << " when it runs again\n"
                      << difference(once, twice);
      }
    }
    compiled += compiles;
  }
  EXPECT_GE(compiled, kPrograms * 9 / 10);
}

INSTANTIATE_TEST_SUITE_P(Targets, Passes, ::testing::Values("cpu", "sm_80", "sm_90a"),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace tegula::random_programs
