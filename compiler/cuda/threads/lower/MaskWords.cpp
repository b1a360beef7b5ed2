// SPDX-License-Identifier: MIT
// Masks of positions as bits of words. Few instructions compute a word, because its elements are compared at once.
#include "compiler/cuda/threads/lower/Lower.h"
#include "compiler/sm/Storage.h"

#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

constexpr unsigned kWordBits = 32;
/// The fewest elements of a word. A compare of all of them takes four instructions.
constexpr unsigned kFewestElements = 8;

/// Returns the number of registers along the longest register digit of the tile's layout, and the distance between two
/// of them. Positions along a digit grow by a constant.
static std::pair<unsigned, unsigned> longestDigit(RankedTensorType tile) {
  std::pair<unsigned, unsigned> longest = {1, 1};
  int64_t weight = 1;
  for (const sm::Digit &digit : sm::layoutOf(tile).getRegisters()) {
    if (digit.size > longest.first)
      longest = {static_cast<unsigned>(digit.size), static_cast<unsigned>(weight)};
    weight *= digit.size;
  }
  return longest;
}

namespace {

/// Numbers x + first, x + first + step, x + first + 2 step, ..., which do not overflow.
struct Progression {
  Value x;
  int64_t first, step;
};

} // namespace

/// Returns the progression of which all elements are compared by `x + constant <= 0`, as the lowering of sm.linear makes
/// it.
static std::optional<Progression> progressionOf(ArrayRef<Value> conditions) {
  Progression progression{};
  for (auto [i, condition] : llvm::enumerate(conditions)) {
    auto compare = condition.getDefiningOp<arith::CmpIOp>();
    auto sum = compare ? compare.getLhs().getDefiningOp<arith::AddIOp>() : arith::AddIOp();
    APInt number;
    if (!sum || compare.getPredicate() != arith::CmpIPredicate::sle || !matchPattern(compare.getRhs(), m_Zero()) ||
        !sum.getType().isInteger(32) || sum.getOverflowFlags() != arith::IntegerOverflowFlags::nsw ||
        !matchPattern(sum.getRhs(), m_ConstantInt(&number)))
      return std::nullopt;
    const int64_t offset = number.getSExtValue();
    if (i == 0)
      progression = {sum.getLhs(), offset, 0};
    else if (i == 1)
      progression.step = offset - progression.first;
    if (sum.getLhs() != progression.x || offset != progression.first + static_cast<int64_t>(i) * progression.step)
      return std::nullopt;
  }
  return progression;
}

/// Emits a word whose bit i says that element i is at most 0. Returns null if that takes a division.
static Value wordOf(Threads &t, const Progression &numbers) {
  const int64_t distance = std::abs(numbers.step);
  if (!llvm::isPowerOf2_64(distance) || !llvm::isInt<31>(numbers.first) || !llvm::isInt<31>(distance))
    return {};
  // If the numbers grow, `excess / distance` of them are at most 0, otherwise so many are above 0. The excess fits into
  // an unsigned word.
  const bool grows = numbers.step > 0;
  const int64_t limit = (grows ? distance : 0) - numbers.first;
  Value bound = t.s.i32(limit), excess;
  if (grows)
    excess = t.s.sub(bound, arith::MinSIOp::create(t.b, numbers.x, bound));
  else
    excess = t.s.add(arith::MaxSIOp::create(t.b, numbers.x, bound), distance - 1 - limit);
  Value first = t.gpu.lowBits(arith::ShRUIOp::create(t.b, excess, t.s.i32(llvm::Log2_64(distance))));
  return grows ? first : t.s.bitXor(first, t.s.i32(-1));
}

/// Emits a word whose bit i is `conditions[i]`. Returns null if that takes an instruction for each of them.
static Value wordOf(Threads &t, ArrayRef<Value> conditions) {
  if (llvm::all_equal(conditions))
    return t.s.select(conditions.front(), t.s.i32(-1), t.s.i32(0));
  if (std::optional<Progression> numbers = progressionOf(conditions))
    return wordOf(t, *numbers);
  Operation *logic = conditions.front().getDefiningOp();
  if (!isa_and_present<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(logic))
    return {};
  SmallVector<Value, 2> words;
  for (unsigned side : {0, 1}) {
    SmallVector<Value> operands;
    for (Value condition : conditions) {
      Operation *op = condition.getDefiningOp();
      if (!op || op->getName() != logic->getName())
        return {};
      operands.push_back(op->getOperand(side));
    }
    words.push_back(wordOf(t, operands));
    if (!words.back())
      return {};
  }
  return t.b.create(t.b.getLoc(), logic->getName().getIdentifier(), words, words.front().getType())->getResult(0);
}

SmallVector<Value> cuda::chooseByBits(Threads &t, arith::SelectOp op) {
  ArrayRef<Value> conditions = t.registers(op.getCondition());
  const auto [size, stride] = longestDigit(cast<RankedTensorType>(op.getType()));
  if (size < kFewestElements || llvm::all_equal(conditions))
    return {};
  SmallVector<std::pair<SmallVector<unsigned>, Value>> words; ///< With the registers of their elements.
  for (unsigned first = 0; first < conditions.size(); ++first) {
    const unsigned place = first / stride % size;
    if (place % kWordBits != 0)
      continue;
    SmallVector<unsigned> registers;
    for (unsigned i = 0; i < std::min(kWordBits, size - place); ++i)
      registers.push_back(first + i * stride);
    Value word = wordOf(t, llvm::map_to_vector(registers, [&](unsigned reg) { return conditions[reg]; }));
    if (!word)
      return {};
    words.push_back({registers, word});
  }
  // In this order, ptxas moves seven bits to predicates by one instruction.
  SmallVector<Value> chosen(conditions.size());
  for (auto &[registers, word] : words)
    for (auto [i, reg] : llvm::enumerate(registers)) {
      Value bit = arith::AndIOp::create(t.b, word, t.s.i32(static_cast<int32_t>(1U << i)));
      chosen[reg] = t.s.select(t.s.compare(Scalars::Compare::ne, bit, 0), t.registers(op.getTrueValue())[reg],
                               t.registers(op.getFalseValue())[reg]);
    }
  return chosen;
}
