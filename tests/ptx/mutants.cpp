// SPDX-License-Identifier: MIT
#include "ptx/mutants.h"

#include "ptx/comparison.h"
#include "ptx/printers.h"
#include "ptx/random_kernel.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

namespace tegula::ptx_fuzz {

namespace {

/// A mistake that our printer could make.
struct Mutant {
  std::string_view right, wrong;
  uint64_t kernels = 0; ///< How many kernels contained the instruction.
};

const Mutant kMutants[] = {
    // Signs and sizes.
    {"shr.s", "shr.u"},
    {"shr.u", "shr.s"},
    {"div.s", "div.u"},
    {"rem.u", "rem.s"},
    {"min.s", "min.u"},
    {"max.u", "max.s"},
    {"abs.s", "neg.s"},
    {"mul.hi.s", "mul.hi.u"},
    {"mul.hi.u", "mul.hi.s"},
    {"cvt.s64.s32", "cvt.u64.u32"},
    {"cvt.u32.u16", "cvt.s32.s16"},
    {"cvt.rn.f32.s32", "cvt.rn.f32.u32"},
    {"cvt.rn.f32.u64", "cvt.rn.f32.s64"},
    {"cvt.rzi.s32.f32", "cvt.rni.s32.f32"},
    {"cvt.f32.bf16", "cvt.f32.f16"},
    // Comparisons, of NaN, too.
    {"setp.lt.s", "setp.le.s"},
    {"setp.gt.u32", "setp.gt.s32"},
    {"setp.equ", "setp.eq"},
    {"setp.neu", "setp.ne"},
    {"setp.ltu", "setp.lt"},
    {"min.NaN", "min"},
    {"max.NaN", "max"},
    // Rounding. The first two rounded twice in the past.
    {"cvt.rz.f32.s32", "cvt.rn.f32.s32"},
    {"\tor.b32", "\tand.b32"},
    {"cvt.rni.f32", "cvt.rzi.f32"},
    {"cvt.rmi.f32", "cvt.rpi.f32"},
    {"cvt.rn.bf16.f32", "cvt.rz.bf16.f32"},
    {"cvt.rn.f16x2.f32", "cvt.rn.bf16x2.f32"},
    // Others.
    {"add.s", "sub.s"},
    {"sub.rn.f32", "add.rn.f32"},
    {"div.rn.f32", "mul.rn.f32"},
    {"ex2.approx.ftz", "lg2.approx.ftz"},
    {"shf.l.wrap", "shf.r.wrap"},
    {"0x0040", "0x0051"},
    {"0x5410", "0x1054"},
    {"xor.b16", "or.b16"},
    {"and.pred", "or.pred"},
    {"not.pred", "mov.pred"},
    {"@%p", "@!%p"},
};

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// Returns true if the kernel shows that `ours` with the mutant is wrong.
bool shows(Mutant &mutant, const std::string &ours, const Program &theirs, uint64_t seed) {
  const std::string text = replaced(ours, mutant.right, mutant.wrong);
  if (text == ours)
    return false;
  ++mutant.kernels;
  const Expected<Program> program = parseProgram(text);
  if (!program)
    llvm::errs() << "the mutant is no program: " << program.status().message() << "\n";
  return program && compare(*program, theirs, seed).kind == Verdict::Kind::differs;
}

/// Erases the mutants that this kernel shows.
void tryKernel(std::vector<Mutant> &left, Settings settings) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = compiled(*randomKernel(context, settings.seed), settings);
  const Expected<std::string> ours = tegulaPtx(*module, settings.arch());
  const Expected<Program> theirs = parseProgram(llvmPtx(*module));
  if (!ours || !theirs)
    return;
  std::erase_if(left, [&](Mutant &mutant) {
    const bool isShown = shows(mutant, *ours, *theirs, settings.seed);
    if (isShown)
      llvm::outs() << mutant.right << " as " << mutant.wrong << ": shown by seed " << settings.seed << ", after "
                   << mutant.kernels << " kernels with it\n";
    return isShown;
  });
}

} // namespace

int runMutants(uint64_t seed, uint64_t count) {
  std::vector<Mutant> left(std::begin(kMutants), std::end(kMutants));
  for (uint64_t i = 0; i < count && !left.empty(); ++i)
    tryKernel(left, Settings{seed + i});
  for (const Mutant &mutant : left)
    llvm::outs() << "FAILED: no kernel shows " << mutant.right << " as " << mutant.wrong << ", which occurs in "
                 << mutant.kernels << "\n";
  llvm::outs() << left.size() << " of " << std::size(kMutants) << " mutants survive\n";
  return static_cast<int>(left.size());
}

} // namespace tegula::ptx_fuzz
