// SPDX-License-Identifier: MIT
#include "compiler/ptx/Selection.h"

#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace tegula::ptx {

using namespace llvm;

namespace {

struct Spelling {
  Intrinsic::ID id;
  StringLiteral text; ///< Results come first, then arguments.
};

constexpr Spelling kMachine[] = {
    {Intrinsic::nvvm_read_ptx_sreg_tid_x, "mov.u32 $0, %tid.x"},
    {Intrinsic::nvvm_read_ptx_sreg_ctaid_x, "mov.u32 $0, %ctaid.x"},
    {Intrinsic::nvvm_read_ptx_sreg_ctaid_y, "mov.u32 $0, %ctaid.y"},
    {Intrinsic::nvvm_read_ptx_sreg_ctaid_z, "mov.u32 $0, %ctaid.z"},
    {Intrinsic::nvvm_read_ptx_sreg_nctaid_x, "mov.u32 $0, %nctaid.x"},
    {Intrinsic::nvvm_read_ptx_sreg_nctaid_y, "mov.u32 $0, %nctaid.y"},
    {Intrinsic::nvvm_read_ptx_sreg_nctaid_z, "mov.u32 $0, %nctaid.z"},
    {Intrinsic::nvvm_shfl_sync_idx_i32, "shfl.sync.idx.b32 $0, $2, $3, $4, $1"},
    {Intrinsic::nvvm_shfl_sync_bfly_i32, "shfl.sync.bfly.b32 $0, $2, $3, $4, $1"},
    {Intrinsic::nvvm_shfl_sync_bfly_f32, "shfl.sync.bfly.b32 $0, $2, $3, $4, $1"},
    {Intrinsic::nvvm_elect_sync, "elect.sync $0|$1, $2"},
    {Intrinsic::nvvm_vote_any_sync, "vote.sync.any.pred $0, $2, $1"},
    {Intrinsic::nvvm_barrier_cta_sync_aligned_all, "bar.sync $0"},
    {Intrinsic::nvvm_barrier_cta_sync_aligned_count, "bar.sync $0, $1"},
    {Intrinsic::nvvm_bar_warp_sync, "bar.warp.sync $0"},
    {Intrinsic::nvvm_cp_async_cg_shared_global_16_s, "cp.async.cg.shared.global [$0], [$1], 16, $2"},
    {Intrinsic::nvvm_cp_async_commit_group, "cp.async.commit_group"},
    {Intrinsic::nvvm_cp_async_wait_group, "cp.async.wait_group $0"},
    {Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x1_b16, "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {$0}, [$1]"},
    {Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_b16, "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {$0, $1}, [$2]"},
    {Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16,
     "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4]"},
    {Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x1_trans_b16,
     "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {$0}, [$1]"},
    {Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_trans_b16,
     "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {$0, $1}, [$2]"},
    {Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16,
     "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {$0, $1, $2, $3}, [$4]"},
    {Intrinsic::nvvm_stmatrix_sync_aligned_m8n8_x1_b16, "stmatrix.sync.aligned.m8n8.x1.shared.b16 [$0], {$1}"},
    {Intrinsic::nvvm_stmatrix_sync_aligned_m8n8_x2_b16, "stmatrix.sync.aligned.m8n8.x2.shared.b16 [$0], {$1, $2}"},
    {Intrinsic::nvvm_stmatrix_sync_aligned_m8n8_x4_b16,
     "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4}"},
    {Intrinsic::nvvm_stmatrix_sync_aligned_m8n8_x1_trans_b16,
     "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [$0], {$1}"},
    {Intrinsic::nvvm_stmatrix_sync_aligned_m8n8_x2_trans_b16,
     "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [$0], {$1, $2}"},
    {Intrinsic::nvvm_stmatrix_sync_aligned_m8n8_x4_trans_b16,
     "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [$0], {$1, $2, $3, $4}"},
    {Intrinsic::nvvm_mma_m16n8k16_row_col_bf16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {$0, $1, $2, $3}, "
                                                "{$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13}"},
    {Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$0, $1, $2, "
                                                   "$3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13}"},
    {Intrinsic::nvvm_mma_m16n8k8_row_col_tf32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {$0, $1, $2, $3}, "
                                               "{$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13}"},
    {Intrinsic::nvvm_ex2_approx_ftz, "ex2.approx.ftz.f32 $0, $1"},
    {Intrinsic::nvvm_lg2_approx_ftz_f, "lg2.approx.ftz.f32 $0, $1"},
    {Intrinsic::nvvm_rcp_approx_ftz_f, "rcp.approx.ftz.f32 $0, $1"},
    {Intrinsic::nvvm_div_full, "div.full.f32 $0, $1, $2"},
    {Intrinsic::nvvm_f2tf32_rna, "cvt.rna.tf32.f32 $0, $1"},
    {Intrinsic::nvvm_bmsk_clamp, "bmsk.clamp.b32 $0, $1, $2"},
    {Intrinsic::nvvm_prmt, "prmt.b32 $0, $1, $2, $3"},
    {Intrinsic::nvvm_ff2f16x2_rn, "cvt.rn.f16x2.f32 $0, $1, $2"},
    {Intrinsic::nvvm_ff2bf16x2_rn, "cvt.rn.bf16x2.f32 $0, $1, $2"},
    {Intrinsic::nvvm_ff_to_e4m3x2_rn, "cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2"},
    {Intrinsic::nvvm_e4m3x2_to_f16x2_rn, "cvt.rn.f16x2.e4m3x2 $0, $1"},
};

/// Intrinsics on f32 that LLVM produces from arithmetic.
constexpr Spelling kFloat[] = {
    {Intrinsic::fma, "fma.rn.f32 $0, $1, $2, $3"},    {Intrinsic::fmuladd, "fma.rn.f32 $0, $1, $2, $3"},
    {Intrinsic::sqrt, "sqrt.rn.f32 $0, $1"},          {Intrinsic::fabs, "abs.f32 $0, $1"},
    {Intrinsic::copysign, "copysign.f32 $0, $2, $1"}, {Intrinsic::minnum, "min.f32 $0, $1, $2"},
    {Intrinsic::minimumnum, "min.f32 $0, $1, $2"},    {Intrinsic::maxnum, "max.f32 $0, $1, $2"},
    {Intrinsic::maximumnum, "max.f32 $0, $1, $2"},    {Intrinsic::minimum, "min.NaN.f32 $0, $1, $2"},
    {Intrinsic::maximum, "max.NaN.f32 $0, $1, $2"},   {Intrinsic::floor, "cvt.rmi.f32.f32 $0, $1"},
    {Intrinsic::ceil, "cvt.rpi.f32.f32 $0, $1"},      {Intrinsic::trunc, "cvt.rzi.f32.f32 $0, $1"},
    {Intrinsic::rint, "cvt.rni.f32.f32 $0, $1"},      {Intrinsic::nearbyint, "cvt.rni.f32.f32 $0, $1"},
    {Intrinsic::roundeven, "cvt.rni.f32.f32 $0, $1"},
};

/// Returns the text of an intrinsic, or "" if `all` does not contain it.
StringRef find(ArrayRef<Spelling> all, Intrinsic::ID id) {
  auto *found = find_if(all, [&](const Spelling &one) { return one.id == id; });
  return found == all.end() ? "" : StringRef(found->text);
}

} // namespace

bool isMachineInstruction(const User &user) {
  auto *call = dyn_cast<IntrinsicInst>(&user);
  return call && !find(kMachine, call->getIntrinsicID()).empty();
}

void Selection::selectIntrinsic(IntrinsicInst &call) {
  if (call.getIntrinsicID() == Intrinsic::assume)
    return;
  StringRef text = find(kMachine, call.getIntrinsicID());
  if (text.empty())
    return selectElementwise(call);
  SmallVector<Operand> operands;
  bool isPacked = call.getType()->isVectorTy();
  for (RegisterClass registerClass : isPacked ? SmallVector{RegisterClass::b32} : classesOf(call.getType()))
    operands.push_back(newRegister(registerClass));
  auto results = static_cast<unsigned>(operands.size());
  for (Value *argument : call.args()) {
    Operand operand = argument->getType()->isVectorTy() ? packed(argument) : readable(argument);
    if (argument->getType()->isIntegerTy(16))
      operand = inRegister(operand);
    const bool takesNoLiteral = text.starts_with("stmatrix") && !operand.isRegister();
    operands.push_back(takesNoLiteral ? emit("mov.b32 $0, $1", RegisterClass::b32, operand) : operand);
  }
  append(text + ";", operands, results);
  if (isPacked)
    return definePacked(call, operands.front());
  define(&call, ArrayRef(operands).take_front(results));
}

Operand Selection::computeInteger(IntrinsicInst &call, Type *type, Operands x) {
  RegisterClass registerClass = classOf(type);
  std::string bits = std::to_string(bitsOf(registerClass));
  auto two = [&](const Twine &name, Operand a, Operand b) {
    return emit(name + bits + " $0, $1, $2", registerClass, {a, b});
  };
  auto extremum = [&](const Twine &name, bool isSigned) {
    return two(name, extended(x[0], type, isSigned), extended(x[1], type, isSigned));
  };
  bool isWhole = type->getScalarSizeInBits() == bitsOf(registerClass);
  switch (type->isIntegerTy(1) ? Intrinsic::not_intrinsic : call.getIntrinsicID()) {
  case Intrinsic::smin:
    return extremum("min.s", true);
  case Intrinsic::smax:
    return extremum("max.s", true);
  case Intrinsic::umin:
    return extremum("min.u", false);
  case Intrinsic::umax:
    return extremum("max.u", false);
  case Intrinsic::abs:
    return emit("abs.s" + Twine(bits) + " $0, $1", registerClass, extended(x[0], type, true));
  case Intrinsic::usub_sat:
    if (isWhole)
      return two("sub.s", two("max.u", x[0], x[1]), x[1]);
    break;
  case Intrinsic::uadd_sat:
    if (isWhole)
      return two("add.s", two("min.u", x[0], emit("not.b" + Twine(bits) + " $0, $1", registerClass, x[1])), x[1]);
    break;
  case Intrinsic::fshl:
  case Intrinsic::fshr: {
    const bool isLeft = call.getIntrinsicID() == Intrinsic::fshl;
    if (registerClass == RegisterClass::b32 && isWhole)
      return emit(isLeft ? "shf.l.wrap.b32 $0, $2, $1, $3" : "shf.r.wrap.b32 $0, $2, $1, $3", registerClass, x);
    if (registerClass == RegisterClass::b16 && isPowerOf2_32(type->getScalarSizeInBits()))
      return shiftNarrowPair(type, isLeft, x);
    break;
  }
  case Intrinsic::bitreverse:
    return reverseBits(type, x[0]);
  default:
    break;
  }
  return refuse("the intrinsic " + call.getCalledFunction()->getName() + " on " + bits + " bits");
}

/// Shifts a pair of narrow integers by a third one, modulo their size. No instruction does it, so the pair goes into 32
/// bits. The result is the high integer of a shift to the left, or the low one.
Operand Selection::shiftNarrowPair(Type *type, bool isLeft, Operands x) {
  constexpr RegisterClass narrow = RegisterClass::b16, wide = RegisterClass::b32;
  const Operand size = Operand::ofInteger(type->getScalarSizeInBits());
  auto widened = [&](Operand part) { return resize(extended(part, type, /*isSigned=*/false), narrow, wide, false); };
  auto with = [&](const Twine &name, Operand a, Operand b) { return emit(name + " $0, $1, $2", wide, {a, b}); };
  const Operand high = widened(x[0]), low = widened(x[1]), mask = Operand::ofInteger(size.number - 1);
  const Operand count =
      x[2].isRegister() ? with("and.b32", widened(x[2]), mask) : Operand::ofInteger(x[2].number & mask.number);
  Operand pair = with("or.b32", with("shl.b32", high, size), low);
  pair = isLeft ? with("shr.u32", with("shl.b32", pair, count), size) : with("shr.u32", pair, count);
  return resize(pair, wide, narrow, /*isSigned=*/false);
}

/// Reverses the bits of the type. Those above them go below, and are shifted out. No instruction reverses 16 bits.
Operand Selection::reverseBits(Type *type, Operand x) {
  const RegisterClass own = classOf(type), wide = std::max(own, RegisterClass::b32);
  if (wide != own)
    x = emit("cvt.u32.u16 $0, $1", wide, inRegister(x));
  const unsigned bits = bitsOf(wide), above = bits - type->getScalarSizeInBits();
  x = emit("brev.b" + Twine(bits) + " $0, $1", wide, x);
  if (above != 0)
    x = emit("shr.u" + Twine(bits) + " $0, $1, $2", wide, {x, Operand::ofInteger(above)});
  return wide == own ? x : emit("cvt.u16.u32 $0, $1", own, x);
}

/// Returns the sign of a comparison: -1, 0 or 1.
Operand Selection::compareThreeWays(IntrinsicInst &call, Type *type, Operands x) {
  bool isSigned = call.getIntrinsicID() == Intrinsic::scmp;
  Type *compared = call.getArgOperand(0)->getType()->getScalarType();
  RegisterClass registerClass = classOf(type);
  if (compared->isIntegerTy(1))
    return refuse("the order of conditions");
  Operand a = extended(x[0], compared, isSigned), b = extended(x[1], compared, isSigned);
  auto chosen = [&](StringRef relation, int64_t number) {
    Operand holds =
        emit("setp." + relation + (isSigned ? ".s" : ".u") + Twine(bitsOf(classOf(compared))) + " $0, $1, $2",
             RegisterClass::pred, {a, b});
    return emit("selp." + toString(registerClass) + " $0, $1, 0, $2", registerClass,
                {Operand::ofInteger(number), holds});
  };
  return emit("or." + toString(registerClass) + " $0, $1, $2", registerClass, {chosen("gt", 1), chosen("lt", -1)});
}

/// Computes what must not round twice, or must keep the bits of a NaN, on 16-bit floats themselves. Returns an
/// undefined operand for other intrinsics.
Operand Selection::computeNarrow(Intrinsic::ID id, Type *type, Operands x) {
  Operand sign = Operand::ofInteger(kSign16), magnitude = Operand::ofInteger(kSign16 - 1);
  auto logic = [&](StringRef name, Operand a, Operand b) {
    return emit(name + ".b16 $0, $1, $2", RegisterClass::b16, {a, b});
  };
  switch (id) {
  case Intrinsic::fabs:
    return logic("and", x[0], magnitude);
  case Intrinsic::copysign:
    return logic("or", logic("and", x[0], magnitude), logic("and", x[1], sign));
  case Intrinsic::fma:
  case Intrinsic::fmuladd:
    return emit(type->isHalfTy() ? "fma.rn.f16 $0, $1, $2, $3" : "fma.rn.bf16 $0, $1, $2, $3", RegisterClass::b16,
                {inRegister(x[0]), inRegister(x[1]), inRegister(x[2])});
  default:
    return Operand();
  }
}

/// Returns 16 bits in a register. No instruction takes a literal of this size.
Operand Selection::inRegister(Operand narrow) {
  return narrow.isRegister() ? narrow : emit("mov.b16 $0, $1", RegisterClass::b16, narrow);
}

Operand Selection::computeGeneric(IntrinsicInst &call, Type *type, Operands x) {
  Intrinsic::ID id = call.getIntrinsicID();
  if (id == Intrinsic::scmp || id == Intrinsic::ucmp)
    return compareThreeWays(call, type, x);
  if (type->isIntegerTy())
    return computeInteger(call, type, x);
  StringRef text = find(kFloat, id);
  if (text.empty())
    return refuse("the intrinsic " + call.getCalledFunction()->getName());
  if (type->is16bitFPTy())
    if (Operand result = computeNarrow(id, type, x); result.isRegister())
      return result;
  SmallVector<Operand, 3> wide;
  for (Operand operand : x)
    wide.push_back(widen(operand, type));
  return narrow(emit(text, RegisterClass::b32, wide), type);
}

} // namespace tegula::ptx
