// SPDX-License-Identifier: MIT
#include "compiler/simt/AssemblyCalls.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace tegula::simt {

namespace {

bool isAssembly(Operation *op, StringRef mnemonic) {
  auto assembly = dyn_cast<LLVM::InlineAsmOp>(op);
  return assembly && StringRef(assembly.getAsmString()).contains(mnemonic);
}

/// The first reads of accumulators, which are found by following each wgmma's results.
class AccumulatorUses {
public:
  explicit AccumulatorUses(LLVM::LLVMFuncOp kernel) {
    kernel.walk([&](LLVM::InlineAsmOp op) {
      if (isAssembly(op, "wgmma.mma_async"))
        follow(op.getRes());
    });
    while (!open_.empty()) {
      Value value = open_.pop_back_val();
      for (OpOperand &use : value.getUses())
        visit(use);
    }
  }

  ArrayRef<OpOperand *> reads() const { return reads_; }

private:
  void follow(Value value) {
    if (seen_.insert(value).second)
      open_.push_back(value);
  }

  void visit(OpOperand &use) {
    Operation *user = use.getOwner();
    if (isAssembly(user, "wgmma.mma_async") || isAssembly(user, "wgmma.wait_group"))
      return;
    if (isa<LLVM::ExtractValueOp, LLVM::InsertValueOp>(user))
      return follow(user->getResult(0));
    if (auto branch = dyn_cast<BranchOpInterface>(user)) {
      if (auto argument = branch.getSuccessorBlockArgument(use.getOperandNumber()))
        follow(*argument);
      return;
    }
    reads_.push_back(&use);
  }

  llvm::DenseSet<Value> seen_;
  SmallVector<Value> open_;
  SmallVector<OpOperand *> reads_;
};

} // namespace

void checkAccumulators(Calls &calls, LLVM::LLVMFuncOp kernel) {
  ImplicitLocOpBuilder &b = calls.b;
  for (OpOperand *read : AccumulatorUses(kernel).reads()) {
    if (!read->get().getType().isF32())
      continue;
    Operation *reader = read->getOwner();
    b.setInsertionPoint(reader);
    b.setLoc(reader->getLoc());
    Value bits = LLVM::BitcastOp::create(b, b.getI32Type(), read->get());
    calls.call(&SimtOps::read_accumulator, {calls.site(reader->getName().stripDialect()), bits});
  }
}

} // namespace tegula::simt
