// SPDX-License-Identifier: MIT
// tcgen05: tensor memory, and MMAs that one lane starts.
#include "simt/block.h"

#include <bit>
#include <cstring>

namespace tegula::simt {
namespace {

constexpr uint32_t kMinColumns = 32;

/// Returns a matrix descriptor of tcgen05 as one of wgmma: only the numbers of the swizzles differ.
uint64_t asWgmmaDescriptor(uint64_t bits) {
  constexpr uint64_t modes[] = {0, 0, 1, 0, 2, 0, 3, 0}; // None, 128 bytes by 32, 128, -, 64, -, 32, -.
  constexpr uint64_t kept = (uint64_t{1} << 52) - 1;
  return (bits & kept) | modes[bits >> 61] << 62;
}

bool isKnownDescriptor(uint64_t bits) {
  constexpr uint64_t version = 1;
  const uint64_t mode = bits >> 61;
  return (bits >> 46 & 3) == version && (mode == 0 || mode == 2 || mode == 4 || mode == 6);
}

} // namespace

uint32_t TensorCells::findFree(uint32_t columns) const {
  uint32_t first = 0;
  for (const auto &[begin, count] : allocated) {
    if (begin - first >= columns)
      return first;
    first = begin + count;
  }
  return kTensorColumns - first >= columns ? first : kTensorColumns;
}

bool TensorCells::areAllocated(uint32_t column, uint32_t columns) const {
  const auto after = allocated.upper_bound(column);
  return after != allocated.begin() && column + columns <= std::prev(after)->first + std::prev(after)->second;
}

//===-- Columns ---------------------------------------------------------------------------------------------------===//

void Block::allocateTensor(Lane &lane, uint32_t site, uint32_t shared, uint32_t columns) {
  together(lane, site, [&](Lane *warp) {
    TensorCells &tensor = tensorOf(*warp);
    const uint32_t first = tensor.findFree(columns);
    if (!std::has_single_bit(columns) || columns < kMinColumns || columns > kTensorColumns)
      return report(SimtErrorKind::barrier_misuse, warp->number, site,
                    "allocates " + std::to_string(columns) + " columns; legal are powers of 2 from 32 to 512");
    if (tensor.relinquished || first == kTensorColumns)
      return report(SimtErrorKind::barrier_misuse, warp->number, site,
                    "allocates columns, of which too few are free or allowed");
    if (tensor.cells.empty()) {
      tensorShadow_.reset(size_t{kTensorCells} * launch_->cluster);
      tensor.cells.resize(kTensorCells);
    }
    tensor.allocated[first] = columns;
    tensor.lane = warp->number;
    tensor.site = site;
    for (uint32_t row = 0; row < kTensorLanes; ++row)
      tensorShadow_.forget(rankOf(warp->number) * kTensorCells + row * kTensorColumns + first, columns);
    const uint32_t address = TensorAddress{0, first}.bits();
    if (std::byte *to = checkShared(shared, sizeof address, accessOf(*warp, site, AccessKind::Write)))
      std::memcpy(to, &address, sizeof address);
  });
}

void Block::deallocateTensor(Lane &lane, uint32_t site, uint32_t address, uint32_t columns) {
  if (executionOf(lane, site, nullptr) != Execution::Normal)
    return;
  together(lane, site, [&](Lane *warp) {
    TensorCells &tensor = tensorOf(*warp);
    const uint32_t first = TensorAddress::from(address).column;
    const auto found = tensor.allocated.find(first);
    if (found == tensor.allocated.end() || found->second != columns)
      return report(SimtErrorKind::barrier_misuse, warp->number, site, "deallocates what was not allocated so");
    const Access access = accessOf(*warp, site, AccessKind::TensorWrite);
    for (uint32_t row = 0; row < kTensorLanes; ++row)
      accessTensor(row, first, columns, access);
    tensor.allocated.erase(found);
  });
}

void Block::relinquishTensor(Lane &lane, uint32_t site) {
  together(lane, site, [&](Lane *warp) { tensorOf(*warp).relinquished = true; });
}

bool Block::accessTensor(uint32_t row, uint32_t column, uint32_t columns, const Access &access) {
  const auto place = [&](uint32_t at) {
    return "tensor memory, lane " + std::to_string(row) + " column " + std::to_string(at);
  };
  const uint32_t rank = rankOf(access.lane);
  if (row >= kTensorLanes || !tensors_[rank].areAllocated(column, columns)) {
    reportAccess(SimtErrorKind::out_of_bounds, access, 4 * columns,
                 "of columns that are not allocated, " + place(column));
    return false;
  }
  const uint32_t begin = rank * kTensorCells + row * kTensorColumns;
  for (uint32_t at = column; access.kind == AccessKind::TensorRead && at < column + columns; ++at)
    if (!tensorShadow_.isWritten(begin + at)) {
      reportAccess(SimtErrorKind::uninitialised, access, 4 * columns, "that no MMA has written, " + place(at));
      break;
    }
  tensorShadow_.shared(begin + column, columns, access, [&](const Conflict &conflict) {
    reportConflict(access, *conflict.earlier, place(static_cast<uint32_t>(conflict.byte) - begin));
  });
  return true;
}

//===-- MMAs ------------------------------------------------------------------------------------------------------===//

void Block::startTensorMma(Lane &lane, uint32_t site, uint32_t to, uint64_t a, uint64_t b, uint32_t instruction,
                           bool accumulate) {
  maybeInterrupt(lane);
  const TensorInstruction what{instruction};
  const TensorAddress place = TensorAddress::from(to);
  if (!what.hasFloatSums() || !what.isKnown() || what.rows() != kTensorLanes || place.row != 0 ||
      !isKnownDescriptor(a) || !isKnownDescriptor(b))
    return report(SimtErrorKind::barrier_misuse, lane.number, site,
                  "has descriptors that the executor does not know: it knows 128 rows of bf16 or f16, and sums of f32");
  TensorQueue &queue = lane.tensor;
  if (queue.engine == 0)
    queue.engine = clocks_.addEngine();
  const SimtWgmma product{.type = static_cast<uint32_t>(what.type()),
                          .columns = what.columns(),
                          .a_transposed = what.transposes(false),
                          .b_transposed = what.transposes(true),
                          .a_descriptor = asWgmmaDescriptor(a),
                          .b_descriptor = asWgmmaDescriptor(b)};
  TensorStep step{.product = {.what = product, .site = site, .lane = lane.number, .a = {}, .rows = what.rows()},
                  .to = place.column,
                  .accumulates = accumulate};
  ++queue.started;
  clocks_.publishEngines(lane.number, queue.known);
  Access access = accessOf(lane, site, AccessKind::BulkRead);
  access.when = {queue.engine, queue.started};
  step.product.forEachPiece([&](uint32_t address) { checkShared(address, 16, access); });
  for (const AccessKind kind : {AccessKind::TensorRead, AccessKind::TensorWrite})
    for (uint32_t row = 0; row < kTensorLanes && (accumulate || kind == AccessKind::TensorWrite); ++row) {
      access.kind = kind;
      if (!accessTensor(row, place.column, what.columns(), access))
        return;
    }
  addTensorStep(lane, std::move(step));
}

void Block::commitTensor(Lane &lane, uint32_t site, uint32_t address) {
  if (executionOf(lane, site, nullptr) != Execution::Normal)
    return;
  maybeInterrupt(lane);
  if (signalledMbarrier(lane, site, address) == nullptr)
    return;
  addTensorStep(lane, {.product = {.what = {}, .site = site, .a = {}},
                       .to = *placeOf(lane.number, address, sizeof(uint64_t)),
                       .commits = true,
                       .known = lane.tensor.known});
}

void Block::addTensorStep(Lane &lane, TensorStep step) {
  if (lane.tensor.steps.empty())
    issuers_.push_back(lane.number);
  lane.tensor.steps.push_back(std::move(step));
  while (!lane.tensor.steps.empty() && choose_->copyCompletesAtOnce())
    advanceTensor(lane);
}

void Block::advanceTensor(Lane &lane) {
  const TensorStep step = std::move(lane.tensor.steps.front());
  lane.tensor.steps.pop_front();
  if (lane.tensor.steps.empty())
    std::erase(issuers_, lane.number);
  step.commits ? finishTensorCommit(lane, step) : finishTensorMma(lane, step);
}

void Block::finishTensorMma(const Lane &lane, const TensorStep &step) {
  ++lanes_[lane.number].tensor.done;
  const uint32_t columns = step.product.what.columns, rows = step.product.rows;
  AccumulatorMatrix sum{.columns = columns, .values = std::vector<float>(size_t{rows} * columns)};
  const auto cells = [&](uint32_t row) { return &tensorOf(lane).cells[row * kTensorColumns + step.to]; };
  for (uint32_t row = 0; step.accumulates && row < rows; ++row)
    std::copy_n(cells(row), columns, &sum.values[size_t{row} * columns]);
  step.product.addTo(sum, [&](uint32_t address) -> const void * {
    const std::optional<uint32_t> place = placeOf(lane.number, address, 16);
    return place ? &shared_[*place] : nullptr;
  });
  for (uint32_t row = 0; row < rows; ++row)
    std::copy_n(&sum.values[size_t{row} * columns], columns, cells(row));
}

/// Arrives with what the tensor cores have done for the lane.
void Block::finishTensorCommit(const Lane &lane, const TensorStep &step) {
  Mbarrier &mbarrier = mbarriers_.at(step.to);
  Clocks::publishWork(step.known, {lane.tensor.engine, lane.tensor.done}, mbarrier.arriving);
  if (!mbarrier.arrive(1))
    report(SimtErrorKind::barrier_misuse, lane.number, step.product.site,
           "arrives at an mbarrier whose phase already has all " + std::to_string(mbarrier.count()) + " arrivals");
  advance(step.to, mbarrier);
}

//===-- Loads -----------------------------------------------------------------------------------------------------===//

void Block::loadTensor(Lane &lane, uint32_t site, uint32_t address, uint32_t count, uint32_t *registers) {
  const TensorAddress place = TensorAddress::from(address);
  together(lane, site, [](Lane *) {});
  const uint32_t first = lane.number % lanesOfInstance() / kWarp % (kTensorLanes / kWarp) * kWarp;
  if (place.row != first)
    return report(SimtErrorKind::out_of_bounds, lane.number, site,
                  "loads lanes of tensor memory from " + std::to_string(place.row) +
                      " on; its warp may load those from " + std::to_string(first) + " on");
  TensorLoads &loads = lane.tensorLoads;
  if (loads.engine == 0)
    loads.engine = clocks_.addEngine();
  loads.site = site;
  Access access = accessOf(lane, site, AccessKind::TensorRead);
  access.when = {loads.engine, loads.fences + 1};
  const uint32_t row = first + lane.number % kWarp;
  if (!accessTensor(row, place.column, count, access))
    return;
  const float *from = &tensorOf(lane).cells[row * kTensorColumns + place.column];
  loads.values.insert(loads.values.end(), from, from + count);
  std::fill_n(registers, count, ~0U); // Nothing may read them before the wait.
}

/// Gives the registers what the oldest loads have loaded.
void Block::waitTensorLoad(Lane &lane, uint32_t site, uint32_t count, uint32_t *registers) {
  if (executionOf(lane, site, nullptr) != Execution::Normal)
    return;
  together(lane, site, [](Lane *) {});
  std::vector<float> &values = lane.tensorLoads.values;
  const size_t loaded = std::min<size_t>(count, values.size());
  std::memcpy(registers, values.data(), loaded * sizeof(float));
  values.erase(values.begin(), values.begin() + static_cast<ptrdiff_t>(loaded));
}

void Block::fenceTensor(Lane &lane, uint32_t site, SimtTensorFence kind) {
  if (executionOf(lane, site, nullptr) != Execution::Normal)
    return;
  if (kind == SimtTensorFence::after)
    return clocks_.fenceTensor(lane.number);
  TensorLoads &loads = lane.tensorLoads;
  if (loads.engine != 0)
    clocks_.waited(lane.number, {loads.engine, ++loads.fences});
}

} // namespace tegula::simt
