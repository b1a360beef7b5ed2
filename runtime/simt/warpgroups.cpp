// SPDX-License-Identifier: MIT
// MMAs of warpgroups, and registers that warps pass to each other.
#include "simt/block.h"

#include <bit>

namespace tegula::simt {
namespace {

/// Number of MMAs after which accumulators can be forgotten.
constexpr uint32_t kKept = 1024;

/// The operands of one lane for an MMA.
struct MmaOperands {
  const SimtWgmma *what;
  uint32_t *accumulators;
};

const MmaOperands &operandsOf(const Lane &lane) { return *static_cast<const MmaOperands *>(lane.in); }

uint32_t registersOf(const SimtWgmma &what) { return what.columns / 2; }

} // namespace

//===-- Start -----------------------------------------------------------------------------------------------------===//

void Block::startMma(Lane &lane, uint32_t site, const SimtWgmma &product, uint32_t *accumulators) {
  if (lanesOfInstance() % kWarpgroup != 0)
    return report(SimtErrorKind::barrier_misuse, lane.number, site,
                  "is an instruction of 128 lanes in a block of other size");
  const MmaOperands operands{&product, accumulators};
  lane.in = &operands;
  together<kWarpgroup / kWarp>(lane, site, [&](Lane *lanes) { issueMma(lanes, site); });
}

void Block::issueMma(Lane *lanes, uint32_t site) {
  if (!sameMma(lanes, site))
    return;
  const SimtWgmma &what = *operandsOf(lanes[0]).what;
  Warpgroup &warpgroup = warpgroupOf(lanes[0]);
  if (warpgroup.engine == 0)
    warpgroup.engine = clocks_.addEngine();
  Product product{.what = what, .matrix = matrixFor(lanes, site, what), .site = site, .lane = lanes[0].number, .a = {}};
  for (uint32_t i = 0; what.a_in_registers && i < kWarpgroup; ++i)
    product.a.push_back(std::to_array(operandsOf(lanes[i]).what->a));
  ++warpgroup.started;
  warpgroup.site = site;
  AccumulatorMatrix &matrix = warpgroup.matrices.at(product.matrix);
  matrix.lastMma = warpgroup.started;
  matrix.site = site;
  checkOperands(lanes[0], product);
  for (uint32_t lane = 0; lane < kWarpgroup; ++lane)
    for (uint32_t i = 0; i < registersOf(what); ++i)
      operandsOf(lanes[lane]).accumulators[i] = AccumulatorToken{product.matrix, i}.bits();
  warpgroup.products.push_back(std::move(product));
  if (choose_->copyCompletesAtOnce())
    finishMmas(warpgroup, warpgroup.started);
}

/// Returns true if the operands are the same in all lanes. Otherwise reports a divergence.
bool Block::sameMma(Lane *lanes, uint32_t site) {
  const SimtWgmma &first = *operandsOf(lanes[0]).what;
  for (uint32_t i = 1; i < kWarpgroup; ++i) {
    const SimtWgmma &other = *operandsOf(lanes[i]).what;
    if (other.b_descriptor == first.b_descriptor && other.accumulate == first.accumulate &&
        (first.a_in_registers || other.a_descriptor == first.a_descriptor))
      continue;
    report(SimtErrorKind::divergence, lanes[i].number, site,
           "has other descriptors than the first lane of its warpgroup");
    return false;
  }
  return true;
}

const AccumulatorMatrix *Block::matrixOf(const Lane &lane, uint32_t value) {
  const auto name = AccumulatorToken::from(value);
  const auto &matrices = warpgroupOf(lane).matrices;
  const auto found = name ? matrices.find(name->matrix) : matrices.end();
  return found == matrices.end() ? nullptr : &found->second;
}

/// Returns the index of the accumulators for an MMA: those that the registers' tokens stand for, or else new ones. New
/// ones begin with the values in the registers, or with 0 if the MMA does not accumulate.
uint32_t Block::matrixFor(Lane *lanes, uint32_t site, const SimtWgmma &what) {
  Warpgroup &warpgroup = warpgroupOf(lanes[0]);
  const uint32_t held = operandsOf(lanes[0]).accumulators[0];
  const bool continues = what.accumulate && matrixOf(lanes[0], held) != nullptr;
  for (uint32_t i = 0; i < kWarpgroup; i += kWarp)
    if (!warpOf(lanes[i]).fenced && (!continues || what.a_in_registers))
      report(SimtErrorKind::missing_fence, lanes[i].number, site,
             "uses registers that were written before, without wgmma.fence between");
  if (continues)
    return AccumulatorToken::from(held)->matrix;
  warpgroup.lastMatrix = warpgroup.lastMatrix % AccumulatorToken::kMax + 1;
  AccumulatorMatrix matrix{.columns = what.columns, .values = std::vector<float>(size_t{kMmaRows} * what.columns)};
  for (uint32_t lane = 0; what.accumulate && lane < kWarpgroup; ++lane)
    for (uint32_t i = 0; i < registersOf(what); ++i)
      matrix.at(accumulatorPlace(lane, i)) = std::bit_cast<float>(operandsOf(lanes[lane]).accumulators[i]);
  std::erase_if(warpgroup.matrices, [&](const auto &old) { return old.second.lastMma + kKept < warpgroup.started; });
  warpgroup.matrices.insert_or_assign(warpgroup.lastMatrix, std::move(matrix));
  return warpgroup.lastMatrix;
}

void Block::checkOperands(const Lane &lane, const Product &product) {
  constexpr uint32_t kPiece = 16;
  const Warpgroup &warpgroup = warpgroupOf(lane);
  Access access = accessOf(lane, product.site, AccessKind::BulkRead);
  access.when = {warpgroup.engine, warpgroup.started};
  access.group = kWarpgroup;
  product.forEachPiece([&](uint32_t address) { checkShared(address, kPiece, access); });
}

//===-- End -------------------------------------------------------------------------------------------------------===//

void Block::finishMmas(Warpgroup &warpgroup, uint32_t last) {
  const auto inFlight = static_cast<uint32_t>(warpgroup.products.size());
  const uint32_t done = warpgroup.started - inFlight;
  for (uint32_t i = done; i < last; ++i) {
    const Product &product = warpgroup.products.front();
    product.addTo(warpgroup.matrices.at(product.matrix), [&](uint32_t address) -> const void * {
      const std::optional<uint32_t> place = placeOf(product.lane, address, 16);
      return place ? &shared_[*place] : nullptr;
    });
    warpgroup.products.pop_front();
  }
}

void Block::fenceMmas(Lane &lane, uint32_t site) {
  if (executionOf(lane, site, nullptr) == Execution::Normal)
    together(lane, site, [&](Lane *warp) { warpOf(*warp).fenced = true; });
}

void Block::commitMmas(Lane &lane, uint32_t site) {
  if (executionOf(lane, site, nullptr) == Execution::Normal)
    together(lane, site, [&](Lane *warp) { warpOf(*warp).groups.push_back(warpgroupOf(*warp).started); });
}

void Block::waitMmas(Lane &lane, uint32_t site, uint32_t pending, uint32_t count, uint32_t *accumulators) {
  const Execution execution = executionOf(lane, site, nullptr);
  if (execution != Execution::Not)
    together(lane, site, [&](Lane *first) {
      Warp &warp = warpOf(*first);
      const size_t allowed = pending + (execution == Execution::Weaker ? 1 : 0);
      warp.fenced = false;
      if (warp.groups.size() <= allowed)
        return;
      warp.waited = warp.groups[warp.groups.size() - 1 - allowed];
      finishMmas(warpgroupOf(*first), warp.waited);
      for (uint32_t i = 0; i < kWarp; ++i)
        clocks_.waited(first[i].number, {warpgroupOf(*first).engine, warp.waited});
    });
  for (uint32_t i = 0; i < count; ++i)
    if (const AccumulatorMatrix *matrix = matrixOf(lane, accumulators[i])) {
      if (matrix->lastMma > warpOf(lane).waited)
        readAccumulator(lane, site, accumulators[i]);
      const uint32_t index = AccumulatorToken::from(accumulators[i])->index;
      accumulators[i] = std::bit_cast<uint32_t>(matrix->at(accumulatorPlace(lane.number % kWarpgroup, index)));
    }
}

void Block::readAccumulator(Lane &lane, uint32_t site, uint32_t value) {
  const AccumulatorMatrix *matrix = matrixOf(lane, value);
  if (matrix == nullptr)
    return;
  launch_->findings.add(SimtErrorKind::unwaited_copy, matrix->site, site, [&] {
    return "unwaited copy: an accumulator of" + describeSite(matrix->site) + " is used by " +
           describe(lane.number, site) + ", without a wait for the product between" + runText();
  });
}

//===-- setmaxnreg ------------------------------------------------------------------------------------------------===//

void Block::setRegisters(Lane &lane, uint32_t site, uint32_t count) {
  Warp &warp = warpOf(lane);
  together(lane, site, [&](Lane *) {
    if (count > warp.registers)
      return;
    freeRegisters_[rankOf(lane.number)] += (warp.registers - count) * kWarp;
    warp.registers = count;
    for (Lane &other : lanes_)
      if (other.state == LaneState::NeedsRegisters)
        wake(other);
  });
  while (!takeRegisters(lane, count))
    block(lane, LaneState::NeedsRegisters, site);
}

/// Takes registers for the warp. Returns false if too few are free.
bool Block::takeRegisters(const Lane &lane, uint32_t count) {
  Warp &warp = warpOf(lane);
  uint32_t &free = freeRegisters_[rankOf(lane.number)];
  const uint32_t missing = count > warp.registers ? (count - warp.registers) * kWarp : 0;
  if (missing > free)
    return false;
  free -= missing;
  warp.registers = std::max(warp.registers, count);
  return true;
}

} // namespace tegula::simt
