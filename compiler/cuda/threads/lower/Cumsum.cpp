// SPDX-License-Identifier: MIT
// Lowering of cumulative sums. A coordinate along the axis is a number in mixed radix, whose digits select a register,
// a lane or a warp. The digits are taken from the least significant one on. After each, every register holds the sum
// within its block of neighbours, and the total of that block.
#include "compiler/cuda/threads/lower/Lower.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

namespace {

class Cumsum {
public:
  Cumsum(Threads &t, tile::CumsumOp op)
      : t_(t), reverse_(op.getReverse()), axis_(op.getAxis()), tile_(cast<RankedTensorType>(op.getType())) {
    TypedAttr zero = t.b.getZeroAttr(tile_.getElementType());
    for (auto [reg, value] : llvm::enumerate(t.registers(op.getSource())))
      sums_.push_back(t.insideOr(tile_, reg, axis_, value, zero));
    totals_ = sums_;
  }

  /// Returns the registers of the result.
  ArrayRef<Value> run() {
    for (const Step &step : steps())
      if (step.unit == Unit::reg)
        addRegisters(step.digit);
      else if (step.unit == Unit::lane)
        addLanes(step.digit);
      else
        addWarps(step.digit);
    return sums_;
  }

private:
  enum class Unit : uint8_t { reg, lane, warp };
  /// A digit along the axis.
  struct Step {
    Unit unit;
    sm::DigitAlong digit;
  };
  /// The sums for the registers that share a total: that of the blocks before theirs, and the total of all blocks.
  struct Neighbours {
    Value before, total;
  };

  SmallVector<Step> steps() const {
    SmallVector<Step> steps;
    sm::LayoutAttr layout = sm::layoutOf(tile_);
    for (auto [unit, digits] : {std::pair(Unit::reg, layout.getRegisters()), std::pair(Unit::lane, layout.getLanes()),
                                std::pair(Unit::warp, layout.getWarps())})
      for (const sm::DigitAlong &digit : sm::digitsAlong(digits, axis_))
        steps.push_back({unit, digit});
    llvm::sort(steps, [](const Step &a, const Step &b) { return a.digit.stride < b.digit.stride; });
    return steps;
  }

  Value add(Value x, Value y) {
    bool isFloat = isa<FloatType>(x.getType());
    return isFloat ? Value(arith::AddFOp::create(t_.b, x, y)) : arith::AddIOp::create(t_.b, x, y);
  }

  /// Adds the totals of registers that differ only in one digit.
  void addRegisters(const sm::DigitAlong &step) {
    for (int64_t first = 0; first < static_cast<int64_t>(sums_.size()); ++first) {
      if (first / step.weight % step.size != 0)
        continue;
      Value total;
      for (int64_t i = 0; i < step.size; ++i) {
        int64_t reg = first + (reverse_ ? step.size - 1 - i : i) * step.weight;
        sums_[reg] = total ? add(sums_[reg], total) : sums_[reg];
        total = total ? add(total, totals_[reg]) : totals_[reg];
      }
      for (int64_t i = 0; i < step.size; ++i)
        totals_[first + i * step.weight] = total;
    }
  }

  /// Calls `neighbours` once for each different total, and adds what it returns.
  void addNeighbours(function_ref<Neighbours(Value)> neighbours) {
    llvm::MapVector<Value, Neighbours> known;
    for (auto [sum, total] : llvm::zip_equal(sums_, totals_)) {
      auto [found, isNew] = known.try_emplace(total);
      if (isNew)
        found->second = neighbours(total);
      sum = add(sum, found->second.before);
      total = found->second.total;
    }
  }

  /// Adds the totals of lanes, one bit of the digit at a time.
  void addLanes(const sm::DigitAlong &step) {
    Value zero = t_.zero(tile_.getElementType());
    for (int64_t mask = step.weight; mask < step.weight * step.size; mask *= 2) {
      Value bit = t_.s.rem(t_.s.div(t_.lane(), mask), 2);
      Value takes = t_.s.compare(Scalars::Compare::eq, bit, reverse_ ? 0 : 1);
      addNeighbours([&](Value total) -> Neighbours {
        Value other = t_.gpu.shuffleXor(total, mask);
        return {t_.s.select(takes, other, zero), add(total, other)};
      });
    }
  }

  /// Adds the totals of warps.
  void addWarps(const sm::DigitAlong &step) {
    addNeighbours([&](Value total) {
      Neighbours result{.before = t_.zero(tile_.getElementType())};
      exchangeBetweenWarps(t_, total, step, [&](size_t, LoadOfWarp load) {
        Value own = t_.s.rem(t_.s.div(t_.warp(), step.weight), step.size);
        for (int64_t i = 0; i < step.size; ++i) {
          const int64_t digit = reverse_ ? step.size - 1 - i : i;
          Value block = load(digit);
          Value isBefore = t_.s.compare(reverse_ ? Scalars::Compare::slt : Scalars::Compare::sgt, own, digit);
          result.before = t_.s.select(isBefore, add(result.before, block), result.before);
          result.total = result.total ? add(result.total, block) : block;
        }
      });
      return result;
    });
  }

  Threads &t_;
  bool reverse_;
  unsigned axis_;
  RankedTensorType tile_;
  SmallVector<Value> sums_, totals_; ///< By register.
};

} // namespace

static void lower(Threads &t, tile::CumsumOp op) { t.define(op, Cumsum(t, op).run()); }

void cuda::addCumsumLowerings(Lowerings &known) {
  known.add<tile::CumsumOp>([](Threads &t, auto op) { return lower(t, op); });
}
