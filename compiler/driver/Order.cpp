// SPDX-License-Identifier: MIT
#include "compiler/driver/CommonPath.h"
#include "compiler/driver/Program.h"
#include "compiler/driver/Report.h"
#include "compiler/sm/Roles.h"
#include "compiler/sm/Sm.h"
#include "compiler/sm/Steps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

namespace tegula {

using namespace mlir;

namespace {

/// Returns the name that the program gives to a tensor.
std::string nameOf(Value view) {
  auto argument = dyn_cast<BlockArgument>(tile::rootOf(view));
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  if (!function)
    return "a tensor";
  auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "tile.name");
  return name ? name.str() : "arg" + std::to_string(argument.getArgNumber());
}

/// The text of a loop whose ops are in the order of its step list.
class LoopOrderText {
public:
  LoopOrderText(scf::ForOp loop, StringRef list) : loop_(loop) {
    const sm::RoleRef role = *sm::roleOf(loop);
    text_ = llvm::formatv("\nloop at {0}{1}, steps \"{2}\"\n", placeOf(loop.getLoc()),
                          role.number() == 0 ? "" : " of the role " + role.name().str(), list);
    if (llvm::Expected<sm::StepList> steps = sm::parseSteps(list))
      nameSteps(*steps);
    else
      llvm::consumeError(steps.takeError());
    addBlock(*loop.getBody());
    endExponentials();
  }

  const std::string &str() const { return text_; }

private:
  /// An MMA of the loop, or of the iteration before.
  struct Mma {
    std::string label;
    bool isDelayed = false;

    std::string name() const { return label + (isDelayed ? "@1" : ""); }
  };

  /// Names the MMAs, which start in the order of the list, and those that are in flight when an iteration begins. Other
  /// ops of the list have their labels.
  void nameSteps(ArrayRef<sm::Step> steps) {
    llvm::StringSet<> others;
    loop_.walk([&](Operation *op) {
      if (auto label = op->getAttrOfType<StringAttr>(tile::label); label && !isa<sm::AsyncProduct>(op))
        others.insert(label.getValue());
    });
    auto mmas = loop_.getBody()->getOps<sm::AsyncProduct>();
    auto starts = llvm::make_filter_range(
        steps, [&](auto &step) { return step.kind == sm::Step::Kind::start && !others.contains(step.label); });
    for (auto [step, mma] : llvm::zip(starts, mmas))
      mmas_[mma.getHandle()] = {step.label, step.isDelayed};
    for (const sm::Step &step : steps)
      if (others.contains(step.label))
        others_[step.label] = step.isDelayed;
    for (auto [carried, yielded] : llvm::zip(loop_.getRegionIterArgs(), loop_.getYieldedValues()))
      if (auto known = mmas_.find(yielded); known != mmas_.end())
        mmas_[carried] = {std::string(known->second.label), /*isDelayed=*/true};
  }

  void addRow(StringRef what, const std::string &which, Location location) {
    endExponentials();
    text_ += StringRef(llvm::formatv("  {0,-16}{1,-24}{2}", what, which, placeOf(location)).str()).rtrim().str() + "\n";
  }

  void addExponentials(Operation *op) {
    if (auto tile = dyn_cast<RankedTensorType>(op->getResult(0).getType())) {
      exponentialsAt_ = exponentials_ == 0 ? op->getLoc() : exponentialsAt_;
      exponentials_ += tile.getNumElements();
    }
  }

  void endExponentials() {
    if (const int64_t count = std::exchange(exponentials_, 0); count != 0)
      addRow("exponentials", std::to_string(count), exponentialsAt_);
  }

  /// Adds the ops of a block. Of a branch, only the side counts that usually runs.
  void addBlock(Block &block) {
    for (Operation &op : block) {
      add(&op);
      if (auto branch = dyn_cast<scf::IfOp>(op))
        if (Block *side = commonSide(branch))
          addBlock(*side);
      if (auto elect = dyn_cast<sm::ElectOp>(op))
        addBlock(elect.getBody().front());
    }
  }

  void add(Operation *op) {
    if (auto load = dyn_cast<sm::ProducerLoadOp>(op))
      addRow("producer_load", nameOf(load.getView()) + lateness(op), op->getLoc());
    else if (auto events = dyn_cast<sm::RoleEventOpInterface>(op))
      addEvents(events);
    else if (auto mma = dyn_cast<sm::AsyncProduct>(op))
      addRow("start", mmas_.lookup(mma.getHandle()).name(), op->getLoc());
    else if (auto await = dyn_cast<sm::AwaitOp>(op))
      addAwait(await);
    else if (auto add = dyn_cast<sm::TmaAddOp>(op))
      addRow("tma_add", nameOf(add.getTensor()) + lateness(op), op->getLoc());
    else if (sm::orderOf(op).meeting == sm::Meeting::role)
      addRow("barrier", "", op->getLoc());
    else if (isa<math::Exp2Op, math::ExpOp>(op))
      addExponentials(op);
    else if (const std::string label = labelOf(op); !label.empty())
      addRow(op->getName().stripDialect(), label + lateness(op), op->getLoc());
  }

  /// Returns the label of an op that is no MMA, if the list names it.
  std::string labelOf(Operation *op) {
    auto label = op->getAttrOfType<StringAttr>(tile::label);
    return label && others_.contains(label.getValue()) ? label.str() : "";
  }

  /// Adds the waits and arrivals of an op under its name. They are of one channel. Turns are those of the loop.
  void addEvents(sm::RoleEventOpInterface op) {
    const auto events = op.getEvents();
    if (events.empty())
      return;
    const sm::RoleEvent &event = events.front();
    const bool isTurn = event.kind == sm::RoleEvent::Kind::takeTurn || event.kind == sm::RoleEvent::Kind::passTurn;
    std::string which = event.channel ? nameOfSlot(event.channel, lateness(op)) : "";
    if (isTurn && event.channel)
      which = "stores " + which;
    addRow(op->getName().stripDialect(), which, isTurn ? loop_.getLoc() : op->getLoc());
  }

  void addAwait(sm::AwaitOp await) {
    const std::string name = mmas_.lookup(await.getHandle()).name();
    const int64_t pending = await.getPending().value_or(0);
    addRow(await.getReads() ? "await reads" : "await",
           pending == 0 ? name : llvm::formatv("{0}, {1} may run", name, pending).str(), await.getLoc());
  }

  /// Returns true for an op of the iteration before, such as the wait for a slot with a tile of that iteration.
  bool isLate(Operation *op) {
    if (const std::string label = labelOf(op); !label.empty())
      return others_.lookup(label);
    if (auto wait = dyn_cast<sm::ConsumerWaitOp>(op))
      return isReadLate(wait);
    auto release = dyn_cast<sm::ReleaseOp>(op);
    return release && isReleasedLate(release);
  }

  std::string lateness(Operation *op) { return isLate(op) ? "@1" : ""; }

  /// Returns true if only MMAs of the iteration before read the tile.
  bool isReadLate(sm::ConsumerWaitOp wait) {
    auto isLateMma = [&](Operation *user) {
      return isa<sm::AsyncProduct>(user) && mmas_.lookup(user->getResult(0)).isDelayed;
    };
    return !wait->use_empty() && llvm::all_of(wait->getUsers(), isLateMma);
  }

  bool isReleasedLate(sm::ReleaseOp release) {
    bool hasWait = false;
    for (auto wait : loop_.getBody()->getOps<sm::ConsumerWaitOp>()) {
      hasWait |= wait.getChannel() == release.getChannel();
      if (wait.getChannel() == release.getChannel() && wait.getSlot() == release.getSlot())
        return isReadLate(wait);
    }
    return hasWait;
  }

  /// Returns the tensors of which a role loads tiles to a slot, or what else passes through its channel.
  std::string nameOfSlot(Value channel, const std::string &lateness) {
    SmallVector<std::string> names(cast<sm::ChannelType>(channel.getType()).getParts().size());
    bool areLoaded = false;
    for (Operation *user : channel.getUsers())
      if (auto load = dyn_cast<sm::ProducerLoadOp>(user)) {
        names[load.getPart()] = nameOf(load.getView()) + lateness;
        areLoaded = true;
      }
    return areLoaded ? llvm::join(names, ", ") : nameOfChannel(channel) + lateness;
  }

  /// Returns the tensor to which the tiles of a channel are added, or the operand that warpgroups exchange.
  std::string nameOfChannel(Value channel) {
    if (sm::channelOf(channel).getPerWarpgroup())
      return nameOfExchange(channel);
    for (Operation *user : channel.getUsers())
      if (auto wait = dyn_cast<sm::ConsumerWaitOp>(user))
        for (Operation *reader : wait->getUsers())
          if (auto add = dyn_cast<sm::TmaAddOp>(reader))
            return nameOf(add.getTensor());
    return "work";
  }

  std::string nameOfExchange(Value channel) {
    for (auto &[started, mma] : mmas_)
      if (auto op = started.getDefiningOp<sm::AsyncProduct>())
        for (auto [side, operand] : {std::pair(".lhs", op.getLhs()), std::pair(".rhs", Value(op.getRhs()))})
          if (auto wait = operand.getDefiningOp<sm::ConsumerWaitOp>(); wait && wait.getChannel() == channel)
            return mma.label + side;
    return "an operand";
  }

  scf::ForOp loop_;
  llvm::MapVector<Value, Mma> mmas_;
  llvm::StringMap<bool> others_; ///< The other ops of the list by label: true if they are of the iteration before.
  std::string text_;
  int64_t exponentials_ = 0; ///< The number since the last row.
  Location exponentialsAt_ = UnknownLoc::get(loop_.getContext());
};

} // namespace

std::string describeOrder(ModuleOp module) {
  std::string text;
  module.walk([&](scf::ForOp loop) {
    auto list = loop->getAttrOfType<StringAttr>(tile::steps);
    if (list && loop->getParentOfType<sm::RolesOp>())
      text += LoopOrderText(loop, list.getValue()).str();
  });
  return text.empty() ? "no loop has an order of MMAs: only consumers have one (roles=load on sm_90a)\n"
                      : text.substr(1);
}

} // namespace tegula
