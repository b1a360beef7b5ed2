// SPDX-License-Identifier: MIT
#include "compiler/Registration.h"

#include "compiler/cpu/Passes.h"
#include "compiler/cuda/layouts/Passes.h"
#include "compiler/cuda/roles/Passes.h"
#include "compiler/cuda/schedule/Passes.h"
#include "compiler/cuda/shared/Passes.h"
#include "compiler/cuda/threads/Passes.h"
#include "compiler/debug/Passes.h"
#include "compiler/emit/Emit.h"
#include "compiler/simplify/Passes.h"
#include "compiler/simt/Passes.h"
#include "compiler/sm/Sm.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace tegula;

/// Adds the passes of the phase `tile`. It has no verifier, because parsing has verified the program.
static void buildTilePipeline(OpPassManager &passes) {
  passes.addPass(debug::createWriteRecords()); // The driver has written the records that the host wants.
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

static void buildCudaTilePipeline(OpPassManager &passes) {
  buildTilePipeline(passes);
  cuda::buildSchedulePipeline(passes);
}

static constexpr MlirPhase kCpuPhases[] = {
    {"tile", "the program as recorded, verified and canonical", buildTilePipeline},
    {"simplify", "softmax in elementary operations, exponentials to base 2", simplify::buildSimplifyPipeline},
    {"plan", "which tiles live in buffers, and in which order", cpu::buildPlanPipeline},
    {"loops", "loops over vectors", cpu::buildLoopsPipeline},
    {"llvm", "the LLVM dialect", emit::buildLlvmPipeline},
};

static constexpr MlirPhase kCudaPhases[] = {
    {"tile", "the program as recorded, verified and canonical, with a complete schedule", buildCudaTilePipeline},
    {"simplify", "softmax in elementary operations, exponentials to base 2", simplify::buildCudaSimplifyPipeline},
    {"layouts", "which thread holds which element", cuda::buildLayoutsPipeline},
    {"roles", "which warps load and which compute", cuda::buildRolesPipeline},
    {"shared", "shared memory, copies and barriers", cuda::buildSharedPipeline},
    {"threads", "the program of one thread, without tiles", cuda::buildThreadsPipeline},
    {"nvvm", "the LLVM and NVVM dialects", emit::buildNvvmPipeline},
};

/// Returns the phases of the cuda target, followed by `calls`.
static const std::vector<MlirPhase> &simtPhases() {
  static const std::vector<MlirPhase> phases = [] {
    std::vector<MlirPhase> all(std::begin(kCudaPhases), std::end(kCudaPhases));
    all.push_back({"calls", "instructions as calls of the executor", simt::buildCallsPipeline});
    return all;
  }();
  return phases;
}

llvm::ArrayRef<llvm::StringRef> tegula::targetNames() {
  static constexpr llvm::StringRef names[] = {"cpu", "cuda", "simt"};
  return names;
}

llvm::ArrayRef<MlirPhase> tegula::mlirPhases(llvm::StringRef target) {
  if (target == "cpu")
    return kCpuPhases;
  if (target == "cuda")
    return kCudaPhases;
  if (target == "simt")
    return simtPhases();
  return {};
}

void tegula::registerTegulaDialects(DialectRegistry &registry) {
  registry
      .insert<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, math::MathDialect, memref::MemRefDialect,
              scf::SCFDialect, sm::SmDialect, tile::TileDialect, ub::UBDialect, vector::VectorDialect>();
  emit::registerDialects(registry);
}

void tegula::registerTegulaPasses() {
  registerCanonicalizerPass();
  registerCSEPass();
  cpu::registerCpuPasses();
  cuda::registerCudaLayoutsPasses();
  cuda::registerCudaRolesPasses();
  cuda::registerCudaSchedulePasses();
  cuda::registerCudaSharedPasses();
  cuda::registerCudaThreadsPasses();
  debug::registerDebugPasses();
  simplify::registerSimplifyPasses();
  simt::registerSimtPasses();
  for (llvm::StringRef target : targetNames())
    for (const MlirPhase &phase : mlirPhases(target))
      PassPipelineRegistration<>((target + "-" + phase.name).str(), phase.summary, phase.build);
}
