// SPDX-License-Identifier: MIT
#include "compiler/ptx/ByteTests.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Local.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

namespace tegula::ptx {

using namespace llvm;
using namespace llvm::PatternMatch;

namespace {

constexpr unsigned kValues = 256; ///< The number of values of a byte.

/// A comparison of some bits of a word with a number. The result depends on one byte only.
struct ByteComparison {
  Value *word;
  unsigned byte; ///< 0 is the lowest byte.
  APInt mask, number;
  CmpInst::Predicate predicate;

  bool holdsFor(unsigned value) const {
    return ICmpInst::compare((APInt(32, value) << (8 * byte)) & mask, number, predicate);
  }

  /// Returns the limit if the comparison holds for the values below a limit, and for these only.
  std::optional<unsigned> limit() const {
    unsigned limit = 0;
    while (limit < kValues && holdsFor(limit))
      ++limit;
    for (unsigned value = limit; value < kValues; ++value)
      if (holdsFor(value))
        return std::nullopt;
    return limit;
  }
};

/// Returns true if a comparison of a word with `number` depends on its highest byte only.
bool ignoresLowBytes(CmpInst::Predicate predicate, const APInt &number) {
  switch (predicate) {
  case CmpInst::ICMP_ULT:
  case CmpInst::ICMP_SLT:
    return number.countr_zero() >= 24;
  case CmpInst::ICMP_UGT:
  case CmpInst::ICMP_SGT:
    return number.countr_one() >= 24;
  default:
    return false;
  }
}

std::optional<ByteComparison> byteComparison(Instruction &instruction) {
  Value *left = nullptr, *word = nullptr;
  CmpPredicate predicate = CmpInst::BAD_ICMP_PREDICATE;
  const APInt *number = nullptr, *mask = nullptr;
  if (!match(&instruction, m_ICmp(predicate, m_Value(left), m_APInt(number))) || !left->getType()->isIntegerTy(32))
    return std::nullopt;
  if (match(left, m_And(m_Value(word), m_APInt(mask)))) {
    const unsigned byte = std::min(mask->countr_zero() / 8, 3U);
    if (mask->isSubsetOf(APInt::getBitsSet(32, 8 * byte, 8 * byte + 8)))
      return ByteComparison{word, byte, *mask, *number, predicate};
  } else if (ignoresLowBytes(predicate, *number)) {
    return ByteComparison{left, 3, APInt::getAllOnes(32), *number, predicate};
  }
  return std::nullopt;
}

/// The tests of the bytes 0 and 2, or 1 and 3, of a word.
struct PairOfTests {
  std::array<SmallVector<Instruction *, 1>, 2> tests;
  Instruction *first = nullptr; ///< The first one in the block.
};

/// A word, a limit, and the first byte: 0 or 1.
using Pair = std::tuple<Value *, unsigned, unsigned>;

MapVector<Pair, PairOfTests> pairsOfTests(BasicBlock &block) {
  MapVector<Pair, PairOfTests> pairs;
  for (Instruction &instruction : block) {
    const std::optional<ByteComparison> comparison = byteComparison(instruction);
    const std::optional<unsigned> limit = comparison ? comparison->limit() : std::nullopt;
    if (!limit)
      continue;
    PairOfTests &pair = pairs[{comparison->word, *limit, comparison->byte % 2}];
    pair.tests[comparison->byte / 2].push_back(&instruction);
    if (!pair.first)
      pair.first = &instruction;
  }
  return pairs;
}

/// Returns a vector of two conditions: each half of the word, a number below 256, is less than the limit.
Value *halvesBelow(IRBuilder<> &builder, Value *word, unsigned limit) {
  Type *half = builder.getHalfTy();
  Constant *bound = ConstantFP::get(half, APFloat(APFloat::IEEEhalf(), APInt(16, limit)));
  return builder.CreateFCmpOLT(builder.CreateBitCast(word, FixedVectorType::get(half, 2)),
                               ConstantVector::getSplat(ElementCount::getFixed(2), bound));
}

} // namespace

void testBytesInPairs(BasicBlock &block) {
  SmallVector<WeakTrackingVH> replaced;
  for (auto &[key, pair] : pairsOfTests(block)) {
    auto [word, limit, firstByte] = key;
    if (pair.tests[0].empty() || pair.tests[1].empty())
      continue;
    IRBuilder<> builder(pair.first);
    constexpr unsigned oddBytes = 0x4341; // Bytes 1 and 3 of the first operand, and 0 from the second one.
    Value *bytes = firstByte ? builder.CreateIntrinsic(Intrinsic::nvvm_prmt,
                                                       {word, builder.getInt32(0), builder.getInt32(oddBytes)})
                             : builder.CreateAnd(word, 0x00ff00ff);
    Value *below = halvesBelow(builder, bytes, limit);
    for (unsigned half : {0, 1}) {
      Value *isBelow = builder.CreateExtractElement(below, half);
      for (Instruction *test : pair.tests[half]) {
        test->replaceAllUsesWith(isBelow);
        replaced.push_back(test);
      }
    }
  }
  RecursivelyDeleteTriviallyDeadInstructionsPermissive(replaced);
}

} // namespace tegula::ptx
