// SPDX-License-Identifier: MIT
#include "compiler/ptx/Code.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

namespace tegula::ptx {

using namespace llvm;

namespace {

/// A line: the index of its block, and its index in the block.
using CodePosition = std::pair<unsigned, unsigned>;

/// The uses and writes of a register, or of several that have become one, in the order of lines. Within a line, uses
/// come first.
struct Range {
  struct Event {
    CodePosition place;
    bool isWritten;

    bool operator<(const Event &other) const {
      return std::tie(place, isWritten) < std::tie(other.place, other.isWritten);
    }
  };

  SmallVector<Event, 4> events;
  BitVector liveOut; ///< Blocks at whose end its value is still needed. Empty if there are none.

  bool isWrittenIn(unsigned block) const {
    return any_of(events, [&](const Event &event) { return event.isWritten && event.place.first == block; });
  }

  bool isLiveAfter(CodePosition place) const {
    auto next = upper_bound(events, place, [](CodePosition p, const Event &event) { return p < event.place; });
    if (next != events.end() && next->place.first == place.first)
      return !next->isWritten;
    return !liveOut.empty() && liveOut[place.first];
  }

  void absorb(Range &other) {
    SmallVector<Event, 4> both;
    std::merge(events.begin(), events.end(), other.events.begin(), other.events.end(), std::back_inserter(both));
    events = std::move(both);
    if (!other.liveOut.empty())
      liveOut |= other.liveOut;
    other = {};
  }
};

class Coalescing {
public:
  explicit Coalescing(const Code &code)
      : code_(code), predecessors_(code.blocks.size()), ranges_(code.registers.size()), leaders_(ranges_.size()) {
    std::iota(leaders_.begin(), leaders_.end(), 0);
    for (auto [number, block] : enumerate(code.blocks))
      for (unsigned successor : block.successors)
        predecessors_[successor].push_back(static_cast<unsigned>(number));
    forEachLine([&](CodePosition place, const Line &line) { recordEvents(place, line); });
    for (Range &range : ranges_)
      findLiveBlocks(range);
  }

  std::vector<Register> run() {
    forEachLine([&](CodePosition, const Line &line) {
      if (line.isCopy && line.operands[1].isRegister())
        join(leader(line.operands[0].reg()), leader(line.operands[1].reg()));
    });
    for (Register reg = 0; reg < leaders_.size(); ++reg)
      leaders_[reg] = leader(reg);
    return std::move(leaders_);
  }

private:
  template <class Visit> void forEachLine(Visit visit) const {
    for (unsigned block = 0; block < code_.blocks.size(); ++block)
      for (unsigned line = 0; line < code_.blocks[block].lines.size(); ++line)
        visit(CodePosition(block, line), code_.blocks[block].lines[line]);
  }

  void recordEvents(CodePosition place, const Line &line) {
    for (const Operand &operand : line.read())
      if (operand.isRegister())
        ranges_[operand.reg()].events.push_back({place, false});
    for (const Operand &operand : line.written())
      ranges_[operand.reg()].events.push_back({place, true});
  }

  /// Finds the blocks at whose end the value is live. Walks from each block that uses the value before writing it up to
  /// the blocks that write it.
  void findLiveBlocks(Range &range) {
    SmallVector<unsigned> upwards;
    for (size_t i = 0; i < range.events.size(); ++i) {
      auto [place, isWritten] = range.events[i];
      if (!isWritten && (i == 0 || range.events[i - 1].place.first != place.first))
        append_range(upwards, predecessors_[place.first]);
    }
    if (!upwards.empty())
      range.liveOut.resize(static_cast<unsigned>(code_.blocks.size()));
    while (!upwards.empty()) {
      unsigned block = upwards.pop_back_val();
      if (range.liveOut[block])
        continue;
      range.liveOut.set(block);
      if (!range.isWrittenIn(block))
        append_range(upwards, predecessors_[block]);
    }
  }

  Register leader(Register reg) {
    while (leaders_[reg] != reg)
      reg = leaders_[reg] = leaders_[leaders_[reg]];
    return reg;
  }

  const Line &lineAt(CodePosition place) const { return code_.blocks[place.first].lines[place.second]; }

  /// Returns true if the line copies nothing once `a` and `b` are one: it copies between them, or it copies an
  /// undefined value.
  bool joins(const Line &line, Register a, Register b) {
    if (!line.isCopy)
      return false;
    const Operand &source = line.operands[1];
    if (source.isRegister())
      return leader(source.reg()) == a || leader(source.reg()) == b;
    return source.kind == Operand::Kind::undefined;
  }

  /// Returns true if `a` is written while `b` has another value that is still needed.
  bool overwrites(Register a, Register b) {
    return any_of(ranges_[a].events, [&](const Range::Event &event) {
      return event.isWritten && ranges_[b].isLiveAfter(event.place) && !joins(lineAt(event.place), a, b);
    });
  }

  void join(Register a, Register b) {
    if (a == b || overwrites(a, b) || overwrites(b, a))
      return;
    ranges_[a].absorb(ranges_[b]);
    leaders_[b] = a;
  }

  const Code &code_;
  std::vector<SmallVector<unsigned, 2>> predecessors_;
  std::vector<Range> ranges_;
  std::vector<Register> leaders_;
};

} // namespace

std::vector<Register> coalesce(const Code &code) { return Coalescing(code).run(); }

} // namespace tegula::ptx
