// SPDX-License-Identifier: MIT
#include "compiler/emit/Emit.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace tegula::emit {

using namespace llvm;

namespace {

const GpuTarget kGpus[] = {
    {"sm_80", "+ptx78", 80, 163 << 10},  {"sm_86", "+ptx78", 86, 99 << 10},   {"sm_89", "+ptx78", 89, 99 << 10},
    {"sm_90", "+ptx81", 90, 227 << 10},  {"sm_90a", "+ptx81", 90, 227 << 10}, {"sm_100", "+ptx86", 100, 227 << 10},
    {"sm_120", "+ptx87", 120, 99 << 10},
};

/// Gives addresses in shared memory 32 bits, which LLVM offers on its command line only.
void useShortPointers() {
  if (cl::Option *option = cl::getRegisteredOptions().lookup("nvptx-short-ptr"))
    static_cast<cl::opt<bool> *>(option)->setValue(true);
}

void initializeNvptx() {
  static std::once_flag once;
  std::call_once(once, [] {
    useShortPointers();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

} // namespace

Expected<GpuTarget> resolveGpu(const std::string &arch) {
  std::string legal;
  for (const GpuTarget &gpu : kGpus) {
    if (arch == gpu.arch || arch.empty())
      return gpu;
    legal += (legal.empty() ? "" : ", ") + gpu.arch;
  }
  return Status(ErrorCode::InvalidArgument, "arch: no GPU is called '" + arch + "'; legal are " + legal);
}

std::unique_ptr<Module> translate(mlir::ModuleOp module, LLVMContext &context) {
  for (mlir::NamedAttribute attribute : llvm::to_vector(module->getDiscardableAttrs()))
    if (attribute.getName().getValue().starts_with("tile."))
      module->removeAttr(attribute.getName());
  std::unique_ptr<Module> result = mlir::translateModuleToLLVMIR(module, context, "kernel", true);
  if (!result)
    return nullptr;
  for (Function &function : *result)
    if (!function.isDeclaration())
      function.addFnAttr(Attribute::NoUnwind);
  return result;
}

std::unique_ptr<TargetMachine> makeTargetMachine(const GpuTarget &target) {
  initializeNvptx();
  Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const Target *nvptx = TargetRegistry::lookupTarget(triple, error);
  TargetOptions options;
  return std::unique_ptr<TargetMachine>(nvptx->createTargetMachine(
      triple, target.arch, target.features, options, std::nullopt, std::nullopt, CodeGenOptLevel::Default));
}

} // namespace tegula::emit
