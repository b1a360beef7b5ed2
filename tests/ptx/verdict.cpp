// SPDX-License-Identifier: MIT
#include "ptx/verdict.h"

#include "ptx/comparison.h"
#include "ptx/printers.h"

#include "compiler/emit/Emit.h"

#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace tegula::ptx_fuzz {

const char *toString(Verdict::Kind kind) {
  static constexpr const char *kNames[] = {"equal", "refused", "rejected", "failed", "differs"};
  return kNames[static_cast<size_t>(kind)];
}

std::unique_ptr<llvm::Module> compiled(const llvm::Module &module, Settings settings) {
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  if (settings.isOptimized())
    emit::optimizeForGpu(*copy);
  return copy;
}

Verdict judge(const llvm::Module &module, Settings settings) {
  using Kind = Verdict::Kind;
  std::unique_ptr<llvm::Module> kernel = compiled(module, settings);
  Expected<std::string> text = tegulaPtx(*kernel, settings.arch());
  if (!text)
    return {Kind::refused, text.status().message()};
  Expected<Program> ours = parseProgram(*text);
  if (!ours)
    return {Kind::rejected, ours.status().message()};
  Expected<Program> theirs = parseProgram(llvmPtx(*kernel));
  if (!theirs)
    return {Kind::failed, theirs.status().message()};
  return compare(*ours, *theirs, settings.seed);
}

} // namespace tegula::ptx_fuzz
