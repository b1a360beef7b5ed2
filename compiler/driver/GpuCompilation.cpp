// SPDX-License-Identifier: MIT
#include "compiler/driver/GpuCompilation.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

namespace tegula {

using namespace mlir;

namespace {

/// A field of the schedule as the passes see it.
struct Decision {
  const char *name, *attribute;
  int Schedule::*field;
  int64_t usual;
  std::vector<int64_t> legal;
};

const Decision kDecisions[] = {
    {"num_warps", "tile.num_warps", &Schedule::num_warps, 4, {1, 2, 4, 8, 12, 16}},
    {"num_stages", "tile.num_stages", &Schedule::num_stages, 2, {1, 2, 3, 4, 5, 6, 7, 8}},
    {"num_roles", "tile.num_roles", &Schedule::num_roles, 1, {1, 2}},
    {"num_products", "tile.num_products", &Schedule::num_products, 1, {1, 2}},
    {"num_attempts", "tile.num_attempts", &Schedule::num_attempts, 1, {1, 2}},
    {"held_operands", "tile.held_operands", &Schedule::held_operands, 1, {1, 2}},
    {"instances_per_sm", "tile.instances_per_sm", &Schedule::instances_per_sm, 1, {1, 2, 3, 4}},
};

int64_t attributeOf(ModuleOp module, StringRef name) {
  auto attribute = module->getAttrOfType<IntegerAttr>(name);
  return attribute ? attribute.getInt() : 0;
}

void setAttribute(ModuleOp module, StringRef name, int64_t value) {
  module->setAttr(name, Builder(module.getContext()).getI64IntegerAttr(value));
}

/// The schedule decides, else the text of the program, else we do.
Status decide(const Decision &decision, const Schedule &schedule, ModuleOp module) {
  int64_t value = schedule.*decision.field;
  if (value == 0)
    value = attributeOf(module, decision.attribute);
  if (value == 0)
    value = decision.usual;
  if (!llvm::is_contained(decision.legal, value)) {
    auto legal = llvm::map_range(decision.legal, [](int64_t n) { return std::to_string(n); });
    return Status(ErrorCode::InvalidArgument, decision.name + (" is " + std::to_string(value)) + "; legal are " +
                                                  llvm::join(legal, ", ") + ", and 0 for the compiler's choice");
  }
  setAttribute(module, decision.attribute, value);
  return {};
}

/// Bytes of shared memory that a program instance may have. The multiprocessor keeps some of each for itself.
int64_t sharedLimit(const emit::GpuTarget &target, int64_t instances) {
  constexpr int64_t reserved = 1 << 10;
  return (target.sharedBytes + reserved) / instances - reserved;
}

} // namespace

Status GpuCompilation::prepare(ModuleOp module) {
  Expected<emit::GpuTarget> target = emit::resolveGpu(request_.target.arch);
  if (!target)
    return target.status();
  target_ = *target;
  if (!request_.target.features.empty())
    return Status(ErrorCode::InvalidArgument,
                  "features: the " + request_.target.name + " target has none, legal is ''; they follow from the arch");
  setAttribute(module, "tile.arch", target_.number);
  for (const Decision &decision : kDecisions)
    TEGULA_RETURN_IF_ERROR(decide(decision, request_.schedule, module));
  setAttribute(module, "tile.shared_limit", sharedLimit(target_, attributeOf(module, "tile.instances_per_sm")));
  return checkRoles(module);
}

Status GpuCompilation::checkRoles(ModuleOp module) const {
  bool hasRoles = attributeOf(module, "tile.num_roles") == 2, overlaps = attributeOf(module, "tile.num_products") == 2;
  if (overlaps && !hasRoles)
    return Status(ErrorCode::InvalidArgument, "num_products is 2, which needs num_roles of 2");
  if (attributeOf(module, "tile.num_attempts") == 2 && !hasRoles)
    return Status(ErrorCode::InvalidArgument, "num_attempts is 2, which needs num_roles of 2");
  if (hasRoles && !overlaps && attributeOf(module, "tile.held_operands") == 2)
    return Status(ErrorCode::InvalidArgument, "held_operands is 2, which with num_roles of 2 needs num_products of 2");
  if (!hasRoles || target_.arch == "sm_90a")
    return {};
  return Status(ErrorCode::Unsupported, "num_roles is 2, which only sm_90a has instructions for, not " + target_.arch);
}

/// Of sm_90a: what the passes have written on the module.
static std::vector<TensorMap> tensorMapsOf(ModuleOp module) {
  std::vector<TensorMap> maps;
  if (auto all = module->getAttrOfType<ArrayAttr>("tile.tensor_maps"))
    for (Attribute map : all) {
      ArrayRef<int64_t> numbers = cast<DenseI64ArrayAttr>(map);
      maps.push_back({static_cast<int>(numbers[0]), static_cast<int>(numbers[1]), numbers[2]});
    }
  return maps;
}

Status GpuCompilation::describeLaunch() {
  ModuleOp module = source_.module();
  artifact_.threads =
      static_cast<int>(32 * (attributeOf(module, "tile.num_warps") + attributeOf(module, "tile.producer_warps")));
  artifact_.tensor_maps = tensorMapsOf(module);
  artifact_.shared_bytes = attributeOf(module, "tile.shared_bytes");
  artifact_.instances_per_sm = static_cast<int>(attributeOf(module, "tile.instances_per_sm"));
  int64_t limit = attributeOf(module, "tile.shared_limit");
  if (artifact_.shared_bytes <= limit)
    return {};
  const bool isAlone = artifact_.instances_per_sm == 1;
  std::string who =
      isAlone ? "a program instance" : "each of " + std::to_string(artifact_.instances_per_sm) + " program instances";
  return Status(ErrorCode::ResourceExhausted, who + " needs " + std::to_string(artifact_.shared_bytes) +
                                                  " bytes of shared memory, " + target_.arch + " has " +
                                                  std::to_string(limit) + "; lower block_m, block_n" +
                                                  (isAlone ? " or num_stages" : ", num_stages or instances_per_sm"));
}

} // namespace tegula
