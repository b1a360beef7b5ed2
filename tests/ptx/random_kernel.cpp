// SPDX-License-Identifier: MIT
#include "ptx/random_kernel.h"

#include "ptx/random_instruction.h"

#include "llvm/IR/Module.h"

#include <algorithm>

namespace tegula::ptx_fuzz {

using namespace llvm;

namespace {

constexpr unsigned kDeepestNesting = 2;

/// The type and the incoming values of a phi that is still to be made.
struct Merged {
  Type *type;
  SmallVector<std::pair<Value *, BasicBlock *>, 4> incoming;
};

class Generator {
public:
  Generator(Function &kernel, uint64_t seed)
      : kernel_(kernel), builder_(BasicBlock::Create(kernel.getContext(), "entry", &kernel)), random_(seed),
        scope_(builder_, random_, kernel) {}

  void run() {
    for (Argument &argument : kernel_.args())
      if (argument.getArgNo() >= 2)
        scope_.add(argument.getType()->isFloatTy() ? scope_.realOf(scope_.bitsOf(&argument), argument.getType())
                                                   : &argument);
    addStatements(5 + random_.below(25), 0);
    for (size_t i = 0; i < std::min<size_t>(6, scope_.size()); ++i)
      scope_.store(scope_.recent(i));
    builder_.CreateRetVoid();
  }

private:
  void addStatements(uint64_t count, unsigned depth) {
    for (uint64_t i = 0; i < count; ++i)
      addStatement(depth);
  }

  void addStatement(unsigned depth) {
    const uint64_t kind = random_.below(100);
    if (kind < 10)
      return scope_.load();
    if (kind < 16)
      return scope_.store(scope_.value(scope_.anyType()));
    if (kind < 18)
      return scope_.storeSeveral();
    if (kind < 30 && depth < kDeepestNesting)
      return kind < 22 ? addBranch(depth) : kind < 25 ? addSwitch(depth) : addLoop(depth);
    addRandomInstruction(builder_, random_, scope_);
  }

  BasicBlock *newBlock(const char *name) { return BasicBlock::Create(kernel_.getContext(), name, &kernel_); }

  std::vector<Merged> newPhis() {
    std::vector<Merged> phis(random_.below(4));
    for (Merged &phi : phis)
      phi.type = scope_.anyType();
    return phis;
  }

  /// Gives each phi a value on the edge from the current block.
  void addIncoming(std::vector<Merged> &phis) {
    for (Merged &phi : phis) {
      Value *value = scope_.value(phi.type); // May insert instructions, but no block.
      phi.incoming.push_back({value, builder_.GetInsertBlock()});
    }
  }

  /// Starts a block with these phis. Only they are added to what was in scope.
  void beginJoin(BasicBlock *block, size_t scope, const std::vector<Merged> &phis) {
    builder_.SetInsertPoint(block);
    scope_.truncate(scope);
    for (const Merged &merged : phis) {
      PHINode *phi = builder_.CreatePHI(merged.type, static_cast<unsigned>(merged.incoming.size()));
      for (auto [value, from] : merged.incoming)
        phi->addIncoming(value, from);
      scope_.add(phi);
    }
  }

  /// Fills a block, and continues in `join`.
  void addArm(BasicBlock *block, BasicBlock *join, std::vector<Merged> &phis, unsigned depth) {
    const size_t before = scope_.size();
    builder_.SetInsertPoint(block);
    addStatements(1 + random_.below(5), depth + 1);
    addIncoming(phis);
    builder_.CreateBr(join);
    scope_.truncate(before);
  }

  void addBranch(unsigned depth) {
    std::vector<Merged> phis = newPhis();
    Value *condition = scope_.value(builder_.getInt1Ty());
    const bool hasElse = random_.percent(50), isElseFirst = random_.percent(30);
    BasicBlock *then = newBlock("then"), *otherwise = hasElse ? newBlock("else") : nullptr;
    BasicBlock *join = newBlock("join");
    if (!hasElse)
      addIncoming(phis);
    const size_t before = scope_.size();
    BasicBlock *other = hasElse ? otherwise : join;
    builder_.CreateCondBr(condition, isElseFirst ? other : then, isElseFirst ? then : other);
    addArm(then, join, phis, depth);
    if (hasElse)
      addArm(otherwise, join, phis, depth);
    beginJoin(join, before, phis);
  }

  /// Chooses between blocks by a number of which the low bits vary. Some cases share a block, or have none.
  void addSwitch(unsigned depth) {
    std::vector<Merged> phis = newPhis();
    auto *type = cast<IntegerType>(scope_.anyInteger());
    while (type->getBitWidth() < 8)
      type = cast<IntegerType>(scope_.anyInteger());
    Value *low = builder_.CreateAnd(scope_.value(type), ConstantInt::get(type, 7));
    auto *first = cast<ConstantInt>(scope_.constant(type));
    Value *number = builder_.CreateAdd(low, first);
    addIncoming(phis);
    BasicBlock *head = builder_.GetInsertBlock(), *join = newBlock("join");
    const size_t before = scope_.size();
    std::vector<BasicBlock *> arms(1 + random_.below(3));
    for (BasicBlock *&arm : arms)
      arm = newBlock("case");
    SwitchInst *choice = builder_.CreateSwitch(number, join);
    for (uint64_t i = 0, count = 2 + random_.below(5); i < count; ++i) {
      const bool isEmpty = random_.percent(20);
      choice->addCase(builder_.getInt(first->getValue() + i), isEmpty ? join : random_.of(arms));
      for (Merged &phi : phis)
        if (isEmpty)
          phi.incoming.push_back({phi.incoming.front().first, head});
    }
    for (BasicBlock *arm : arms)
      addArm(arm, join, phis, depth);
    beginJoin(join, before, phis);
  }

  /// Returns how often a loop runs: 1 to 4 times.
  Value *tripCount() {
    Type *type = builder_.getInt32Ty();
    if (random_.percent(50))
      return ConstantInt::get(type, 1 + random_.below(4));
    return guard(builder_.CreateAdd(guard(builder_.CreateAnd(scope_.value(type), 3)), builder_.getInt32(1)));
  }

  void addLoop(unsigned depth) {
    Value *trips = tripCount();
    std::vector<Merged> carried = newPhis(), results = newPhis();
    addIncoming(carried);
    const size_t before = scope_.size();
    BasicBlock *head = builder_.GetInsertBlock(), *body = newBlock("body"), *exit = newBlock("exit");
    builder_.CreateBr(body);
    beginJoin(body, before, carried);
    PHINode *counter = builder_.CreatePHI(builder_.getInt32Ty(), 2);
    guard(counter);
    counter->addIncoming(builder_.getInt32(0), head);
    std::vector<PHINode *> phis;
    for (PHINode &phi : body->phis())
      if (&phi != counter)
        phis.push_back(&phi);
    scope_.add(counter);
    addStatements(1 + random_.below(6), depth + 1);
    if (random_.percent(30))
      addBreak(exit, results);
    Value *next = guard(builder_.CreateAdd(counter, builder_.getInt32(1)));
    for (PHINode *phi : phis)
      phi->addIncoming(nextValue(phi, phis), builder_.GetInsertBlock()); // No value inserts a block.
    Value *again = guard(builder_.CreateICmpULT(next, trips));
    addIncoming(results);
    counter->addIncoming(next, builder_.GetInsertBlock());
    if (random_.percent(50))
      builder_.CreateCondBr(again, body, exit);
    else
      builder_.CreateCondBr(guard(builder_.CreateNot(again)), exit, body);
    beginJoin(exit, before, results);
  }

  /// Returns what a value becomes in the next iteration. Often it is another value that the loop carries.
  Value *nextValue(PHINode *phi, const std::vector<PHINode *> &phis) {
    PHINode *other = random_.of(phis);
    return other->getType() == phi->getType() && random_.percent(50) ? other : scope_.value(phi->getType());
  }

  void addBreak(BasicBlock *exit, std::vector<Merged> &results) {
    Value *condition = scope_.value(builder_.getInt1Ty());
    addIncoming(results);
    BasicBlock *rest = newBlock("rest");
    if (random_.percent(50))
      builder_.CreateCondBr(condition, exit, rest);
    else
      builder_.CreateCondBr(condition, rest, exit);
    builder_.SetInsertPoint(rest);
  }

  Function &kernel_;
  IRBuilder<> builder_;
  Random random_;
  Scope scope_;
};

} // namespace

std::unique_ptr<Module> randomKernel(LLVMContext &context, uint64_t seed) {
  auto module = std::make_unique<Module>("random", context);
  module->setDataLayout(
      "e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-p7:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64");
  module->setTargetTriple(Triple("nvptx64-nvidia-cuda"));
  Type *i32 = Type::getInt32Ty(context), *i64 = Type::getInt64Ty(context), *f32 = Type::getFloatTy(context);
  auto *type = FunctionType::get(Type::getVoidTy(context), {i64, i64, i32, i32, i64, f32, f32}, /*isVarArg=*/false);
  Function *kernel = Function::Create(type, Function::ExternalLinkage, "kernel", *module);
  kernel->setCallingConv(CallingConv::PTX_Kernel);
  Generator(*kernel, seed).run();
  return module;
}

} // namespace tegula::ptx_fuzz
