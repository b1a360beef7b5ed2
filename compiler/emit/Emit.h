// SPDX-License-Identifier: MIT
// From loops to a shared object, from threads to LLVM IR, and from PTX to a cubin. Headers of LLVM's dialects are
// included here only, and in simt/.
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

namespace tegula {
struct AssemblerReport;
}

namespace tegula::emit {

//===-- CPU
//--------------------------------------------------------------------------------------------------------===//

/// The CPU to compile for, resolved from a Target's arch and features (empty: this machine).
struct CpuTarget {
  std::string cpu;
  std::string features;
  int64_t lanes = 8; ///< 32-bit elements of a vector register.
};

/// Returns unsupported unless the CPU has AVX2, FMA and F16C.
Expected<CpuTarget> resolveCpu(const std::string &arch, const std::string &features);

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

//===-- GPU
//--------------------------------------------------------------------------------------------------------===//

/// The GPU to compile for, resolved from a Target's arch (empty: sm_80).
struct GpuTarget {
  std::string arch;    ///< "sm_90a"
  std::string ptx;     ///< The oldest version of PTX that has what we use: "8.1".
  int64_t number;      ///< 90
  int64_t sharedBytes; ///< Of one block, at most.
};

/// Returns invalid_argument with the legal names unless the arch is one of them.
Expected<GpuTarget> resolveGpu(const std::string &arch);

/// Scalar code with `Instructions` to the LLVM and NVVM dialects; a function with `tile.kernel` becomes a kernel.
void buildNvvmPipeline(mlir::OpPassManager &pm);

/// The LLVM module of a program; null after a diagnostic.
std::unique_ptr<llvm::Module> translate(mlir::ModuleOp module, llvm::LLVMContext &context);

void optimizeForGpu(llvm::Module &module);

/// PTX to a cubin by the ptxas of this machine; the PTX itself, and an empty report, if there is none.
/// It is $TEGULA_PTXAS (none, if that is set but empty), or looked for in $CUDA_HOME/bin, $PATH and
/// /usr/local/cuda/bin.
Expected<std::string> assemble(const std::string &ptx, const GpuTarget &target, AssemblerReport &report);

//===-- Both
//-------------------------------------------------------------------------------------------------------===//

/// Everything that mlir::ModuleOp translation and conversion need; also the dialects that `Instructions` emits, for
/// getDependentDialects() of a pass that uses it.
void registerDialects(mlir::DialectRegistry &registry);

std::string toText(const llvm::Module &module);

} // namespace tegula::emit
