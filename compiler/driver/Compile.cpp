// SPDX-License-Identifier: MIT
#include "compiler/driver/Compile.h"

#include "compiler/Registration.h"
#include "compiler/driver/Program.h"
#include "compiler/emit/Emit.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include <numeric>

namespace tegula {

using namespace mlir;

namespace {

/// Phases after those of MLIR.
constexpr std::string_view kLlvm = "llvm", kAsm = "asm";

std::string toText(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

std::string toText(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

Status checkEmit(const std::string &name) {
  std::string legal;
  for (std::string_view phase : emittable()) {
    if (phase == name || name.empty())
      return {};
    legal += (legal.empty() ? "" : ", ") + std::string(phase);
  }
  return Status(ErrorCode::InvalidArgument, "emit: no phase is called '" + name + "'; legal are " + legal);
}

/// The cpu has neither warps nor copies to pipeline. Block sizes were obeyed when the program was recorded.
Status checkSchedule(const Schedule &schedule) {
  for (auto [name, value] : {std::pair("num_warps", schedule.num_warps), std::pair("num_stages", schedule.num_stages)})
    if (value != 0)
      return Status(ErrorCode::InvalidArgument,
                    std::string(name) + " is " + std::to_string(value) + "; the cpu target has none, legal is 0");
  return {};
}

/// One compilation for the cpu target.
class CpuCompilation {
public:
  CpuCompilation(const CompileRequest &request, emit::CpuTarget target)
      : request_(request), target_(std::move(target)) {}

  Expected<Artifact> run() {
    artifact_.target = "cpu";
    TEGULA_RETURN_IF_ERROR(source_.parse(request_.program, artifact_));
    TEGULA_RETURN_IF_ERROR(runPasses());
    if (!artifact_.text.empty())
      return artifact_;
    TEGULA_RETURN_IF_ERROR(generateCode());
    return artifact_;
  }

private:
  bool wants(std::string_view phase) const { return request_.emit == phase; }

  Status runPasses() {
    // A program may ask for other vectors than the machine's, as tests do.
    if (!source_.module()->hasAttr("tile.lanes"))
      source_.module()->setAttr("tile.lanes", Builder(source_.context()).getI64IntegerAttr(target_.lanes));
    for (const MlirPhase &phase : mlirPhases()) {
      PassManager passes(source_.context(), ModuleOp::getOperationName());
      passes.enableVerifier(false);
      phase.build(passes);
      if (failed(passes.run(source_.module())))
        return source_.failure();
      if (wants(phase.name) && !wants(kLlvm)) {
        artifact_.text = toText(source_.module());
        return {};
      }
    }
    return {};
  }

  Status generateCode() {
    auto buffers = source_.module()->getAttrOfType<DenseI64ArrayAttr>("tile.scratch").asArrayRef();
    artifact_.scratch_bytes = std::accumulate(buffers.begin(), buffers.end(), int64_t{0});
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> module = emit::translate(source_.module(), context, target_);
    if (!module)
      return source_.failure();
    std::unique_ptr<llvm::TargetMachine> machine = emit::makeTargetMachine(target_);
    emit::optimize(*module, *machine);
    if (wants(kLlvm))
      artifact_.text = toText(*module);
    else if (wants(kAsm))
      artifact_.text = emit::toAssembly(*module, *machine);
    else
      return link(emit::toObject(*module, *machine));
    return {};
  }

  Status link(const std::string &object) {
    Expected<std::string> binary = emit::link(object);
    if (binary)
      artifact_.binary = std::move(*binary);
    return binary.status();
  }

  const CompileRequest &request_;
  emit::CpuTarget target_;
  SourceProgram source_;
  Artifact artifact_;
};

} // namespace

std::vector<std::string_view> emittable() {
  std::vector<std::string_view> names;
  for (const MlirPhase &phase : mlirPhases())
    names.push_back(phase.name);
  names.push_back(kAsm);
  return names;
}

Expected<Artifact> compile(const CompileRequest &request) {
  if (request.target.name != "cpu")
    return Status(ErrorCode::Unsupported, "target: '" + request.target.name + "' is not known; legal is cpu");
  TEGULA_RETURN_IF_ERROR(checkEmit(request.emit));
  TEGULA_RETURN_IF_ERROR(checkSchedule(request.schedule));
  Expected<emit::CpuTarget> target = emit::resolveCpu(request.target.arch, request.target.features);
  if (!target)
    return target.status();
  return CpuCompilation(request, *target).run();
}

} // namespace tegula
