// SPDX-License-Identifier: MIT
#include "compiler/tile/Settings.h"

#include "compiler/tile/Tile.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tegula::tile {
namespace {

template <class T> struct Field {
  StringLiteral attribute;
  T Schedule::*value;
};

constexpr Field<int> kNumbers[] = {{"tile.num_warps", &Schedule::num_warps},
                                   {"tile.num_stages", &Schedule::num_stages},
                                   {"tile.instances_per_sm", &Schedule::instances_per_sm}};
constexpr Field<std::optional<bool>> kSwitches[] = {{"tile.optimistic_softmax", &Schedule::optimistic_softmax},
                                                    {"tile.lhs_in_registers", &Schedule::lhs_in_registers},
                                                    {"tile.add_by_tma", &Schedule::add_by_tma}};
constexpr StringLiteral kRoles = "tile.roles", kOverlap = "tile.overlap";

} // namespace

Schedule usualSchedule() { return {.num_warps = 4, .num_stages = 2, .roles = Roles::none, .instances_per_sm = 1}; }

Schedule ownSchedule(Operation *op) {
  Schedule own;
  ModuleOp module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  if (!module)
    return own;
  for (const Field<int> &field : kNumbers)
    if (auto number = module->getAttrOfType<IntegerAttr>(field.attribute))
      own.*field.value = static_cast<int>(number.getInt());
  for (const Field<std::optional<bool>> &field : kSwitches)
    if (auto isOn = module->getAttrOfType<BoolAttr>(field.attribute))
      own.*field.value = isOn.getValue();
  if (auto word = module->getAttrOfType<StringAttr>(kRoles))
    own.roles = StringRef(toString(Roles::load)) == word.getValue() ? Roles::load : Roles::none;
  if (auto word = module->getAttrOfType<StringAttr>(kOverlap))
    own.overlap = StringRef(toString(Overlap::pingpong)) == word.getValue() ? Overlap::pingpong : Overlap::none;
  if (auto list = module->getAttrOfType<StringAttr>(steps))
    own.steps = list.str();
  return own;
}

Schedule scheduleOf(Operation *op) { return filled(ownSchedule(op), usualSchedule()); }

void setSchedule(ModuleOp module, const Schedule &schedule) {
  Builder b(module.getContext());
  for (const Field<int> &field : kNumbers)
    if (schedule.*field.value != 0)
      module->setAttr(field.attribute, b.getI64IntegerAttr(schedule.*field.value));
  for (const Field<std::optional<bool>> &field : kSwitches)
    if (schedule.*field.value)
      module->setAttr(field.attribute, b.getBoolAttr(*(schedule.*field.value)));
  if (schedule.roles)
    module->setAttr(kRoles, b.getStringAttr(toString(*schedule.roles)));
  if (schedule.overlap)
    module->setAttr(kOverlap, b.getStringAttr(toString(*schedule.overlap)));
  if (!schedule.steps.empty())
    module->setAttr(steps, b.getStringAttr(schedule.steps));
}

void setChoice(ModuleOp module, const Schedule &choice) {
  SmallVector<StringRef> names;
  if (auto before = module->getAttrOfType<ArrayAttr>(chosen))
    llvm::append_range(names, before.getAsValueRange<StringAttr>());
  const Schedule own = ownSchedule(module);
  setSchedule(module, choice);
  const Schedule now = ownSchedule(module);
  for (const ScheduleField &field : scheduleFields())
    if (field.text(own).empty() && !field.text(now).empty())
      names.push_back(field.name);
  if (!names.empty())
    module->setAttr(chosen, Builder(module).getStrArrayAttr(names));
}

} // namespace tegula::tile
