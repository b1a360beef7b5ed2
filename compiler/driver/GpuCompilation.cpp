// SPDX-License-Identifier: MIT
#include "compiler/driver/GpuCompilation.h"

#include "compiler/driver/DefaultSchedule.h"
#include "compiler/sm/Steps.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

#include <bit>

namespace tegula {

using namespace mlir;

namespace {

/// A field of the schedule that passes read as a number from an attribute of the module.
struct Number {
  const char *name, *attribute;
  int Schedule::*field;
  int64_t usual;
  std::vector<int64_t> legal;
};

const Number kNumbers[] = {
    {"num_warps", "tile.num_warps", &Schedule::num_warps, 4, {1, 2, 4, 8, 12, 16}},
    {"num_stages", "tile.num_stages", &Schedule::num_stages, 2, {1, 2, 3, 4, 5, 6, 7, 8}},
    {"instances_per_sm", "tile.instances_per_sm", &Schedule::instances_per_sm, 1, {1, 2, 3, 4}},
};

int64_t attributeOf(ModuleOp module, StringRef name) {
  auto attribute = module->getAttrOfType<IntegerAttr>(name);
  return attribute ? attribute.getInt() : 0;
}

void setAttribute(ModuleOp module, StringRef name, int64_t value) {
  module->setAttr(name, Builder(module.getContext()).getI64IntegerAttr(value));
}

/// Writes a number of the schedule on the module.
Status decide(const Number &number, const Schedule &schedule, ModuleOp module) {
  const int64_t value = schedule.*number.field;
  if (!llvm::is_contained(number.legal, value)) {
    auto legal = llvm::map_range(number.legal, [](int64_t n) { return std::to_string(n); });
    return Status(ErrorCode::invalid_argument, number.name + (" is " + std::to_string(value)) + "; legal are " +
                                                   llvm::join(legal, ", ") + ", and 0 for the compiler's choice");
  }
  setAttribute(module, number.attribute, value);
  return {};
}

/// Returns `schedule` with the program's own values in fields that it does not set.
Schedule withOwnFields(Schedule schedule, ModuleOp module) {
  for (const Number &number : kNumbers)
    if (schedule.*number.field == 0)
      schedule.*number.field = static_cast<int>(attributeOf(module, number.attribute));
  if (!schedule.roles && module->hasAttr("tile.roles"))
    schedule.roles = tile::wantsRoles(module) ? Roles::load : Roles::none;
  return schedule;
}

Schedule withUsualValues(Schedule schedule) {
  for (const Number &number : kNumbers)
    if (schedule.*number.field == 0)
      schedule.*number.field = static_cast<int>(number.usual);
  schedule.roles = schedule.roles.value_or(Roles::none);
  return schedule;
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

/// Writes the switch `tile.NAME` with the value `isOn` on the module. If the schedule has no value, the program's own
/// stays.
void decideSwitch(StringRef name, std::optional<bool> isOn, ModuleOp module) {
  if (isOn)
    module->setAttr(("tile." + name).str(), BoolAttr::get(module.getContext(), *isOn));
}

/// Writes the enumerator `value` as a word in `tile.NAME` on the module. If the schedule has no value, the program's
/// own stays.
template <class T> void decideWord(StringRef name, std::optional<T> value, ModuleOp module) {
  if (value)
    module->setAttr(("tile." + name).str(), StringAttr::get(module.getContext(), toString(*value)));
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

/// Writes the step list of the schedule on the module. If the schedule has none, the program's own stays.
Status decideSteps(const std::string &list, ModuleOp module) {
  if (list.empty())
    return {};
  if (llvm::Expected<sm::StepList> steps = sm::parseSteps(list); !steps)
    return Status(ErrorCode::invalid_argument, "steps is \"" + list + "\", and " + llvm::toString(steps.takeError()));
  module->setAttr(tile::steps, StringAttr::get(module.getContext(), list));
  return {};
}

/// Returns the bytes of shared memory that a program instance may have if `instances` share a multiprocessor.
int64_t sharedLimit(const emit::GpuTarget &target, int64_t instances) {
  return (target.sharedBytes + kReservedBytes) / instances - kReservedBytes;
}

} // namespace

/// Names the fields that the compiler sets on the module, so that remarks say that it chose them.
void GpuCompilation::nameChoices(const Schedule &schedule, ModuleOp module) const {
  const Schedule given = withOwnFields(user_, module);
  SmallVector<StringRef> names;
  for (const ScheduleField &field : scheduleFields())
    if (const std::string value = field.text(schedule); !value.empty() && value != "none" && field.text(given).empty())
      names.push_back(field.name);
  module->setAttr(tile::chosen, Builder(module.getContext()).getStrArrayAttr(names));
}

Status GpuCompilation::prepare(ModuleOp module) {
  Expected<emit::GpuTarget> target = emit::resolveGpu(request_.target.arch);
  if (!target)
    return target.status();
  target_ = *target;
  if (!request_.target.features.empty())
    return Status(ErrorCode::invalid_argument,
                  "features: the " + request_.target.name + " target has none, legal is ''; they follow from the arch");
  setAttribute(module, "tile.arch", target_.number);
  if (target_.hasTensorMemory)
    module->setAttr(tile::hasTensorMemory, Builder(module.getContext()).getBoolAttr(true));
  chooseSchedule(module);
  Schedule schedule = chosen_;
  if (reports()) {
    schedule = forReports(std::move(schedule));
    module->removeAttr(tile::steps);
  }
  artifact_.schedule = toString(schedule);
  nameChoices(schedule, module);
  for (const Number &number : kNumbers)
    TEGULA_RETURN_IF_ERROR(decide(number, schedule, module));
  decideWord("roles", schedule.roles, module);
  decideWord("overlap", schedule.overlap, module);
  decideSwitch("optimistic_softmax", schedule.optimistic_softmax, module);
  decideSwitch("lhs_in_registers", schedule.lhs_in_registers, module);
  decideSwitch("add_by_tma", schedule.add_by_tma, module);
  TEGULA_RETURN_IF_ERROR(decideSteps(schedule.steps, module));
  setAttribute(module, "tile.shared_limit", sharedLimit(target_, attributeOf(module, "tile.instances_per_sm")));
  return checkRoles(module);
}

void GpuCompilation::chooseSchedule(ModuleOp module) {
  given_ = withOwnFields(request_.schedule, module);
  place_ = placeOfProgram(module);
  const DefaultSchedule choice = tegula::chooseSchedule(module, given_, target_.hasWgmma,
                                                        sharedLimit(target_, std::max(given_.instances_per_sm, 1)));
  explain(module, choice.obstacles);
  obstacles_ = source_.remarks();
  chosen_ = withUsualValues(choice.schedule);
  for (const Schedule &neighbour : choice.neighbours)
    neighbours_.push_back(withUsualValues(neighbour));
}

/// Returns schedules that need less shared memory than the compiler's choice: fewer stages, then no roles, then one
/// stage, then left operands in registers, then fewer warps, whose parts of a row meet in shared memory. If the given
/// fields demand roles, these stay, and additions by TMA and overlap go.
std::vector<Schedule> GpuCompilation::smallerSchedules() const {
  std::vector<Schedule> smaller;
  Schedule schedule = chosen_;
  auto lowerStages = [&](int least) {
    while (given_.num_stages == 0 && schedule.num_stages > least) {
      --schedule.num_stages;
      smaller.push_back(schedule);
    }
  };
  if (schedule.roles == Roles::load && !demandsRoles(given_)) {
    lowerStages(2);
    schedule = withUsualValues(given_);
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

Status GpuCompilation::checkRoles(ModuleOp module) const {
  const bool hasRoles = tile::wantsRoles(module), overlaps = tile::isWord(module, "tile.overlap", "pingpong");
  if (overlaps && !hasRoles)
    return Status(ErrorCode::invalid_argument, "overlap is pingpong, which needs roles=load");
  if (tile::isOn(module, "tile.optimistic_softmax") && !hasRoles)
    return Status(ErrorCode::invalid_argument, "optimistic_softmax is true, which needs roles=load");
  if (tile::isOn(module, "tile.add_by_tma") && !hasRoles)
    return Status(ErrorCode::invalid_argument, "add_by_tma is true, which needs roles=load");
  if (module->hasAttr(tile::steps) && !hasRoles)
    return Status(ErrorCode::invalid_argument, "steps is a step list, which needs roles=load");
  if (hasRoles && !overlaps && tile::isOn(module, "tile.lhs_in_registers"))
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
  artifact_.instances_per_sm = static_cast<int>(attributeOf(module, "tile.instances_per_sm"));
  int64_t limit = attributeOf(module, "tile.shared_limit");
  if (artifact_.shared_bytes <= limit)
    return {};
  const int64_t instances = artifact_.instances_per_sm;
  std::string who =
      instances == 1 ? "a program instance" : "each of " + std::to_string(instances) + " program instances";
  std::string fields =
      attributeOf(module, "tile.num_stages") == 1 ? "block_m or block_n" : "block_m, block_n or num_stages";
  return Status(ErrorCode::resource_exhausted, who + " needs " + std::to_string(artifact_.shared_bytes) +
                                                   " bytes of shared memory, " + target_.arch + " has " +
                                                   std::to_string(limit) + "; lower " + fields +
                                                   (instances == 1 ? "" : ", or instances_per_sm"));
}

} // namespace tegula
