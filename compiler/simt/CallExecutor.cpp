// SPDX-License-Identifier: MIT
#include "compiler/emit/Instructions.h"
#include "compiler/simt/AssemblyCalls.h"
#include "compiler/simt/Calls.h"
#include "compiler/simt/Passes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tegula::simt {
#define GEN_PASS_DEF_CALLEXECUTOR
#include "compiler/simt/Passes.h.inc"
} // namespace tegula::simt

using namespace mlir;
using namespace tegula;
using namespace tegula::simt;

namespace {

constexpr unsigned kShared = 3; ///< Address space.

/// A rewriter of the instructions of one kernel.
class Rewriter {
public:
  explicit Rewriter(LLVM::LLVMFuncOp kernel) : kernel_(kernel), calls_(kernel), b(calls_.b) {}

  LogicalResult run() {
    checkAccumulators(calls_, kernel_);
    SmallVector<Operation *> all;
    kernel_.walk([&](Operation *op) { all.push_back(op); });
    for (Operation *op : all) {
      b.setInsertionPoint(op);
      b.setLoc(op->getLoc());
      if (failed(rewrite(op)))
        return failure();
    }
    calls_.finish();
    return success();
  }

private:
  LogicalResult rewrite(Operation *op) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case([&](NVVM::ThreadIdXOp op) { return special(op, SimtRegister::thread); })
        .Case([&](NVVM::BlockIdXOp op) { return special(op, SimtRegister::program_x); })
        .Case([&](NVVM::BlockIdYOp op) { return special(op, SimtRegister::program_y); })
        .Case([&](NVVM::BlockIdZOp op) { return special(op, SimtRegister::program_z); })
        .Case([&](NVVM::GridDimXOp op) { return special(op, SimtRegister::programs_x); })
        .Case([&](NVVM::GridDimYOp op) { return special(op, SimtRegister::programs_y); })
        .Case([&](NVVM::GridDimZOp op) { return special(op, SimtRegister::programs_z); })
        .Case([&](NVVM::ClusterId op) { return special(op, SimtRegister::cluster_rank); })
        .Case<NVVM::ShflOp, NVVM::VoteSyncOp, NVVM::LdMatrixOp, NVVM::StMatrixOp, NVVM::CpAsyncOp,
              NVVM::CpAsyncCommitGroupOp, NVVM::CpAsyncWaitGroupOp, NVVM::Barrier0Op, NVVM::BarrierOp,
              NVVM::BarrierArriveOp, NVVM::ElectSyncOp, NVVM::SyncWarpOp, NVVM::MmaOp, NVVM::ConvertFloatToTF32Op,
              LLVM::InlineAsmOp, LLVM::CallIntrinsicOp, LLVM::AddressOfOp, LLVM::FPTruncOp>(
            [&](auto known) { return lower(known); })
        .Default([&](Operation *other) -> LogicalResult {
          return isa<NVVM::NVVMDialect>(other->getDialect()) ? unknown(other) : success();
        });
  }

  LogicalResult unknown(Operation *op) { return op->emitError("the simt target does not know this instruction"); }

  LogicalResult replace(Operation *op, ValueRange values) {
    op->replaceAllUsesWith(values);
    op->erase();
    return success();
  }

  /// Replaces a struct of registers, or a single register, by the values that the call has written.
  LogicalResult replaceByBuffer(Operation *op, unsigned buffer) {
    auto structure = dyn_cast<LLVM::LLVMStructType>(op->getResult(0).getType());
    if (!structure)
      return replace(op, calls_.unpack(buffer, op->getResult(0).getType(), 0));
    Value whole = LLVM::PoisonOp::create(b, structure);
    for (auto [i, type] : llvm::enumerate(structure.getBody()))
      whole = LLVM::InsertValueOp::create(b, whole, calls_.unpack(buffer, type, i), i);
    return replace(op, whole);
  }

  Value addressIn(Value pointer, unsigned bits) { return LLVM::PtrToIntOp::create(b, b.getIntegerType(bits), pointer); }

  Value flag(Value predicate) {
    return predicate ? LLVM::ZExtOp::create(b, b.getI32Type(), predicate).getResult() : calls_.i32(1);
  }

  //===-- Indices and sizes ---------------------------------------------------------------------------------------===//

  LogicalResult special(Operation *op, SimtRegister which) {
    return replace(op, calls_.call(&SimtOps::special, {calls_.i32(static_cast<int64_t>(which))}));
  }

  LogicalResult lower(LLVM::AddressOfOp op) {
    auto type = cast<LLVM::LLVMPointerType>(op.getType());
    if (type.getAddressSpace() != kShared)
      return success();
    return replace(op, LLVM::IntToPtrOp::create(b, type, calls_.i32(kSimtSharedBase)).getResult());
  }

  //===-- Memory --------------------------------------------------------------------------------------------------===//

  LogicalResult lower(LLVM::InlineAsmOp op) { return callAssembly(calls_, op); }

  static std::string matrixName(StringRef name, size_t count, bool transposed) {
    return (name + ".x" + std::to_string(count) + (transposed ? ".trans" : "")).str();
  }

  LogicalResult lower(NVVM::LdMatrixOp op) {
    bool transposed = op.getLayout() == NVVM::MMALayout::col;
    if (op.getEltType() != NVVM::LdStMatrixEltType::B16)
      return unknown(op);
    calls_.call(&SimtOps::load_matrices,
                {calls_.site(matrixName("ldmatrix", op.getNum(), transposed)), addressIn(op.getPtr(), 32),
                 calls_.i32(op.getNum()), calls_.i32(transposed), calls_.buffer(0)});
    return replaceByBuffer(op, 0);
  }

  LogicalResult lower(NVVM::StMatrixOp op) {
    bool transposed = op.getLayout() == NVVM::MMALayout::col;
    if (op.getEltType() != NVVM::LdStMatrixEltType::B16)
      return unknown(op);
    size_t count = op.getSources().size();
    calls_.call(&SimtOps::store_matrices,
                {calls_.site(matrixName("stmatrix", count, transposed)), addressIn(op.getPtr(), 32), calls_.i32(count),
                 calls_.i32(transposed), calls_.pack(0, op.getSources())});
    op->erase();
    return success();
  }

  LogicalResult lower(NVVM::CpAsyncOp op) {
    Value size = calls_.i32(op.getSize());
    calls_.call(&SimtOps::copy_async, {calls_.site("cp.async"), addressIn(op.getDst(), 32), addressIn(op.getSrc(), 64),
                                       size, op.getCpSize() ? op.getCpSize() : size});
    op->erase();
    return success();
  }

  //===-- Order ---------------------------------------------------------------------------------------------------===//

  LogicalResult lower(NVVM::CpAsyncCommitGroupOp op) {
    calls_.call(&SimtOps::commit_copies, {calls_.site("cp.async.commit_group")});
    op->erase();
    return success();
  }

  LogicalResult lower(NVVM::CpAsyncWaitGroupOp op) {
    calls_.call(&SimtOps::wait_copies, {calls_.site("cp.async.wait_group"), calls_.i32(op.getN())});
    op->erase();
    return success();
  }

  LogicalResult lowerBarrier(Operation *op, Value id, Value threads) {
    calls_.call(&SimtOps::barrier,
                {calls_.site("bar.sync"), id ? id : calls_.i32(0), threads ? threads : calls_.i32(0)});
    op->erase();
    return success();
  }
  LogicalResult lower(NVVM::Barrier0Op op) { return lowerBarrier(op, nullptr, nullptr); }
  LogicalResult lower(NVVM::BarrierOp op) {
    if (op.getReductionOp())
      return unknown(op);
    if (!op->hasAttr(emit::kSequence))
      return lowerBarrier(op, op.getBarrierId(), op.getNumberOfThreads());
    calls_.call(&SimtOps::sequence_wait, {calls_.site("sm.sequence_wait"), op.getBarrierId(), op.getNumberOfThreads()});
    op->erase();
    return success();
  }

  LogicalResult lower(NVVM::BarrierArriveOp op) {
    Value id = op.getBarrierId();
    calls_.call(&SimtOps::barrier_arrive,
                {calls_.site("bar.arrive"), id ? id : calls_.i32(0), op.getNumberOfThreads()});
    op->erase();
    return success();
  }

  LogicalResult lower(NVVM::SyncWarpOp op) {
    calls_.call(&SimtOps::barrier_warp, {calls_.site("bar.warp.sync")});
    op->erase();
    return success();
  }

  //===-- Between lanes, and arithmetic ---------------------------------------------------------------------------===//

  LogicalResult lower(NVVM::ShflOp op) {
    bool isXor = op.getKind() == NVVM::ShflKind::bfly;
    if ((!isXor && op.getKind() != NVVM::ShflKind::idx) || op.getReturnValueAndIsValid())
      return unknown(op);
    Type type = op.getVal().getType();
    bool isWord = type.isInteger(32);
    Value word = isWord ? op.getVal() : LLVM::BitcastOp::create(b, b.getI32Type(), op.getVal()).getResult();
    auto kind = static_cast<int64_t>(isXor ? SimtShuffle::lane_xor : SimtShuffle::index);
    Value result = calls_.call(&SimtOps::shuffle, {calls_.site(isXor ? "shfl.sync.bfly" : "shfl.sync.idx"),
                                                   calls_.i32(kind), word, op.getOffset()});
    return replace(op, isWord ? result : LLVM::BitcastOp::create(b, type, result).getResult());
  }

  LogicalResult lower(NVVM::VoteSyncOp op) {
    constexpr std::pair<NVVM::VoteSyncKind, SimtVote> kinds[] = {{NVVM::VoteSyncKind::any, SimtVote::any},
                                                                 {NVVM::VoteSyncKind::all, SimtVote::all},
                                                                 {NVVM::VoteSyncKind::ballot, SimtVote::ballot}};
    for (auto [theirs, ours] : kinds)
      if (op.getKind() == theirs) {
        Value result = calls_.call(
            &SimtOps::vote, {calls_.site("vote.sync"), calls_.i32(static_cast<int64_t>(ours)), flag(op.getPred())});
        bool isWord = op.getType().isInteger(32);
        return replace(op, isWord ? result : LLVM::TruncOp::create(b, op.getType(), result).getResult());
      }
    return unknown(op);
  }

  LogicalResult lower(NVVM::ElectSyncOp op) {
    Value result = calls_.call(&SimtOps::elect, {calls_.site("elect.sync")});
    return replace(op, LLVM::TruncOp::create(b, op.getType(), result).getResult());
  }

  static std::optional<SimtMma> kindOf(NVVM::MmaOp op) {
    auto shape = op.getShape();
    int64_t m = shape.getM(), n = shape.getN(), k = shape.getK();
    if (m != 16 || n != 8 || !op.getMultiplicandAPtxType())
      return std::nullopt;
    NVVM::MMATypes type = *op.getMultiplicandAPtxType();
    if (type == NVVM::MMATypes::bf16 && k == 16)
      return SimtMma::bf16;
    if (type == NVVM::MMATypes::f16 && k == 16)
      return SimtMma::f16;
    if (type == NVVM::MMATypes::tf32 && k == 8)
      return SimtMma::tf32;
    return std::nullopt;
  }

  LogicalResult lower(NVVM::MmaOp op) {
    std::optional<SimtMma> kind = kindOf(op);
    if (!kind)
      return unknown(op);
    Value a = calls_.pack(0, op.getOperandA()), c = calls_.pack(2, op.getOperandC());
    calls_.call(&SimtOps::mma, {calls_.site("mma.sync"), calls_.i32(static_cast<int64_t>(*kind)), a,
                                calls_.pack(1, op.getOperandB()), c, calls_.buffer(3)});
    return replaceByBuffer(op, 3);
  }

  LogicalResult lower(NVVM::ConvertFloatToTF32Op op) {
    return replace(op, calls_.compute(&SimtOps::to_tf32, op.getSrc()));
  }

  /// Sets `count` bits of a word, from bit `from` on. Bits beyond the word do not matter.
  LogicalResult replaceByMask(LLVM::CallIntrinsicOp op, Value from, Value count) {
    const Type i64 = b.getI64Type();
    auto number = [&](int64_t x) { return LLVM::ConstantOp::create(b, i64, b.getI64IntegerAttr(x)).getResult(); };
    auto limited = [&](Value x) {
      return LLVM::UMinOp::create(b, LLVM::ZExtOp::create(b, i64, x), number(32)).getResult();
    };
    Value end = LLVM::ShlOp::create(b, number(1), limited(count));
    Value mask = LLVM::ShlOp::create(b, LLVM::SubOp::create(b, end, number(1)), limited(from));
    return replace(op, LLVM::TruncOp::create(b, b.getI32Type(), mask).getResult());
  }

  /// Casts two f32 to e4m3. The first one goes to the upper half of the word.
  LogicalResult replaceByE4m3(LLVM::CallIntrinsicOp op) {
    Value high = calls_.compute(&SimtOps::to_e4m3, op.getArgs()[0]);
    Value low = calls_.compute(&SimtOps::to_e4m3, op.getArgs()[1]);
    Value word = LLVM::OrOp::create(b, LLVM::ShlOp::create(b, high, calls_.i32(8)), low);
    return replace(op, LLVM::TruncOp::create(b, b.getI16Type(), word).getResult());
  }

  /// Casts two e4m3 to f16.
  LogicalResult replaceByF16(LLVM::CallIntrinsicOp op) {
    Value word = LLVM::ZExtOp::create(b, b.getI32Type(), op.getArgs()[0]);
    Value halves = calls_.compute(&SimtOps::from_e4m3x2, word);
    return replace(op, LLVM::BitcastOp::create(b, op.getResult(0).getType(), halves).getResult());
  }

  LogicalResult lower(LLVM::CallIntrinsicOp op) {
    StringRef name = op.getIntrin();
    if (name == "llvm.nvvm.ex2.approx.ftz")
      return replace(op, calls_.compute(&SimtOps::exp2, op.getArgs()[0]));
    if (name == "llvm.nvvm.lg2.approx.ftz.f")
      return replace(op, calls_.compute(&SimtOps::log2, op.getArgs()[0]));
    if (name == "llvm.nvvm.rcp.approx.ftz.f")
      return replace(op, calls_.compute(&SimtOps::reciprocal, op.getArgs()[0]));
    if (name == "llvm.nvvm.div.full") // Divides exactly, where the GPU approximates.
      return replace(op, LLVM::FDivOp::create(b, op.getArgs()[0], op.getArgs()[1]).getResult());
    if (name == "llvm.nvvm.ff.to.e4m3x2.rn")
      return replaceByE4m3(op);
    if (name == "llvm.nvvm.e4m3x2.to.f16x2.rn")
      return replaceByF16(op);
    if (name == "llvm.nvvm.bmsk.clamp")
      return replaceByMask(op, op.getArgs()[0], op.getArgs()[1]);
    return name.starts_with("llvm.nvvm.") ? unknown(op) : success();
  }

  /// Calls the executor, which rounds as a GPU does.
  LogicalResult lower(LLVM::FPTruncOp op) {
    if (!op.getType().isBF16())
      return success();
    Value word = calls_.compute(&SimtOps::to_bf16, op.getArg());
    Value half = LLVM::TruncOp::create(b, b.getI16Type(), word);
    return replace(op, LLVM::BitcastOp::create(b, op.getType(), half).getResult());
  }

  LLVM::LLVMFuncOp kernel_;
  Calls calls_;
  ImplicitLocOpBuilder &b;
};

struct CallExecutor : simt::impl::CallExecutorBase<CallExecutor> {
  void runOnOperation() override {
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<LLVM::LLVMFuncOp>()))
      if (!function.isExternal() && failed(Rewriter(function).run()))
        return signalPassFailure();
    for (auto global : llvm::make_early_inc_range(getOperation().getOps<LLVM::GlobalOp>()))
      if (global.getAddrSpace() == kShared)
        global.erase();
  }
};

} // namespace
