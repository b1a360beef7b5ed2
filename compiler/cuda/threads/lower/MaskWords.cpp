// SPDX-License-Identifier: MIT
// Masks of positions as bits of words. Few instructions compute a word, because its elements are compared at once.
#include "compiler/cuda/threads/lower/Lower.h"
#include "compiler/sm/Storage.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>
#include <limits>

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

constexpr size_t kWordBits = 32;
constexpr size_t kByteBits = 8;

namespace {

/// Numbers x + first, x + first + step, x + first + 2 step, ..., which do not overflow.
struct Progression {
  Value x;
  int64_t first, step;

  bool isSupported() const {
    return llvm::isPowerOf2_64(std::abs(step)) && llvm::isInt<30>(first) && llvm::isInt<30>(step);
  }
};

/// The registers of up to 32 elements whose positions grow by a constant.
using Elements = SmallVector<unsigned, kWordBits>;

} // namespace

/// Returns all elements of a thread, word by word. The elements of a word lie along the longest register digit.
static SmallVector<Elements> elementsOfWords(RankedTensorType tile) {
  size_t size = 1, stride = 1, weight = 1;
  for (const sm::Digit &digit : sm::layoutOf(tile).getRegisters()) {
    const auto count = static_cast<size_t>(digit.size);
    if (count > size)
      std::tie(size, stride) = std::pair(count, weight);
    weight *= count;
  }
  SmallVector<Elements> words;
  for (size_t first = 0; first < weight; ++first) {
    const size_t place = first / stride % size;
    if (place % kWordBits != 0)
      continue;
    Elements &word = words.emplace_back();
    for (size_t i = 0; i < std::min(kWordBits, size - place); ++i)
      word.push_back(static_cast<unsigned>(first + i * stride));
  }
  return words;
}

/// Returns the progression whose elements the conditions compare by `x + constant <= 0`. The lowering of sm.linear
/// makes such sums.
static std::optional<Progression> progressionOf(ArrayRef<Value> conditions) {
  Progression numbers{};
  for (auto [i, condition] : llvm::enumerate(conditions)) {
    auto compare = condition.getDefiningOp<arith::CmpIOp>();
    auto sum = compare ? compare.getLhs().getDefiningOp<arith::AddIOp>() : arith::AddIOp();
    APInt constant;
    if (!sum || compare.getPredicate() != arith::CmpIPredicate::sle || !matchPattern(compare.getRhs(), m_Zero()) ||
        !sum.getType().isInteger(32) || sum.getOverflowFlags() != arith::IntegerOverflowFlags::nsw ||
        !matchPattern(sum.getRhs(), m_ConstantInt(&constant)))
      return std::nullopt;
    const int64_t number = constant.getSExtValue();
    if (i == 0)
      numbers = {sum.getLhs(), number, 0};
    else if (i == 1)
      numbers.step = number - numbers.first;
    if (sum.getLhs() != numbers.x || number != numbers.first + static_cast<int64_t>(i) * numbers.step)
      return std::nullopt;
  }
  return numbers;
}

/// Returns the operands of conditions that are the same logic operation of two conditions each.
static std::optional<std::array<SmallVector<Value>, 2>> operandsOf(ArrayRef<Value> conditions) {
  Operation *first = conditions.front().getDefiningOp();
  if (!isa_and_present<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(first))
    return std::nullopt;
  std::array<SmallVector<Value>, 2> operands;
  for (Value condition : conditions) {
    Operation *op = condition.getDefiningOp();
    if (!op || op->getName() != first->getName())
      return std::nullopt;
    for (unsigned side : {0, 1})
      operands[side].push_back(op->getOperand(side));
  }
  return operands;
}

namespace {

/// The instructions that conditions take, one by one and as words.
class Cost {
public:
  /// Counts the conditions of a word. Returns false if they cannot become one, or do not fill bytes. A part of a byte
  /// needs as many instructions and predicates as a byte.
  bool add(ArrayRef<Value> conditions) {
    ofWords_ += 2 * conditions.size() / kByteBits; // A move of seven bits to predicates, and the test of an eighth.
    return conditions.size() % kByteBits == 0 && addPart(conditions);
  }

  /// Returns true if words save a third or more. They make the first choice wait for a chain of instructions.
  bool isLowerForWords() const {
    constexpr size_t perProgression = 4;
    return 3 * (ofWords_ + perProgression * progressions_.size()) <= 2 * (ofElements_ + numbers_.size());
  }

private:
  bool addPart(ArrayRef<Value> conditions) {
    if (llvm::all_equal(conditions))
      return true;
    if (std::optional<Progression> numbers = progressionOf(conditions)) {
      progressions_.insert({numbers->x, numbers->first});
      for (size_t i = 0; i < conditions.size(); ++i)
        numbers_.insert({numbers->x, numbers->first + static_cast<int64_t>(i) * numbers->step});
      return numbers->isSupported();
    }
    auto operands = operandsOf(conditions);
    if (!operands)
      return false;
    ++ofWords_;
    if (!isa<arith::XOrIOp>(conditions.front().getDefiningOp())) // A negation is free.
      ofElements_ += conditions.size();
    return addPart((*operands)[0]) && addPart((*operands)[1]);
  }

  size_t ofWords_ = 0, ofElements_ = 0;
  DenseSet<std::pair<Value, int64_t>> progressions_, numbers_; ///< Equal ones are computed once.
};

} // namespace

/// Emits a word whose bit i says that element i is at most 0.
static Value emitWord(Threads &t, const Progression &numbers) {
  // `excess / distance` is the number of elements that are at most 0 if the numbers grow, otherwise of those above 0.
  // The excess fits into an unsigned word.
  const bool grows = numbers.step > 0;
  const int64_t distance = std::abs(numbers.step), limit = (grows ? distance : 0) - numbers.first;
  Value bound = t.s.i32(limit), excess;
  if (grows)
    excess = t.s.sub(bound, arith::MinSIOp::create(t.b, numbers.x, bound));
  else
    excess = t.s.add(arith::MaxSIOp::create(t.b, numbers.x, bound), distance - 1 - limit);
  Value first = t.gpu.lowBits(arith::ShRUIOp::create(t.b, excess, t.s.i32(llvm::Log2_64(distance))));
  return grows ? first : t.s.bitXor(first, t.s.i32(-1));
}

/// Emits `x + distance`, or the end of the range of i32 that the sum exceeds.
static Value emitSum(Threads &t, Value x, int64_t distance) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max(), least = std::numeric_limits<int32_t>::min();
  if (distance > 0)
    x = arith::MinSIOp::create(t.b, x, t.s.i32(most - distance));
  if (distance < 0)
    x = arith::MaxSIOp::create(t.b, x, t.s.i32(least - distance));
  return t.s.add(x, distance);
}

/// Returns the progression of which all elements are compared by the conditions. Two numbers are at most 0 if the
/// larger one is.
static std::optional<Progression> emitProgression(Threads &t, ArrayRef<Value> conditions) {
  if (std::optional<Progression> numbers = progressionOf(conditions))
    return numbers;
  auto operands = operandsOf(conditions);
  if (!operands || !isa<arith::AndIOp>(conditions.front().getDefiningOp()))
    return std::nullopt;
  std::optional<Progression> lhs = emitProgression(t, (*operands)[0]), rhs = emitProgression(t, (*operands)[1]);
  if (!lhs || !rhs || lhs->step != rhs->step)
    return std::nullopt;
  Value x = arith::MaxSIOp::create(t.b, lhs->x, emitSum(t, rhs->x, rhs->first - lhs->first));
  return Progression{x, lhs->first, lhs->step};
}

/// Emits a word whose bit i is `conditions[i]`.
static Value emitWord(Threads &t, ArrayRef<Value> conditions) {
  if (llvm::all_equal(conditions))
    return arith::ExtSIOp::create(t.b, t.b.getI32Type(), conditions.front());
  if (std::optional<Progression> numbers = emitProgression(t, conditions))
    return emitWord(t, *numbers);
  auto operands = *operandsOf(conditions);
  Value lhs = emitWord(t, operands[0]), rhs = emitWord(t, operands[1]);
  StringAttr logic = conditions.front().getDefiningOp()->getName().getIdentifier();
  return t.b.create(t.b.getLoc(), logic, {lhs, rhs}, lhs.getType())->getResult(0);
}

SmallVector<Value> cuda::chooseByBits(Threads &t, arith::SelectOp op) {
  const SmallVector<Elements> words = elementsOfWords(cast<RankedTensorType>(op.getType()));
  auto conditionsOf = [&](const Elements &elements) {
    return llvm::map_to_vector(elements, [&](unsigned reg) { return t.registers(op.getCondition())[reg]; });
  };
  Cost cost;
  if (!llvm::all_of(words, [&](const Elements &elements) { return cost.add(conditionsOf(elements)); }) ||
      !cost.isLowerForWords())
    return {};
  SmallVector<Value> emitted =
      llvm::map_to_vector(words, [&](const Elements &elements) { return emitWord(t, conditionsOf(elements)); });
  // In this order, ptxas moves seven bits to predicates by one instruction.
  SmallVector<Value> chosen(t.registers(op.getCondition()).size());
  for (auto [elements, word] : llvm::zip_equal(words, emitted))
    for (auto [i, reg] : llvm::enumerate(elements)) {
      Value bit = arith::AndIOp::create(t.b, word, t.s.i32(static_cast<int32_t>(1U << i)));
      chosen[reg] = t.s.select(t.s.compare(Scalars::Compare::ne, bit, 0), t.registers(op.getTrueValue())[reg],
                               t.registers(op.getFalseValue())[reg]);
    }
  return chosen;
}
