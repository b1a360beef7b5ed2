// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/Passes.h"
#include "compiler/cuda/roles/analysis/ProducerTiles.h"
#include "compiler/cuda/roles/analysis/Rings.h"
#include "compiler/cuda/roles/analysis/RolePlan.h"
#include "compiler/sm/Elements.h"
#include "compiler/tile/Settings.h"
#include "compiler/tile/Walks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_PLANROLES
#include "compiler/cuda/roles/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

/// Returns the size of the buffers that are in use at the same time as the rings: results that are written while a loop
/// continues with the next block.
static int64_t bytesBesideRings(func::FuncOp function) {
  int64_t bytes = 0;
  function.walk([&](sm::ToSharedOp stage) {
    if (stage->getParentOfType<Loop>())
      bytes += stage.getType().bytes();
  });
  return bytes;
}

/// Returns the most registers that the accumulators of a loop's MMAs take in a thread, if all were alive at once.
static int64_t accumulatorRegisters(func::FuncOp function, int64_t warps) {
  llvm::DenseMap<Operation *, int64_t> elements;
  int64_t most = 0;
  function.walk([&](sm::AsyncProduct mma) {
    if (Loop loop = loopOf(mma); loop && mma.getSumPlace() == sm::SumPlace::registers)
      most = std::max(most, elements[loop] += mma.getSum().getNumElements());
  });
  return most / (warps * sm::kWarpSize);
}

//===-- Registers -------------------------------------------------------------------------------------------------===//

namespace {
/// The least and the most registers that a thread of a role needs.
struct Demand {
  int64_t least, most;
};

/// The registers of a thread of the role that computes, and of one of the other roles, which share a warpgroup.
struct Registers {
  int64_t compute, others;
};
} // namespace

/// Returns the needs of the role that loads. Loops over work need 40 registers. It gets only 24 if a loop has many
/// accumulators, so that the role that computes does not spill.
static Demand demandOfLoads(int64_t accumulators) {
  constexpr int64_t manyAccumulators = 192;
  return {accumulators > manyAccumulators ? 24 : 32, 40};
}

/// Returns the needs of the role that transposes tiles of which a thread holds at most `words`.
static Demand demandOfTransposes(int64_t words) {
  constexpr int64_t unit = 8;
  const auto registers = static_cast<int64_t>(llvm::alignTo(sm::kForAddresses + words, unit));
  return {registers, registers};
}

/// Divides the registers of a thread block, in multiples of 8. The `warps` that compute get as many as they may.
static Registers divideRegisters(int64_t warps, Demand others, int64_t instances) {
  constexpr int64_t most = 240, unit = 8, otherWarps = sm::kWarpsPerWarpgroup;
  const int64_t all = sm::registersOfBlock(warps + otherWarps, instances);
  const int64_t compute = std::min(most, (all - otherWarps * others.least) / warps / unit * unit);
  return {compute, std::min(others.most, (all - warps * compute) / otherWarps / unit * unit)};
}

//===-- The plan --------------------------------------------------------------------------------------------------===//

namespace {
class RolePlanning {
public:
  explicit RolePlanning(func::FuncOp function)
      : function_(function), schedule_(tile::scheduleOf(function)), b_(function.getContext()) {}

  LogicalResult run() {
    if (failed(verifyRoles()) || failed(verifySlots()) || failed(planOperands()) || failed(planProducts()))
      return failure();
    keepRegisters();
    if (llvm::none_of(llvm::make_first_range(planned_), isInLoop)) {
      function_.emitRemark(tile::nameSetting(function_, "roles=load"))
          << " has no effect: no loop loads tiles that a producer could load; all warps copy";
      function_->removeAttr(kRoles);
      return success();
    }
    if (failed(planLoads()) || failed(planRegisters()))
      return failure();
    for (auto [op, role] : planned_)
      write(op, role);
    return success();
  }

private:
  /// Checks the preset of the function's roles.
  LogicalResult verifyRoles() {
    auto preset = function_->getAttrOfType<ArrayAttr>(kRoles);
    if (!preset || (!preset.empty() && nameOf(preset[0]) == kCompute &&
                    llvm::any_of(preset, [](Attribute role) { return nameOf(role) == kLoad; })))
      return success();
    return function_.emitError("has ") << kRoles << " of which the first is not 'compute', or none is 'load'";
  }

  static StringRef nameOf(Attribute role) { return cast<sm::RoleAttr>(role).getName(); }

  //===-- Slots ---------------------------------------------------------------------------------------------------===//

  LogicalResult verifySlots() {
    return failure(tile::anyOp(function_, [&](Loop loop) {
      if (slotsOf(loop) < 1)
        loop->emitError("has ") << kSlots << " of " << slotsOf(loop) << "; a ring has one slot at least";
      return slotsOf(loop) < 1;
    }));
  }

  /// Returns the slots of the rings that a loop fills: its preset; otherwise `tile.num_stages` in an innermost loop,
  /// and two in an outer loop, so that its next tile can be loaded while the inner loop still reads the current one.
  int64_t slotsOf(Loop loop) const {
    if (auto preset = loop->getAttrOfType<IntegerAttr>(kSlots))
      return preset.getInt();
    return bodyOf(loop)->getOps<scf::ForOp>().empty() ? schedule_.num_stages : 2;
  }

  int64_t ringBytes(Operation *op, sm::SharedType tile) const {
    Loop loop = loopOf(op);
    return tile.ring(loop ? slotsOf(loop) : 1).bytes();
  }

  //===-- Loads ---------------------------------------------------------------------------------------------------===//

  static LogicalResult refusePreset(Operation *op, const Twine &why) {
    return op->emitError("has ") << kRole << " = " << op->getAttr(kRole) << ", but " << why;
  }

  /// Plans a load for the role `load` unless its preset is another role. `why` says why that is not possible; empty if
  /// it is. The transpose of a planned tile goes to the role `transpose`.
  LogicalResult plan(Operation *op, const std::string &why) {
    auto preset = op->getAttrOfType<StringAttr>(kRole);
    if (preset && preset != kLoad)
      return preset == kCompute ? success() : refusePreset(op, "legal are 'load' and 'compute'");
    if (preset && !why.empty())
      return refusePreset(op, "that role cannot load the tile: " + why);
    if (!why.empty())
      return success();
    planned_.push_back({op, kLoad});
    auto load = dyn_cast<sm::LoadSharedOp>(op);
    sm::TransposeOp transpose = load ? transposeOf(load) : sm::TransposeOp();
    if (transpose && transpose->hasAttr(kRole) && transpose->getAttr(kRole) != b_.getStringAttr(kTranspose))
      return refusePreset(transpose, "the role of a transpose follows from that of the load");
    if (transpose)
      planned_.push_back({transpose, kTranspose});
    return success();
  }

  static bool isTransposed(sm::LoadSharedOp load) {
    return llvm::any_of(load->getUsers(), llvm::IsaPred<sm::TransposeOp>);
  }

  /// Returns why no role other than `compute` can bring a tile, perhaps transposed, to MMAs; empty if one can.
  static std::string whyNotOperand(sm::LoadSharedOp load) {
    if (!feedsWgmma(readTileOf(load)))
      return "ops other than MMAs of its block read its transpose, or MMAs read the tile and its transpose";
    const std::string obstacle = transposeOf(load) ? sm::obstacleToTransposing(load.getType().bytes()) : "";
    return obstacle.empty() ? whyNotProducerLoaded(load) : obstacle;
  }

  /// Plans the tiles that MMAs read.
  LogicalResult planOperands() {
    return failure(tile::anyOp(function_, [&](sm::LoadSharedOp load) {
      const bool isOperand = feedsWgmma(readTileOf(load)) || isTransposed(load);
      const std::string why = isOperand ? whyNotOperand(load) : "no MMA of a warpgroup reads it";
      if (isOperand && !why.empty() && isInLoop(load) && !load->hasAttr(kRole))
        load.emitRemark("all warps copy this tile, not the producer: ") << why;
      return failed(plan(load, why));
    }));
  }

  /// Plans the products that a lane starts, with their accumulators, for a role of their own.
  LogicalResult planProducts() {
    for (Operation *op : tile::allOps(function_, isStartedByLane)) {
      auto product = cast<sm::AsyncProduct>(op);
      for (Value operand : {product.getLhs(), product.getRhs()})
        if (auto load = operand.getDefiningOp<sm::LoadSharedOp>(); !load || !isPlanned(load))
          return product.emitError("needs a role that loads its operands: ")
                 << (load ? whyNotOperand(load) : "one of them is no loaded tile");
      planned_.push_back({product, kMma});
      planned_.push_back({sumsOf(product), kMma});
    }
    return success();
  }

  /// Plans the tiles that go to registers: presets, and others while their rings fit into shared memory.
  LogicalResult planLoads() {
    constexpr int64_t ofMbarriers = 1 << 10;
    room_ = tile::setting(function_, tile::sharedLimit, std::numeric_limits<int32_t>::max()) - ofMbarriers;
    room_ -= bytesBesideRings(function_);
    // All warps copy the tiles of other loads to slots, too, and keep a transpose once.
    function_.walk([&](sm::LoadSharedOp load) { room_ -= ringBytes(load, load.getType()); });
    function_.walk([&](sm::TransposeOp transpose) {
      room_ -= isPlanned(transpose) ? ringBytes(transpose, transpose.getType()) : transpose.getType().bytes();
    });
    for (bool arePreset : {true, false})
      for (auto load : tile::allOps<tile::LoadOp>(function_))
        if (load->hasAttr(kRole) == arePreset && failed(planLoad(load)))
          return failure();
    return success();
  }

  LogicalResult planLoad(tile::LoadOp load) {
    if (!canProducerLoad(load))
      return plan(load, "it is in no loop, has too few elements, or TMA cannot copy it");
    const int64_t bytes = ringBytes(load, boxType(load.getResult().getType()));
    if (!load->hasAttr(kRole) && bytes > room_)
      return success();
    if (failed(plan(load, "")))
      return failure();
    room_ -= isPlanned(load) ? bytes : 0;
    return success();
  }

  /// Returns the words of a tile that a thread of the role `transpose` holds.
  static int64_t wordsOfThread(sm::TransposeOp transpose) {
    constexpr int64_t bytesOfWord = 4;
    auto tile = cast<sm::SharedType>(transpose.getSource().getType());
    return sm::countOf(transposingLayout(tile, sm::kTransposeWarps).getRegisters()) * tile.elementBytes() / bytesOfWord;
  }

  bool isPlanned(Operation *op) const { return llvm::is_contained(llvm::make_first_range(planned_), op); }

  //===-- Roles ---------------------------------------------------------------------------------------------------===//

  /// Returns the most words that a thread of the role `transpose` holds; 0 if there is no such role.
  int64_t transposedWords() const {
    int64_t most = 0;
    for (auto [op, role] : planned_)
      if (auto transpose = dyn_cast<sm::TransposeOp>(op))
        most = std::max(most, wordsOfThread(transpose));
    return most;
  }

  Registers registersWith(int64_t transposed) const {
    const int64_t warps = schedule_.num_warps;
    const Demand others =
        transposed ? demandOfTransposes(transposed) : demandOfLoads(accumulatorRegisters(function_, warps));
    return divideRegisters(warps, others, schedule_.instances_per_sm);
  }

  /// Returns whether the preset of the roles has one that transposes or, without a preset, whether it would leave
  /// enough registers to the role that computes.
  bool mayTranspose(int64_t transposed) const {
    if (auto preset = function_->getAttrOfType<ArrayAttr>(kRoles))
      return llvm::any_of(preset, [](Attribute role) { return nameOf(role) == kTranspose; });
    return registersWith(transposed).compute >=
           accumulatorRegisters(function_, schedule_.num_warps) + sm::kForAddresses;
  }

  /// Leaves the transposes to the role that computes if no other role may have them.
  void keepRegisters() {
    const int64_t transposed = transposedWords();
    if (!transposed || mayTranspose(transposed))
      return;
    llvm::erase_if(planned_, [&](auto entry) {
      auto load = dyn_cast<sm::LoadSharedOp>(entry.first);
      if (load && transposeOf(load))
        load.emitRemark("all warps copy and transpose this tile: a role for it would leave them too few registers");
      return entry.second == kTranspose || (load && transposeOf(load));
    });
  }

  LogicalResult planRegisters() {
    if (function_->hasAttr(kRoles))
      return success();
    const int64_t warps = schedule_.num_warps, instances = schedule_.instances_per_sm;
    const int64_t transposed = transposedWords();
    const Registers registers = registersWith(transposed);
    if (registers.compute < sm::kMinRegisters)
      return function_.emitError("num_warps of ")
             << warps << " and instances_per_sm of " << instances << " leave a thread " << registers.compute
             << " registers; it must have " << sm::kMinRegisters << " at least";
    SmallVector<Attribute> roles{role(kCompute, warps, registers.compute)};
    if (transposed)
      roles.push_back(role(kTranspose, sm::kTransposeWarps, registers.others));
    if (llvm::is_contained(llvm::make_second_range(planned_), kMma))
      roles.push_back(role(kMma, 1, registers.others));
    roles.push_back(role(kLoad, 1, registers.others));
    function_->setAttr(kRoles, b_.getArrayAttr(roles));
    return success();
  }

  sm::RoleAttr role(StringRef name, int64_t warps, int64_t registers) {
    return sm::RoleAttr::get(b_.getContext(), name, warps, registers);
  }

  void write(Operation *op, StringRef role) {
    op->setAttr(kRole, b_.getStringAttr(role));
    for (Loop loop : {loopOf(op), cast_if_present<Loop>(op->getParentOfType<scf::WhileOp>().getOperation())})
      if (loop)
        loop->setAttr(kSlots, b_.getI64IntegerAttr(slotsOf(loop)));
  }

  func::FuncOp function_;
  const Schedule schedule_;
  Builder b_;
  SmallVector<std::pair<Operation *, StringRef>> planned_; ///< Ops of other roles than `compute`, and their roles.
  int64_t room_ = 0;                                       ///< The bytes that rings may still take.
};

struct PlanRoles : cuda::impl::PlanRolesBase<PlanRoles> {
  void runOnOperation() override {
    if (!tile::wantsRoles(getOperation()))
      return;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.getOps<sm::RolesOp>().empty() && failed(RolePlanning(function).run()))
        return signalPassFailure();
  }
};
} // namespace
