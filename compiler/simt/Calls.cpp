// SPDX-License-Identifier: MIT
#include "compiler/simt/Calls.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace tegula::simt {

Calls::Calls(LLVM::LLVMFuncOp kernel)
    : b(kernel.getLoc(), kernel.getContext()), kernel_(kernel), pointer_(LLVM::LLVMPointerType::get(b.getContext())) {
  changeSignature();
  for (Value &buffer : buffers_)
    buffer = LLVM::AllocaOp::create(b, pointer_, b.getI8Type(), i32(16), /*alignment=*/16);
}

/// Changes the parameters (words...) to (ops, lane, pointer to words).
void Calls::changeSignature() {
  Block &entry = kernel_.getBody().front();
  Type results = kernel_.getFunctionType().getReturnType();
  kernel_.setFunctionType(LLVM::LLVMFunctionType::get(results, {pointer_, pointer_, pointer_}));
  kernel_.removeArgAttrsAttr();
  for (NamedAttribute attribute : llvm::to_vector(kernel_->getDiscardableAttrs()))
    if (attribute.getName().getValue().starts_with("nvvm."))
      kernel_->removeAttr(attribute.getName());
  b.setInsertionPointToStart(&entry);
  ops_ = entry.insertArgument(0u, pointer_, b.getLoc());
  lane_ = entry.insertArgument(1u, pointer_, b.getLoc());
  Value words = entry.insertArgument(2u, pointer_, b.getLoc());
  for (int64_t byte = 0; entry.getNumArguments() > 3;) {
    Value argument = entry.getArgument(3);
    // Only tensor maps are passed by value.
    const bool isMap = isa<LLVM::LLVMPointerType>(argument.getType());
    Value place = at(words, byte);
    argument.replaceAllUsesWith(isMap ? place : LLVM::LoadOp::create(b, argument.getType(), place).getResult());
    byte += isMap ? kSimtTensorMapBytes : 8;
    entry.eraseArgument(3);
  }
}

Value Calls::memory(Value &buffer, int64_t bytes) {
  if (!buffer) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&kernel_.getBody().front());
    buffer = LLVM::AllocaOp::create(b, pointer_, b.getI8Type(), i32(bytes), /*alignment=*/16);
  }
  return buffer;
}

Value Calls::f32(float value) { return LLVM::ConstantOp::create(b, b.getF32Type(), b.getF32FloatAttr(value)); }
Value Calls::i32(int64_t value) { return LLVM::ConstantOp::create(b, b.getI32Type(), b.getI32IntegerAttr(value)); }

Value Calls::at(Value pointer, int64_t byte) {
  if (byte == 0)
    return pointer;
  return LLVM::GEPOp::create(b, pointer_, b.getI8Type(), pointer, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(byte)});
}

Value Calls::call(int64_t offset, Type result, ValueRange arguments) {
  Value function = LLVM::LoadOp::create(b, pointer_, at(ops_, offset));
  auto type = LLVM::LLVMFunctionType::get(result, llvm::to_vector(arguments.getTypes()));
  SmallVector<Value> operands = {function};
  llvm::append_range(operands, arguments);
  auto call = LLVM::CallOp::create(b, type, operands);
  return call->getNumResults() ? call.getResult() : Value();
}

Value Calls::site(StringRef instruction) {
  auto line = b.getLoc()->findInstanceOf<FileLineColLoc>();
  sites_ += instruction.str() + " ";
  sites_ += line ? line.getFilename().str() + ":" + std::to_string(line.getLine()) : "?";
  sites_ += "\n";
  return i32(siteCount_++);
}

static int64_t bytesOf(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getNumElements() * vector.getElementTypeBitWidth() / 8;
  return type.getIntOrFloatBitWidth() / 8;
}

Value Calls::pack(Value memory, ValueRange registers) {
  int64_t offset = 0;
  for (Value reg : registers) {
    LLVM::StoreOp::create(b, reg, at(memory, offset));
    offset += bytesOf(reg.getType());
  }
  return memory;
}

Value Calls::unpack(Value memory, Type type, unsigned index) {
  return LLVM::LoadOp::create(b, type, at(memory, index * bytesOf(type)));
}

void Calls::finish() {
  b.setInsertionPoint(kernel_);
  sites_.push_back('\0');
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), sites_.size());
  LLVM::GlobalOp::create(b, type, /*isConstant=*/true, LLVM::Linkage::External, (kernel_.getName() + ".sites").str(),
                         b.getStringAttr(sites_));
}

} // namespace tegula::simt
