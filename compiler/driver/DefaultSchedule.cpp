// SPDX-License-Identifier: MIT
#include "compiler/driver/DefaultSchedule.h"

#include "compiler/driver/Program.h"
#include "compiler/sm/Elements.h"
#include "compiler/sm/Hopper.h"
#include "compiler/sm/Sm.h"
#include "compiler/tile/Tile.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/Support/FormatVariadic.h"

#include <set>

namespace tegula {

using namespace mlir;

namespace {

bool isInnermost(LoopLikeOpInterface loop) {
  bool hasLoop = false;
  for (Region *region : loop.getLoopRegions())
    region->walk([&](LoopLikeOpInterface) { hasLoop = true; });
  return !hasLoop;
}

/// A matrix product of the program: a dot, or the product with the values in an online softmax.
struct Product {
  Operation *op;
  Value lhs, rhs;
  RankedTensorType type;
  Value acc; ///< Null if it begins with 0.
  bool transposesLhs = false;

  static Product of(tile::DotOp dot) {
    return {dot, dot.getLhs(), dot.getRhs(), dot.getType(), dot.getAcc(), dot.getTransposeLhs()};
  }
  static Product of(tile::SoftmaxUpdateOp update) {
    auto type = cast<RankedTensorType>(update.getNewOutput().getType());
    return {update, update.getScores(), update.getValues(), type, update.getOutput()};
  }

  bool isSoftmax() const { return isa<tile::SoftmaxUpdateOp>(op); }
  Type elementType() const { return cast<RankedTensorType>(rhs.getType()).getElementType(); }
  /// Returns the type of an operand. The probabilities of an online softmax get the type of its values.
  RankedTensorType operandType(Value operand) const {
    auto type = cast<RankedTensorType>(operand.getType());
    return isSoftmax() ? type.clone(elementType()) : type;
  }
};

SmallVector<Product> productsOf(ModuleOp module) {
  SmallVector<Product> products;
  module.walk([&](Operation *op) {
    if (auto dot = dyn_cast<tile::DotOp>(op))
      products.push_back(Product::of(dot));
    else if (auto update = dyn_cast<tile::SoftmaxUpdateOp>(op))
      products.push_back(Product::of(update));
  });
  return products;
}

/// Returns the products in innermost loops: most of the work.
SmallVector<Product> hotProducts(ModuleOp module) {
  SmallVector<Product> products = productsOf(module);
  llvm::erase_if(products, [](const Product &product) {
    auto loop = product.op->getParentOfType<LoopLikeOpInterface>();
    return !loop || !isInnermost(loop);
  });
  return products;
}

int64_t bytesOf(RankedTensorType tile) { return tile.getNumElements() * tile.getElementTypeBitWidth() / 8; }

/// Returns true if threads do not multiply the operands exactly in f32.
bool usesTensorCores(const Product &product) {
  auto dot = dyn_cast<tile::DotOp>(product.op);
  return product.operandType(product.lhs).getElementType() == product.elementType() &&
         (!product.elementType().isF32() || (dot && dot.getAllowTf32()));
}

/// Returns the operands that a role must transpose for wgmma, because it reads them K-major only.
SmallVector<Value> transposedOperands(const Product &product) {
  SmallVector<Value> operands;
  auto dot = dyn_cast<tile::DotOp>(product.op);
  if (!dot || !sm::mmaElement(product.elementType())->mustBeKMajor)
    return operands;
  if (product.transposesLhs)
    operands.push_back(product.lhs);
  if (!dot.getTransposeRhs())
    operands.push_back(product.rhs);
  return operands;
}

/// Returns why wgmma cannot multiply such operands fast, or nothing if it can.
std::string obstacleOfOperands(const Product &product) {
  const std::optional<sm::MmaElement> element = sm::mmaElement(product.elementType());
  if (!element || !usesTensorCores(product))
    return "its operands are not both f16, both bf16 or both e4m3, nor f32 with Precision::tf32; cast them";
  if (!element->mustBeKMajor)
    return "";
  const int64_t depth = product.operandType(product.lhs).getDimSize(product.transposesLhs ? 0 : 1);
  const int64_t columns = product.type.getDimSize(1), ofPanel = element->panelColumns();
  if (depth % ofPanel != 0 || columns % ofPanel != 0)
    return llvm::formatv("its depth of {0} and its {1} columns must be multiples of {2} for operands of {3}", depth,
                         columns, ofPanel, element->name.str());
  for (Value operand : transposedOperands(product))
    if (bytesOf(product.operandType(operand)) > sm::kMostTransposed)
      return llvm::formatv("an operand of {0} must be transposed, which a role does for tiles of at most {1} bytes",
                           element->name.str(), sm::kMostTransposed);
  return "";
}

bool suitsWgmma(const Product &product) { return obstacleOfOperands(product).empty(); }

/// Returns true if wgmma can compute the product with `warps` warps along its rows.
bool suitsRows(const Product &product, int64_t warps) {
  return suitsWgmma(product) && !product.transposesLhs && product.type.getDimSize(0) == sm::kRowsPerWarp * warps &&
         product.type.getDimSize(1) <= sm::kMaxMmaColumns;
}

/// Returns true if two warpgroups can compute the product, perhaps transposed: they share its rows or its columns.
bool suitsTwoWarpgroups(const Product &product) {
  const int64_t rows = product.type.getDimSize(0), columns = product.type.getDimSize(1);
  return suitsWgmma(product) && rows % sm::kRowsPerWarpgroup == 0 && columns % sm::kRowsPerWarpgroup == 0 &&
         std::max(rows, columns) <= sm::kMaxMmaColumns;
}

/// Returns the ops of the iteration that compute an operand of a product.
SetVector<Operation *> sliceOf(const Product &product) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.omitBlockArguments = true;
  options.filter = [&](Operation *op) { return op->getParentRegion() == product.op->getParentRegion(); };
  for (Value operand : {product.lhs, product.rhs})
    (void)getBackwardSlice(operand, &slice, options);
  return slice;
}

//===-- Registers -------------------------------------------------------------------------------------------------===//

/// The most registers of a consumer's thread that accumulators may take. It has 240; the others are for addresses and
/// arithmetic.
constexpr int64_t kMostAccumulators = 192;
/// The same with overlap=pingpong, where they include the probabilities that an MMA reads from registers.
constexpr int64_t kMostWithPingpong = 208;

/// The elements of accumulators in an iteration.
struct Accumulators {
  int64_t carried = 0;     ///< Elements that a loop carries.
  int64_t largest = 0;     ///< The largest of the others.
  int64_t independent = 0; ///< Elements of the others that wait for no product: their MMAs start together.

  explicit Accumulators(ArrayRef<Product> products) {
    for (const Product &product : products) {
      const int64_t size = product.type.getNumElements();
      if (isa_and_present<BlockArgument>(product.acc)) {
        carried += size;
        continue;
      }
      largest = std::max(largest, size);
      if (llvm::none_of(sliceOf(product), llvm::IsaPred<tile::DotOp, tile::SoftmaxUpdateOp>))
        independent += size;
    }
  }

  /// Returns what an iteration needs whose MMAs follow each other in the order of the program.
  int64_t inOrder() const { return carried + largest; }
  /// Returns what an iteration needs whose MMAs start as soon as they can.
  int64_t early() const { return carried + std::max(largest, independent); }
  /// Returns what an iteration needs that holds the probabilities of the one before.
  int64_t withPingpong() const { return carried + largest + largest / 2; }
  /// Returns what two warpgroups need that exchange tiles.
  int64_t shared() const { return carried + 2 * largest; }
};

int64_t perThread(int64_t elements, int64_t warps) { return elements / (sm::kWarpSize * warps); }

/// Returns the number of program instances that must have room in a multiprocessor.
int64_t instancesOf(const Schedule &given) { return std::max(given.instances_per_sm, 1); }

/// Returns the registers of a thread if `warps` warps of each of `instances` share those of a multiprocessor.
int64_t registersOfThread(int64_t warps, int64_t instances) {
  constexpr int64_t registersOfSm = 64 << 10, most = 255;
  return std::min(most, registersOfSm / (sm::kWarpSize * warps * instances));
}

/// Returns the warps that have registers for the accumulators if all warps load and compute.
int warpsFor(const Accumulators &accumulators, int64_t instances) {
  constexpr int warps = 4;
  const bool fit = 4 * perThread(accumulators.inOrder(), warps) <= 3 * registersOfThread(warps, instances);
  return fit ? warps : 2 * warps;
}

/// Returns true if accumulators take more than 9/16 of the registers of a thread, so that others may spill.
bool maySpill(const Accumulators &accumulators, int64_t warps, int64_t instances) {
  return 16 * perThread(accumulators.early(), warps) > 9 * registersOfThread(warps, instances);
}

//===-- Shared memory ---------------------------------------------------------------------------------------------===//

/// Returns the load of a product's operand; null if the operand is computed.
tile::LoadOp loadOf(Value operand) {
  if (auto transpose = operand.getDefiningOp<tile::TransposeOp>())
    operand = transpose.getSource();
  return operand.getDefiningOp<tile::LoadOp>();
}

/// Returns the bytes of the tiles that an iteration loads for its products, and of their transposes.
int64_t bytesOfIteration(ArrayRef<Product> products) {
  std::set<Operation *> loads;
  for (const Product &product : products)
    for (Value operand : {product.lhs, product.rhs})
      if (tile::LoadOp load = loadOf(operand); load && load->getParentOp() == product.op->getParentOp())
        loads.insert(load);
  int64_t bytes = 0;
  for (Operation *load : loads)
    bytes += bytesOf(cast<tile::LoadOp>(load).getType());
  for (const Product &product : products)
    for (Value operand : transposedOperands(product))
      bytes += bytesOf(product.operandType(operand));
  return bytes;
}

/// Returns the bytes of computed operands, which may have to lie in shared memory.
int64_t bytesOfComputed(ArrayRef<Product> products) {
  int64_t bytes = 0;
  for (const Product &product : products)
    for (Value operand : {product.lhs, product.rhs})
      if (!loadOf(operand))
        bytes += bytesOf(product.operandType(operand));
  return bytes;
}

/// Returns the bytes of tiles that loads outside innermost loops bring and that stores inside loops write: they may lie
/// beside the rings.
int64_t bytesBesideRings(ModuleOp module) {
  int64_t bytes = 0;
  module.walk([&](Operation *op) {
    auto loop = op->getParentOfType<LoopLikeOpInterface>();
    auto load = dyn_cast<tile::LoadOp>(op);
    auto store = dyn_cast<tile::StoreOp>(op);
    if (load && !(loop && isInnermost(loop)))
      bytes += bytesOf(load.getType()) * (loop ? 2 : 1);
    if (store && loop && !store.getCondition())
      bytes += bytesOf(cast<RankedTensorType>(store.getTile().getType()));
  });
  return bytes;
}

/// Returns true if each of `warps` warps can have 16 rows of each product: one to three warpgroups.
bool haveRowsFor(ArrayRef<Product> products, int64_t warps) {
  constexpr int64_t mostWarps = 12;
  return warps % sm::kWarpsPerWarpgroup == 0 && warps != 0 && warps <= mostWarps &&
         llvm::all_of(products, [&](const Product &product) { return suitsRows(product, warps); });
}

/// Returns true if exponentials stand between two products of an iteration. While one warpgroup computes them, the
/// tensor cores can compute products of the other.
bool hasExponentialsBetween(ArrayRef<Product> products) {
  return llvm::any_of(products, [](const Product &product) {
    if (product.isSoftmax())
      return true;
    const SetVector<Operation *> slice = sliceOf(product);
    return llvm::any_of(slice, llvm::IsaPred<tile::DotOp>) &&
           llvm::any_of(slice, llvm::IsaPred<math::ExpOp, math::Exp2Op, math::TanhOp, math::ErfOp>);
  });
}

/// Returns the bytes of the tiles that innermost loops add to memory. TMA adds them from shared memory.
int64_t bytesOfAdded(ModuleOp module) {
  int64_t bytes = 0;
  module.walk([&](tile::AtomicAddOp add) {
    auto loop = add->getParentOfType<LoopLikeOpInterface>();
    auto type = dyn_cast<RankedTensorType>(add.getTile().getType());
    if (loop && isInnermost(loop) && type)
      bytes += bytesOf(type);
  });
  return bytes;
}

//===-- Obstacles -------------------------------------------------------------------------------------------------===//

constexpr const char *kLegalRows =
    "legal are 64, 128 or 192 rows and at most 256 columns in all dots of innermost loops";

Obstacle obstacleOf(const Product &product, std::string reason) { return {product.op, std::move(reason)}; }

/// Returns the products that neither whole warpgroups compute by rows nor two warpgroups can share.
Obstacles obstaclesOfTypes(ArrayRef<Product> products) {
  Obstacles obstacles;
  for (const Product &product : products)
    if (std::string reason = obstacleOfOperands(product); !reason.empty())
      obstacles.push_back(obstacleOf(product, std::move(reason)));
    else if (!suitsTwoWarpgroups(product))
      obstacles.push_back(obstacleOf(
          product, llvm::formatv("its result has {0} rows and {1} columns; {2}, or rows and columns that are multiples "
                                 "of 64, at most 256",
                                 product.type.getDimSize(0), product.type.getDimSize(1), kLegalRows)));
  for (const Product &product : products)
    if (obstacles.empty() && product.isSoftmax())
      return {obstacleOf(product, llvm::formatv("a warp has whole rows of an online softmax, whose output has {0} "
                                                "rows; {1}, without a transposed left operand",
                                                product.type.getDimSize(0), kLegalRows))};
  return obstacles;
}

/// Returns what else makes room if the caller gives several program instances for a multiprocessor.
const char *orFewerInstances(const Schedule &given) {
  return instancesOf(given) == 1 ? "" : ", or lower instances_per_sm";
}

Obstacle obstacleOfAccumulators(ArrayRef<Product> products, const Schedule &given, int64_t registers, int64_t free) {
  return obstacleOf(products.front(),
                    llvm::formatv("the accumulators of its loop need {0} registers of a thread, and at most {1} are "
                                  "free for them; use smaller tiles{2}",
                                  registers, std::max<int64_t>(free, 0), orFewerInstances(given)));
}

/// `stages` are those that the caller gives, or else two.
Obstacle obstacleOfShared(ArrayRef<Product> products, const Schedule &given, int64_t stages, int64_t bytes,
                          int64_t free) {
  const bool isGiven = given.num_stages != 0;
  return obstacleOf(
      products.front(),
      llvm::formatv("{0}the tiles that an iteration loads need {1} bytes of shared memory{2}, and {3} are free; use "
                    "smaller tiles{4}{5}",
                    isGiven ? "" : "two stages of ", stages * bytes,
                    isGiven ? " with num_stages=" + std::to_string(stages) : std::string(), std::max<int64_t>(free, 0),
                    given.num_stages > 1 ? ", or lower num_stages" : "", orFewerInstances(given)));
}

/// Returns an obstacle for each product that is in no innermost loop.
Obstacles obstaclesOutsideLoops(ModuleOp module) {
  Obstacles obstacles;
  for (const Product &product : productsOf(module))
    obstacles.push_back(obstacleOf(product, "it is in no innermost loop, where a producer would load the next tiles "
                                            "while it runs; put it into a loop over tiles of its operands"));
  return obstacles;
}

/// Returns the schedule with the MMAs of the products in the order of the program, where an accumulator is free before
/// the next begins; nothing if they do not follow each other.
std::optional<Schedule> inOrder(Schedule schedule, ArrayRef<Product> products) {
  for (auto [number, product] : llvm::enumerate(products)) {
    if (product.op->getBlock() != products.front().op->getBlock())
      return std::nullopt;
    auto label = product.op->getAttrOfType<StringAttr>(tile::label);
    schedule.steps += (number == 0 ? "" : " ") + (label ? label.str() : "p" + std::to_string(number));
  }
  return schedule;
}

/// The choice of roles=load for a program on a GPU with wgmma and TMA. It keeps the fields that the caller gives.
class HopperChoice {
public:
  HopperChoice(ModuleOp module, ArrayRef<Product> products, const Schedule &given, int64_t sharedBytes)
      : module_(module), products_(products), accumulators_(products), given_(given), sharedBytes_(sharedBytes) {}

  /// Sets the schedule, unless there are obstacles. Given roles are kept in spite of them.
  void choose(DefaultSchedule &choice) {
    if (products_.empty())
      choice.obstacles = obstaclesOutsideLoops(module_);
    else if (chooseWarps(choice.obstacles) && allowsOperandsInRegisters(choice.obstacles))
      (void)chooseStages(choice.obstacles);
    const bool demanded = demandsRoles(given_);
    if (warps_ != 0 && (demanded || choice.obstacles.empty()))
      choice.schedule = schedule();
    else if (demanded)
      choice.schedule.roles = Roles::load;
    if (demanded)
      choice.obstacles.clear();
  }

  /// Adds the schedules with roles that may spill less.
  void addNeighbours(DefaultSchedule &choice) const {
    if (warps_ == 0)
      return;
    Schedule schedule = this->schedule();
    if (choice.obstacles.empty())
      schedule.overlap = choice.schedule.overlap;
    else if (given_.num_stages == 0)
      schedule.num_stages = 1;
    if (!given_.overlap)
      schedule.overlap = Overlap::none;
    choice.neighbours.push_back(schedule);
    const bool isOrderGiven = given_.overlap || !given_.steps.empty();
    if (std::optional<Schedule> ordered = inOrder(schedule, products_); ordered && !isOrderGiven)
      choice.neighbours.push_back(*ordered);
  }

private:
  bool mayHave(int64_t warps) const { return given_.num_warps == 0 || given_.num_warps == warps; }

  bool chooseWarps(Obstacles &obstacles) {
    constexpr int64_t ofTwoWarpgroups = 2 * sm::kWarpsPerWarpgroup;
    const int64_t ofRows = products_.front().type.getDimSize(0) / sm::kRowsPerWarp;
    const bool haveRows = haveRowsFor(products_, ofRows);
    if (haveRows && mayHave(ofRows)) {
      warps_ = ofRows;
      return hasRegisters(accumulators_.early(), obstacles);
    }
    const Obstacles ofTypes = obstaclesOfTypes(products_);
    if (ofTypes.empty() && mayHave(ofTwoWarpgroups)) {
      warps_ = ofTwoWarpgroups;
      bytesOfExchanges_ = bytesOfComputed(products_);
      return hasRegisters(accumulators_.shared(), obstacles);
    }
    if (haveRows || ofTypes.empty())
      obstacles = {obstacleOf(
          products_.front(), llvm::formatv("num_warps={0} is given, and whole warpgroups compute it with num_warps={1}",
                                           given_.num_warps, haveRows ? ofRows : ofTwoWarpgroups))};
    else
      obstacles = ofTypes;
    return false;
  }

  /// Returns the registers of a thread that accumulators may take: `most`, or 4/5 of a consumer's if program instances
  /// share those of a multiprocessor.
  int64_t freeRegisters(int64_t most) const {
    constexpr int64_t ofProducers = 32 * sm::kWarpsPerWarpgroup;
    const int64_t instances = instancesOf(given_);
    if (instances == 1)
      return most;
    const int64_t all = sm::registersOfBlock(warps_ + sm::kWarpsPerWarpgroup, instances);
    return std::min(most, 4 * (all - ofProducers) / (5 * warps_));
  }

  bool hasRegisters(int64_t elements, Obstacles &obstacles) const {
    const int64_t registers = perThread(elements, warps_), free = freeRegisters(kMostAccumulators);
    if (registers > free)
      obstacles = {obstacleOfAccumulators(products_, given_, registers, free)};
    return registers <= free;
  }

  bool allowsOperandsInRegisters(Obstacles &obstacles) const {
    if (given_.lhs_in_registers == true && given_.overlap == Overlap::none)
      obstacles = {obstacleOf(products_.front(),
                              "lhs_in_registers=true and overlap=none are given, and roles=load keeps "
                              "operands in registers with overlap=pingpong only")};
    return obstacles.empty();
  }

  bool chooseStages(Obstacles &obstacles) {
    constexpr int64_t fewestStages = 2, mostStages = 4, ofMbarriers = 1 << 10;
    const int64_t least = given_.num_stages == 0 ? fewestStages : given_.num_stages;
    const int64_t bytes = bytesOfIteration(products_), free = sharedBytes_ - ofMbarriers - bytesBesideRings(module_) -
                                                              bytesOfExchanges_ - bytesOfAddedByTma();
    if (bytes == 0)
      obstacles = {obstacleOf(products_.front(), "its loop loads no operand of a dot, which a producer would do; load "
                                                 "tiles of the operands in the loop")};
    else if (free < least * bytes)
      obstacles = {obstacleOfShared(products_, given_, least, bytes, free)};
    else
      stages_ = given_.num_stages == 0 ? std::min(free / bytes, mostStages) : least;
    return obstacles.empty();
  }

  int64_t bytesOfAddedByTma() const { return given_.add_by_tma == false ? 0 : bytesOfAdded(module_); }

  bool wantsPingpong() const {
    return given_.lhs_in_registers == true ||
           (hasExponentialsBetween(products_) &&
            perThread(accumulators_.withPingpong(), warps_) <= freeRegisters(kMostWithPingpong));
  }

  Schedule schedule() const {
    Schedule schedule{.num_warps = int(warps_), .num_stages = int(stages_), .roles = Roles::load};
    if (wantsPingpong())
      schedule.overlap = Overlap::pingpong;
    if (bytesOfAdded(module_) != 0)
      schedule.add_by_tma = true;
    return filled(given_, schedule);
  }

  ModuleOp module_;
  ArrayRef<Product> products_;
  Accumulators accumulators_;
  const Schedule &given_;
  int64_t sharedBytes_;
  int64_t warps_ = 0, stages_ = 0; ///< 0 if whole warpgroups cannot compute the products.
  int64_t bytesOfExchanges_ = 0;
};

} // namespace

bool demandsRoles(const Schedule &given) {
  if (given.roles)
    return *given.roles == Roles::load;
  return given.overlap == Overlap::pingpong || given.optimistic_softmax == true || given.add_by_tma == true ||
         !given.steps.empty();
}

DefaultSchedule chooseSchedule(ModuleOp module, const Schedule &given, bool isHopper, int64_t sharedBytes) {
  const SmallVector<Product> products = hotProducts(module);
  const Accumulators accumulators(products);
  const int64_t instances = instancesOf(given);
  const bool mayHaveRoles = isHopper && given.roles != Roles::none;
  DefaultSchedule choice;
  choice.schedule = filled(given, {.num_warps = warpsFor(accumulators, instances)});
  HopperChoice hopper(module, products, given, sharedBytes);
  if (mayHaveRoles)
    hopper.choose(choice);
  if (!maySpill(accumulators, choice.schedule.num_warps, instances))
    return choice;
  if (mayHaveRoles)
    hopper.addNeighbours(choice);
  if (!demandsRoles(given))
    for (int warps : {4, 8, 16})
      choice.neighbours.push_back(filled(given, {.num_warps = warps, .roles = Roles::none}));
  return choice;
}

void explain(ModuleOp module, const Obstacles &obstacles) {
  if (obstacles.empty())
    return;
  for (const Product &product : productsOf(module)) {
    if (!usesTensorCores(product)) // Another remark says so.
      continue;
    InFlightDiagnostic remark = product.op->emitRemark(
        "mma.sync computes this dot and all warps copy its operands, because the compiler chooses roles=none: ");
    auto own = llvm::find_if(obstacles, [&](const Obstacle &obstacle) { return obstacle.product == product.op; });
    if (own != obstacles.end())
      remark << own->reason;
    else
      remark << "the dot at " << placeOf(obstacles.front().product->getLoc()) << " prevents roles=load for all";
  }
}

} // namespace tegula
