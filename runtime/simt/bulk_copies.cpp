// SPDX-License-Identifier: MIT
// Copies by the asynchronous proxy: boxes of tensors, and consecutive bytes.
#include "simt/block.h"
#include "simt/map_check.h"

#include <algorithm>
#include <cstring>

namespace tegula::simt {
namespace {

constexpr uint32_t kPiece = 16, kSteps = 4;

/// Calls visit(bytes from the start of the box, address in shared memory, number of bytes) for each run of bytes that
/// the swizzle keeps together.
template <class Visit> void forEachPiece(const BulkCopy &copy, uint32_t firstRow, uint32_t lastRow, Visit visit) {
  const uint32_t together = copy.swizzle == 0 ? copy.rowBytes : kPiece;
  for (uint32_t row = firstRow; row < lastRow; ++row)
    for (uint32_t byte = 0; byte < copy.rowBytes; byte += together) {
      const uint32_t at = row * copy.rowBytes + byte;
      visit(at, swizzled(copy.shared + at, copy.swizzle), together);
    }
}

void addFloats(std::byte *to, const std::byte *from, uint32_t bytes) {
  for (uint32_t i = 0; i + 4 <= bytes; i += 4)
    addRelaxed<float>(to + i, from + i);
}

} // namespace

//===-- Start -----------------------------------------------------------------------------------------------------===//

void Block::copyTensor(Lane &lane, uint32_t site, SimtBulk kind, uint32_t shared, const SimtTensorMap &map,
                       const std::array<int32_t, 5> &corner, uint32_t mbarrier) {
  constexpr uint32_t kAlignment = 128;
  if (const std::string problem = problemOf(map); !problem.empty())
    return report(SimtErrorKind::illegal_map, lane.number, site,
                  "copies by a tensor map that no GPU makes: it has " + problem);
  const TensorBox box(map, corner);
  if (shared % kAlignment != 0)
    report(SimtErrorKind::misaligned, lane.number, site,
           "copies a box to or from shared memory that is not 128-byte aligned");
  if (int64_t{corner[0]} * map.element_bytes % kPiece != 0)
    report(SimtErrorKind::misaligned, lane.number, site,
           "copies a box that begins at element " + std::to_string(corner[0]) +
               " of rows, which is no multiple of 16 bytes");
  const auto *end = corner.begin() + map.rank;
  if (kind != SimtBulk::load && std::any_of(corner.begin(), end, [](int32_t at) { return at < 0; }))
    report(SimtErrorKind::out_of_bounds, lane.number, site,
           "stores a box that begins at a negative coordinate, which an H100 takes for an illegal instruction");
  if (box.rowBytes() < map.swizzle)
    return report(SimtErrorKind::illegal_map, lane.number, site,
                  "copies rows of " + std::to_string(box.rowBytes()) +
                      " bytes, but the executor knows only full rows of " + std::to_string(map.swizzle) +
                      " bytes under that swizzle");
  startBulk(lane, site, kind, shared, map.swizzle, box, mbarrier);
}

void Block::copyBulk(Lane &lane, uint32_t site, SimtBulk kind, uint32_t shared, uint64_t global, uint32_t bytes,
                     uint32_t mbarrier) {
  if (shared % kPiece != 0 || global % kPiece != 0 || bytes % kPiece != 0)
    report(SimtErrorKind::misaligned, lane.number, site,
           "copies bytes whose addresses or number are no multiples of 16");
  const SimtTensorMap map{.address = global, .rank = 1, .element_bytes = 1, .box = {bytes}, .size = {bytes}};
  startBulk(lane, site, kind, shared, 0, TensorBox(map, {}), mbarrier);
}

void Block::startBulk(Lane &lane, uint32_t site, SimtBulk kind, uint32_t shared, uint32_t swizzle, const TensorBox &box,
                      uint32_t mbarrier) {
  maybeInterrupt(lane);
  if (kind == SimtBulk::add_f32)
    checkTurn(lane, site);
  BulkCopy copy{.kind = kind,
                .lane = lane.number,
                .site = site,
                .shared = shared,
                .swizzle = swizzle,
                .rowBytes = box.rowBytes(),
                .rows = {},
                .data = std::vector<std::byte>(box.bytes())};
  const std::optional<Epoch> when = bulkEpoch(lane, site, copy, mbarrier);
  if (!when)
    return;
  Access access = accessOf(lane, site, kind == SimtBulk::load ? AccessKind::BulkWrite : AccessKind::BulkRead);
  access.when = *when;
  if (checkShared(shared, box.bytes(), access) == nullptr)
    return;
  collectRows(lane, site, copy, box, *when);
  bulk_.push_back(std::move(copy));
  if (choose_->copyCompletesAtOnce())
    for (const size_t last = bulk_.size() - 1; advanceBulk(last);)
      ;
}

/// Returns the epoch of a copy. A wait for it tells that the copy no longer uses shared memory. Returns nothing, after
/// a report, if a load names no mbarrier.
std::optional<Epoch> Block::bulkEpoch(Lane &lane, uint32_t site, BulkCopy &copy, uint32_t address) {
  if (copy.kind != SimtBulk::load) {
    BulkGroups &groups = lane.bulk;
    if (groups.sources == 0) {
      groups.sources = clocks_.addEngine();
      groups.targets = clocks_.addEngine();
    }
    groups.site = site;
    copy.group = groups.started = groups.committed + 1;
    return Epoch{groups.sources, copy.group};
  }
  Mbarrier *mbarrier = signalledMbarrier(lane, site, address);
  if (mbarrier == nullptr)
    return std::nullopt;
  copy.mbarrier = *placeOf(lane.number, address, 8);
  mbarrier->started = mbarrier->current().time;
  mbarrier->lane = lane.number;
  mbarrier->copySite = site;
  return mbarrier->current();
}

void Block::collectRows(Lane &lane, uint32_t site, BulkCopy &copy, const TensorBox &box, Epoch when) {
  constexpr AccessKind kinds[] = {AccessKind::BulkRead, AccessKind::BulkWrite, AccessKind::BulkAtomic};
  Access access = accessOf(lane, site, kinds[static_cast<size_t>(copy.kind)]);
  access.when = copy.kind == SimtBulk::load ? when : Epoch{lane.bulk.targets, copy.group};
  const uint32_t rows = box.rows();
  copy.rows.reserve(rows);
  for (uint32_t i = 0; i < rows; ++i) {
    const BoxRow row = box.row(i);
    copy.rows.emplace_back(row, row.bytes == 0 ? nullptr : checkGlobal(row.address, row.bytes, access));
  }
}

//===-- Steps -----------------------------------------------------------------------------------------------------===//

bool Block::advanceBulk(size_t index) {
  BulkCopy &copy = bulk_[index];
  if (!copy.isRead()) {
    readRows(copy);
    return true;
  }
  writeRows(copy);
  const BulkCopy done = std::move(copy);
  bulk_.erase(bulk_.begin() + static_cast<ptrdiff_t>(index));
  if (done.kind == SimtBulk::load)
    if (const auto mbarrier = mbarriers_.find(done.mbarrier); mbarrier != mbarriers_.end()) {
      mbarrier->second.complete(done.bytes());
      advance(done.mbarrier, mbarrier->second);
    }
  return false;
}

/// Reads the next quarter of the rows from the source.
void Block::readRows(BulkCopy &copy) {
  const auto rows = static_cast<uint32_t>(copy.rows.size());
  const uint32_t last = std::min(rows, copy.rowsRead + (rows + kSteps - 1) / kSteps);
  if (copy.kind == SimtBulk::load)
    for (uint32_t row = copy.rowsRead; row < last; ++row) {
      const auto &[part, from] = copy.rows[row];
      if (from != nullptr)
        std::memcpy(&copy.data[row * copy.rowBytes + part.first], from, part.bytes);
    }
  else
    forEachPiece(copy, copy.rowsRead, last, [&](uint32_t at, uint32_t address, uint32_t bytes) {
      std::memcpy(&copy.data[at], &shared_[*placeOf(copy.lane, address, bytes)], bytes);
    });
  copy.rowsRead = last;
}

/// Writes all rows to the target.
void Block::writeRows(BulkCopy &copy) {
  const auto rows = static_cast<uint32_t>(copy.rows.size());
  if (copy.kind == SimtBulk::load)
    return forEachPiece(copy, 0, rows, [&](uint32_t at, uint32_t address, uint32_t bytes) {
      std::memcpy(&shared_[*placeOf(copy.lane, address, bytes)], &copy.data[at], bytes);
    });
  for (uint32_t row = 0; row < rows; ++row) {
    const auto &[part, to] = copy.rows[row];
    const std::byte *from = &copy.data[row * copy.rowBytes + part.first];
    if (to != nullptr && copy.kind == SimtBulk::add_f32)
      addFloats(to, from, part.bytes);
    else if (to != nullptr)
      std::memcpy(to, from, part.bytes);
  }
}

//===-- Groups ----------------------------------------------------------------------------------------------------===//

void Block::commitBulk(Lane &lane, uint32_t site) {
  if (executionOf(lane, site, [=, this, &lane] { commitBulk(lane, site); }) == Execution::Normal)
    ++lane.bulk.committed;
}

void Block::waitBulk(Lane &lane, uint32_t site, uint32_t pending, bool sources) {
  const Execution execution = executionOf(lane, site, [=, this, &lane] { waitBulk(lane, site, pending, sources); });
  if (execution == Execution::Not)
    return;
  pending += execution == Execution::Weaker ? 1 : 0;
  BulkGroups &groups = lane.bulk;
  if (groups.committed <= pending || groups.sources == 0)
    return;
  const uint32_t last = groups.committed - pending;
  finishGroups(lane.number, last, sources);
  groups.read = std::max(groups.read, last);
  clocks_.waited(lane.number, {groups.sources, last});
  if (sources)
    return;
  groups.written = std::max(groups.written, last);
  clocks_.waited(lane.number, {groups.targets, last});
}

void Block::finishGroups(uint32_t lane, uint32_t last, bool sources) {
  for (size_t i = bulk_.size(); i-- > 0;) {
    const auto isDue = [&] {
      return bulk_[i].kind != SimtBulk::load && bulk_[i].lane == lane && bulk_[i].group <= last;
    };
    if (!isDue())
      continue;
    while (!(sources && bulk_[i].isRead()) && advanceBulk(i))
      ;
  }
}

} // namespace tegula::simt
