// SPDX-License-Identifier: MIT
#include "compiler/driver/GpuCompilation.h"

#include "compiler/cuda/schedule/analysis/ScheduleChoice.h"
#include "compiler/sm/Sm.h"
#include "compiler/sm/Steps.h"
#include "compiler/tile/Settings.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

#include <bit>

namespace tegula {

using namespace mlir;

namespace {

/// The legal values of a field that is a number.
struct Number {
  const char *name;
  int Schedule::*field;
  std::vector<int> legal;
};

const Number kNumbers[] = {
    {"num_warps", &Schedule::num_warps, {1, 2, 4, 8, 12, 16}},
    {"num_stages", &Schedule::num_stages, {1, 2, 3, 4, 5, 6, 7, 8}},
    {"instances_per_sm", &Schedule::instances_per_sm, {1, 2, 3, 4}},
};

int64_t attributeOf(ModuleOp module, StringRef name) {
  auto attribute = module->getAttrOfType<IntegerAttr>(name);
  return attribute ? attribute.getInt() : 0;
}

void setAttribute(ModuleOp module, StringRef name, int64_t value) {
  module->setAttr(name, Builder(module.getContext()).getI64IntegerAttr(value));
}

Status check(const Number &number, const Schedule &schedule) {
  const int value = schedule.*number.field;
  if (value == 0 || llvm::is_contained(number.legal, value))
    return {};
  auto legal = llvm::map_range(number.legal, [](int n) { return std::to_string(n); });
  return Status(ErrorCode::invalid_argument, number.name + (" is " + std::to_string(value)) + "; legal are " +
                                                 llvm::join(legal, ", ") + ", and 0 for the compiler's choice");
}

/// Checks the fields whose legal values do not depend on each other.
Status checkFields(const Schedule &schedule) {
  for (const Number &number : kNumbers)
    TEGULA_RETURN_IF_ERROR(check(number, schedule));
  if (schedule.steps.empty())
    return {};
  if (llvm::Expected<sm::StepList> steps = sm::parseSteps(schedule.steps); !steps)
    return Status(ErrorCode::invalid_argument,
                  "steps is \"" + schedule.steps + "\", and " + llvm::toString(steps.takeError()));
  return {};
}

/// Returns the line of the first product, or of the function if it has none.
std::string placeOfProgram(ModuleOp module) {
  Location location = (*module.getOps<func::FuncOp>().begin()).getLoc();
  module.walk([&](Operation *op) {
    if (!isa<tile::DotOp, tile::SoftmaxUpdateOp>(op))
      return WalkResult::advance();
    location = op->getLoc();
    return WalkResult::interrupt();
  });
  return placeOf(location);
}

/// Returns `schedule` without the orders of MMAs that leave no place for the tests of a kernel that reports. All warps
/// of a role execute a test together.
Schedule forReports(Schedule schedule) {
  schedule.overlap = Overlap::none;
  schedule.optimistic_softmax = false;
  schedule.lhs_in_registers = false;
  schedule.add_by_tma = false;
  schedule.steps.clear();
  return schedule;
}

} // namespace

Status GpuCompilation::prepare(ModuleOp module) {
  Expected<emit::GpuTarget> target = emit::resolveGpu(request_.target.arch);
  if (!target)
    return target.status();
  target_ = *target;
  if (!request_.target.features.empty())
    return Status(ErrorCode::invalid_argument,
                  "features: the " + request_.target.name + " target has none, legal is ''; they follow from the arch");
  for (StringRef written : {tile::chosen, cuda::kNeighbours, cuda::kHasWgmma})
    module->removeAttr(written); // Only the compiler writes them.
  const Schedule own = tile::ownSchedule(module);
  given_ = filled(request_.schedule, own);
  TEGULA_RETURN_IF_ERROR(checkFields(given_));
  place_ = placeOfProgram(module);
  tile::setSchedule(module, filled(user_, own));
  tile::setChoice(module, request_.schedule);
  setAttribute(module, "tile.arch", target_.number);
  if (target_.hasTensorMemory)
    module->setAttr(tile::hasTensorMemory, Builder(module.getContext()).getBoolAttr(true));
  if (target_.hasWgmma)
    module->setAttr(cuda::kHasWgmma, Builder(module.getContext()).getBoolAttr(true));
  setAttribute(module, tile::sharedLimit, sm::sharedOfBlock(target_.sharedBytes, std::max(given_.instances_per_sm, 1)));
  return {};
}

Status GpuCompilation::end(StringRef phase) { return phase == "tile" ? takeChoice(source_.module()) : Status(); }

/// Takes the schedule and its neighbours from the module, and checks the schedule.
Status GpuCompilation::takeChoice(ModuleOp module) {
  obstacles_ = source_.remarks();
  chosen_ = filled(tile::scheduleOf(module), given_);
  auto neighbours = cast<ArrayAttr>(module->removeAttr(cuda::kNeighbours));
  for (StringRef text : neighbours.getAsValueRange<StringAttr>()) {
    const Expected<Schedule> neighbour = parseSchedule(text);
    if (!neighbour)
      return neighbour.status();
    neighbours_.push_back(filled(*neighbour, given_));
  }
  Schedule schedule = chosen_;
  if (reports()) {
    schedule = forReports(std::move(schedule));
    module->removeAttr(tile::steps);
    tile::setSchedule(module, schedule);
  }
  artifact_.schedule = toString(schedule);
  return checkRoles(schedule);
}

/// Returns schedules that need less shared memory than the compiler's choice: one program instance on a multiprocessor,
/// then fewer stages, then no roles, then one stage, then left operands in registers, then fewer warps, whose parts of
/// a row meet in shared memory. If the given fields demand roles, these stay, and additions by TMA and overlap go.
std::vector<Schedule> GpuCompilation::smallerSchedules() const {
  std::vector<Schedule> smaller;
  Schedule schedule = chosen_;
  auto lowerStages = [&](int least) {
    while (given_.num_stages == 0 && schedule.num_stages > least) {
      --schedule.num_stages;
      smaller.push_back(schedule);
    }
  };
  if (given_.instances_per_sm == 0 && schedule.instances_per_sm > 1) {
    schedule.instances_per_sm = 1;
    smaller.push_back(schedule);
  }
  if (schedule.roles == Roles::load && !cuda::demandsRoles(given_)) {
    lowerStages(2);
    schedule = filled(given_, tile::usualSchedule());
    schedule.roles = Roles::none;
    smaller.push_back(schedule);
  }
  lowerStages(1);
  if (schedule.add_by_tma && !given_.add_by_tma) {
    schedule.add_by_tma = false;
    smaller.push_back(schedule);
  }
  if (schedule.overlap && !given_.overlap) {
    schedule.overlap = Overlap::none;
    smaller.push_back(schedule);
  }
  while (true) {
    if (!given_.lhs_in_registers) {
      schedule.lhs_in_registers = true;
      smaller.push_back(schedule);
      schedule.lhs_in_registers = std::nullopt;
    }
    if (given_.num_warps != 0 || schedule.num_warps == 1)
      return smaller;
    schedule.num_warps = int(std::bit_floor(unsigned(schedule.num_warps - 1)));
    smaller.push_back(schedule);
  }
}

std::vector<Fallback> GpuCompilation::fallbacks() const {
  if (reports()) {
    Schedule schedule = request_.schedule;
    schedule.roles = Roles::none;
    schedule.num_stages = 1;
    schedule.instances_per_sm = 1;
    return {{schedule, artifact_.kernel + ": the kernel reports, and runs with num_stages=1 roles=none, which "
                                          "computes the same: "}};
  }
  return insteadOfChosen(smallerSchedules());
}

std::vector<Fallback> GpuCompilation::neighbours() const {
  return reports() ? std::vector<Fallback>() : insteadOfChosen(neighbours_);
}

std::vector<Fallback> GpuCompilation::insteadOfChosen(const std::vector<Schedule> &schedules) const {
  std::vector<Fallback> fallbacks;
  for (const Schedule &schedule : schedules)
    if (schedule != chosen_)
      fallbacks.push_back({schedule, (schedule.roles == Roles::load ? "" : obstacles_) + place_ +
                                         ": the compiler chooses " + toString(schedule) + ", because with " +
                                         toString(chosen_) + ", "});
  return fallbacks;
}

Status GpuCompilation::checkRoles(const Schedule &schedule) const {
  const bool hasRoles = schedule.roles == Roles::load, overlaps = schedule.overlap == Overlap::pingpong;
  if (overlaps && !hasRoles)
    return Status(ErrorCode::invalid_argument, "overlap is pingpong, which needs roles=load");
  if (schedule.optimistic_softmax == true && !hasRoles)
    return Status(ErrorCode::invalid_argument, "optimistic_softmax is true, which needs roles=load");
  if (schedule.add_by_tma == true && !hasRoles)
    return Status(ErrorCode::invalid_argument, "add_by_tma is true, which needs roles=load");
  if (!schedule.steps.empty() && !hasRoles)
    return Status(ErrorCode::invalid_argument, "steps is a step list, which needs roles=load");
  if (hasRoles && !overlaps && schedule.lhs_in_registers == true)
    return Status(ErrorCode::invalid_argument,
                  "lhs_in_registers is true, which with roles=load needs overlap=pingpong");
  if (!hasRoles || target_.hasWgmma || target_.hasTensorMemory)
    return {};
  return Status(ErrorCode::unsupported,
                "roles is load, which only sm_90a and sm_100a have instructions for, not " + target_.arch);
}

/// Returns the TMA descriptions that the passes have written on the module (sm_90a).
static std::vector<TensorMap> tensorMapsOf(ModuleOp module, const std::vector<Parameter> &parameters) {
  std::vector<TensorMap> maps;
  if (auto all = module->getAttrOfType<ArrayAttr>("tile.tensor_maps"))
    for (Attribute map : all) {
      ArrayRef<int64_t> numbers = cast<DenseI64ArrayAttr>(map);
      const auto parameter = static_cast<int>(numbers[0]);
      maps.push_back({.parameter = parameter,
                      .dtype = parameters[parameter].dtype,
                      .box = {numbers.begin() + 5, numbers.end()},
                      .swizzle = static_cast<int>(numbers[1]),
                      .columns = numbers[2],
                      .ends_inside = numbers[3] != 0,
                      .joined = static_cast<int>(numbers[4])});
    }
  return maps;
}

Status GpuCompilation::describeLaunch() {
  ModuleOp module = source_.module();
  artifact_.threads = static_cast<int>(32 * attributeOf(module, "tile.block_warps"));
  artifact_.tensor_maps = tensorMapsOf(module, artifact_.parameters);
  artifact_.shared_bytes = attributeOf(module, "tile.shared_bytes");
  const Schedule schedule = tile::scheduleOf(module);
  artifact_.instances_per_sm = schedule.instances_per_sm;
  int64_t limit = attributeOf(module, tile::sharedLimit);
  if (artifact_.shared_bytes <= limit)
    return {};
  const int64_t instances = artifact_.instances_per_sm;
  std::string who =
      instances == 1 ? "a program instance" : "each of " + std::to_string(instances) + " program instances";
  std::string fields = schedule.num_stages == 1 ? "block_m or block_n" : "block_m, block_n or num_stages";
  return Status(ErrorCode::resource_exhausted, who + " needs " + std::to_string(artifact_.shared_bytes) +
                                                   " bytes of shared memory, " + target_.arch + " has " +
                                                   std::to_string(limit) + "; lower " + fields +
                                                   (instances == 1 ? "" : ", or instances_per_sm"));
}

} // namespace tegula
