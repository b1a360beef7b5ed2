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

/// For what LLVM offers on its command line only.
template <class T> void setOption(StringRef name, T value) {
  if (cl::Option *option = cl::getRegisteredOptions().lookup(name))
    static_cast<cl::opt<T> *>(option)->setValue(value);
}

void initializeNvptx() {
  static std::once_flag once;
  std::call_once(once, [] {
    setOption("nvptx-short-ptr", true); // Addresses in shared memory have 32 bits.
    setOption("optimize-regalloc", cl::BOU_TRUE);
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

// ptxas optimises, with the registers in view; LLVM's own optimisations take half of a compilation and change nothing.
// What it needs from LLVM is values in few registers, so these are coalesced as at higher levels.
std::unique_ptr<TargetMachine> makeTargetMachine(const GpuTarget &target) {
  initializeNvptx();
  Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const Target *nvptx = TargetRegistry::lookupTarget(triple, error);
  TargetOptions options;
  return std::unique_ptr<TargetMachine>(nvptx->createTargetMachine(triple, target.arch, target.features, options,
                                                                   std::nullopt, std::nullopt, CodeGenOptLevel::None));
}

} // namespace tegula::emit
