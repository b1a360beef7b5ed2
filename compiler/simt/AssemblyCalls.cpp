// SPDX-License-Identifier: MIT
#include "compiler/simt/AssemblyCalls.h"
#include "compiler/emit/Instructions.h"
#include "compiler/simt/InlineAssembly.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using llvm::SmallVector;
using llvm::StringRef;

namespace tegula::simt {

namespace {

/// The calls that replace the statements of one op, in order.
class AssemblyCalls {
public:
  AssemblyCalls(Calls &calls, LLVM::InlineAsmOp op) : calls_(calls), b_(calls.b), op_(op), text_(op) {}

  LogicalResult run() {
    if (text_.statements().empty())
      return unknown();
    loops_ = llvm::any_of(text_.statements(), [](const AsmStatement &s) { return s.is("bra"); });
    for (const AsmStatement &statement : text_.statements())
      if (failed(lower(statement)))
        return unknown();
    return finish();
  }

private:
  LogicalResult unknown() { return op_.emitError("the simt target does not know this instruction"); }

  LogicalResult lower(const AsmStatement &s) {
    StringRef first = s.mnemonic.split('.').first;
    if (first == "bra" || first == "trap")
      return success(); // A branch belongs to a loop around a wait. A trap is never reached.
    if (s.is("ld.acquire") || s.is("setp.ge.s32") || s.is("red.release") || s.is("atom.acq_rel"))
      return lowerTurn(s);
    if (first == "mov" || first == "setp" || first == "selp" || first == "vote" || first == "mapa" || first == "tanh")
      return lowerLocal(s);
    if (first == "ld" || first == "st" || first == "red" || first == "atom")
      return lowerAccess(s);
    if (first == "mbarrier")
      return lowerMbarrier(s);
    if (first == "cp")
      return lowerCopy(s);
    if (first == "wgmma")
      return lowerMma(s);
    if (first == "tcgen05")
      return lowerTensor(s);
    return lowerOrder(s);
  }

  //===-- Operands ------------------------------------------------------------------------------------------------===//

  /// Returns an operand of the op, the value of a register of the assembly, or a constant of this type. Null if `text`
  /// is none of these.
  Value value(StringRef text, Type type) {
    text = text.trim();
    if (Value operand = text_.operand(text))
      return operand;
    if (auto found = locals_.find(text); found != locals_.end())
      return found->second;
    int64_t number = 0;
    if (text.getAsInteger(0, number))
      return nullptr;
    return LLVM::ConstantOp::create(b_, type, b_.getIntegerAttr(type, number));
  }
  Value word(StringRef text) { return value(text, b_.getI32Type()); }
  /// Returns the address in `[x]`.
  Value address(StringRef text) { return word(members(text).front()); }

  /// Returns an i32 that is 1 if the statement is executed, otherwise 0.
  Value guard(const AsmStatement &s) {
    Value predicate = s.guard.empty() ? Value() : value(s.guard, b_.getI1Type());
    return predicate ? LLVM::ZExtOp::create(b_, b_.getI32Type(), predicate).getResult() : calls_.i32(1);
  }

  void define(StringRef name, Value value) {
    size_t result = 0;
    if (name.consume_front("$") && !name.getAsInteger(10, result))
      results_[result] = value;
    else
      locals_[name] = value;
  }

  template <class Entry, size_t Count> void call(Entry entry, const std::array<Value, Count> &arguments) {
    calls_.call(entry, arguments);
  }

  //===-- Registers of the assembly -------------------------------------------------------------------------------===//

  LogicalResult lowerLocal(const AsmStatement &s) {
    if (s.is("mov.b64") && s.operands.size() == 2)
      return lowerPair(s);
    if (s.is("mov.b32") && s.operands.size() == 2) {
      define(s.operands[0], value(s.operands[1], b_.getI32Type()));
      return success();
    }
    if (s.is("mapa.shared::cluster.u32") && s.operands.size() == 3)
      return lowerMapa(s);
    if (s.is("setp") && s.operands.size() >= 3)
      return lowerComparison(s);
    if (s.is("selp.b32") && s.operands.size() == 4) {
      Value predicate = value(s.operands[3], b_.getI1Type());
      define(s.operands[0], LLVM::SelectOp::create(b_, predicate, word(s.operands[1]), word(s.operands[2])));
      return success();
    }
    if (s.is("tanh.approx.f32")) {
      define(s.operands[0], calls_.compute(&SimtOps::tanh, value(s.operands[1], b_.getF32Type())));
      return success();
    }
    if (s.is("vote.sync.any.pred")) {
      Value predicate = LLVM::ZExtOp::create(b_, b_.getI32Type(), value(s.operands[1], b_.getI1Type()));
      Value any = calls_.call(&SimtOps::vote,
                              {calls_.site("vote.sync"), calls_.i32(static_cast<int64_t>(SimtVote::any)), predicate});
      define(s.operands[0], LLVM::TruncOp::create(b_, b_.getI1Type(), any));
      return success();
    }
    return failure();
  }

  /// Lowers `mov.b64 d, {low, high}`.
  LogicalResult lowerPair(const AsmStatement &s) {
    SmallVector<StringRef> words = members(s.operands[1]);
    if (words.size() != 2)
      return failure();
    Type i64 = b_.getI64Type();
    Value low = LLVM::ZExtOp::create(b_, i64, word(words[0])), high = LLVM::ZExtOp::create(b_, i64, word(words[1]));
    Value shift = LLVM::ConstantOp::create(b_, i64, b_.getI64IntegerAttr(32));
    define(s.operands[0], LLVM::OrOp::create(b_, low, LLVM::ShlOp::create(b_, high, shift)));
    return success();
  }

  /// Lowers `mapa.shared::cluster.u32 d, address, rank`.
  LogicalResult lowerMapa(const AsmStatement &s) {
    Value rank = LLVM::AddOp::create(b_, word(s.operands[2]), calls_.i32(1));
    Value high = LLVM::ShlOp::create(b_, rank, calls_.i32(kSimtRankShift));
    define(s.operands[0], LLVM::OrOp::create(b_, word(s.operands[1]), high));
    return success();
  }

  LogicalResult lowerComparison(const AsmStatement &s) {
    if (s.is("setp.gt.f32") || s.is("setp.gt.or.f32")) {
      Value result = LLVM::FCmpOp::create(b_, LLVM::FCmpPredicate::ogt, word(s.operands[1]), word(s.operands[2]));
      if (s.operands.size() == 4)
        result = LLVM::OrOp::create(b_, result, value(s.operands[3], b_.getI1Type()));
      define(s.operands[0], result);
      return success();
    }
    constexpr std::pair<StringLiteral, LLVM::ICmpPredicate> predicates[] = {
        {"eq", LLVM::ICmpPredicate::eq}, {"ne", LLVM::ICmpPredicate::ne}, {"lt", LLVM::ICmpPredicate::slt}};
    for (auto [name, predicate] : predicates)
      if (s.has(name)) {
        define(s.operands[0], LLVM::ICmpOp::create(b_, predicate, word(s.operands[1]), word(s.operands[2])));
        return success();
      }
    return failure();
  }

  //===-- Plain accesses to memory --------------------------------------------------------------------------------===//

  LogicalResult lowerAccess(const AsmStatement &s) {
    const bool isShared = s.has("shared") || s.has("shared::cta") || s.has("shared::cluster");
    unsigned bits = 0;
    if ((!isShared && !s.has("global")) || s.mnemonic.rsplit('.').second.drop_front().getAsInteger(10, bits))
      return failure();
    if (s.is("ld"))
      return lowerLoad(s, isShared, bits);
    if (s.is("red"))
      return isShared || bits != 32 ? failure() : lowerAdd(s);
    if (s.is("atom"))
      return isShared || bits != 32 ? failure() : lowerFetchIncrement(s);
    SmallVector<Value> registers = llvm::map_to_vector(
        members(s.operands[1]), [&](StringRef r) { return bits == 8 ? lowByte(word(r)) : word(r); });
    Value bytes = calls_.i32(registers.size() * bits / 8), from = calls_.pack(0, registers);
    if (isShared)
      calls_.call(&SimtOps::store_shared, {calls_.site(s.mnemonic), guard(s), address(s.operands[0]), bytes, from});
    else
      calls_.call(&SimtOps::store, {calls_.site(s.mnemonic), guard(s), address(s.operands[0]), bytes, from});
    return success();
  }

  LogicalResult lowerLoad(const AsmStatement &s, bool isShared, unsigned bits) {
    const size_t count = members(s.operands[0]).size();
    if (count != text_.results())
      return failure();
    SmallVector<Value> otherwise;
    for (size_t i = 0; i < count && text_.tied(i); ++i)
      otherwise.push_back(text_.tied(i));
    calls_.pack(0, otherwise);
    Value bytes = calls_.i32(count * bits / 8), site = calls_.site(s.mnemonic), predicate = guard(s);
    if (isShared)
      calls_.call(&SimtOps::load_shared, {site, predicate, address(s.operands[1]), bytes, calls_.buffer(0)});
    else
      calls_.call(&SimtOps::load, {site, predicate, address(s.operands[1]), bytes, calls_.buffer(0)});
    if (bits == 8)
      unpackBytes();
    else
      unpackResults(calls_.buffer(0));
    return success();
  }

  /// A byte is the low half of a 16-bit register, whose high half is 0.
  Value lowByte(Value word) { return LLVM::TruncOp::create(b_, b_.getI8Type(), word); }
  void unpackBytes() {
    for (size_t i = 0; i < text_.results(); ++i)
      results_[i] = LLVM::ZExtOp::create(b_, typeOfResult(i), calls_.unpack(0u, b_.getI8Type(), i));
  }

  LogicalResult lowerAdd(const AsmStatement &s) {
    SmallVector<Value> registers = llvm::map_to_vector(members(s.operands[1]), [&](StringRef r) { return word(r); });
    const bool isFloat = s.has("f32");
    if (!s.has("add") || (!isFloat && !s.has("s32") && !s.has("u32")))
      return failure();
    Value type = calls_.i32(static_cast<int64_t>(isFloat ? SimtAtomic::f32 : SimtAtomic::i32));
    calls_.call(&SimtOps::atomic_add, {calls_.site(s.mnemonic), guard(s), address(s.operands[0]), type,
                                       calls_.i32(registers.size()), calls_.pack(0, registers)});
    return success();
  }

  /// Lowers `atom.relaxed.gpu.global.inc.u32 d, [address], 2^31 - 1`.
  LogicalResult lowerFetchIncrement(const AsmStatement &s) {
    APInt last;
    if (!s.has("inc") || s.operands.size() != 3 || !matchPattern(word(s.operands[2]), m_ConstantInt(&last)) ||
        !last.isMaxSignedValue())
      return failure();
    Value site = calls_.site(s.mnemonic), predicate = guard(s);
    define(s.operands[0], calls_.call(&SimtOps::fetch_increment, {site, predicate, address(s.operands[1])}));
    return success();
  }

  //===-- Turns ---------------------------------------------------------------------------------------------------===//

  /// Lowers the loop of `ld.acquire.gpu.global.b32 now, [address]` and `setp.ge.s32 come, now, number`, or
  /// `red.release.gpu.global.max.s32 [address], number`, or the arrival `atom.acq_rel.gpu.global.inc.u32 d, [address],
  /// last`.
  LogicalResult lowerTurn(const AsmStatement &s) {
    if (s.is("ld.acquire") && loops_) {
      turn_ = address(s.operands[1]);
      return success(s.has("global"));
    }
    if (s.is("ld.acquire")) {
      define(s.operands[0], calls_.call(&SimtOps::turn_read, {calls_.site(s.mnemonic), address(s.operands[1])}));
      return success(s.has("global") && s.has("b32"));
    }
    if (s.is("red.release")) {
      call(&SimtOps::turn_pass, std::array{calls_.site(s.mnemonic), address(s.operands[0]), word(s.operands[1])});
      return success(s.has("max") && s.has("s32"));
    }
    if (s.is("atom.acq_rel")) {
      define(s.operands[0], calls_.call(&SimtOps::counter_arrive,
                                        {calls_.site(s.mnemonic), address(s.operands[1]), word(s.operands[2])}));
      return success(s.has("inc") && s.has("u32"));
    }
    if (!turn_)
      return failure();
    call(&SimtOps::turn_wait, std::array{calls_.site("ld.acquire.gpu.global.b32"), turn_, word(s.operands[2])});
    return success();
  }

  //===-- mbarriers -----------------------------------------------------------------------------------------------===//

  LogicalResult lowerMbarrier(const AsmStatement &s) {
    auto operand = [&](size_t i, int64_t otherwise) {
      return i < s.operands.size() ? word(s.operands[i]) : calls_.i32(otherwise);
    };
    if (s.is("mbarrier.init"))
      call(&SimtOps::mbarrier_init,
           std::array{calls_.site("mbarrier.init"), guard(s), address(s.operands[0]), operand(1, 1)});
    else if (s.is("mbarrier.arrive.expect_tx") || s.is("mbarrier.arrive.release.cta.expect_tx"))
      call(&SimtOps::mbarrier_arrive, std::array{calls_.site("mbarrier.arrive.expect_tx"), guard(s),
                                                 address(s.operands[1]), calls_.i32(1), operand(2, 0)});
    else if (s.is("mbarrier.arrive"))
      call(&SimtOps::mbarrier_arrive,
           std::array{calls_.site("mbarrier.arrive"), guard(s), address(s.operands[1]), operand(2, 1), calls_.i32(0)});
    else if (s.is("mbarrier.expect_tx"))
      call(&SimtOps::mbarrier_arrive, std::array{calls_.site("mbarrier.expect_tx"), guard(s), address(s.operands[0]),
                                                 calls_.i32(0), operand(1, 0)});
    else if (s.is("mbarrier.try_wait.parity") || s.is("mbarrier.test_wait.parity")) {
      Value over = calls_.call(&SimtOps::mbarrier_wait, {calls_.site("mbarrier.try_wait"), address(s.operands[1]),
                                                         operand(2, 0), calls_.i32(loops_)});
      define(s.operands[0], LLVM::TruncOp::create(b_, b_.getI1Type(), over));
    } else
      return failure();
    return success();
  }

  //===-- Copies --------------------------------------------------------------------------------------------------===//

  LogicalResult lowerCopy(const AsmStatement &s) {
    if (s.is("cp.async.bulk.commit_group"))
      call(&SimtOps::commit_bulk, std::array{calls_.site("cp.async.bulk.commit_group")});
    else if (s.is("cp.async.bulk.wait_group"))
      call(&SimtOps::wait_bulk,
           std::array{calls_.site("cp.async.bulk.wait_group"), word(s.operands[0]), calls_.i32(s.has("read"))});
    else if (s.is("cp.async.bulk.tensor") || s.is("cp.reduce.async.bulk.tensor"))
      return lowerTensorCopy(s);
    else if (s.is("cp.async.bulk") || s.is("cp.reduce.async.bulk"))
      return lowerBulkCopy(s);
    else
      return failure();
    return success();
  }

  /// Returns the kind of a copy. It is a load if the mnemonic names shared memory first.
  static std::optional<SimtBulk> kindOf(const AsmStatement &s) {
    StringRef rest = s.mnemonic;
    const bool loads = rest.find("shared") < rest.find("global");
    if (s.has("reduce"))
      return s.has("add") && !loads ? std::optional(SimtBulk::add_f32) : std::nullopt;
    return loads ? SimtBulk::load : SimtBulk::store;
  }

  LogicalResult lowerTensorCopy(const AsmStatement &s) {
    std::optional<SimtBulk> kind = kindOf(s);
    if (!kind || s.has("multicast::cluster"))
      return failure();
    const bool loads = *kind == SimtBulk::load;
    SmallVector<StringRef> box = members(s.operands[loads ? 1 : 0]);
    if (box.size() != 2)
      return failure();
    SmallVector<Value> corner = llvm::map_to_vector(members(box[1]), [&](StringRef c) { return word(c); });
    call(&SimtOps::copy_tensor,
         std::array{calls_.site(s.mnemonic.split(".mbarrier").first), guard(s), calls_.i32(static_cast<int64_t>(*kind)),
                    address(s.operands[loads ? 0 : 1]), pointer(word(box[0])), calls_.pack(calls_.registers(), corner),
                    loads ? address(s.operands[2]) : calls_.i32(0)});
    return success();
  }

  Value pointer(Value map) {
    Type type = LLVM::LLVMPointerType::get(b_.getContext());
    return map.getType() == type ? map : LLVM::IntToPtrOp::create(b_, type, map).getResult();
  }

  LogicalResult lowerBulkCopy(const AsmStatement &s) {
    std::optional<SimtBulk> kind = kindOf(s);
    if (!kind || s.operands.size() < 3)
      return failure();
    const bool loads = *kind == SimtBulk::load;
    call(&SimtOps::copy_bulk,
         std::array{calls_.site(s.mnemonic.split(".mbarrier").first), guard(s), calls_.i32(static_cast<int64_t>(*kind)),
                    address(s.operands[loads ? 0 : 1]), address(s.operands[loads ? 1 : 0]), word(s.operands[2]),
                    loads ? address(s.operands[3]) : calls_.i32(0)});
    return success();
  }

  //===-- Warpgroups ----------------------------------------------------------------------------------------------===//

  LogicalResult lowerMma(const AsmStatement &s) {
    if (s.is("wgmma.fence"))
      call(&SimtOps::wgmma_fence, std::array{calls_.site("wgmma.fence")});
    else if (s.is("wgmma.commit_group"))
      call(&SimtOps::wgmma_commit, std::array{calls_.site("wgmma.commit_group")});
    else if (s.is("wgmma.wait_group")) {
      Value registers = packResults();
      call(&SimtOps::wgmma_wait,
           std::array{calls_.site("wgmma.wait_group"), word(s.operands[0]), calls_.i32(text_.results()), registers});
      unpackResults(registers);
    } else if (s.is("wgmma.mma_async"))
      return lowerMmaAsync(s);
    else
      return failure();
    return success();
  }

  static std::optional<SimtMma> typeOf(const AsmStatement &s) {
    if (s.has("bf16"))
      return SimtMma::bf16;
    if (s.has("f16"))
      return SimtMma::f16;
    if (s.has("e4m3"))
      return SimtMma::e4m3;
    return s.has("tf32") ? std::optional(SimtMma::tf32) : std::nullopt;
  }

  /// Lowers a wgmma with the operands `{d...}, a, b, p, scale of a, scale of b`. Two flags follow: the transposition of
  /// `a`, if it is a descriptor, and of `b`.
  LogicalResult lowerMmaAsync(const AsmStatement &s) {
    std::optional<SimtMma> type = typeOf(s);
    if (!type || s.operands.size() < 6 || s.operands[4] != "1" || s.operands[5] != "1")
      return failure();
    SmallVector<StringRef> a = members(s.operands[1]);
    const bool inRegisters = a.size() == 4;
    Value zero = calls_.i32(0), none = LLVM::ConstantOp::create(b_, b_.getI64Type(), b_.getI64IntegerAttr(0));
    auto flag = [&](size_t i) { return i < s.operands.size() ? word(s.operands[i]) : zero; };
    Value accumulate = LLVM::ZExtOp::create(b_, b_.getI32Type(), value(s.operands[3], b_.getI1Type()));
    SmallVector<Value> product = {calls_.i32(static_cast<int64_t>(*type)),
                                  calls_.i32(2 * text_.results()),
                                  accumulate,
                                  calls_.i32(inRegisters),
                                  inRegisters ? zero : flag(6),
                                  inRegisters ? flag(6) : flag(7)};
    for (size_t i = 0; i < 4; ++i)
      product.push_back(inRegisters ? word(a[i]) : zero);
    product.push_back(inRegisters ? none : value(a.front(), b_.getI64Type()));
    product.push_back(value(s.operands[2], b_.getI64Type()));
    Value registers = packResults();
    call(&SimtOps::wgmma,
         std::array{calls_.site("wgmma.mma_async"), calls_.pack(calls_.product(), product), registers});
    unpackResults(registers);
    return success();
  }

  //===-- Tensor memory -------------------------------------------------------------------------------------------===//

  LogicalResult lowerTensor(const AsmStatement &s) {
    if (s.is("tcgen05.alloc"))
      call(&SimtOps::tensor_alloc,
           std::array{calls_.site("tcgen05.alloc"), address(s.operands[0]), word(s.operands[1])});
    else if (s.is("tcgen05.dealloc"))
      call(&SimtOps::tensor_dealloc,
           std::array{calls_.site("tcgen05.dealloc"), word(s.operands[0]), word(s.operands[1])});
    else if (s.is("tcgen05.relinquish_alloc_permit"))
      call(&SimtOps::tensor_relinquish, std::array{calls_.site("tcgen05.relinquish_alloc_permit")});
    else if (s.is("tcgen05.commit"))
      call(&SimtOps::tensor_commit, std::array{calls_.site("tcgen05.commit"), address(s.operands[0])});
    else if (s.is("tcgen05.fence::before_thread_sync"))
      lowerTensorFence(s, SimtTensorFence::before);
    else if (s.is("tcgen05.fence::after_thread_sync"))
      lowerTensorFence(s, SimtTensorFence::after);
    else if (s.is("tcgen05.mma"))
      return lowerTensorMma(s);
    else if (s.is("tcgen05.ld.sync.aligned.32x32b"))
      lowerTensorLoad(&SimtOps::tensor_load, std::array{calls_.site("tcgen05.ld"), address(s.operands[1]),
                                                        calls_.i32(text_.results()), calls_.registers()});
    else if (s.is("tcgen05.wait::ld"))
      lowerTensorLoad(&SimtOps::tensor_wait_load,
                      std::array{calls_.site("tcgen05.wait::ld"), calls_.i32(text_.results()), calls_.registers()});
    else
      return failure();
    return success();
  }

  void lowerTensorFence(const AsmStatement &s, SimtTensorFence kind) {
    call(&SimtOps::tensor_fence, std::array{calls_.site(s.mnemonic), calls_.i32(static_cast<int64_t>(kind))});
  }

  /// Lowers a product with the operands `[d], a, b, instruction descriptor, p`.
  LogicalResult lowerTensorMma(const AsmStatement &s) {
    if (!s.has("kind::f16") || s.operands.size() != 5)
      return failure();
    Type i64 = b_.getI64Type();
    Value accumulate = LLVM::ZExtOp::create(b_, b_.getI32Type(), value(s.operands[4], b_.getI1Type()));
    call(&SimtOps::tensor_mma, std::array{calls_.site("tcgen05.mma"), address(s.operands[0]), value(s.operands[1], i64),
                                          value(s.operands[2], i64), word(s.operands[3]), accumulate});
    return success();
  }

  /// Lowers a load, or the wait that makes its registers valid.
  template <class Entry, size_t Count> void lowerTensorLoad(Entry entry, const std::array<Value, Count> &arguments) {
    call(entry, arguments);
    unpackResults(calls_.registers());
  }

  //===-- Order ---------------------------------------------------------------------------------------------------===//

  LogicalResult lowerOrder(const AsmStatement &s) {
    if (s.is("fence.proxy.async.global"))
      return success(); // It orders accesses to tensors by other program instances, of which the executor has no
                        // clocks.
    if (s.is("fence.proxy.async"))
      return lowerFence("fence.proxy.async", SimtFence::async_proxy);
    if (s.is("fence.mbarrier_init"))
      return lowerFence("fence.mbarrier_init", SimtFence::mbarrier_init);
    if (s.is("setmaxnreg"))
      call(&SimtOps::set_registers, std::array{calls_.site(s.mnemonic.take_front(14)), word(s.operands[0])});
    else if (s.is("bar.sync") || s.is("barrier.sync"))
      call(&SimtOps::barrier, std::array{calls_.site("bar.sync"), word(s.operands[0]),
                                         s.operands.size() > 1 ? word(s.operands[1]) : calls_.i32(0)});
    else if (op_->hasAttr(emit::kSequence))
      call(&SimtOps::sequence_arrive,
           std::array{calls_.site("sm.sequence_arrive"), word(s.operands[0]), word(s.operands[1])});
    else if (s.is("bar.arrive") || s.is("barrier.arrive"))
      call(&SimtOps::barrier_arrive, std::array{calls_.site("bar.arrive"), word(s.operands[0]), word(s.operands[1])});
    else if (s.is("barrier.cluster.arrive"))
      call(&SimtOps::cluster_arrive, std::array{calls_.site("barrier.cluster.arrive")});
    else if (s.is("barrier.cluster.wait"))
      call(&SimtOps::cluster_wait, std::array{calls_.site("barrier.cluster.wait")});
    else if (s.is("bar.warp.sync"))
      call(&SimtOps::barrier_warp, std::array{calls_.site("bar.warp.sync")});
    else if (!s.is("prefetch.tensormap"))
      return failure();
    return success();
  }

  LogicalResult lowerFence(StringRef name, SimtFence kind) {
    call(&SimtOps::fence_proxy, std::array{calls_.site(name), calls_.i32(static_cast<int64_t>(kind))});
    return success();
  }

  //===-- Results -------------------------------------------------------------------------------------------------===//

  /// Stores the initial values of the results in memory.
  Value packResults() {
    SmallVector<Value> begin;
    for (size_t i = 0; i < text_.results() && text_.tied(i); ++i)
      begin.push_back(text_.tied(i));
    return calls_.pack(calls_.registers(), begin);
  }

  Type typeOfResult(size_t i) {
    Type type = op_.getResult(0).getType();
    auto structure = dyn_cast<LLVM::LLVMStructType>(type);
    return structure ? structure.getBody()[i] : type;
  }

  void unpackResults(Value memory) {
    for (size_t i = 0; i < text_.results(); ++i)
      results_[i] = calls_.unpack(memory, typeOfResult(i), i);
  }

  LogicalResult finish() {
    if (text_.results() == 1 && !isa<LLVM::LLVMStructType>(op_.getResult(0).getType())) {
      if (!results_.count(0))
        return unknown();
      op_.getResult(0).replaceAllUsesWith(results_[0]);
    } else if (text_.results()) {
      Value whole = LLVM::PoisonOp::create(b_, op_.getResult(0).getType());
      for (auto &[i, value] : results_)
        whole = LLVM::InsertValueOp::create(b_, whole, value, i);
      op_.getResult(0).replaceAllUsesWith(whole);
    }
    op_.erase();
    return success();
  }

  Calls &calls_;
  ImplicitLocOpBuilder &b_;
  LLVM::InlineAsmOp op_;
  AsmText text_;
  llvm::StringMap<Value> locals_;
  std::map<size_t, Value> results_;
  Value turn_; ///< The address of the counter that the loop reads.
  bool loops_ = false;
};

} // namespace

LogicalResult callAssembly(Calls &calls, LLVM::InlineAsmOp op) { return AssemblyCalls(calls, op).run(); }

} // namespace tegula::simt
