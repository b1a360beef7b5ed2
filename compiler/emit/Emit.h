// SPDX-License-Identifier: MIT
// From loops to a shared object: the only folder that includes LLVM's and its dialects' headers.
#pragma once

#include "tegula/status.h"

#include <cstdint>
#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace mlir {
class DialectRegistry;
class ModuleOp;
class OpPassManager;
} // namespace mlir

namespace tegula::emit {

/// The CPU to compile for, resolved from a Target's arch and features (empty: this machine).
struct CpuTarget {
  std::string cpu;
  std::string features;
  int64_t lanes = 8; ///< 32-bit elements of a vector register.
};

/// Unsupported unless the CPU has AVX2, FMA and F16C.
Expected<CpuTarget> resolveCpu(const std::string &arch, const std::string &features);

/// Everything that mlir::ModuleOp translation and conversion need; also the dialects that `Instructions` emits, for
/// getDependentDialects() of a pass that uses it.
void registerDialects(mlir::DialectRegistry &registry);

/// Loops, vectors, memrefs and arithmetic to the LLVM dialect.
void buildLlvmPipeline(mlir::OpPassManager &pm);

/// The LLVM module of a kernel: the body, and the entry point of type CpuKernel around it.
std::unique_ptr<llvm::Module> translate(mlir::ModuleOp module, llvm::LLVMContext &context, const CpuTarget &target);

std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const CpuTarget &target);
void optimize(llvm::Module &module, llvm::TargetMachine &machine);
std::string toAssembly(llvm::Module &module, llvm::TargetMachine &machine);
std::string toObject(llvm::Module &module, llvm::TargetMachine &machine);

/// Links one relocatable object into a shared object that needs no symbol from outside.
Expected<std::string> link(const std::string &object);

} // namespace tegula::emit
