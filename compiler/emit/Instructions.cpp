// SPDX-License-Identifier: MIT
// Instructions have three spellings: ops of the NVVM dialect, intrinsics that this dialect lacks, and inline assembly.
// The last is for accesses to memory with a predicate, and has the form `@$p INSTRUCTION.SPACE.vN.bBITS`.
#include "compiler/emit/Instructions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"

#include <limits>

namespace tegula::emit {

using namespace mlir;

namespace {

constexpr unsigned kGlobal = 1, kShared = 3;
constexpr StringLiteral kSharedSymbol = "tegula_shared";

//===-- Small helpers --------------------------------------------------------------------------------------------===//

Value constant(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIntOp::create(b, b.getI32Type(), value);
}

Value pointer(ImplicitLocOpBuilder &b, Value address, unsigned space) {
  return LLVM::IntToPtrOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), space), address);
}

ModuleOp moduleAt(ImplicitLocOpBuilder &b) {
  Operation *parent = b.getInsertionBlock()->getParentOp();
  auto module = dyn_cast<ModuleOp>(parent);
  return module ? module : parent->getParentOfType<ModuleOp>();
}

int64_t attributeAt(ImplicitLocOpBuilder &b, StringRef name, int64_t otherwise) {
  auto attribute = moduleAt(b)->getAttrOfType<IntegerAttr>(name);
  return attribute ? attribute.getInt() : otherwise;
}

SmallVector<Value> members(ImplicitLocOpBuilder &b, Value structure) {
  SmallVector<Value> values;
  auto type = dyn_cast<LLVM::LLVMStructType>(structure.getType());
  if (!type)
    return {structure};
  for (size_t i = 0; i < type.getBody().size(); ++i)
    values.push_back(LLVM::ExtractValueOp::create(b, structure, i));
  return values;
}

Type structure(ImplicitLocOpBuilder &b, Type member, size_t count) {
  if (count == 1)
    return member;
  return LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(count, member));
}

Value intrinsic(ImplicitLocOpBuilder &b, StringRef name, Type result, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b, result, b.getStringAttr(name), operands).getResult(0);
}

/// Calls an intrinsic whose result has the type of its operands.
Value intrinsic(ImplicitLocOpBuilder &b, StringRef name, ValueRange operands) {
  return intrinsic(b, name, operands[0].getType(), operands);
}

//===-- Elements in registers ------------------------------------------------------------------------------------===//

/// The register in which an element is loaded and stored.
struct Register {
  Type type;
  char letter; ///< The constraint letter in inline assembly.
  unsigned bits;
};

Register registerOf(Type element) {
  Builder b(element.getContext());
  if (element.isIndex())
    return {b.getI64Type(), 'l', 64};
  unsigned bits = element.getIntOrFloatBitWidth();
  if (bits < 16)
    return {b.getI16Type(), 'h', 8};
  if (bits == 16)
    return {b.getI16Type(), 'h', 16};
  return {element, element.isF32() ? 'f' : bits == 64 ? 'l' : 'r', bits};
}

/// Returns the type in which LLVM holds the bits of an element: it has no floats of 8 bits.
Type heldType(Type element) {
  bool isByte = isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8;
  return isByte ? IntegerType::get(element.getContext(), 8) : element;
}

Value asType(ImplicitLocOpBuilder &b, Type type, Value x) {
  return x.getType() == type ? x : arith::BitcastOp::create(b, type, x);
}

Value held(ImplicitLocOpBuilder &b, Value element) { return asType(b, heldType(element.getType()), element); }

Value toRegister(ImplicitLocOpBuilder &b, Value element) {
  element = held(b, element);
  Type type = registerOf(element.getType()).type;
  if (element.getType().isIndex())
    return arith::IndexCastOp::create(b, type, element);
  if (element.getType().isInteger() && element.getType() != type)
    return arith::ExtUIOp::create(b, type, element);
  return asType(b, type, element);
}

Value fromRegister(ImplicitLocOpBuilder &b, Type element, Value value) {
  if (element.isIndex())
    return arith::IndexCastOp::create(b, element, value);
  Type bits = heldType(element);
  if (bits.isInteger() && bits != value.getType())
    value = arith::TruncIOp::create(b, bits, value);
  return asType(b, element, value);
}

/// Returns how many elements share a 32-bit word if `count` of them are adjacent in memory.
unsigned elementsPerWord(Type element, size_t count) {
  unsigned bits = registerOf(element).bits;
  return element.isInteger(1) || bits >= 32 || bits * count < 32 ? 1 : 32 / bits;
}

Value packWord(ImplicitLocOpBuilder &b, ValueRange elements) {
  auto type = VectorType::get(elements.size(), heldType(elements.front().getType()));
  auto bits = llvm::map_to_vector(elements, [&](Value element) { return held(b, element); });
  Value vector = vector::FromElementsOp::create(b, type, bits);
  return LLVM::BitcastOp::create(b, b.getI32Type(), vector);
}

SmallVector<Value> unpackWord(ImplicitLocOpBuilder &b, Type element, Value word) {
  auto type = VectorType::get(32 / element.getIntOrFloatBitWidth(), heldType(element));
  Value vector = LLVM::BitcastOp::create(b, type, word);
  return llvm::map_to_vector(vector::ToElementsOp::create(b, vector).getResults(),
                             [&](Value bits) { return asType(b, element, bits); });
}

/// Returns the elements as registers of an access. Narrow elements are packed into whole words.
SmallVector<Value> toRegisters(ImplicitLocOpBuilder &b, ValueRange elements) {
  SmallVector<Value> registers;
  unsigned perWord = elementsPerWord(elements.front().getType(), elements.size());
  for (size_t i = 0; i < elements.size(); i += perWord)
    registers.push_back(perWord == 1 ? toRegister(b, elements[i]) : packWord(b, elements.slice(i, perWord)));
  return registers;
}

/// Returns the elements of registers with `perWord` elements each.
SmallVector<Value> fromRegisters(ImplicitLocOpBuilder &b, Type type, unsigned perWord, ArrayRef<Value> registers) {
  SmallVector<Value> elements;
  for (Value reg : registers)
    if (perWord == 1)
      elements.push_back(fromRegister(b, type, reg));
    else
      llvm::append_range(elements, unpackWord(b, type, reg));
  return elements;
}

//===-- Inline assembly ------------------------------------------------------------------------------------------===//

/// One access to memory, such as `@$3 ld.shared.v2.b32 {$0, $1}, [$2];`.
class Access {
public:
  Access(ImplicitLocOpBuilder &b, Value predicate) : b_(b), predicate_(predicate) {}

  /// Loads `count` registers. If `otherwise` is given, it is each of them where the predicate is false.
  SmallVector<Value> load(StringRef mnemonic, Type type, size_t count, Value address, Value otherwise = nullptr) {
    Register reg = registerOf(type);
    std::string outputs = list(0, count);
    for (size_t i = 0; i < count; ++i)
      constrain(std::string("=") + reg.letter);
    std::string text = outputs + ", " + input(address, "[", "]");
    std::string guard = predicateText();
    for (size_t i = 0; otherwise && i < count; ++i) {
      operands_.push_back(otherwise);
      constrain(std::to_string(i));
    }
    return members(
        b_, create(guard + mnemonic + vectorSuffix(count) + bitsOf(reg) + " " + text, structure(b_, reg.type, count))
                .getRes());
  }

  void store(StringRef mnemonic, StringRef type, ValueRange registers, Value address) {
    std::string text = input(address, "[", "]") + ", ";
    text += list(1, registers.size());
    for (Value reg : registers)
      input(reg);
    create(predicateText() + mnemonic + vectorSuffix(registers.size()) + type + " " + text, Type());
  }

  /// Updates the element at `address` with `operand`. Returns the element's previous value.
  Value update(StringRef mnemonic, Value address, Value operand) {
    constrain(std::string("=") + registerOf(operand.getType()).letter);
    std::string place = input(address, "[", "]"), by = input(operand);
    return create(mnemonic + " $0, " + place + ", " + by, operand.getType()).getResult(0);
  }

  static std::string bitsOf(Register reg) { return ".b" + std::to_string(reg.bits); }

private:
  static std::string vectorSuffix(size_t count) { return count == 1 ? "" : ".v" + std::to_string(count); }

  static std::string list(size_t first, size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i)
      text += (i ? ", $" : "$") + std::to_string(first + i);
    return count == 1 ? text : "{" + text + "}";
  }

  void constrain(const std::string &constraint) {
    constraints_ += (constraints_.empty() ? "" : ",") + constraint;
    ++count_;
  }

  std::string input(Value value, StringRef before = "", StringRef after = "") {
    std::string text = (before + "$" + Twine(count_) + after).str();
    operands_.push_back(value);
    constrain(std::string(1, value.getType().isInteger(1) ? 'b' : registerOf(value.getType()).letter));
    return text;
  }

  std::string predicateText() { return predicate_ ? input(predicate_, "@", " ") : ""; }

  LLVM::InlineAsmOp create(const Twine &text, Type result) {
    return LLVM::InlineAsmOp::create(b_, result, operands_, (text + ";").str(), constraints_ + ",~{memory}",
                                     /*has_side_effects=*/true, /*is_align_stack=*/false,
                                     LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  }

  ImplicitLocOpBuilder &b_;
  Value predicate_;
  std::string constraints_;
  SmallVector<Value> operands_;
  unsigned count_ = 0;
};

} // namespace

//===-- Indices and sizes ----------------------------------------------------------------------------------------===//

Value Instructions::thread() {
  auto threads = static_cast<int32_t>(32 * attributeAt(b_, "tile.block_warps", 32));
  auto range = LLVM::ConstantRangeAttr::get(b_.getContext(), llvm::APInt(32, 0), llvm::APInt(32, threads));
  return NVVM::ThreadIdXOp::create(b_, b_.getI32Type(), range);
}

Value Instructions::lane() { return arith::AndIOp::create(b_, thread(), constant(b_, 31)); }

Value Instructions::warp() { return ofFirstLane(arith::ShRUIOp::create(b_, thread(), constant(b_, 5))); }

template <class X, class Y, class Z> static Value registerOf(ImplicitLocOpBuilder &b, unsigned axis) {
  if (axis == 0)
    return X::create(b, b.getI32Type());
  if (axis == 1)
    return Y::create(b, b.getI32Type());
  return Z::create(b, b.getI32Type());
}

Value Instructions::program(unsigned axis) {
  return registerOf<NVVM::BlockIdXOp, NVVM::BlockIdYOp, NVVM::BlockIdZOp>(b_, axis);
}

Value Instructions::programs(unsigned axis) {
  return registerOf<NVVM::GridDimXOp, NVVM::GridDimYOp, NVVM::GridDimZOp>(b_, axis);
}

Value Instructions::sharedBase() {
  ModuleOp module = moduleAt(b_);
  auto bytes = LLVM::LLVMArrayType::get(b_.getI8Type(), 0);
  if (!module.lookupSymbol(kSharedSymbol)) {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(module.getBody());
    LLVM::GlobalOp::create(b_, bytes, /*isConstant=*/false, LLVM::Linkage::External, kSharedSymbol, Attribute(),
                           /*alignment=*/1024, kShared);
  }
  auto type = LLVM::LLVMPointerType::get(b_.getContext(), kShared);
  Value address = LLVM::AddressOfOp::create(b_, type, kSharedSymbol);
  return LLVM::PtrToIntOp::create(b_, b_.getI32Type(), address);
}

//===-- Global memory --------------------------------------------------------------------------------------------===//

Value Instructions::load(Type type, Value address, Value predicate, Value otherwise) {
  return load(type, 1, address, predicate, otherwise).front();
}

SmallVector<Value> Instructions::load(Type type, unsigned count, Value address, Value predicate, Value otherwise) {
  unsigned perWord = elementsPerWord(type, count);
  Value other = predicate ? toRegisters(b_, SmallVector<Value>(perWord, otherwise)).front() : nullptr;
  Type word = perWord == 1 ? type : b_.getI32Type();
  return fromRegisters(b_, type, perWord,
                       Access(b_, predicate).load("ld.global", word, count / perWord, address, other));
}

void Instructions::store(ValueRange elements, Value address, Value predicate) {
  SmallVector<Value> registers = toRegisters(b_, elements);
  bool packed = registers.size() != elements.size();
  std::string bits = Access::bitsOf(registerOf(packed ? b_.getI32Type() : elements.front().getType()));
  Access(b_, predicate).store("st.global", bits, registers, address);
}

void Instructions::atomicAdd(ValueRange elements, Value address, Value predicate) {
  constexpr StringLiteral mnemonic = "red.relaxed.gpu.global.add";
  bool isFloat = elements.front().getType().isF32();
  size_t width = isFloat && attributeAt(b_, "tile.arch", 80) >= 90 && elements.size() % 2 == 0 ? elements.size() : 1;
  for (size_t i = 0; i < elements.size(); i += width) {
    Value offset = arith::ConstantIntOp::create(b_, b_.getI64Type(), static_cast<int64_t>(4 * i));
    Value place = i == 0 ? address : arith::AddIOp::create(b_, address, offset);
    Access(b_, predicate).store(mnemonic, isFloat ? ".f32" : ".s32", elements.slice(i, width), place);
  }
}

/// Uses `inc`, which wraps around to 0 after its operand; no counter gets that far. From an `add`, ptxas would make one
/// addition for all lanes of a warp. That takes registers and time, although only one lane executes it.
Value Instructions::fetchIncrement(Value address) {
  return Access(b_, nullptr)
      .update("atom.relaxed.gpu.global.inc.u32", address, constant(b_, std::numeric_limits<int32_t>::max()));
}

//===-- Shared memory --------------------------------------------------------------------------------------------===//

SmallVector<Value> Instructions::loadShared(Type type, unsigned count, Value address) {
  unsigned perWord = elementsPerWord(type, count);
  Type word = perWord == 1 ? type : b_.getI32Type();
  unsigned bytes = registerOf(word).bits / 8, left = count / perWord, width = std::min(left, 16 / bytes);
  SmallVector<Value> elements;
  for (unsigned done = 0; done < left; done += width) {
    Value place = done == 0 ? address : arith::AddIOp::create(b_, address, constant(b_, done * bytes));
    llvm::append_range(elements,
                       fromRegisters(b_, type, perWord, Access(b_, nullptr).load("ld.shared", word, width, place)));
  }
  return elements;
}

void Instructions::storeShared(ValueRange elements, Value address) { storeShared(elements, address, nullptr); }

void Instructions::storeShared(ValueRange elements, Value address, Value predicate) {
  SmallVector<Value> registers = toRegisters(b_, elements);
  bool packed = registers.size() != elements.size();
  Register reg = registerOf(packed ? b_.getI32Type() : elements.front().getType());
  size_t bytes = reg.bits / 8, width = std::min<size_t>(registers.size(), 16 / bytes);
  for (size_t done = 0; done < registers.size(); done += width) {
    Value place = done == 0 ? address : arith::AddIOp::create(b_, address, constant(b_, done * bytes));
    Access(b_, predicate).store("st.shared", Access::bitsOf(reg), ValueRange(registers).slice(done, width), place);
  }
}

static NVVM::MMALayout layoutOf(bool transposed) { return transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row; }

SmallVector<Value> Instructions::loadMatrices(unsigned count, bool transposed, Value address) {
  auto shape = NVVM::LdStMatrixShapeAttr::get(b_.getContext(), 8, 8);
  Value words = NVVM::LdMatrixOp::create(b_, structure(b_, b_.getI32Type(), count), pointer(b_, address, kShared),
                                         count, layoutOf(transposed), shape, NVVM::LdStMatrixEltType::B16);
  return members(b_, words);
}

void Instructions::storeMatrices(ValueRange words, bool transposed, Value address) {
  auto shape = NVVM::LdStMatrixShapeAttr::get(b_.getContext(), 8, 8);
  NVVM::StMatrixOp::create(b_, pointer(b_, address, kShared), words, layoutOf(transposed), shape,
                           NVVM::LdStMatrixEltType::B16);
}

void Instructions::copyAsync(Value shared, Value global, Value bytes) {
  NVVM::CpAsyncOp::create(b_, pointer(b_, shared, kShared), pointer(b_, global, kGlobal), 16,
                          NVVM::LoadCacheModifierKind::CG, bytes);
}

void Instructions::commitCopies() { NVVM::CpAsyncCommitGroupOp::create(b_); }
void Instructions::waitCopies(unsigned pending) { NVVM::CpAsyncWaitGroupOp::create(b_, pending); }
void Instructions::barrier() { NVVM::Barrier0Op::create(b_); }
void Instructions::barrier(Value name, unsigned threads) {
  NVVM::BarrierOp::create(b_, TypeRange(), name, constant(b_, threads), NVVM::BarrierReductionAttr(), Value());
}
void Instructions::waitForSequence(Value name, unsigned threads) {
  auto barrier =
      NVVM::BarrierOp::create(b_, TypeRange(), name, constant(b_, threads), NVVM::BarrierReductionAttr(), Value());
  barrier->setAttr(kSequence, b_.getUnitAttr());
}
void Instructions::syncWarp() { NVVM::SyncWarpOp::create(b_, constant(b_, -1)); }

//===-- Between lanes --------------------------------------------------------------------------------------------===//

static Value shuffleWord(ImplicitLocOpBuilder &b, Value word, unsigned mask) {
  return NVVM::ShflOp::create(b, word.getType(), constant(b, -1), word, constant(b, mask), constant(b, 31),
                              NVVM::ShflKind::bfly, UnitAttr());
}

Value Instructions::ofLane(Value word, Value lane) {
  Value all = constant(b_, -1), lanes = constant(b_, 31);
  return NVVM::ShflOp::create(b_, b_.getI32Type(), all, word, lane, lanes, NVVM::ShflKind::idx, UnitAttr());
}

Value Instructions::ofFirstLane(Value word) { return ofLane(word, constant(b_, 0)); }

Value Instructions::electLane() { return NVVM::ElectSyncOp::create(b_, b_.getI1Type(), constant(b_, -1)); }

Value Instructions::anyLane(Value condition) {
  return NVVM::VoteSyncOp::create(b_, b_.getI1Type(), constant(b_, -1), condition, NVVM::VoteSyncKind::any);
}

Value Instructions::shuffleXor(Value value, unsigned mask) {
  Register reg = registerOf(value.getType());
  Value held = toRegister(b_, value);
  if (reg.bits == 32)
    return shuffleWord(b_, value, mask);
  Type i32 = b_.getI32Type();
  if (reg.bits < 32) {
    Value word = shuffleWord(b_, arith::ExtUIOp::create(b_, i32, held), mask);
    return fromRegister(b_, value.getType(), arith::TruncIOp::create(b_, reg.type, word));
  }
  auto pair = VectorType::get(2, i32);
  SmallVector<Value> words;
  for (Value word : vector::ToElementsOp::create(b_, LLVM::BitcastOp::create(b_, pair, held)).getResults())
    words.push_back(shuffleWord(b_, word, mask));
  Value both = LLVM::BitcastOp::create(b_, reg.type, vector::FromElementsOp::create(b_, pair, words));
  return fromRegister(b_, value.getType(), both);
}

//===-- Arithmetic -----------------------------------------------------------------------------------------------===//

Value Instructions::exp2(Value x) { return intrinsic(b_, "llvm.nvvm.ex2.approx.ftz", x); }
Value Instructions::log2(Value x) { return intrinsic(b_, "llvm.nvvm.lg2.approx.ftz.f", x); }
Value Instructions::reciprocal(Value x) { return intrinsic(b_, "llvm.nvvm.rcp.approx.ftz.f", x); }
Value Instructions::divide(Value x, Value y) { return intrinsic(b_, "llvm.nvvm.div.full", {x, y}); }
Value Instructions::lowBits(Value count) {
  return intrinsic(b_, "llvm.nvvm.bmsk.clamp", {arith::ConstantOp::create(b_, b_.getI32IntegerAttr(0)), count});
}
/// Emits inline assembly, because LLVM has no intrinsic for it.
Value Instructions::tanh(Value x) {
  return LLVM::InlineAsmOp::create(b_, x.getType(), x, "tanh.approx.f32 $0, $1;", "=f,f", /*has_side_effects=*/false,
                                   /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                                   LLVM::AsmDialectAttr(), ArrayAttr())
      .getResult(0);
}
Value Instructions::pack(Value low, Value high) { return packWord(b_, {low, high}); }

std::pair<Value, Value> Instructions::unpack(Type element, Value word) {
  SmallVector<Value> elements = unpackWord(b_, element, word);
  return {elements[0], elements[1]};
}

std::pair<Value, Value> Instructions::toE4m3(Value low, Value high) {
  Value word = intrinsic(b_, "llvm.nvvm.ff.to.e4m3x2.rn", b_.getI16Type(), {high, low});
  Value shifted = arith::ShRUIOp::create(b_, word, arith::ConstantIntOp::create(b_, b_.getI16Type(), 8));
  Type e4m3 = Float8E4M3FNType::get(b_.getContext());
  return {fromRegister(b_, e4m3, word), fromRegister(b_, e4m3, shifted)};
}

std::pair<Value, Value> Instructions::fromE4m3(Value low, Value high) {
  Value shifted = arith::ShLIOp::create(b_, toRegister(b_, high), arith::ConstantIntOp::create(b_, b_.getI16Type(), 8));
  Value word = arith::OrIOp::create(b_, toRegister(b_, low), shifted);
  auto pair = VectorType::get(2, b_.getF16Type());
  Value halves = intrinsic(b_, "llvm.nvvm.e4m3x2.to.f16x2.rn", pair, word);
  ResultRange elements = vector::ToElementsOp::create(b_, halves).getResults();
  return {elements[0], elements[1]};
}

static SmallVector<Value> multiply(ImplicitLocOpBuilder &b, NVVM::MMATypes type, int64_t depth, ValueRange lhs,
                                   ValueRange rhs, ValueRange sums) {
  using NVVM::MMALayout;
  Value result = NVVM::MmaOp::create(b, structure(b, b.getF32Type(), 4), lhs, rhs, sums, {16, 8, depth}, std::nullopt,
                                     std::nullopt, std::array{type, type}, std::array{MMALayout::row, MMALayout::col});
  return members(b, result);
}

SmallVector<Value> Instructions::mma16(Type element, ValueRange a, ValueRange b, ValueRange c) {
  if (element.isBF16())
    return multiply(b_, NVVM::MMATypes::bf16, 16, a, b, c);
  assert(element.isF16() && "mma.m16n8k16 takes bf16 or f16");
  auto halves = [&](ValueRange words) {
    auto type = VectorType::get(2, b_.getF16Type());
    return llvm::map_to_vector(words, [&](Value w) -> Value { return LLVM::BitcastOp::create(b_, type, w); });
  };
  return multiply(b_, NVVM::MMATypes::f16, 16, halves(a), halves(b), c);
}

SmallVector<Value> Instructions::mmaTf32(ValueRange a, ValueRange b, ValueRange c) {
  return multiply(b_, NVVM::MMATypes::tf32, 8, a, b, c);
}

Value Instructions::toTf32(Value x) {
  return NVVM::ConvertFloatToTF32Op::create(b_, b_.getI32Type(), x, NVVM::FPRoundingMode::RNA);
}

} // namespace tegula::emit
