// SPDX-License-Identifier: MIT
// Instructions on registers, most of them of a whole warp.
#include "simt/block.h"

namespace tegula::simt {

namespace {
struct ShuffleOperands {
  uint32_t value, from;
  uint32_t result = 0;
};

struct VoteOperands {
  bool predicate;
  uint32_t ballot = 0;
};
} // namespace

uint32_t Block::special(const Lane &lane, SimtRegister which) const {
  const Grid &grid = launch_->grid;
  switch (which) {
  case SimtRegister::thread:
    return lane.number % lanesOfInstance();
  case SimtRegister::program_x:
    return program_[0] + rankOf(lane.number);
  case SimtRegister::program_y:
    return program_[1];
  case SimtRegister::program_z:
    return program_[2];
  case SimtRegister::programs_x:
    return static_cast<uint32_t>(grid.x);
  case SimtRegister::programs_y:
    return static_cast<uint32_t>(grid.y);
  case SimtRegister::programs_z:
    return static_cast<uint32_t>(grid.z);
  case SimtRegister::cluster_rank:
    return rankOf(lane.number);
  }
  return 0;
}

uint32_t Block::shuffle(Lane &lane, uint32_t site, SimtShuffle kind, uint32_t value, uint32_t operand) {
  const uint32_t from = kind == SimtShuffle::lane_xor ? lane.number ^ operand : operand;
  ShuffleOperands operands{.value = value, .from = from % kWarp};
  lane.out = &operands;
  together(lane, site, [](Lane *warp) {
    const auto of = [&](uint32_t i) { return static_cast<ShuffleOperands *>(warp[i].out); };
    for (uint32_t i = 0; i < kWarp; ++i)
      of(i)->result = of(of(i)->from)->value;
  });
  return operands.result;
}

uint32_t Block::vote(Lane &lane, uint32_t site, SimtVote kind, bool predicate) {
  VoteOperands operands{.predicate = predicate};
  lane.out = &operands;
  together(lane, site, [](Lane *warp) {
    const auto of = [&](uint32_t i) { return static_cast<VoteOperands *>(warp[i].out); };
    uint32_t ballot = 0;
    for (uint32_t i = 0; i < kWarp; ++i)
      ballot |= static_cast<uint32_t>(of(i)->predicate) << i;
    for (uint32_t i = 0; i < kWarp; ++i)
      of(i)->ballot = ballot;
  });
  switch (kind) {
  case SimtVote::any:
    return operands.ballot != 0;
  case SimtVote::all:
    return operands.ballot == ~0U;
  case SimtVote::ballot:
    return operands.ballot;
  }
  return 0;
}

uint32_t Block::elect(Lane &lane, uint32_t site) {
  together(lane, site, [](Lane *) {});
  return lane.number % kWarp == warpOf(lane).elected;
}

void Block::mma(Lane &lane, uint32_t site, SimtMma kind, const MmaRegisters &registers) {
  lane.in = &registers;
  together(lane, site, [kind](Lane *warp) {
    std::array<MmaRegisters, kWarp> all;
    for (uint32_t i = 0; i < kWarp; ++i)
      all[i] = *static_cast<const MmaRegisters *>(warp[i].in);
    multiply(kind, all);
  });
}

} // namespace tegula::simt
