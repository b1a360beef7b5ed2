// SPDX-License-Identifier: MIT
#include "compiler/emit/Emit.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace tegula::emit {

namespace {

using namespace llvm;

/// A builder of the entry point `void kernel(tensors, words, grid, scratch, first, last)`. The entry point calls the
/// body, which handles one program instance, for each instance from `first` to `last` - 1.
class EntryPoint {
public:
  EntryPoint(Function &body, ArrayRef<int64_t> bufferBytes)
      : body_(body), bufferBytes_(bufferBytes), builder_(body.getContext()) {}

  void build(StringRef name) {
    Type *ptr = builder_.getPtrTy(), *i64 = builder_.getInt64Ty();
    auto *type = FunctionType::get(builder_.getVoidTy(), {ptr, ptr, ptr, ptr, i64, i64}, false);
    entry_ = Function::Create(type, GlobalValue::ExternalLinkage, name, body_.getParent());
    auto *start = BasicBlock::Create(builder_.getContext(), "entry", entry_);
    auto *loop = BasicBlock::Create(builder_.getContext(), "instance", entry_);
    auto *end = BasicBlock::Create(builder_.getContext(), "done", entry_);
    Value *first = entry_->getArg(4), *last = entry_->getArg(5);
    builder_.SetInsertPoint(start);
    SmallVector<Value *> arguments = fixedArguments();
    Value *x = arguments[tensors() + 4], *y = arguments[tensors() + 5];
    builder_.CreateCondBr(builder_.CreateICmpSLT(first, last), loop, end);
    builder_.SetInsertPoint(loop);
    PHINode *instance = builder_.CreatePHI(i64, 2, "id");
    instance->addIncoming(first, start);
    setProgramId(arguments, instance, x, y);
    builder_.CreateCall(&body_, arguments);
    Value *next = builder_.CreateNSWAdd(instance, builder_.getInt64(1));
    instance->addIncoming(next, loop);
    builder_.CreateCondBr(builder_.CreateICmpSLT(next, last), loop, end);
    builder_.SetInsertPoint(end);
    builder_.CreateRetVoid();
  }

private:
  size_t tensors() const { return body_.arg_size() - bufferBytes_.size() - 7; }

  Value *gridSize(int axis) {
    return builder_.CreateLoad(builder_.getInt64Ty(),
                               builder_.CreateConstInBoundsGEP1_64(builder_.getInt64Ty(), entry_->getArg(2), axis));
  }

  /// Returns the arguments of the body, with null for the program ids.
  SmallVector<Value *> fixedArguments() {
    SmallVector<Value *> arguments;
    for (size_t i = 0; i < tensors(); ++i)
      arguments.push_back(builder_.CreateLoad(
          builder_.getPtrTy(), builder_.CreateConstInBoundsGEP1_64(builder_.getPtrTy(), entry_->getArg(0), i)));
    arguments.push_back(entry_->getArg(1));
    arguments.append(3, nullptr);
    for (int axis = 0; axis < 3; ++axis)
      arguments.push_back(gridSize(axis));
    int64_t offset = 0;
    for (int64_t bytes : bufferBytes_) {
      arguments.push_back(builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), entry_->getArg(3), offset));
      offset += bytes;
    }
    return arguments;
  }

  void setProgramId(SmallVector<Value *> &arguments, Value *instance, Value *x, Value *y) {
    Value *row = builder_.CreateSDiv(instance, x);
    arguments[tensors() + 1] = builder_.CreateSRem(instance, x);
    arguments[tensors() + 2] = builder_.CreateSRem(row, y);
    arguments[tensors() + 3] = builder_.CreateSDiv(row, y);
  }

  Function &body_;
  ArrayRef<int64_t> bufferBytes_;
  IRBuilder<> builder_;
  Function *entry_ = nullptr;
};

void describeBody(Function &body, size_t buffers) {
  body.setLinkage(GlobalValue::InternalLinkage);
  body.addFnAttr(Attribute::NoInline);
  for (Argument &argument : body.args()) {
    if (!argument.getType()->isPointerTy())
      continue;
    // Buffers do not overlap by construction. The runtime checks that a written tensor overlaps no other tensor.
    argument.addAttr(Attribute::NoAlias);
    if (argument.getArgNo() >= body.arg_size() - buffers)
      argument.addAttr(Attribute::getWithAlignment(body.getContext(), Align(64)));
  }
}

void describeMachine(Module &module, const CpuTarget &target) {
  std::string width = std::to_string(target.lanes * 32);
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr(Attribute::NoUnwind);
    function.addFnAttr("target-cpu", target.cpu);
    function.addFnAttr("target-features", target.features);
    function.addFnAttr("prefer-vector-width", width);
    function.addFnAttr("min-legal-vector-width", width);
  }
}

} // namespace

std::unique_ptr<Module> translate(mlir::ModuleOp module, LLVMContext &context, const CpuTarget &target) {
  auto bufferBytes = module->getAttrOfType<mlir::DenseI64ArrayAttr>("tile.scratch");
  auto kernels = module.getOps<mlir::LLVM::LLVMFuncOp>();
  auto kernel = llvm::find_if(kernels, [](mlir::LLVM::LLVMFuncOp f) { return !f.isExternal(); });
  std::string name = (*kernel).getName().str();
  for (const char *name : {"tile.scratch", "tile.version", "tile.lanes"})
    module->removeAttr(name);
  std::unique_ptr<Module> result = mlir::translateModuleToLLVMIR(module, context, name, /*disableVerification=*/true);
  if (!result)
    return nullptr;
  Function &body = *result->getFunction(name);
  body.setName(name + ".body");
  describeBody(body, bufferBytes.size());
  EntryPoint(body, bufferBytes.asArrayRef()).build(name);
  describeMachine(*result, target);
  return result;
}

} // namespace tegula::emit
