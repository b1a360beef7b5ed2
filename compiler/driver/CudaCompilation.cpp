// SPDX-License-Identifier: MIT
#include "compiler/driver/Compilation.h"

#include "compiler/emit/Emit.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace tegula {

using namespace mlir;

namespace {

constexpr std::string_view kPtxPhase = "ptx", kCubinPhase = "cubin", kReportPhase = "report";

/// A field of the schedule as the passes see it.
struct Decision {
  const char *name, *attribute;
  int Schedule::*field;
  int64_t usual;
  std::vector<int64_t> legal;
};

const Decision kDecisions[] = {
    {"num_warps", "tile.num_warps", &Schedule::num_warps, 4, {1, 2, 4, 8, 16}},
    {"num_stages", "tile.num_stages", &Schedule::num_stages, 2, {1, 2, 3, 4, 5, 6, 7, 8}},
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

std::string toText(const AssemblerReport &report) {
  if (report.assembler.empty())
    return "no assembler is on this machine\n";
  return report.assembler + "\nregisters: " + std::to_string(report.registers) +
         "\nspill bytes: " + std::to_string(report.spill_bytes) +
         "\nstack bytes: " + std::to_string(report.stack_bytes) + "\n" + report.notes;
}

class CudaCompilation : public Compilation {
public:
  using Compilation::Compilation;

private:
  Status prepare(ModuleOp module) override {
    Expected<emit::GpuTarget> target = emit::resolveGpu(request_.target.arch);
    if (!target)
      return target.status();
    target_ = *target;
    if (!request_.target.features.empty())
      return Status(ErrorCode::InvalidArgument,
                    "features: the cuda target has none, legal is ''; they follow from the arch");
    setAttribute(module, "tile.arch", target_.number);
    for (const Decision &decision : kDecisions)
      TEGULA_RETURN_IF_ERROR(decide(decision, request_.schedule, module));
    artifact_.threads = static_cast<int>(32 * attributeOf(module, "tile.num_warps"));
    return {};
  }

  Status generateCode() override {
    artifact_.shared_bytes = attributeOf(source_.module(), "tile.shared_bytes");
    TEGULA_RETURN_IF_ERROR(checkSharedMemory());
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> module = emit::translate(source_.module(), context);
    if (!module)
      return source_.failure();
    std::unique_ptr<llvm::TargetMachine> machine = emit::makeTargetMachine(target_);
    emit::optimize(*module, *machine);
    if (wants(kLlvmPhase)) {
      artifact_.text = emit::toText(*module);
      return {};
    }
    std::string ptx = emit::toAssembly(*module, *machine);
    if (!wants(kPtxPhase))
      return assemble(ptx);
    artifact_.text = std::move(ptx);
    return {};
  }

  Status checkSharedMemory() const {
    if (artifact_.shared_bytes <= target_.sharedBytes)
      return {};
    return Status(ErrorCode::ResourceExhausted, "a program instance needs " + std::to_string(artifact_.shared_bytes) +
                                                    " bytes of shared memory, " + target_.arch + " has " +
                                                    std::to_string(target_.sharedBytes) +
                                                    "; lower block_m, block_n or num_stages");
  }

  Status assemble(const std::string &ptx) {
    Expected<std::string> binary = emit::assemble(ptx, target_, artifact_.report);
    if (!binary)
      return binary.status();
    artifact_.binary = std::move(*binary);
    if (wants(kReportPhase))
      artifact_.text = toText(artifact_.report);
    return {};
  }

  emit::GpuTarget target_;
};

} // namespace

std::vector<std::string_view> cudaCodePhases() { return {kLlvmPhase, kPtxPhase, kCubinPhase, kReportPhase}; }

std::unique_ptr<Compilation> makeCudaCompilation(const CompileRequest &request) {
  return std::make_unique<CudaCompilation>(request);
}

} // namespace tegula
