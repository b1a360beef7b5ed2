// SPDX-License-Identifier: MIT
// Code generation: from loops to a shared object, from threads to LLVM IR, and from PTX to a cubin. Only this folder
// and simt/ include headers of LLVM's dialects.
#pragma once

#include "tegula/status.h"

#include <cstdint>
#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
enum class CodeGenOptLevel;
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

//===-- CPU ------------------------------------------------------------------------------------------------------===//

/// The CPU to compile for, resolved from a Target's arch and features. If both are empty, it is this machine.
struct CpuTarget {
  std::string cpu;
  std::string features;
  int64_t lanes = 8; ///< 32-bit elements of a vector register.
};

/// Returns the CPU to compile for. Returns unsupported unless the CPU has AVX2, FMA and F16C.
Expected<CpuTarget> resolveCpu(const std::string &arch, const std::string &features);

/// Adds passes that convert loops, vectors, memrefs and arithmetic to the LLVM dialect.
void buildLlvmPipeline(mlir::OpPassManager &pm);

/// Returns the LLVM module of a cpu kernel: the body, and the entry point of type CpuKernel around it. Null after a
/// diagnostic.
std::unique_ptr<llvm::Module> translate(mlir::ModuleOp module, llvm::LLVMContext &context, const CpuTarget &target);

/// Returns a machine that makes code for `target`. With CodeGenOptLevel::None, it and `optimize` take half the time and
/// make slower code.
std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const CpuTarget &target, llvm::CodeGenOptLevel level);
void optimize(llvm::Module &module, llvm::TargetMachine &machine);
std::string toAssembly(llvm::Module &module, llvm::TargetMachine &machine);
std::string toObject(llvm::Module &module, llvm::TargetMachine &machine);

/// Links one relocatable object into a shared object that needs no symbol from outside.
Expected<std::string> link(const std::string &object);

//===-- GPU ------------------------------------------------------------------------------------------------------===//

/// The GPU to compile for, resolved from a Target's arch. If that is empty, it is sm_80.
struct GpuTarget {
  std::string arch;    ///< "sm_90a"
  std::string ptx;     ///< The oldest version of PTX that has what we use, such as "8.1".
  int64_t number;      ///< 90
  int64_t sharedBytes; ///< The most bytes of shared memory that one thread block may have.
  /// True if it has what roles need: TMA, and products that run beside the threads. Those of warpgroups (wgmma), or
  /// those with accumulators in tensor memory (tcgen05).
  bool hasWgmma = false, hasTensorMemory = false;
};

/// Returns the GPU to compile for. Returns invalid_argument with the legal names unless `arch` is empty or one of them.
Expected<GpuTarget> resolveGpu(const std::string &arch);

/// Adds passes that convert scalar code with `Instructions` to the LLVM and NVVM dialects. A function with
/// `tile.kernel` becomes a kernel.
void buildNvvmPipeline(mlir::OpPassManager &pm);

/// Returns the LLVM module of a GPU program. Null after a diagnostic.
std::unique_ptr<llvm::Module> translate(mlir::ModuleOp module, llvm::LLVMContext &context);

void optimizeForGpu(llvm::Module &module);

/// Assembles PTX to a cubin with the ptxas of this machine. If there is none, returns the PTX itself and leaves the
/// report empty. ptxas is $TEGULA_PTXAS, or else looked for in $CUDA_HOME/bin, $PATH and /usr/local/cuda/bin. If
/// $TEGULA_PTXAS is set but empty, there is none.
Expected<std::string> assemble(const std::string &ptx, const GpuTarget &target, AssemblerReport &report);

//===-- Both -----------------------------------------------------------------------------------------------------===//

/// Registers everything that conversion and translation of a module need, and the dialects that `Instructions` emits. A
/// pass that uses `Instructions` calls it in getDependentDialects().
void registerDialects(mlir::DialectRegistry &registry);

std::string toText(const llvm::Module &module);

} // namespace tegula::emit
