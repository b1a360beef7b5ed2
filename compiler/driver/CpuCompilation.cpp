// SPDX-License-Identifier: MIT
#include "compiler/driver/Compilation.h"

#include "compiler/emit/Emit.h"

#include "mlir/IR/Builders.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <numeric>

namespace tegula {

using namespace mlir;

namespace {

/// Refuses fields that the cpu target does not have, such as warps and pipelined copies. The fields in `recorded` had
/// their effect when the program was recorded.
Status checkSchedule(const Schedule &schedule) {
  constexpr std::string_view recorded[] = {"block_m", "block_n", "heads_in_l2", "tile_scheduler"};
  for (const ScheduleField &field : scheduleFields())
    if (const std::string value = field.text(schedule); !value.empty() && !llvm::is_contained(recorded, field.name))
      return Status(ErrorCode::invalid_argument,
                    std::string(field.name) + " is " + value + "; the cpu target has no such field, leave it out");
  return {};
}

class CpuCompilation : public Compilation {
public:
  using Compilation::Compilation;

private:
  Status prepare(ModuleOp module) override {
    TEGULA_RETURN_IF_ERROR(checkSchedule(request_.schedule));
    Expected<emit::CpuTarget> target = emit::resolveCpu(request_.target.arch, request_.target.features);
    if (!target)
      return target.status();
    target_ = *target;
    // A program may name a vector width that differs from the CPU's, as tests do.
    if (!module->hasAttr("tile.lanes"))
      module->setAttr("tile.lanes", Builder(module.getContext()).getI64IntegerAttr(target_.lanes));
    return {};
  }

  Status generateCode() override {
    auto buffers = source_.module()->getAttrOfType<DenseI64ArrayAttr>("tile.scratch").asArrayRef();
    artifact_.scratch_bytes = std::accumulate(buffers.begin(), buffers.end(), int64_t{0});
    llvm::LLVMContext context;
    return generateHostCode(emit::translate(source_.module(), context, target_), target_,
                            llvm::CodeGenOptLevel::Default);
  }

  emit::CpuTarget target_;
};

} // namespace

std::vector<std::string_view> hostCodePhases() { return {kLlvmPhase, kAsmPhase}; }

std::unique_ptr<Compilation> makeCpuCompilation(const CompileRequest &request, const Schedule &user) {
  return std::make_unique<CpuCompilation>(request, user);
}

} // namespace tegula
