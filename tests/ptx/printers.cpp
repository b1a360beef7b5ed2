// SPDX-License-Identifier: MIT
#include "ptx/printers.h"

#include "compiler/emit/Emit.h"
#include "compiler/ptx/Ptx.h"

#include "llvm-c/Target.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <mutex>

namespace tegula::ptx_fuzz {

using namespace llvm;

/// Returns LLVM's back end for PTX, or null.
static const Target *nvptx() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string error;
  return TargetRegistry::lookupTarget(Triple("nvptx64-nvidia-cuda"), error);
}

bool hasLlvmPrinter() { return nvptx() != nullptr; }

/// Returns the features of a GPU in LLVM's words: the version of PTX that we print, such as "+ptx81".
static std::string featuresOf(const emit::GpuTarget &gpu) {
  std::string digits = gpu.ptx;
  erase(digits, '.');
  return "+ptx" + digits;
}

Expected<std::string> tegulaPtx(const Module &module, std::string_view arch) {
  Expected<emit::GpuTarget> gpu = emit::resolveGpu(std::string(arch));
  std::unique_ptr<Module> copy = CloneModule(module);
  return ptx::toPtx(*copy, {gpu->arch, gpu->ptx, gpu->number});
}

/// Spells the conversion of a signed condition to bf16 as a choice. LLVM 22 prints 1 for it where -1 is right.
static void avoidDefect(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : make_early_inc_range(instructions(function))) {
      auto *cast = dyn_cast<SIToFPInst>(&instruction);
      if (!cast || cast->getSrcTy()->getScalarSizeInBits() != 1 || !cast->getType()->getScalarType()->isBFloatTy())
        continue;
      Constant *minusOne = ConstantFP::get(cast->getType(), -1.0), *zero = ConstantFP::get(cast->getType(), 0.0);
      cast->replaceAllUsesWith(SelectInst::Create(cast->getOperand(0), minusOne, zero, "", cast->getIterator()));
      cast->eraseFromParent();
    }
}

std::string llvmPtx(const Module &module) {
  Expected<emit::GpuTarget> gpu = emit::resolveGpu("sm_90a");
  std::unique_ptr<TargetMachine> machine(nvptx()->createTargetMachine(Triple("nvptx64-nvidia-cuda"), gpu->arch,
                                                                      featuresOf(*gpu), TargetOptions(), std::nullopt));
  std::unique_ptr<Module> copy = CloneModule(module);
  copy->setDataLayout(machine->createDataLayout());
  avoidDefect(*copy);
  SmallString<0> text;
  raw_svector_ostream out(text);
  legacy::PassManager passes;
  machine->addPassesToEmitFile(passes, out, nullptr, CodeGenFileType::AssemblyFile);
  passes.run(*copy);
  return text.str().str();
}

} // namespace tegula::ptx_fuzz
