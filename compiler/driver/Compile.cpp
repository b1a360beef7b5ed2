// SPDX-License-Identifier: MIT
#include "compiler/driver/Compile.h"

#include "compiler/Registration.h"
#include "compiler/driver/Compilation.h"
#include "compiler/emit/Emit.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace tegula {

using namespace mlir;

static Status checkEmit(const CompileRequest &request) {
  auto legal = emittable(request.target.name);
  if (request.emit.empty() || llvm::is_contained(legal, request.emit))
    return {};
  return Status(ErrorCode::invalid_argument,
                "emit: no phase is called '" + request.emit + "'; legal are " + llvm::join(legal, ", "));
}

Expected<Artifact> Compilation::run() {
  artifact_.target = request_.target.name;
  TEGULA_RETURN_IF_ERROR(source_.parse(request_.program));
  if (request_.debug != DebugOptions())
    TEGULA_RETURN_IF_ERROR(source_.addRecords(request_.debug));
  TEGULA_RETURN_IF_ERROR(source_.describe(artifact_));
  TEGULA_RETURN_IF_ERROR(prepare(source_.module()));
  TEGULA_RETURN_IF_ERROR(runPasses());
  if (artifact_.text.empty())
    TEGULA_RETURN_IF_ERROR(generateCode());
  artifact_.remarks = source_.remarks();
  return std::move(artifact_);
}

Status Compilation::runPasses() {
  for (const MlirPhase &phase : mlirPhases(request_.target.name)) {
    PassManager passes(source_.context(), ModuleOp::getOperationName());
    passes.enableVerifier(false); // The phase is verified as a whole.
    phase.build(passes);
    if (failed(passes.run(source_.module())) || failed(verify(source_.module())))
      return source_.failure();
    end(phase.name);
    if (wants(phase.name) && !wants(kLlvmPhase)) {
      llvm::raw_string_ostream stream(artifact_.text);
      source_.module()->print(stream);
      return {};
    }
  }
  return {};
}

Status Compilation::generateHostCode(std::unique_ptr<llvm::Module> module, const emit::CpuTarget &host,
                                     llvm::CodeGenOptLevel level) {
  if (!module)
    return source_.failure();
  std::unique_ptr<llvm::TargetMachine> machine = emit::makeTargetMachine(host, level);
  emit::optimize(*module, *machine);
  if (wants(kLlvmPhase))
    artifact_.text = emit::toText(*module);
  else if (wants(kAsmPhase))
    artifact_.text = emit::toAssembly(*module, *machine);
  else
    return link(emit::toObject(*module, *machine));
  return {};
}

/// Sets the binary from one relocatable object for the host.
Status Compilation::link(const std::string &object) {
  Expected<std::string> binary = emit::link(object);
  if (binary)
    artifact_.binary = std::move(*binary);
  return binary.status();
}

std::vector<std::string_view> emittable(std::string_view target) {
  std::vector<std::string_view> names;
  for (const MlirPhase &phase : mlirPhases(target))
    if (std::string_view(phase.name) != kLlvmPhase)
      names.push_back(phase.name);
  if (!names.empty())
    llvm::append_range(names, target == "cuda" ? cudaCodePhases() : hostCodePhases());
  return names;
}

static std::unique_ptr<Compilation> makeCompilation(const CompileRequest &request) {
  if (request.target.name == "cpu")
    return makeCpuCompilation(request);
  if (request.target.name == "cuda")
    return makeCudaCompilation(request);
  return makeSimtCompilation(request);
}

Expected<Artifact> compile(const CompileRequest &request) {
  const std::string &target = request.target.name;
  if (mlirPhases(target).empty())
    return Status(ErrorCode::unsupported,
                  "target: '" + target + "' is not known; legal are " + llvm::join(targetNames(), ", "));
  TEGULA_RETURN_IF_ERROR(checkEmit(request));
  std::unique_ptr<Compilation> compilation = makeCompilation(request);
  Expected<Artifact> artifact = compilation->run();
  if (artifact || artifact.status().code() != ErrorCode::resource_exhausted)
    return artifact;
  const std::optional<Fallback> fallback = compilation->fallback();
  if (!fallback)
    return artifact;
  CompileRequest smaller = request;
  smaller.schedule = fallback->schedule;
  const std::string remark = fallback->remark + artifact.status().message() + "\n";
  artifact = makeCompilation(smaller)->run();
  if (artifact)
    artifact->remarks.insert(0, remark);
  return artifact;
}

} // namespace tegula
