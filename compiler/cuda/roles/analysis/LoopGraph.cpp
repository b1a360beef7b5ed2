// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/analysis/LoopGraph.h"
#include "compiler/tile/Walks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using Kind = sm::Step::Kind;
using Number = LoopGraph::Number;

Anchors cuda::anchorsOf(scf::ForOp loop) {
  Anchors anchors;
  unsigned mmas = 0;
  for (Operation &op : *loop.getBody()) {
    auto label = op.getAttrOfType<StringAttr>(tile::label);
    if (auto mma = dyn_cast<sm::AsyncProduct>(op)) {
      if (mma.getSumPlace() != sm::SumPlace::registers)
        continue;
      if (const unsigned number = mmas++; !label)
        label = StringAttr::get(loop.getContext(), "p" + Twine(number));
    }
    if (label)
      anchors.insert({label.getValue(), &op});
  }
  return anchors;
}

std::string cuda::labelsOf(const Anchors &anchors) { return llvm::join(llvm::make_first_range(anchors), ", "); }

Labels cuda::labelledMmas(scf::ForOp loop) {
  Labels mmas;
  for (auto &[label, op] : anchorsOf(loop))
    if (auto mma = dyn_cast<sm::AsyncProduct>(op))
      mmas.insert({label, mma});
  return mmas;
}

sm::AwaitOp cuda::awaitOf(sm::AsyncProduct mma) {
  for (Operation *user : mma->getUsers())
    if (auto await = dyn_cast<sm::AwaitOp>(user); await && !await.getReads())
      return await;
  return {};
}

/// Returns true if the tile can pass through a ring: only MMAs of its loop read it, and all ops around it are loops.
static bool canBeExchanged(sm::ToSharedOp tile) {
  auto isMma = [&](Operation *user) { return isa<sm::AsyncProduct>(user) && user->getBlock() == tile->getBlock(); };
  Operation *around = tile->getParentOp();
  while (isa<LoopLikeOpInterface>(around))
    around = around->getParentOp();
  return isa<sm::RolesOp>(around) && llvm::all_of(tile->getUsers(), isMma);
}

Operation *cuda::writerOf(sm::AsyncProduct mma, bool isLhs) {
  Operation *operand = (isLhs ? mma.getLhs() : Value(mma.getRhs())).getDefiningOp();
  if (auto tile = dyn_cast_if_present<sm::ToSharedOp>(operand))
    return tile->getBlock() == mma->getBlock() && canBeExchanged(tile) ? tile : nullptr;
  if (auto wait = dyn_cast_if_present<sm::ConsumerWaitOp>(operand))
    for (Operation *user : wait.getChannel().getUsers())
      if (isa<sm::ProducerStoreOp>(user) && user->getBlock() == mma->getBlock())
        return user;
  return nullptr;
}

/// Calls `visit` with each value that `op`, or an op inside, uses.
static void forEachOperand(Operation *op, function_ref<void(Value)> visit) {
  op->walk([&](Operation *inside) { llvm::for_each(inside->getOperands(), visit); });
}

/// Calls `visit` with each op that reads a tile that `op` makes, or a view of one.
static void forEachReader(Operation *op, function_ref<void(Operation *)> visit) {
  for (Operation *user : op->getUsers())
    if (isa<ViewLikeOpInterface>(user))
      forEachReader(user, visit);
    else
      visit(user);
}

bool cuda::readsSlotByLanes(Operation *op) {
  auto isRead = [](const sm::Access &access) { return !access.goesOn() && sm::isReceived(access.place->get()); };
  return tile::anyOp(*op, [&](Operation *inside) { return llvm::any_of(sm::accessesOf(inside), isRead); });
}

/// Returns true if `op` only makes the elements of an MMA's operand in registers narrower.
static bool isNarrowing(Operation *op) { return isa_and_present<sm::PackOp, arith::TruncFOp>(op); }

/// Returns the fence of a release: TMA writes the slot next, and lanes have read it. Null for other ops.
static Operation *fenceBefore(Operation *op) {
  if (!isa<sm::ReleaseOp>(op))
    return nullptr;
  Operation *before = op->getPrevNode();
  while (before && isa<ViewLikeOpInterface>(before))
    before = before->getPrevNode();
  return isa_and_present<sm::ProxyFenceOp>(before) ? before : nullptr;
}

namespace {
/// The accesses of an op, with those of the ops inside, that keep their order.
struct Effects {
  explicit Effects(Operation *op) {
    op->walk([&](Operation *inside) {
      for (const sm::Access &access : sm::accessesOf(inside))
        if (!access.goesOn())
          accesses.emplace_back(tile::rootOf(access.place->get()), access.kind);
      isFence |= sm::orderOf(inside).fences;
    });
    readsSlot = readsSlotByLanes(op);
  }

  bool conflictWith(const Effects &other) const {
    return llvm::any_of(accesses, [&](const auto &one) {
      return llvm::any_of(other.accesses, [&](const auto &two) {
        return one.first == two.first && (one.second != two.second || one.second == sm::AccessKind::write);
      });
    });
  }

  SmallVector<std::pair<Value, sm::AccessKind>, 2> accesses; ///< A tensor or buffer, and the kind.
  bool isFence = false, readsSlot = false;
};
} // namespace

static llvm::Error refuse(const Twine &why) { return llvm::createStringError(why); }

/// Returns true if `op` compares the loop variable with the lower bound for equality.
static bool comparesWithFirst(Operation *op, scf::ForOp loop) {
  auto compare = dyn_cast<arith::CmpIOp>(op);
  return compare && compare.getLhs() == loop.getInductionVar() && compare.getRhs() == loop.getLowerBound() &&
         llvm::is_contained({arith::CmpIPredicate::eq, arith::CmpIPredicate::ne}, compare.getPredicate());
}

/// Returns true if the producer loads a tile of another channel after those of `wait`, before the next ones for this
/// channel.
static bool isLoadedBeforeOthers(sm::ConsumerWaitOp wait) {
  for (Operation *user : wait.getChannel().getUsers())
    if (isa<sm::ProducerLoadOp>(user))
      for (Operation *next = user->getNextNode(); next; next = next->getNextNode())
        if (auto load = dyn_cast<sm::ProducerLoadOp>(next); load && load.getChannel() != wait.getChannel())
          return true;
  return false;
}

/// Returns the loads of the other parts of a slot, of the same iteration.
static SmallVector<sm::ProducerLoadOp> otherParts(sm::ProducerLoadOp load) {
  SmallVector<sm::ProducerLoadOp> others;
  for (Operation *user : load.getChannel().getUsers())
    if (auto other = dyn_cast<sm::ProducerLoadOp>(user);
        other && other != load && other->getBlock() == load->getBlock() && other.getSlot() == load.getSlot())
      others.push_back(other);
  return others;
}

static bool waitsForTiles(Operation *op) {
  return tile::anyOp(*op, [](sm::ConsumerWaitOp) { return true; });
}

/// Returns true for an inner loop whose tiles the producer loads. A loop that is pipelined lies in a branch.
static bool hasFedLoop(Operation *op) { return op->getNumRegions() && waitsForTiles(op); }

namespace {
/// Makes the graph of a loop.
class GraphBuilder {
public:
  explicit GraphBuilder(scf::ForOp loop) { graph_.loop = loop; }

  llvm::Expected<LoopGraph> build(ArrayRef<sm::Step> steps) {
    addNodes();
    if (llvm::Error error = findDelayed(steps))
      return error;
    findDependences();
    findNeeds();
    findHandedOver();
    if (llvm::Error error = checkDelayed())
      return error;
    return std::move(graph_);
  }

private:
  Block *body() { return graph_.loop.getBody(); }
  Operation *op(Number number) const { return graph_.nodes[number].op; }
  Number count() const { return graph_.nodes.size(); }
  bool isDelayed(Operation *op) const { return graph_.isDelayed(op); }
  void delay(Operation *op) { graph_.nodes[graph_.numbers.at(op)].isDelayed = true; }

  //===-- Iterations --------------------------------------------------------------------------------------------===//

  void addNodes() {
    for (Operation &op : body()->without_terminator()) {
      if (comparesWithFirst(&op, graph_.loop))
        graph_.comparisons.push_back(&op);
      graph_.numbers[&op] = count();
      graph_.nodes.push_back({&op});
    }
  }

  /// Delays what the list says, and finds the order in which it starts ops.
  llvm::Error delayNamed(ArrayRef<sm::Step> steps) {
    const Anchors anchors = anchorsOf(graph_.loop);
    for (const sm::Step &step : steps) {
      if (step.isTurn())
        continue;
      Operation *op = anchors.lookup(step.label);
      if (!op)
        return refuse("nothing in the loop has the label '" + step.label + "'" +
                      (anchors.empty() ? ", or any label" : "; legal are " + labelsOf(anchors)));
      auto mma = dyn_cast<sm::AsyncProduct>(op);
      if (!mma && step.kind != Kind::start)
        return refuse("'" + step.label + "' is no MMA; only MMAs have .end, .lhs and .rhs");
      if (step.isWrite() && !writerOf(mma, step.kind == Kind::lhs))
        return refuse("the MMA '" + step.label +
                      "' has no such operand that lanes write and only MMAs of the loop read");
      if (!mma)
        graph_.others.insert(op);
      else if (step.kind == Kind::start)
        graph_.mmas.push_back(mma);
      if (step.isDelayed)
        delay(step.kind == Kind::start ? op : awaitOf(mma));
    }
    return llvm::Error::success();
  }

  llvm::Error findDelayed(ArrayRef<sm::Step> steps) {
    const Labels mmas = labelledMmas(graph_.loop);
    for (auto &[label, mma] : mmas)
      if (sm::AwaitOp await = awaitOf(mma); !await || await->getBlock() != body())
        return refuse("an MMA of the loop is not waited for in the same iteration");
    if (llvm::Error error = delayNamed(steps))
      return error;
    for (auto &[label, mma] : mmas)
      if (!llvm::is_contained(graph_.mmas, mma))
        graph_.mmas.push_back(mma);
    SmallVector<Operation *> inTime(graph_.others.begin(), graph_.others.end());
    inTime.append(graph_.mmas.begin(), graph_.mmas.end());
    llvm::erase_if(inTime, [&](Operation *op) { return isDelayed(op); });
    for (bool isNew = true; isNew;) {
      isNew = false;
      for (LoopGraph::Node &node : graph_.nodes)
        if (!node.isDelayed && becomesDelayed(node.op))
          isNew = node.isDelayed = true;
    }
    for (Operation *op : inTime)
      if (isDelayed(op))
        return refuse(usesDelayed(op) ? "a step that is not delayed needs the result of a delayed one"
                                      : "a step that is not delayed loads a part of a slot, of which a delayed one "
                                        "loads another");
    return llvm::Error::success();
  }

  /// Returns true for arithmetic on what a step reads that is no MMA. The step need not be over where it starts.
  bool isOfStep(Operation *op) const {
    return isPure(op) && !graph_.others.contains(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
             return operand.getDefiningOp() && graph_.others.contains(operand.getDefiningOp());
           });
  }

  /// Returns true if only delayed ops use what `op` computes, perhaps through arithmetic.
  bool servesDelayed(Operation *op) const {
    return !op->use_empty() && llvm::all_of(op->getUsers(), [&](Operation *user) {
      return isDelayed(user) || (isPure(user) && servesDelayed(user));
    });
  }

  bool usesDelayed(Operation *op) const {
    bool isBehind = false;
    forEachOperand(op,
                   [&](Value operand) { isBehind |= operand.getDefiningOp() && isDelayed(operand.getDefiningOp()); });
    return isBehind;
  }

  /// Returns true for the load of a part of a slot of which a delayed op loads another part.
  bool fillsSlotWithDelayed(Operation *op) const {
    auto load = dyn_cast<sm::ProducerLoadOp>(op);
    return load && llvm::any_of(otherParts(load), [&](sm::ProducerLoadOp other) { return isDelayed(other); });
  }

  /// Returns true if `op` depends on a delayed op of its iteration, fills a slot with one, or only names, receives or
  /// computes something for delayed ops.
  bool becomesDelayed(Operation *op) {
    if (usesDelayed(op) || (isOfStep(op) && servesDelayed(op)) || fillsSlotWithDelayed(op))
      return true;
    auto isDelayedUse = [&](Operation *user) { return isDelayed(user); };
    if (isa<ViewLikeOpInterface>(op))
      return !op->use_empty() && llvm::all_of(op->getUsers(), isDelayedUse);
    auto release = dyn_cast<sm::ReleaseOp>(op);
    return release && llvm::any_of(body()->getOps<sm::ConsumerWaitOp>(), [&](sm::ConsumerWaitOp wait) {
             bool endsLate = false;
             forEachReader(wait, [&](Operation *reader) {
               auto mma = dyn_cast<sm::AsyncProduct>(reader);
               endsLate |= mma && mma->getBlock() == body() && isDelayed(awaitOf(mma));
             });
             return endsLate && wait.getChannel() == release.getChannel() && wait.getSlot() == release.getSlot();
           });
  }

  /// Returns the op of the body that makes what the loop carries to the next iteration, or null.
  Operation *producerOf(BlockArgument carried) {
    OpOperand *yielded = graph_.loop.getTiedLoopYieldedValue(carried);
    return yielded && graph_.isInBody(yielded->get()) ? yielded->get().getDefiningOp() : nullptr;
  }

  void findHandedOver() {
    for (const LoopGraph::Node &node : graph_.nodes)
      if (node.isDelayed)
        forEachOperand(node.op, [&](Value operand) { handOver(operand); });
  }

  /// Notes a value that a delayed op uses. A view of a tensor is made again, of what is handed over instead.
  void handOver(Value value) {
    Operation *op = value.getDefiningOp();
    auto mma = dyn_cast_if_present<sm::AsyncProduct>(op);
    const bool isHandle = mma && mma->getBlock() == body() && graph_.staysInFlight(mma);
    if (!graph_.isInBody(value) || isHandle || (op && isDelayed(op)))
      return;
    if (op && isa<tile::ViewType>(value.getType()))
      llvm::for_each(op->getOperands(), [&](Value operand) { handOver(operand); });
    else
      graph_.handedOver.insert(value);
  }

  /// Returns true if a delayed op and an op of the next iteration access the same memory, and one of them writes.
  bool conflictAcrossIterations() const {
    if (!graph_.isAnyDelayed())
      return false;
    SmallVector<Effects> late, inTime;
    for (const LoopGraph::Node &node : graph_.nodes)
      (node.isDelayed ? late : inTime).emplace_back(node.op);
    return llvm::any_of(late, [&](const Effects &one) {
      return llvm::any_of(inTime, [&](const Effects &other) { return one.conflictWith(other); });
    });
  }

  llvm::Error checkInFlight(sm::AsyncProduct mma) {
    auto carried = dyn_cast_if_present<BlockArgument>(mma.getAcc());
    sm::AwaitOp await = awaitOf(mma);
    if (!carried || producerOf(carried) != await || !carried.hasOneUse() || !await->hasOneUse())
      return refuse("an MMA that runs into the next iteration may only add to accumulators that the loop carries");
    if (writerOf(mma, /*isLhs=*/true) || writerOf(mma, /*isLhs=*/false))
      return refuse("an MMA that runs into the next iteration reads a tile that lanes write");
    return llvm::Error::success();
  }

  llvm::Error checkDelayed() {
    auto consumesLate = [&](auto &node) { return node.isDelayed && hasFedLoop(node.op); };
    auto consumesInTime = [&](auto &node) { return !node.isDelayed && waitsForTiles(node.op); };
    if (llvm::any_of(graph_.nodes, consumesLate) && llvm::any_of(graph_.nodes, consumesInTime))
      return refuse("an inner loop would come one iteration late, and the producer loads its tiles before those for "
                    "which the next iteration waits first");
    for (auto wait : body()->getOps<sm::ConsumerWaitOp>())
      if (isDelayed(wait) && wait.getChannel().getType().getSlots() == 1 && isLoadedBeforeOthers(wait))
        return refuse("the tile of a delayed MMA has the only slot of its channel, for which the producer waits before "
                      "it loads other tiles; legal are two stages and more");
    for (Value value : graph_.handedOver)
      if (auto tile = value.getDefiningOp<sm::ToSharedOp>();
          isa<sm::SharedType>(value.getType()) && !(tile && canBeExchanged(tile)))
        return refuse("the last MMA reads a tile of shared memory that the next iteration may overwrite");
    if (conflictAcrossIterations())
      return refuse("what comes one iteration late and the next iteration access the same memory");
    for (sm::AsyncProduct mma : graph_.mmas)
      if (graph_.staysInFlight(mma))
        if (llvm::Error error = checkInFlight(mma))
          return error;
    return llvm::Error::success();
  }

  //===-- Dependences -------------------------------------------------------------------------------------------===//

  void addDependence(Operation *op, Operation *on) {
    if (op != on && graph_.numbers.contains(on))
      graph_.nodes[graph_.numbers.at(op)].dependences.push_back(graph_.numbers.at(on));
  }

  void findDependences() {
    for (const LoopGraph::Node &node : graph_.nodes) {
      addValueDependences(node.op);
      if (auto release = dyn_cast<sm::ReleaseOp>(node.op))
        addReleaseDependences(release);
      if (auto wait = dyn_cast<sm::ConsumerWaitOp>(node.op))
        addWaitDependences(wait);
      if (auto load = dyn_cast<sm::ProducerLoadOp>(node.op))
        for (sm::ProducerLoadOp other : otherParts(load))
          if (other.getPart() < load.getPart())
            addDependence(load, other);
      if (auto mma = dyn_cast<sm::AsyncProduct>(node.op); mma && node.isDelayed)
        addOperandDependences(mma);
    }
    addMemoryDependences();
    coverFences();
  }

  /// Adds the ops of the steady state whose results `op` uses. A delayed op gets values of the current iteration from
  /// the iteration before instead. What a delayed op yields is ready for the current iteration.
  void addValueDependences(Operation *op) {
    auto mma = dyn_cast<sm::AsyncProduct>(op);
    forEachOperand(op, [&](Value operand) {
      if (!graph_.isInBody(operand))
        return;
      auto carried = dyn_cast<BlockArgument>(operand);
      Operation *producer = carried ? producerOf(carried) : operand.getDefiningOp();
      const bool isOwnAwait = mma && operand == mma.getAcc() && producer == awaitOf(mma);
      if (!producer || isOwnAwait)
        return;
      if (carried ? isDelayed(producer) && !isDelayed(op) : isDelayed(producer) == isDelayed(op))
        addDependence(op, producer);
      if (auto started = dyn_cast<sm::AsyncProduct>(producer);
          started && isa<sm::AwaitOp>(op) && graph_.staysInFlight(started))
        addDependence(op, producer);
    });
  }

  /// Lets the next operand in registers be made only when the delayed MMA has read the last one.
  void addOperandDependences(sm::AsyncProduct mma) {
    auto isOperand = [&](Operation *user) { return user == mma || isa<sm::PackOp>(user); };
    for (Operation *op = mma.getLhs().getDefiningOp(); isNarrowing(op) && llvm::all_of(op->getUsers(), isOperand);
         op = op->getOperand(0).getDefiningOp())
      addDependence(op, awaitOf(mma));
  }

  /// Lets a wait for a tile that consumers exchange come after the store of this tile, and any wait after the inner
  /// loops before it: the producer loads what follows a loop only when consumers have released slots of the loop.
  void addWaitDependences(sm::ConsumerWaitOp wait) {
    for (Operation *user : wait.getChannel().getUsers())
      if (isa<sm::ProducerStoreOp>(user) && isDelayed(user) == isDelayed(wait))
        addDependence(wait, user);
    for (const LoopGraph::Node &before : ArrayRef(graph_.nodes).take_front(graph_.numbers.at(wait)))
      if (before.isDelayed == isDelayed(wait) && hasFedLoop(before.op))
        addDependence(wait, before.op);
  }

  /// Lets a release wait for all readers of its slot and their fences. A release with a fence may free slots of other
  /// tiles, too, so it waits for all earlier reads of lanes.
  void addReleaseDependences(sm::ReleaseOp release) {
    Operation *fence = fenceBefore(release);
    for (const LoopGraph::Node &before : ArrayRef(graph_.nodes).take_front(graph_.numbers.at(release))) {
      if (before.op == fence || (fence && before.isDelayed == isDelayed(release) && readsSlotByLanes(before.op)))
        addDependence(release, before.op);
      auto wait = dyn_cast<sm::ConsumerWaitOp>(before.op);
      if (!wait || wait.getChannel() != release.getChannel() || wait.getSlot() != release.getSlot())
        continue;
      forEachReader(wait, [&](Operation *reader) {
        Operation *inBody = body()->findAncestorOpInBlock(*reader);
        auto mma = dyn_cast<sm::AsyncProduct>(inBody);
        addDependence(release, mma ? awaitOf(mma) : inBody);
        if (isa_and_present<sm::ProxyFenceOp>(inBody->getNextNode()))
          addDependence(release, inBody->getNextNode());
      });
    }
  }

  /// Keeps the order of accesses that conflict, and lets a fence come after the reads that it orders.
  void addMemoryDependences() {
    SmallVector<Effects> effects;
    for (Number number = 0; number < count(); ++number) {
      effects.emplace_back(op(number));
      for (Number before = 0; before < number; ++before)
        if (isDelayed(op(before)) == isDelayed(op(number)) &&
            (effects[number].conflictWith(effects[before]) || (effects[number].isFence && effects[before].readsSlot)))
          addDependence(op(number), op(before));
    }
  }

  /// Returns the op with the fence that each lane passes after a store for MMAs: the store of an exchanged tile itself,
  /// or the first MMA that reads the tile, which starts after a barrier with a fence. Null for other ops.
  Operation *fencedAfter(Operation *store) const {
    if (isa<sm::ProducerStoreOp>(store))
      return store;
    for (sm::AsyncProduct mma : graph_.mmas)
      if (isa<sm::ToSharedOp>(store) && llvm::is_contained(store->getUsers(), mma) && !isDelayed(mma))
        return mma;
    return nullptr;
  }

  /// Finds fences that are not needed because each lane passes another one, that of a store, between its reads of slots
  /// and the release.
  void coverFences() {
    for (Number store = 0; store < count(); ++store) {
      Operation *fenced = fencedAfter(op(store));
      if (!fenced)
        continue;
      const llvm::BitVector slice = graph_.sliceOf(store);
      for (const LoopGraph::Node &release : graph_.nodes) {
        Operation *fence = graph_.fenceOf(release.op);
        auto isCovered = [&](const LoopGraph::Node &node) {
          const bool isBefore = node.op->isBeforeInBlock(release.op) && node.isDelayed == release.isDelayed;
          return !isBefore || !readsSlotByLanes(node.op) || slice.test(graph_.numbers.at(node.op));
        };
        if (!fence || graph_.nodes[store].isDelayed != release.isDelayed || !llvm::all_of(graph_.nodes, isCovered))
          continue;
        graph_.coveredFences.insert(fence);
        addDependence(release.op, fenced);
      }
    }
  }

  void findNeeds() {
    llvm::BitVector known(count());
    std::function<void(Number)> visit = [&](Number number) {
      if (known.test(number))
        return;
      known.set(number);
      LoopGraph::Node &node = graph_.nodes[number];
      node.needs.resize(count());
      for (Number on : node.dependences) {
        visit(on);
        node.needs |= graph_.nodes[on].needs;
      }
      if (isa<sm::AwaitOp>(node.op))
        node.needs.set(number);
    };
    for (Number number = 0; number < count(); ++number)
      visit(number);
  }

  LoopGraph graph_;
};
} // namespace

llvm::Expected<LoopGraph> LoopGraph::of(scf::ForOp loop, ArrayRef<sm::Step> steps) {
  return GraphBuilder(loop).build(steps);
}

llvm::BitVector LoopGraph::sliceOf(Number op) const {
  llvm::BitVector slice(nodes.size());
  SmallVector<Number> left{op};
  while (!left.empty()) {
    Number next = left.pop_back_val();
    if (slice.test(next))
      continue;
    slice.set(next);
    llvm::append_range(left, nodes[next].dependences);
  }
  return slice;
}

Operation *LoopGraph::fenceOf(Operation *op) const {
  Operation *fence = fenceBefore(op);
  return coveredFences.contains(fence) ? nullptr : fence;
}

unsigned LoopGraph::countFollowers(sm::AsyncProduct mma) const {
  llvm::BitVector own(nodes.size());
  own.set(numbers.at(awaitOf(mma)));
  return llvm::count_if(nodes, [&](const Node &node) { return node.needs == own; });
}
