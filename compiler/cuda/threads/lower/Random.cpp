// SPDX-License-Identifier: MIT
// Random numbers of blocks. The registers of a thread that belong to one call of the generator share it. If two lanes
// hold the elements of a call, each lane makes every other call for both.
#include "compiler/tile/Random.h"
#include "compiler/cuda/threads/lower/Lower.h"
#include "compiler/sm/Storage.h"

#include "llvm/ADT/MapVector.h"

#include <array>

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using tile::Formula;
using tile::Random;

constexpr int64_t kLowBits = 15; ///< The bits of a row or column within its block.

namespace {

/// The rows or the columns of a thread's elements.
struct Axis {
  Value first;           ///< The position of the thread's first element.
  int64_t thread = 0;    ///< The low bits that `first` may have.
  int64_t registers = 0; ///< The low bits that the registers add.
  unsigned partner = 0; ///< Lanes that differ in this bit of their number differ in bit 0 of the position. 0: no lanes.
};

/// A thread's elements of a block of random numbers.
class BlockOfThread {
public:
  BlockOfThread(Threads &t, sm::RandomOp op)
      : t_(t), op_(op), bits_(op.getBits()), formula_(t.b, t.b.getLoc(), t.scalar(op.getRow())),
        random_(formula_, t.scalar(op.getSeed()), t.scalar(op.getOffset()), t.scalar(op.getStream()), op.getBits(),
                op.getRounds()) {
    const SmallVector<sm::Spread> spread = sm::threadSpread(sm::layoutOf(op.getResult()), 2);
    axes_ = {axis(0, op.getRow(), spread[0]), axis(1, op.getColumn(), spread[1])};
  }

  SmallVector<Value> elements() {
    SmallVector<Value> elements;
    const bool sharesCalls = llvm::none_of(axes_, [](const Axis &axis) { return axis.thread & axis.registers; });
    if (sharesCalls)
      makeCalls();
    for (unsigned reg = 0; reg < registerCount(type()); ++reg) {
      const sm::Coordinates at = registerOffset(type(), reg);
      auto position = [&](unsigned dim) { return t_.s.add(axes_[dim].first, at[dim]); };
      elements.push_back(sharesCalls ? pick(calls_[counterOf(at)], at) : random_.element(position(0), position(1)));
    }
    return elements;
  }

private:
  /// The numbers that the registers of a call add to the counters of the thread's first element.
  using Counter = std::pair<int32_t, int32_t>;

  RankedTensorType type() { return op_.getType(); }

  Axis axis(unsigned dim, Value first, sm::Spread spread) {
    Axis axis{.first = t_.s.add(t_.scalar(first), t_.place(type()).origin[dim])};
    const bool isAligned = type().getDimSize(dim) > 1;
    axis.thread = isAligned ? spread.bits & kLowBits : kLowBits;
    for (unsigned reg = 0; reg < registerCount(type()); ++reg)
      axis.registers |= registerOffset(type(), reg)[dim] & kLowBits;
    if (isAligned && random_.wordBit(bits_) == 1)
      axis.partner = laneBitOf(dim);
    return axis;
  }

  /// Returns the bit of lane numbers that adds 1 to coordinate `dim`. Returns 0 if there is no such bit.
  unsigned laneBitOf(unsigned dim) {
    for (const sm::DigitAlong &digit : sm::digitsAlong(sm::layoutOf(op_.getResult()).getLanes(), dim))
      if (digit.stride == 1 && digit.size % 2 == 0)
        return llvm::isPowerOf2_64(digit.weight) ? digit.weight : 0;
    return 0;
  }

  Counter counterOf(const sm::Coordinates &at) {
    return {Random::counter(bits_, at[0]), Random::counter(bits_, at[1])};
  }

  void makeCalls() {
    for (unsigned reg = 0; reg < registerCount(type()); ++reg)
      calls_.try_emplace(counterOf(registerOffset(type(), reg)));
    row_ = random_.counter(axes_[0].first);
    column_ = random_.counter(axes_[1].first);
    const Axis *shared = llvm::find_if(axes_, [](const Axis &axis) { return axis.partner != 0; });
    auto next = calls_.begin();
    if (shared != axes_.end())
      for (; calls_.end() - next >= 2; next += 2)
        shareTwo(*shared, next[0], next[1]);
    for (; next != calls_.end(); ++next)
      next->second = random_.call(t_.s.add(row_, next->first.first), t_.s.add(column_, next->first.second));
  }

  /// Makes one of two calls in each of two lanes. A lane with an even position makes the first call. Each lane then
  /// gets its words of both calls. The words of the other lane are replaced by its own, which nothing reads.
  void shareTwo(const Axis &axis, std::pair<Counter, Random::Words> &first, std::pair<Counter, Random::Words> &second) {
    const Value isOdd = isSet(axis, 1);
    auto counter = [&](Value base, int32_t even, int32_t odd) {
      return t_.s.add(base, t_.s.select(isOdd, t_.s.i32(odd), t_.s.i32(even)));
    };
    const Random::Words made = random_.call(counter(row_, first.first.first, second.first.first),
                                            counter(column_, first.first.second, second.first.second));
    const unsigned stride = &axis == &axes_[0] ? 2 : 1; // From a word of an even position to that of an odd one.
    for (unsigned even : {0U, 3 - stride}) {
      const unsigned odd = even + stride;
      const Value kept = t_.s.select(isOdd, made[odd], made[even]);
      const Value received = t_.gpu.shuffleXor(t_.s.select(isOdd, made[even], made[odd]), axis.partner);
      first.second[even] = first.second[odd] = t_.s.select(isOdd, received, kept);
      second.second[even] = second.second[odd] = t_.s.select(isOdd, kept, received);
    }
  }

  Value isSet(const Axis &axis, int64_t bit) {
    return t_.s.compare(Scalars::Compare::ne, formula_.andi(axis.first, t_.s.i32(bit)), 0);
  }

  /// Returns `yes` if the position of a register at `offset` has the bit, otherwise `no`.
  Value choose(const Axis &axis, int64_t offset, int64_t bit, Value yes, Value no) {
    if ((axis.thread & bit) == 0)
      return offset & bit ? yes : no;
    return t_.s.select(isSet(axis, bit), yes, no);
  }

  /// Returns the element of a call that belongs to the register at `at`.
  Value pick(const Random::Words &words, const sm::Coordinates &at) {
    const int64_t bit = Random::wordBit(bits_);
    auto ofColumn = [&](Value yes, Value no) { return choose(axes_[1], at[1], bit, yes, no); };
    const Value word = choose(axes_[0], at[0], bit, ofColumn(words[3], words[2]), ofColumn(words[1], words[0]));
    if (Random::byteBit(bits_) == 0)
      return word;
    const Value shift = formula_.ori(formula_.shl(byteBit(axes_[0], at[0]), 1), byteBit(axes_[1], at[1]));
    return formula_.andi(formula_.shr(word, shift), t_.s.i32(255));
  }

  Value byteBit(const Axis &axis, int64_t offset) {
    const int64_t bit = Random::byteBit(bits_);
    return axis.thread & bit ? formula_.andi(axis.first, t_.s.i32(bit)) : t_.s.i32(offset & bit);
  }

  Threads &t_;
  sm::RandomOp op_;
  int64_t bits_;
  Formula formula_;
  Random random_;
  std::array<Axis, 2> axes_;
  Value row_, column_; ///< The counters of the thread's first element.
  llvm::MapVector<Counter, Random::Words> calls_;
};

} // namespace

void cuda::addRandomLowerings(Lowerings &known) {
  known.add<sm::RandomOp>([](Threads &t, sm::RandomOp op) { t.define(op, BlockOfThread(t, op).elements()); });
}
