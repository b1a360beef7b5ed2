// SPDX-License-Identifier: MIT
#include "compiler/emit/Emit.h"

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
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/Passes.h"

namespace tegula::emit {

using namespace mlir;

namespace {

/// Everything at once, which is much faster than one pass for each dialect.
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
      if (function->removeAttr("tile.kernel"))
        makeKernel(function);
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
    config.allowPatternRollback = false; // Half the time.
    return applyFullConversion(getOperation(), target, std::move(patterns), config);
  }

  /// 128 bytes that are passed by value, and that TMA reads where the driver has put them.
  void makeTensorMap(LLVM::LLVMFuncOp function, unsigned argument) {
    Builder b(&getContext());
    auto bytes = LLVM::LLVMArrayType::get(b.getI8Type(), 128);
    function.setArgAttr(argument, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(bytes));
    function.setArgAttr(argument, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(64));
    function.setArgAttr(argument, NVVM::NVVMDialect::getGridConstantAttrName(), b.getUnitAttr());
  }

  void makeKernel(LLVM::LLVMFuncOp function) {
    Builder b(&getContext());
    auto warps = [&](StringRef name, int64_t otherwise) {
      auto attribute = getOperation()->getAttrOfType<IntegerAttr>(name);
      return attribute ? attribute.getInt() : otherwise;
    };
    auto threads = static_cast<int32_t>(32 * (warps("tile.num_warps", 1) + warps("tile.producer_warps", 0)));
    function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
    function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), b.getDenseI32ArrayAttr({threads}));
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (isa<LLVM::LLVMPointerType>(function.getArgument(i).getType()))
        makeTensorMap(function, i);
    // Without it ptxas now and then spills registers to make room for blocks that shared memory has no room for.
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), b.getI32IntegerAttr(1));
  }
};

} // namespace

void buildNvvmPipeline(OpPassManager &pm) {
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(std::make_unique<ConvertToNvvm>());
  LLVM::DIScopeForLLVMFuncOpPassOptions lines;
  lines.emissionKind = LLVM::DIEmissionKind::DebugDirectivesOnly;
  pm.addPass(LLVM::createDIScopeForLLVMFuncOpPass(lines));
}

} // namespace tegula::emit
