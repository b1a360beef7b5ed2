// SPDX-License-Identifier: MIT
#include "compiler/Registration.h"

#include "compiler/cpu/Passes.h"
#include "compiler/cuda/Passes.h"
#include "compiler/emit/Emit.h"
#include "compiler/simplify/Passes.h"
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

/// Parsing has verified the program.
static void buildTilePipeline(OpPassManager &passes) {
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

llvm::ArrayRef<MlirPhase> tegula::mlirPhases() {
  static constexpr MlirPhase all[] = {
      {"tile", "the program as recorded, verified and canonical", buildTilePipeline},
      {"simplify", "target-neutral simplification", simplify::buildSimplifyPipeline},
      {"plan", "cpu: which tiles live in buffers, and in which order", cpu::buildPlanPipeline},
      {"loops", "cpu: loops over vectors", cpu::buildLoopsPipeline},
      {"llvm", "cpu: the LLVM dialect", emit::buildLlvmPipeline},
  };
  return all;
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
  cpu::registerPasses();
  cuda::registerPasses();
  simplify::registerPasses();
  for (const MlirPhase &phase : mlirPhases())
    PassPipelineRegistration<>(phase.name, phase.summary, phase.build);
}
