// SPDX-License-Identifier: MIT
// Text form and verifiers of roles, of their channels, and of the ops that fill and read slots.
#include "compiler/sm/Boxes.h"
#include "compiler/sm/PendingGroups.h"
#include "compiler/sm/Roles.h"
#include "compiler/tile/Settings.h"
#include "compiler/tile/Walks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tegula::sm;

//===-- Roles -----------------------------------------------------------------------------------------------------===//

namespace {
/// The numbers of a role in the text form.
struct RoleNumbers {
  int64_t warps = 0, registers = 0, barrier = 0, turns = 0;
};
} // namespace

static ParseResult parseOptionalNumber(OpAsmParser &parser, StringRef word, int64_t &number) {
  return succeeded(parser.parseOptionalKeyword(word)) ? parser.parseInteger(number) : ParseResult(success());
}

static ParseResult parseNumbers(OpAsmParser &parser, RoleNumbers &role) {
  return failure(parser.parseKeyword("warps") || parser.parseInteger(role.warps) || parser.parseKeyword("registers") ||
                 parser.parseInteger(role.registers) || parseOptionalNumber(parser, "barrier", role.barrier) ||
                 parseOptionalNumber(parser, "turns", role.turns));
}

ParseResult RolesOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<Attribute> names;
  SmallVector<int64_t> warps, registers, barriers, turns;
  OpBuilder b(parser.getContext());
  if (parser.parseLBrace())
    return failure();
  while (failed(parser.parseOptionalRBrace())) {
    std::string name;
    RoleNumbers role;
    if (parser.parseKeywordOrString(&name) || parseNumbers(parser, role) || parser.parseRegion(*result.addRegion()))
      return failure();
    ensureTerminator(*result.regions.back(), b, result.location);
    names.push_back(b.getStringAttr(name));
    warps.push_back(role.warps);
    registers.push_back(role.registers);
    barriers.push_back(role.barrier);
    turns.push_back(role.turns);
  }
  result.addAttribute(getNamesAttrName(result.name), b.getArrayAttr(names));
  result.addAttribute(getWarpsAttrName(result.name), b.getDenseI64ArrayAttr(warps));
  result.addAttribute(getRegistersAttrName(result.name), b.getDenseI64ArrayAttr(registers));
  if (llvm::any_of(barriers, [](int64_t barrier) { return barrier != 0; })) {
    result.addAttribute(getBarriersAttrName(result.name), b.getDenseI64ArrayAttr(barriers));
    result.addAttribute(getTurnsAttrName(result.name), b.getDenseI64ArrayAttr(turns));
  }
  return parser.parseOptionalAttrDict(result.attributes);
}

void RolesOp::print(OpAsmPrinter &printer) {
  printer << " {";
  printer.increaseIndent();
  for (RoleRef role : rolesOf(*this)) {
    printer.printNewline();
    printer.printKeywordOrString(role.name());
    printer << " warps " << role.warps() << " registers " << role.registers();
    if (getBarriers() && role.barrier() != 0)
      printer << " barrier " << role.barrier();
    if (getTurns() && role.firstTurn() != 0)
      printer << " turns " << role.firstTurn();
    printer << ' ';
    printer.printRegion(role.body(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/false);
  }
  printer.decreaseIndent();
  printer.printNewline();
  printer << '}';
  printer.printOptionalAttrDict((*this)->getAttrs(), {getNamesAttrName(), getWarpsAttrName(), getRegistersAttrName(),
                                                      getBarriersAttrName(), getTurnsAttrName()});
}

static LogicalResult verifyRole(RoleRef role, RolesOp roles) {
  if (const int64_t count = role.registers(); count < kMinRegisters || count > kMaxRegisters || count % 8)
    return roles.emitOpError("gives a thread ")
           << count << " registers; legal are multiples of 8 from " << kMinRegisters << " to " << kMaxRegisters;
  if (role.warps() < 1 || (role.warpgroups() > 0 && role.warps() % kWarpsPerWarpgroup != 0))
    return roles.emitOpError("gives the role '")
           << role.name() << "' " << role.warps() << " warps; legal are 1 to 3, and whole warpgroups of 4";
  return success();
}

/// Verifies that warps start with the registers that the roles divide. They divide them by whole warpgroups.
static LogicalResult verifyRegisters(RolesOp roles) {
  int64_t used = 0, end = 0;
  for (RoleRef role : rolesOf(roles)) {
    const int64_t roleEnd = llvm::alignTo(role.endWarp(), kWarpsPerWarpgroup);
    used += (roleEnd - end) * role.registers();
    end = roleEnd;
  }
  const int64_t all = registersOfBlock(end, tegula::tile::scheduleOf(roles).instances_per_sm);
  if (used > all)
    return roles.emitOpError("needs ") << kWarpSize * used << " registers; its threads start with " << kWarpSize * all;
  return success();
}

LogicalResult RolesOp::verify() {
  auto isForAll = [&](std::optional<ArrayRef<int64_t>> numbers) {
    return !numbers || numbers->size() == getBodies().size();
  };
  if (getBodies().empty() || getNames().size() != getBodies().size() || !isForAll(getWarps()) ||
      !isForAll(getRegisters()) || !isForAll(getBarriers()) || !isForAll(getTurns()))
    return emitOpError("needs a name, warps and registers for each role, and has one role at least");
  llvm::StringSet<> names;
  for (RoleRef role : rolesOf(*this)) {
    if (failed(verifyRole(role, *this)))
      return failure();
    if (!names.insert(role.name()).second)
      return emitOpError("has two roles with the name '") << role.name() << "'";
  }
  if (!isa_and_present<func::ReturnOp>((*this)->getNextNode()))
    return emitOpError("must be the last op of its function, except for the return");
  return verifyRegisters(*this);
}

static LogicalResult verifyCarried(LoopLikeOpInterface loop) {
  for (Value carried : loop.getRegionIterArgs()) {
    if (isa<SharedType>(carried.getType()))
      return loop.emitError(
          "a shared tile crosses an iteration of this loop; no barrier or wait would protect it there");
    if (isa<InflightType>(carried.getType()) && !isConsumedOnce(carried))
      return loop.emitError(
          "an MMA in flight crosses an iteration of this loop and needs exactly one wait there: it can "
          "be neither copied nor dropped");
  }
  return success();
}

/// Returns true if an op before `release`, in its block, and not before `async` waits for the accesses that `handle`
/// stands for.
static bool endsBefore(Value handle, Operation *async, ReleaseOp release) {
  return handle && llvm::any_of(handle.getUsers(), [&](Operation *user) {
           Operation *inBlock = release->getBlock()->findAncestorOpInBlock(*user);
           return orderOf(user).ends != Engine::none && inBlock && inBlock->isBeforeInBlock(release) &&
                  !inBlock->isBeforeInBlock(async);
         });
}

/// Checks that no reader of the slot comes after the release, or is still at work then.
static LogicalResult verifyReaders(Value tile, ReleaseOp release) {
  for (Operation *reader : tile.getUsers()) {
    Operation *inBlock = release->getBlock()->findAncestorOpInBlock(*reader);
    if (inBlock && release->isBeforeInBlock(inBlock))
      return reader->emitError("reads a tile after its slot was released").attachNote(release.getLoc())
             << "the release is here";
    auto mma = dyn_cast<AsyncProduct>(reader);
    const bool isMma = mma != nullptr;
    if (inBlock && (isMma || isa<TmaAddOp>(reader)) && !release.getAfterProducts() &&
        !endsBefore(isMma ? mma.getHandle() : tile, inBlock, release))
      return release.emitError("releases a slot that ")
                 .append(isMma ? "an MMA in flight" : "TMA", " still reads")
                 .attachNote(reader->getLoc())
             << (isMma ? "the MMA" : "the addition") << " is here";
  }
  return success();
}

static LogicalResult verifyRelease(ReleaseOp release) {
  for (Operation *user : release.getChannel().getUsers()) {
    auto wait = dyn_cast<ConsumerWaitOp>(user);
    if (!wait || wait->getBlock() != release->getBlock() || wait.getSlot() != release.getSlot() ||
        !wait->isBeforeInBlock(release))
      continue;
    for (Value tile : wait.getTiles())
      if (failed(verifyReaders(tile, release)))
        return failure();
  }
  return success();
}

/// Checks that the role of `op` is one of those that its channel names, and has the right warps for it.
static LogicalResult verifyEvent(RoleEventOpInterface op, const RoleEvent &event) {
  const RoleRef role = *roleOf(op);
  if (event.isOfWriter() && !isa<ProducerStoreOp, CloseOp>(op) && role.warps() != 1)
    return op->emitOpError("fills a slot in the role '")
           << role.name() << "' of " << role.warps() << " warps; a role of one warp may";
  auto release = dyn_cast<ReleaseOp>(*op);
  if (release && release.getAfterProducts() && !role.hasProducts(Issuer::lane))
    return op->emitOpError("waits for products in the role '") << role.name() << "', in which no lane starts one";
  if (release && !release.getPerWarp() && role.warpgroups() == 0)
    return op->emitOpError("needs per_warp in the role '") << role.name() << "', which has no whole warpgroup";
  ChannelOp channel = event.channel ? channelOf(event.channel) : ChannelOp();
  if (!channel)
    return success();
  if (event.isOfWriter() && role.name() != channel.getFrom())
    return op->emitOpError("fills a slot in the role '")
           << role.name() << "'; the channel is filled by '" << channel.getFrom() << "'";
  if (event.isOfReader() && !llvm::is_contained(channel.getTo().getAsValueRange<StringAttr>(), role.name()))
    return op->emitOpError("reads a slot in the role '") << role.name() << "', which the channel does not go to";
  return success();
}

static LogicalResult verifyProducts(RoleRef role, RolesOp roles) {
  if (role.hasProducts(Issuer::warpgroups) && role.warpgroups() == 0)
    return roles.emitOpError("gives the role '")
           << role.name() << "' " << role.warps() << " warps; its MMAs need whole warpgroups of 4";
  if (role.hasProducts(Issuer::lane) && role.warps() != 1)
    return roles.emitOpError("gives the role '")
           << role.name() << "' " << role.warps() << " warps; a lane of one warp starts its MMAs";
  return success();
}

/// Returns the `sm.elect` directly around `op`, or `op`.
static Operation *withElect(Operation *op) { return isa<ElectOp>(op->getParentOp()) ? op->getParentOp() : op; }

/// Returns true if `one` comes before `other` in a block, perhaps each in an `sm.elect` of its own.
static bool isBefore(Operation *one, Operation *other) {
  if (one->getBlock() == other->getBlock())
    return one->isBeforeInBlock(other);
  one = withElect(one), other = withElect(other);
  return one->getBlock() == other->getBlock() && one->isBeforeInBlock(other);
}

/// Checks that the parts of a slot are loaded one after the other. The first load waits for the slot, the last one
/// makes it full.
static LogicalResult verifyParts(ProducerLoadOp load) {
  auto isLoaded = [&](uint64_t part, bool before) {
    return llvm::any_of(load.getChannel().getUsers(), [&](Operation *user) {
      auto other = dyn_cast<ProducerLoadOp>(user);
      return other && other.getPart() == part && other.getSlot() == load.getSlot() &&
             (before ? isBefore(other, load) : isBefore(load, other));
    });
  };
  const uint64_t part = load.getPart();
  if (!load.fillsFirstPart() && !isLoaded(part - 1, /*before=*/true))
    return load.emitOpError("loads part ") << part << " of a slot, of which no load before it fills part " << part - 1;
  if (!load.fillsLastPart() && !isLoaded(part + 1, /*before=*/false))
    return load.emitOpError("loads part ") << part << " of a slot, of which no load after it fills part " << part + 1;
  return success();
}

static LogicalResult verifyInRole(Operation *op) {
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
    return verifyCarried(loop);
  if (auto release = dyn_cast<ReleaseOp>(op); release && failed(verifyRelease(release)))
    return failure();
  if (auto load = dyn_cast<ProducerLoadOp>(op); load && failed(verifyParts(load)))
    return failure();
  if (auto events = dyn_cast<RoleEventOpInterface>(op))
    for (const RoleEvent &event : events.getEvents())
      if (failed(verifyEvent(events, event)))
        return failure();
  return success();
}

LogicalResult RolesOp::verifyRegions() {
  for (RoleRef role : rolesOf(*this))
    if (failed(verifyProducts(role, *this)))
      return failure();
  if (tile::anyOp(*getOperation(), [](Operation *op) { return failed(verifyInRole(op)); }))
    return failure();
  if (Operation *write = findEarlyWrite(*this))
    return write->emitError("writes a buffer that TMA may still read; an 'sm.tma_store_wait' must come first");
  return success();
}

LogicalResult ElectOp::verify() {
  std::optional<RoleRef> role = roleOf(*this);
  if (!role || role->warps() != 1)
    return emitOpError("must be in a role of one warp");
  return success();
}

//===-- Channels --------------------------------------------------------------------------------------------------===//

static ParseResult parseNames(OpAsmParser &parser, SmallVectorImpl<Attribute> &names) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    std::string name;
    names.push_back({});
    if (parser.parseKeywordOrString(&name))
      return failure();
    names.back() = StringAttr::get(parser.getContext(), name);
    return success();
  });
}

static std::string whyNotRings(ChannelType channel, size_t rings) {
  return "needs a ring for each part of its slots: " + std::to_string(channel.getParts().size()) + ", not " +
         std::to_string(rings);
}

ParseResult ChannelOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> rings;
  ChannelType type;
  std::string from;
  SmallVector<Attribute> to;
  Builder &b = parser.getBuilder();
  const SMLoc where = parser.getCurrentLocation();
  if (parser.parseOperandList(rings) || parser.parseKeyword("from") || parser.parseKeywordOrString(&from) ||
      parser.parseKeyword("to") || parseNames(parser, to))
    return failure();
  result.addAttribute(getFromAttrName(result.name), b.getStringAttr(from));
  result.addAttribute(getToAttrName(result.name), b.getArrayAttr(to));
  if (succeeded(parser.parseOptionalKeyword("per_warpgroup")))
    result.addAttribute(getPerWarpgroupAttrName(result.name), b.getUnitAttr());
  if (succeeded(parser.parseOptionalKeyword("by_barriers"))) {
    int64_t words = 0;
    if (parser.parseKeyword("words") || parser.parseInteger(words))
      return failure();
    result.addAttribute(getByBarriersAttrName(result.name), b.getUnitAttr());
    result.addAttribute(getWordsAttrName(result.name), b.getI64IntegerAttr(words));
  }
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(type))
    return failure();
  result.addTypes(type);
  if (rings.size() != type.getParts().size())
    return parser.emitError(where) << whyNotRings(type, rings.size());
  for (auto [part, ring] : llvm::enumerate(rings))
    if (parser.resolveOperand(ring, type.ring(part), result.operands))
      return failure();
  return success();
}

void ChannelOp::print(OpAsmPrinter &printer) {
  if (!getRings().empty())
    printer << ' ' << getRings();
  printer << " from ";
  printer.printKeywordOrString(getFrom());
  printer << " to [";
  llvm::interleaveComma(getTo().getAsValueRange<StringAttr>(), printer.getStream(),
                        [&](StringRef name) { printer.printKeywordOrString(name); });
  printer << ']';
  if (getPerWarpgroup())
    printer << " per_warpgroup";
  if (getByBarriers())
    printer << " by_barriers" << " words " << *getWords();
  printer.printOptionalAttrDict((*this)->getAttrs(), {getFromAttrName(), getToAttrName(), getPerWarpgroupAttrName(),
                                                      getByBarriersAttrName(), getWordsAttrName()});
  printer << " : " << getType();
}

/// Verifies that warpgroups hand one slot to one warp: a named barrier has no phase, and counts whole warps.
static LogicalResult verifyBarriers(ChannelOp channel, RolesOp roles) {
  if (channel.getPerWarpgroup() || channel.getRings().size() != 1 || channel.getType().getSlots() != 1 ||
      !channel.getWords())
    return channel.emitOpError("by_barriers has one slot for a tile, and words");
  if (channel.getTo().size() != 1 || findRole(roles, cast<StringAttr>(channel.getTo()[0]).getValue())->warps() != 1 ||
      findRole(roles, channel.getFrom())->warpgroups() == 0)
    return channel.emitOpError("by_barriers goes from whole warpgroups to a role of one warp");
  return success();
}

LogicalResult ChannelOp::verify() {
  if (getRings().size() != getType().getParts().size())
    return emitOpError() << whyNotRings(getType(), getRings().size());
  for (auto [part, ring] : llvm::enumerate(getRings()))
    if (ring.getType() != getType().ring(part))
      return emitOpError("has a ring of ") << ring.getType() << "; its tiles need " << getType().ring(part);
  auto roles = (*this)->getBlock()->getOps<RolesOp>();
  if (roles.empty())
    return emitOpError("needs the roles of its function");
  SmallVector<StringRef> names(getTo().getAsValueRange<StringAttr>());
  names.push_back(getFrom());
  for (StringRef name : names)
    if (!findRole(*roles.begin(), name))
      return emitOpError("names the role '") << name << "', which the function does not have";
  return getByBarriers() ? verifyBarriers(*this, *roles.begin()) : success();
}

//===-- Fills and reads -------------------------------------------------------------------------------------------===//

static int64_t wordsOf(ChannelOp channel) { return static_cast<int64_t>(channel.getWords().value_or(0)); }

/// Verifies that `op` is in a role. That of the roles checks which one.
static LogicalResult verifyIsInRole(Operation *op) {
  return op->getParentOfType<RolesOp>() ? success() : op->emitOpError("must be in a role of 'sm.roles'");
}

LogicalResult ProducerLoadOp::verify() {
  const ArrayRef<SharedType> parts = getChannel().getType().getParts();
  if (parts.empty())
    return emitOpError("loads a tile to a channel of work indices");
  if (getPart() >= parts.size())
    return emitOpError("loads part ") << getPart() << " of slots with " << parts.size() << " parts";
  if (parts.size() > 1 && (getTmaOnly() || getTested() || getTile().getShape().size() == 1))
    return emitOpError("tests when it runs whether TMA loads a part; the bytes of a slot must be known before");
  if (std::string why = whyNotLoaded(getView(), getShape()[0]); !why.empty())
    return emitOpError("cannot load its tile: ") << why;
  return verifyIsInRole(*this);
}

LogicalResult ProducerStoreOp::verify() {
  const ArrayRef<SharedType> parts = getChannel().getType().getParts();
  if (parts.size() > 1)
    return emitOpError("stores a tile to slots of ") << parts.size() << " parts, of which it would fill only one";
  if (parts.empty() || parts.front().getElementType() != getTile().getType().getElementType())
    return emitOpError("stores ") << getTile().getType() << " to a channel of other elements";
  if (ChannelOp channel = channelOf(getChannel());
      channel && channel.getPerWarpgroup() && llvm::any_of(getChannel().getUsers(), llvm::IsaPred<ReleaseOp>))
    return emitOpError("stores to a channel per_warpgroup whose slots are released");
  if (llvm::any_of(getChannel().getUsers(), llvm::IsaPred<ProducerLoadOp>))
    return emitOpError("stores to a channel to which TMA loads");
  if (ChannelOp channel = channelOf(getChannel());
      channel && static_cast<int64_t>(getWords().size()) != wordsOf(channel))
    return emitOpError("stores ") << getWords().size() << " words; a slot of its channel has " << wordsOf(channel);
  return verifyIsInRole(*this);
}

LogicalResult ConsumerWaitOp::verify() {
  if (!getChannel().getType().hasTiles())
    return emitOpError("waits for a tile of a channel of work indices");
  if (ChannelOp channel = channelOf(getChannel()); channel && channel.getByBarriers() && !getAlreadyFull())
    return emitOpError("waits by an mbarrier in a channel by_barriers; an 'sm.next' waits there");
  return verifyIsInRole(*this);
}

/// Verifies an op of channels by_barriers only.
template <class Op> static LogicalResult verifyByBarriers(Op op) {
  if (ChannelOp channel = channelOf(op.getChannel()); channel && !channel.getByBarriers())
    return op.emitOpError("needs a channel by_barriers");
  return verifyIsInRole(op);
}

LogicalResult CloseOp::verify() { return verifyByBarriers(*this); }
LogicalResult NextOp::verify() { return verifyByBarriers(*this); }

LogicalResult WordsOp::verify() {
  if (ChannelOp channel = channelOf(getChannel());
      channel && static_cast<int64_t>(getWords().size()) != wordsOf(channel))
    return emitOpError("reads ") << getWords().size() << " words; a slot of its channel has " << wordsOf(channel);
  return verifyByBarriers(*this);
}

/// Verifies an op of channels that pass no tile.
template <class Op> static LogicalResult verifyIsSignal(Op op) {
  if (op.getChannel().getType().hasTiles())
    return op.emitOpError("needs a channel without tiles");
  return verifyIsInRole(op);
}

/// Adds the types of the tiles of a slot. The channel is the first operand.
static LogicalResult addTiles(ValueRange operands, SmallVectorImpl<Type> &types) {
  llvm::append_range(types, cast<ChannelType>(operands.front().getType()).getParts());
  return success();
}

/// Returns the buffer of the tile that `tile` is a slot of.
static Value ringOf(TypedValue<ChannelType> channel, OpResult tile) {
  ChannelOp op = channelOf(channel);
  return op ? op.getRings()[tile.getResultNumber()] : Value(channel);
}

LogicalResult ProducerAcquireOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange operands,
                                                  DictionaryAttr, OpaqueProperties, RegionRange,
                                                  SmallVectorImpl<Type> &types) {
  return addTiles(operands, types);
}

LogicalResult ConsumerWaitOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange operands,
                                               DictionaryAttr, OpaqueProperties, RegionRange,
                                               SmallVectorImpl<Type> &types) {
  return addTiles(operands, types);
}

Value ProducerAcquireOp::getSourceOf(OpResult tile) { return ringOf(getChannel(), tile); }
Value ConsumerWaitOp::getSourceOf(OpResult tile) { return ringOf(getChannel(), tile); }

LogicalResult ProducerAcquireOp::verify() { return verifyIsInRole(*this); }
LogicalResult ProducerCommitOp::verify() { return getAfterProducts() ? verifyIsSignal(*this) : verifyIsInRole(*this); }
LogicalResult WaitFullOp::verify() { return verifyIsSignal(*this); }

LogicalResult TmaStoreWaitOp::verify() { return verifyIsInRole(*this); }

LogicalResult ProduceWorkOp::verify() { return verifyIsInRole(*this); }

LogicalResult ConsumeWorkOp::verify() {
  if (llvm::none_of(getChannel().getUsers(), llvm::IsaPred<ProduceWorkOp>))
    return emitOpError("waits for a work index in a channel for which no 'sm.produce_work' exists");
  return verifyIsInRole(*this);
}
