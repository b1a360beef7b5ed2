// SPDX-License-Identifier: MIT
// Accesses to memory: each is checked, recorded, and then made.
#include "simt/block.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tegula::simt {
namespace {

/// Operands of an instruction on matrices, which each lane leaves for the last lane of the warp.
struct MatrixOperands {
  uint32_t address;
  uint32_t *words;
};

constexpr uint32_t kRowBytes = 16;

/// Returns true if an access of a register's size is aligned. Other sizes occur in copies, which are checked as a
/// whole.
bool isAligned(uint64_t address, uint32_t bytes) {
  return bytes > kRowBytes || !std::has_single_bit(bytes) || address % bytes == 0;
}

} // namespace

std::byte *Block::accessGlobal(const Lane &lane, uint64_t address, uint32_t bytes, const Access &access) {
  countTraffic(lane, access.site, Space::Global, address, bytes);
  return checkGlobal(address, bytes, access);
}

std::byte *Block::checkGlobal(uint64_t address, uint32_t bytes, const Access &access) {
  const std::optional<Place> place = launch_->memory.find(address);
  if (!place) {
    reportAccess(SimtErrorKind::out_of_bounds, access, bytes, "at an address that is in no tensor");
    return nullptr;
  }
  const TensorMemory &tensor = launch_->memory.tensors()[place->tensor];
  const auto where = [&] { return " '" + tensor.name() + "', byte " + std::to_string(place->offset); };
  if (!tensor.contains(place->offset, bytes)) {
    reportAccess(SimtErrorKind::out_of_bounds, access, bytes, "outside tensor" + where());
    return nullptr;
  }
  if (!isAligned(address, bytes))
    reportAccess(SimtErrorKind::misaligned, access, bytes, "at an unaligned address of tensor" + where());
  if (isWrite(access.kind) && !tensor.written())
    reportAccess(SimtErrorKind::out_of_bounds, access, bytes, "to a tensor that is only read," + where());
  if (tensor.written())
    shadow_.global(place->tensor, place->offset, bytes, access, [&](const Conflict &conflict) {
      reportConflict(access, *conflict.earlier,
                     "tensor '" + tensor.name() + "', byte " + std::to_string(conflict.byte));
    });
  return tensor.host() + place->offset;
}

std::byte *Block::accessShared(const Lane &lane, uint32_t address, uint32_t bytes, const Access &access) {
  countTraffic(lane, access.site, Space::Shared, address, bytes);
  return checkShared(address, bytes, access);
}

std::byte *Block::checkShared(uint32_t address, uint32_t bytes, const Access &access) {
  const std::optional<uint32_t> place = placeOf(access.lane, address, bytes);
  const auto where = [&] {
    const auto byte = static_cast<int32_t>(address % (1U << kSimtRankShift) - kSimtSharedBase);
    return " shared memory, byte " + std::to_string(byte);
  };
  if (!place) {
    reportAccess(SimtErrorKind::out_of_bounds, access, bytes, "outside" + where());
    return nullptr;
  }
  if (runningOf_[*place / launch_->sharedBytes] == 0)
    reportAccess(SimtErrorKind::out_of_bounds, access, bytes, "of a program instance that has ended," + where());
  const uint32_t offset = *place;
  if (!isAligned(address, bytes))
    reportAccess(SimtErrorKind::misaligned, access, bytes, "at an unaligned address of" + where());
  if (!isWrite(access.kind))
    for (uint32_t byte = offset; byte < offset + bytes; ++byte)
      if (!shadow_.isWritten(byte)) {
        reportAccess(SimtErrorKind::uninitialised, access, bytes, "of what nobody wrote," + where());
        break;
      }
  shadow_.shared(offset, bytes, access, [&](const Conflict &conflict) {
    reportConflict(access, *conflict.earlier, "shared memory, byte " + std::to_string(conflict.byte));
  });
  return shared_.data() + offset;
}

std::optional<uint32_t> Block::placeOf(uint32_t lane, uint32_t address, uint32_t bytes) const {
  const uint32_t named = address >> kSimtRankShift, rank = named == 0 ? rankOf(lane) : named - 1;
  const uint32_t offset = address % (1U << kSimtRankShift) - kSimtSharedBase;
  if (rank >= launch_->cluster || offset >= launch_->sharedBytes || bytes > launch_->sharedBytes - offset)
    return std::nullopt;
  return rank * launch_->sharedBytes + offset;
}

//===-- One lane --------------------------------------------------------------------------------------------------===//

void Block::load(Lane &lane, uint32_t site, uint64_t address, uint32_t bytes, void *to) {
  maybeInterrupt(lane);
  if (const std::byte *from = accessGlobal(lane, address, bytes, accessOf(lane, site, AccessKind::Read)))
    std::memcpy(to, from, bytes);
}

void Block::store(Lane &lane, uint32_t site, uint64_t address, uint32_t bytes, const void *from) {
  maybeInterrupt(lane);
  if (std::byte *to = accessGlobal(lane, address, bytes, accessOf(lane, site, AccessKind::Write)))
    std::memcpy(to, from, bytes);
  lane.stored = clocks_.now(lane.number);
}

void Block::loadShared(Lane &lane, uint32_t site, uint32_t address, uint32_t bytes, void *to) {
  maybeInterrupt(lane);
  if (const std::byte *from = accessShared(lane, address, bytes, accessOf(lane, site, AccessKind::Read)))
    std::memcpy(to, from, bytes);
}

void Block::storeShared(Lane &lane, uint32_t site, uint32_t address, uint32_t bytes, const void *from) {
  maybeInterrupt(lane);
  if (std::byte *to = accessShared(lane, address, bytes, accessOf(lane, site, AccessKind::Write)))
    std::memcpy(to, from, bytes);
}

void Block::atomicAdd(Lane &lane, uint32_t site, uint64_t address, SimtAtomic type, uint32_t count, const void *from) {
  maybeInterrupt(lane);
  std::byte *to = accessGlobal(lane, address, 4 * count, accessOf(lane, site, AccessKind::Atomic));
  if (to == nullptr || address % 4 != 0)
    return;
  recordAddition(lane, site, address);
  const auto *value = static_cast<const std::byte *>(from);
  for (uint32_t i = 0; i < 4 * count; i += 4)
    if (type == SimtAtomic::f32)
      addRelaxed<float>(to + i, value + i);
    else
      addRelaxed<int32_t>(to + i, value + i);
}

uint32_t Block::fetchIncrement(Lane &lane, uint32_t site, uint64_t address) {
  constexpr uint32_t one = 1;
  maybeInterrupt(lane);
  std::byte *to = accessGlobal(lane, address, sizeof one, accessOf(lane, site, AccessKind::Atomic));
  if (to == nullptr || address % sizeof one != 0)
    return 0;
  return addRelaxed<uint32_t>(to, reinterpret_cast<const std::byte *>(&one));
}

void Block::copyAsync(Lane &lane, uint32_t site, uint32_t shared, uint64_t global, uint32_t size, uint32_t bytes) {
  maybeInterrupt(lane);
  const uint32_t group = lane.committed + 1;
  if (lane.copyEngine == 0)
    lane.copyEngine = clocks_.addEngine();
  Access access = accessOf(lane, site, AccessKind::CopyRead);
  access.when = {lane.copyEngine, group};
  const std::byte *from = nullptr;
  if (bytes > 0) {
    if (global % size != 0)
      reportAccess(SimtErrorKind::misaligned, access, size, "at an unaligned address of global memory");
    from = accessGlobal(lane, global, bytes, access);
  } else {
    skip(lane, site, Space::Global);
  }
  access.kind = AccessKind::CopyWrite;
  std::byte *to = accessShared(lane, shared, size, access);
  if (to == nullptr)
    return;
  lane.lastCopy = {.site = site, .group = group, .size = size, .bytes = from ? bytes : 0, .from = from, .to = to};
  lane.copies.push_back(lane.lastCopy);
  if (choose_->copyCompletesAtOnce())
    complete(lane, lane.copies.size() - 1);
}

//===-- A warp ----------------------------------------------------------------------------------------------------===//

void Block::loadMatrices(Lane &lane, uint32_t site, uint32_t address, uint32_t count, bool transposed, void *to) {
  MatrixOperands operands{address, static_cast<uint32_t *>(to)};
  lane.in = &operands;
  together(lane, site, [&](Lane *warp) { gatherMatrices(warp, site, count, transposed); });
}

/// Counts no bytes for the lanes whose addresses an instruction on `count` matrices does not use.
void Block::skipOthers(const Lane *warp, uint32_t site, uint32_t count) {
  for (uint32_t lane = 8 * count; lane < kWarp; ++lane)
    skip(warp[lane], site, Space::Shared);
}

void Block::gatherMatrices(Lane *warp, uint32_t site, uint32_t count, bool transposed) {
  skipOthers(warp, site, count);
  for (uint32_t matrix = 0; matrix < count; ++matrix)
    for (uint32_t row = 0; row < 8; ++row) {
      const Lane &lane = warp[8 * matrix + row];
      Access access = accessOf(lane, site, AccessKind::Read);
      access.group = kWarp;
      uint16_t elements[8] = {};
      const uint32_t address = static_cast<const MatrixOperands *>(lane.in)->address;
      if (const std::byte *from = accessShared(lane, address, kRowBytes, access))
        std::memcpy(elements, from, kRowBytes);
      for (uint32_t column = 0; column < 8; ++column) {
        const MatrixPlace place = matrixPlace(row, column, transposed);
        uint32_t &word = static_cast<const MatrixOperands *>(warp[place.lane].in)->words[matrix];
        word = (word & 0xffffU << (place.half ? 0 : 16)) | uint32_t{elements[column]} << 16 * place.half;
      }
    }
}

void Block::storeMatrices(Lane &lane, uint32_t site, uint32_t address, uint32_t count, bool transposed,
                          const void *from) {
  MatrixOperands operands{address, const_cast<uint32_t *>(static_cast<const uint32_t *>(from))};
  lane.in = &operands;
  together(lane, site, [&](Lane *warp) { scatterMatrices(warp, site, count, transposed); });
}

void Block::scatterMatrices(Lane *warp, uint32_t site, uint32_t count, bool transposed) {
  skipOthers(warp, site, count);
  for (uint32_t matrix = 0; matrix < count; ++matrix)
    for (uint32_t row = 0; row < 8; ++row) {
      const Lane &lane = warp[8 * matrix + row];
      uint16_t elements[8];
      for (uint32_t column = 0; column < 8; ++column) {
        const MatrixPlace place = matrixPlace(row, column, transposed);
        const uint32_t word = static_cast<const MatrixOperands *>(warp[place.lane].in)->words[matrix];
        elements[column] = static_cast<uint16_t>(word >> 16 * place.half);
      }
      const uint32_t address = static_cast<const MatrixOperands *>(lane.in)->address;
      if (std::byte *to = accessShared(lane, address, kRowBytes, accessOf(lane, site, AccessKind::Write)))
        std::memcpy(to, elements, kRowBytes);
    }
}

} // namespace tegula::simt
