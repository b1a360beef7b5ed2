// SPDX-License-Identifier: MIT
#include "compiler/driver/GpuCompilation.h"
#include "compiler/driver/Report.h"
#include "compiler/ptx/Ptx.h"
#include "compiler/sm/Sm.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace tegula {

using namespace mlir;

namespace {

constexpr std::string_view kPtxPhase = "ptx", kCubinPhase = "cubin", kReportPhase = "report", kOrderPhase = "order";

class CudaCompilation : public GpuCompilation {
public:
  using GpuCompilation::GpuCompilation;

private:
  Status generateCode() override {
    TEGULA_RETURN_IF_ERROR(describeLaunch());
    if (wants(kOrderPhase)) {
      artifact_.text = describeSchedule(artifact_) + "\n" + order_;
      return {};
    }
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> module = emit::translate(source_.module(), context);
    if (!module)
      return source_.failure();
    emit::optimizeForGpu(*module);
    if (wants(kLlvmPhase)) {
      artifact_.text = emit::toText(*module);
      return {};
    }
    Expected<std::string> ptx = ptx::toPtx(*module, {target_.arch, target_.ptx, target_.number});
    if (!ptx)
      return ptx.status();
    if (!wants(kPtxPhase))
      return assemble(*ptx);
    artifact_.text = std::move(*ptx);
    return {};
  }

  Status assemble(const std::string &ptx) {
    Expected<std::string> binary = emit::assemble(ptx, target_, artifact_.report);
    if (!binary)
      return binary.status();
    artifact_.binary = std::move(*binary);
    if (wants(kReportPhase))
      artifact_.text = describeSchedule(artifact_) +
                       describeResources(artifact_, target_.sharedBytes + sm::kReservedBytes) +
                       describeInstructions(ptx) + loops_ +
                       (artifact_.report.notes.empty() ? "" : "\n" + artifact_.report.notes + "\n");
    return {};
  }

  Status end(StringRef phase) override {
    if (phase == "shared" && wants(kReportPhase))
      loops_ = describeLoops(source_.module(), target_.number);
    if (phase == "shared" && wants(kOrderPhase))
      order_ = describeOrder(source_.module());
    return GpuCompilation::end(phase);
  }

  std::string loops_, order_; ///< The part of the report on loops, and the text on their order.
};

} // namespace

std::vector<std::string_view> cudaCodePhases() {
  return {kLlvmPhase, kPtxPhase, kCubinPhase, kReportPhase, kOrderPhase};
}

std::unique_ptr<Compilation> makeCudaCompilation(const CompileRequest &request, const Schedule &user) {
  return std::make_unique<CudaCompilation>(request, user);
}

} // namespace tegula
