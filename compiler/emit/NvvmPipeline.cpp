// SPDX-License-Identifier: MIT
#include "compiler/emit/Emit.h"
#include "compiler/emit/SourceLines.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

namespace tegula::emit {

using namespace mlir;

namespace {

/// A pass that converts structured control flow to branches between blocks. It visits only the few operations with
/// regions, while a dialect conversion would visit all.
struct BranchBetweenBlocks : PassWrapper<BranchBetweenBlocks, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BranchBetweenBlocks)

  StringRef getName() const override { return "BranchBetweenBlocks"; }

  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<cf::ControlFlowDialect>(); }

  void runOnOperation() override {
    SmallVector<Operation *> structured;
    getOperation()->walk([&](Operation *op) {
      if (isa<scf::SCFDialect>(op->getDialect()) && op->getNumRegions() > 0)
        structured.push_back(op);
    });
    RewritePatternSet patterns(&getContext());
    populateSCFToControlFlowConversionPatterns(patterns);
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingOps)
        .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled)
        .enableFolding(false);
    if (failed(applyOpPatternsGreedily(structured, std::move(patterns), config)))
      signalPassFailure();
  }
};

/// A pass that converts all dialects at once, which is much faster than one pass for each dialect.
struct ConvertToNvvm : PassWrapper<ConvertToNvvm, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertToNvvm)

  StringRef getName() const override { return "ConvertToNvvm"; }

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  }

  void runOnOperation() override {
    if (failed(convert()))
      return signalPassFailure();
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (!function.isExternal())
        finish(function);
  }

  void finish(LLVM::LLVMFuncOp function) {
    if (function->removeAttr("tile.kernel"))
      makeKernel(function);
    keepSourceLines(function);
  }

  LogicalResult convert() {
    LLVMTypeConverter types(&getContext());
    RewritePatternSet patterns(&getContext());
    arith::populateArithExpandOpsPatterns(patterns);
    arith::populateArithToLLVMConversionPatterns(types, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
    populateFuncToLLVMConversionPatterns(types, patterns);
    populateMathToLLVMConversionPatterns(types, patterns);
    populateVectorToLLVMConversionPatterns(types, patterns);
    LLVMConversionTarget target(getContext());
    target.addLegalOp<ModuleOp>();
    target.addLegalDialect<NVVM::NVVMDialect>();
    ConversionConfig config;
    config.allowPatternRollback = false; // It halves the time.
    return applyFullConversion(getOperation(), target, std::move(patterns), config);
  }

  /// Makes an argument a tensor map: 128 bytes that are passed by value, which TMA reads at the address where the
  /// driver has put them.
  void makeTensorMap(LLVM::LLVMFuncOp function, unsigned argument) {
    Builder b(&getContext());
    auto bytes = LLVM::LLVMArrayType::get(b.getI8Type(), 128);
    function.setArgAttr(argument, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(bytes));
    function.setArgAttr(argument, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(64));
    function.setArgAttr(argument, NVVM::NVVMDialect::getGridConstantAttrName(), b.getUnitAttr());
  }

  void makeKernel(LLVM::LLVMFuncOp function) {
    Builder b(&getContext());
    auto number = [&](StringRef name, int64_t otherwise) {
      auto attribute = getOperation()->getAttrOfType<IntegerAttr>(name);
      return attribute ? attribute.getInt() : otherwise;
    };
    auto threads = static_cast<int32_t>(32 * number("tile.block_warps", 1));
    function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
    function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), b.getDenseI32ArrayAttr({threads}));
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (isa<LLVM::LLVMPointerType>(function.getArgument(i).getType()))
        makeTensorMap(function, i);
    // Without it, ptxas sometimes spills registers to make room for thread blocks that do not fit into shared memory.
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      b.getI32IntegerAttr(static_cast<int32_t>(number("tile.instances_per_sm", 1))));
  }
};

} // namespace

void buildNvvmPipeline(OpPassManager &pm) {
  pm.addPass(std::make_unique<BranchBetweenBlocks>());
  pm.addPass(std::make_unique<ConvertToNvvm>());
}

} // namespace tegula::emit
