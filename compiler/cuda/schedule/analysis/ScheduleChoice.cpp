// SPDX-License-Identifier: MIT
#include "compiler/cuda/schedule/analysis/ScheduleChoice.h"

#include "compiler/cuda/layouts/analysis/ProductPlanning.h"
#include "compiler/cuda/schedule/analysis/Demand.h"
#include "compiler/sm/Elements.h"
#include "compiler/sm/Sm.h"
#include "compiler/tile/Settings.h"
#include "compiler/tile/Tile.h"

#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir;

namespace tegula::cuda {

namespace {

//===-- Products --------------------------------------------------------------------------------------------------===//

/// The plan in which each warp has rows of its own.
ProductPlan planByRows(int64_t warps) { return {.rows = warps / sm::kWarpsPerWarpgroup}; }

/// Returns true if each of `warps` warps can have 16 rows of each product: one to three warpgroups.
bool haveRowsFor(ArrayRef<Product> products, int64_t warps) {
  constexpr int64_t mostWarps = 12;
  return warps % sm::kWarpsPerWarpgroup == 0 && warps != 0 && warps <= mostWarps &&
         llvm::all_of(products, [&](const Product &product) {
           return shapeOf(product).m == sm::kRowsPerWarp * warps && obstacleToWarpgroups(product).empty() &&
                  obstacleTo(product, planByRows(warps)).empty();
         });
}

/// How `plan-products` would let two warpgroups share the products of a module.
class SharedProducts {
public:
  static constexpr int64_t kWarpgroups = 2;

  explicit SharedProducts(ModuleOp module) {
    module.walk([&](func::FuncOp function) { plannings_.try_emplace(function, function, kWarpgroups); });
  }

  /// Returns why warpgroups do not share a product; empty if they do.
  std::string obstacleOf(const Product &product) const {
    auto dot = dyn_cast<tile::DotOp>(product.op);
    return dot ? planningOf(dot).obstacleOf(dot) : obstacleToWarpgroups(product);
  }

  /// Returns the elements of the accumulators of a product that warpgroups share.
  int64_t accumulatorsOf(const Product &product) const {
    auto dot = cast<tile::DotOp>(product.op);
    const ProductPlanning &planning = planningOf(dot);
    return cuda::accumulatorsOf(product, planning.chosen(planning.groupOf(dot)));
  }

private:
  const ProductPlanning &planningOf(tile::DotOp dot) const {
    return plannings_.at(dot->getParentOfType<func::FuncOp>());
  }

  std::map<Operation *, ProductPlanning> plannings_;
};

//===-- Registers -------------------------------------------------------------------------------------------------===//

/// The most registers of a consumer's thread that accumulators may take. It has 240; the others are for addresses and
/// arithmetic.
constexpr int64_t kMostAccumulators = 192;
/// The same with overlap=pingpong, where they include the probabilities that an MMA reads from registers.
constexpr int64_t kMostWithPingpong = 208;
/// The most stages of tiles that a producer loads.
constexpr int64_t kMostStages = 4;

Accumulators unpaddedAccumulators(ArrayRef<Product> products) {
  return Accumulators(products, [](const Product &product) { return product.type.getNumElements(); });
}

int64_t perThread(int64_t elements, int64_t warps) { return elements / (sm::kWarpSize * warps); }

/// Returns the number of program instances that must have room in a multiprocessor.
int64_t instancesOf(const Schedule &schedule) { return std::max(schedule.instances_per_sm, 1); }

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

/// Returns true if a part of a thread's registers is more than 9/16 of them, so that others may spill.
bool isMost(int64_t part, int64_t registers) { return 16 * part > 9 * registers; }

bool maySpill(const Accumulators &accumulators, int64_t warps, int64_t instances) {
  return isMost(perThread(accumulators.early(), warps), registersOfThread(warps, instances));
}

//===-- Obstacles -------------------------------------------------------------------------------------------------===//

Obstacle obstacleOf(const Product &product, std::string reason) { return {product.op, std::move(reason)}; }

/// Returns an obstacle for each product of few rows whose result two warpgroups would exchange. On an H200, chains of
/// such products were up to 46 % slower with roles, and products whose accumulators the loop carries were not.
Obstacles obstaclesToExchanging(ArrayRef<Product> products) {
  Obstacles obstacles;
  for (const Product &product : products)
    if (const int64_t rows = shapeOf(product).m; rows < sm::kRowsPerWarpgroup && isUsedByProduct(product, products))
      obstacles.push_back(obstacleOf(
          product, llvm::formatv("two warpgroups would exchange tiles of {0} rows, which costs more time than "
                                 "they gain; legal are {1} rows or more",
                                 rows, sm::kRowsPerWarpgroup)));
  return obstacles;
}

/// Returns an obstacle if a loop has a single product and loads its right operand in rows of half a panel or less. TMA
/// takes as long for such a row as for a whole panel: on an H200, products of 16 and 32 columns of bf16 took 1.1 to 1.9
/// times as long with roles.
Obstacles obstacleOfShortRows(ArrayRef<Product> products) {
  const Product &product = products.front();
  if (products.size() != 1 || product.transposesRhs || !loadInIteration(product.rhs, product) ||
      !transposedOperands(product).empty()) // Without roles, mma.sync of these elements is several times slower.
    return {};
  const int64_t bytes = product.rhsType.getDimSize(1) * product.rhsType.getElementTypeBitWidth() / 8;
  if (2 * bytes > sm::kPanelBytes)
    return {};
  return {
      obstacleOf(product, llvm::formatv("TMA would load the right operand in rows of {0} bytes, and takes as long for "
                                        "{1}; use wider tiles",
                                        bytes, sm::kPanelBytes))};
}

/// Returns the reasons why two warpgroups cannot share the products.
Obstacles obstaclesToSharing(ArrayRef<Product> products, const SharedProducts &shared) {
  Obstacles obstacles;
  for (const Product &product : products)
    if (std::string reason = shared.obstacleOf(product); !reason.empty())
      obstacles.push_back(obstacleOf(product, std::move(reason)));
  auto softmax = llvm::find_if(products, [](const Product &product) { return product.isSoftmax(); });
  if (obstacles.empty() && softmax != products.end())
    return {obstacleOf(*softmax, llvm::formatv("a warp has whole rows of an online softmax, whose output has {0} rows; "
                                               "legal are 64, 128 or 192 rows and at most 256 columns in all dots of "
                                               "innermost loops",
                                               shapeOf(*softmax).m))};
  return obstacles;
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
  HopperChoice(ModuleOp module, ArrayRef<Product> products, const Schedule &given)
      : module_(module), products_(products), accumulators_(unpaddedAccumulators(products)), given_(given) {}

  /// Sets the schedule, unless there are obstacles. Given roles are kept in spite of them.
  void choose(ScheduleChoice &choice) {
    if (products_.empty())
      obstacles_ = obstaclesOutsideLoops(module_);
    else if (chooseWarps() && allowsOperandsInRegisters()) {
      chooseInstances();
      if (chooseStages())
        obstacles_ = bytesOfExchanges_ != 0 ? obstaclesToExchanging(products_) : obstacleOfShortRows(products_);
    }
    const bool demanded = demandsRoles(given_);
    if (warps_ != 0 && (demanded || obstacles_.empty()))
      choice.schedule = schedule();
    else if (demanded)
      choice.schedule.roles = Roles::load;
    if (!demanded)
      choice.obstacles = obstacles_;
  }

  /// Adds the choice with one instance if several have been chosen and may spill.
  void addOneInstance(ScheduleChoice &choice) const {
    if (instances_ == 1 || choice.schedule.roles != Roles::load ||
        !isMost(heldByThread(), registersOfConsumer(instances_)))
      return;
    choice.neighbours.push_back(choice.schedule);
    choice.neighbours.back().instances_per_sm = 1;
  }

  /// Adds the schedules with roles that may spill less.
  void addNeighbours(ScheduleChoice &choice) const {
    if (warps_ == 0)
      return;
    Schedule schedule = this->schedule();
    if (choice.obstacles.empty())
      schedule.overlap = choice.schedule.overlap;
    else if (given_.num_stages == 0)
      schedule.num_stages = 1;
    schedule.instances_per_sm = instancesOf(given_);
    if (!given_.overlap)
      schedule.overlap = Overlap::none;
    choice.neighbours.push_back(schedule);
    const bool isOrderGiven = given_.overlap || !given_.steps.empty();
    if (std::optional<Schedule> ordered = inOrder(schedule, products_); ordered && !isOrderGiven)
      choice.neighbours.push_back(*ordered);
  }

private:
  bool mayHave(int64_t warps) const { return given_.num_warps == 0 || given_.num_warps == warps; }

  /// Notes the only obstacle, at the first product. Returns false.
  bool refuse(std::string reason) {
    obstacles_ = {obstacleOf(products_.front(), std::move(reason))};
    return false;
  }

  /// Returns what else makes room if the caller gives several program instances for a multiprocessor.
  const char *orFewerInstances() const { return instancesOf(given_) == 1 ? "" : ", or lower instances_per_sm"; }

  bool chooseWarps() {
    const int64_t ofRows = shapeOf(products_.front()).m / sm::kRowsPerWarp;
    const bool haveRows = haveRowsFor(products_, ofRows);
    if (haveRows && mayHave(ofRows)) {
      warps_ = ofRows;
      return hasRegisters(accumulators_.early());
    }
    constexpr int64_t ofSharing = SharedProducts::kWarpgroups * sm::kWarpsPerWarpgroup;
    const SharedProducts shared(module_);
    const Obstacles toSharing = obstaclesToSharing(products_, shared);
    if (toSharing.empty() && mayHave(ofSharing)) {
      warps_ = ofSharing;
      bytesOfExchanges_ = bytesOfComputed(products_);
      accumulators_ = Accumulators(products_, [&](const Product &product) { return shared.accumulatorsOf(product); });
      return hasRegisters(accumulators_.withExchanges());
    }
    if (haveRows || toSharing.empty())
      return refuse(llvm::formatv("num_warps={0} is given, and whole warpgroups compute it with num_warps={1}",
                                  given_.num_warps, haveRows ? ofRows : ofSharing));
    obstacles_ = toSharing;
    return false;
  }

  /// Returns the registers of a thread that computes if `instances` program instances share a multiprocessor.
  int64_t registersOfConsumer(int64_t instances) const {
    constexpr int64_t ofProducers = 32 * sm::kWarpsPerWarpgroup;
    return (sm::registersOfBlock(warps_ + sm::kWarpsPerWarpgroup, instances) - ofProducers) / warps_;
  }

  /// Returns the registers of a thread that accumulators may take: `most`, or 4/5 of a consumer's if program instances
  /// share those of a multiprocessor.
  int64_t freeRegisters(int64_t most) const {
    const int64_t instances = instancesOf(given_);
    return instances == 1 ? most : std::min(most, 4 * registersOfConsumer(instances) / 5);
  }

  bool hasRegisters(int64_t elements) {
    const int64_t registers = perThread(elements, warps_), free = freeRegisters(kMostAccumulators);
    accumulatorsOfThread_ = registers;
    if (registers <= free)
      return true;
    return refuse(llvm::formatv("the accumulators of its loop need {0} registers of a thread, and at most {1} are free "
                                "for them; use smaller tiles{2}",
                                registers, std::max<int64_t>(free, 0), orFewerInstances()));
  }

  bool allowsOperandsInRegisters() {
    if (given_.lhs_in_registers == true && given_.overlap == Overlap::none)
      return refuse("lhs_in_registers=true and overlap=none are given, and roles=load keeps operands in registers with "
                    "overlap=pingpong only");
    return true;
  }

  /// Lets several program instances share a multiprocessor if there is room for each, so that its tensor cores have
  /// work while an instance waits for a product.
  void chooseInstances() {
    constexpr int64_t mostConsumers = 16; // Warps of a multiprocessor.
    if (given_.instances_per_sm != 0)
      return;
    for (int instances : {4, 3, 2})
      if (instances * warps_ <= mostConsumers && haveRegisters(instances) && haveStages(instances)) {
        instances_ = instances;
        return;
      }
  }

  /// ptxas allocates the accumulators of an MMA in the registers that a thread has at the launch, before roles divide
  /// them.
  bool haveRegisters(int64_t instances) const {
    constexpr int64_t besideProduct = 32;
    const int64_t warps = warps_ + sm::kWarpsPerWarpgroup;
    return perThread(accumulators_.ofProduct(), warps_) + besideProduct <=
               sm::registersOfBlock(warps, instances) / warps &&
           heldByThread() + sm::kForAddresses <= registersOfConsumer(instances);
  }

  /// Returns the registers of a thread for accumulators, for other tiles that the loops carry, and for the
  /// probabilities that overlap=pingpong holds.
  int64_t heldByThread() const {
    const int64_t withPingpong = wantsPingpong() ? perThread(accumulators_.withPingpong(), warps_) : 0;
    return std::max(accumulatorsOfThread_, withPingpong) + perThread(carriedBeside(products_), warps_);
  }

  bool haveStages(int64_t instances) const {
    const int64_t stages = given_.num_stages == 0 ? kMostStages : given_.num_stages,
                  bytes = bytesOfIteration(products_);
    return bytes != 0 && stages * bytes <= freeShared(instances);
  }

  /// Returns the bytes of shared memory that the stages of each program instance may take.
  int64_t freeShared(int64_t instances) const {
    constexpr int64_t ofMbarriers = 1 << 10;
    const int64_t given = tile::setting(module_, tile::sharedLimit, std::numeric_limits<int32_t>::max());
    return sm::sharedOfBlock(given, instances) - ofMbarriers - bytesBesideRings(module_) - bytesOfExchanges_ -
           bytesOfAddedByTma();
  }

  bool chooseStages() {
    constexpr int64_t fewestStages = 2;
    const bool isGiven = given_.num_stages != 0;
    const int64_t least = isGiven ? given_.num_stages : fewestStages;
    const int64_t bytes = bytesOfIteration(products_), free = freeShared(instances_);
    if (bytes == 0)
      return refuse("its loop loads no operand of a dot, which a producer would do; load tiles of the operands in the "
                    "loop");
    if (free < least * bytes)
      return refuse(llvm::formatv(
          "{0}the tiles that an iteration loads need {1} bytes of shared memory{2}, and {3} are free; use smaller "
          "tiles{4}{5}",
          isGiven ? "" : "two stages of ", least * bytes,
          isGiven ? " with num_stages=" + std::to_string(least) : std::string(), std::max<int64_t>(free, 0),
          given_.num_stages > 1 ? ", or lower num_stages" : "", orFewerInstances()));
    stages_ = isGiven ? least : std::min(free / bytes, kMostStages);
    return true;
  }

  int64_t bytesOfAddedByTma() const { return given_.add_by_tma == false ? 0 : bytesOfAdded(module_); }

  bool wantsPingpong() const {
    return given_.lhs_in_registers == true ||
           (hasExponentialsBetween(products_) &&
            perThread(accumulators_.withPingpong(), warps_) <= freeRegisters(kMostWithPingpong));
  }

  Schedule schedule() const {
    Schedule schedule{
        .num_warps = int(warps_), .num_stages = int(stages_), .roles = Roles::load, .instances_per_sm = instances_};
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
  Obstacles obstacles_;
  int64_t warps_ = 0, stages_ = 0; ///< 0 if whole warpgroups cannot compute the products.
  int64_t accumulatorsOfThread_ = 0;
  int instances_ = 1; ///< Chosen ones; those that the caller gives are in given_.
  int64_t bytesOfExchanges_ = 0;
};

} // namespace

bool demandsRoles(const Schedule &given) {
  if (given.roles)
    return *given.roles == Roles::load;
  return given.overlap == Overlap::pingpong || given.optimistic_softmax == true || given.add_by_tma == true ||
         !given.steps.empty();
}

ScheduleChoice chooseSchedule(ModuleOp module, const Schedule &given) {
  const SmallVector<Product> products = hotProducts(module);
  const Accumulators accumulators = unpaddedAccumulators(products);
  const bool mayHaveRoles = tile::isOn(module, kHasWgmma) && given.roles != Roles::none;
  ScheduleChoice choice;
  choice.schedule = filled(given, {.num_warps = warpsFor(accumulators, instancesOf(given))});
  HopperChoice hopper(module, products, given);
  if (mayHaveRoles)
    hopper.choose(choice);
  hopper.addOneInstance(choice);
  if (!maySpill(accumulators, choice.schedule.num_warps, instancesOf(choice.schedule)))
    return choice;
  if (mayHaveRoles)
    hopper.addNeighbours(choice);
  if (!demandsRoles(given))
    for (int warps : {4, 8, 16})
      choice.neighbours.push_back(filled(given, {.num_warps = warps, .roles = Roles::none}));
  return choice;
}

} // namespace tegula::cuda
