// SPDX-License-Identifier: MIT
#include "compiler/emit/Emit.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/Module.h"

namespace tegula::emit {

using namespace llvm;

namespace {

const GpuTarget kGpus[] = {
    {"sm_80", "7.8", 80, 163 << 10},
    {"sm_86", "7.8", 86, 99 << 10},
    {"sm_89", "7.8", 89, 99 << 10},
    {"sm_90", "8.1", 90, 227 << 10},
    {.arch = "sm_90a", .ptx = "8.1", .number = 90, .sharedBytes = 227 << 10, .hasWgmma = true},
    {"sm_100", "8.6", 100, 227 << 10},
    {.arch = "sm_100a", .ptx = "8.6", .number = 100, .sharedBytes = 227 << 10, .hasTensorMemory = true},
    {"sm_120", "8.7", 120, 99 << 10},
};

} // namespace

Expected<GpuTarget> resolveGpu(const std::string &arch) {
  std::string legal;
  for (const GpuTarget &gpu : kGpus) {
    if (arch == gpu.arch || arch.empty())
      return gpu;
    legal += (legal.empty() ? "" : ", ") + gpu.arch;
  }
  return Status(ErrorCode::invalid_argument, "arch: no GPU is called '" + arch + "'; legal are " + legal);
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

} // namespace tegula::emit
