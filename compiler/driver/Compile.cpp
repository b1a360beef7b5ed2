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
  artifact_.schedule = toString(request_.schedule);
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
    TEGULA_RETURN_IF_ERROR(end(phase.name));
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

static std::unique_ptr<Compilation> makeCompilation(const CompileRequest &request, const Schedule &user) {
  if (request.target.name == "cpu")
    return makeCpuCompilation(request, user);
  if (request.target.name == "cuda")
    return makeCudaCompilation(request, user);
  return makeSimtCompilation(request, user);
}

static bool isExhausted(const Expected<Artifact> &artifact) {
  return !artifact && artifact.status().code() == ErrorCode::resource_exhausted;
}

/// Compiles with the first of the fallbacks of `compilation` that succeeds. `reason` is the error of `compilation`. If
/// none succeeds, returns the error of the fallback that needs the least.
static Expected<Artifact> compileSmaller(const CompileRequest &request, const Compilation &compilation,
                                         const Status &reason) {
  Status least = reason;
  for (const Fallback &fallback : compilation.fallbacks()) {
    CompileRequest smaller = request;
    smaller.schedule = fallback.schedule;
    Expected<Artifact> artifact = makeCompilation(smaller, compilation.user())->run();
    if (artifact) {
      artifact->remarks.insert(0, fallback.remark + reason.message() + "\n");
      return artifact;
    }
    if (isExhausted(artifact))
      least = artifact.status();
  }
  return least;
}

/// Compiles with a schedule that fits into shared memory.
static Expected<Artifact> compileFitting(const CompileRequest &request, Compilation &compilation) {
  Expected<Artifact> artifact = compilation.run();
  return isExhausted(artifact) ? compileSmaller(request, compilation, artifact.status()) : std::move(artifact);
}

/// Returns the machine code of a request for the code or a text of a GPU's program.
static Expected<Artifact> assemble(CompileRequest request, const Schedule &user) {
  request.target.name = "cuda";
  request.emit = "";
  return compileFitting(request, *makeCompilation(request, user));
}

/// The bytes that registers spill, and whether ptxas says that it serialised MMAs.
using Defects = std::pair<int, bool>;

static Defects defectsOf(const Artifact &artifact) {
  return {artifact.report.spill_bytes, !artifact.report.notes.empty()};
}

/// Compiles with the first neighbour of the compiler's choice without defects, or with the one that spills the least.
/// `artifact` has the choice, and is returned if no neighbour is better.
static Expected<Artifact> compileUnspilled(const CompileRequest &request, const Compilation &compilation,
                                           Expected<Artifact> artifact) {
  const std::vector<Fallback> neighbours = compilation.neighbours();
  if (!artifact || neighbours.empty())
    return artifact;
  const bool isAssembled = request.target.name == "cuda" && request.emit.empty();
  const Expected<Artifact> first = isAssembled ? artifact : assemble(request, compilation.user());
  Defects least = first ? defectsOf(*first) : Defects();
  const std::string reason =
      least.first != 0 ? "registers spill " + std::to_string(least.first) + " bytes\n" : "ptxas serialises the MMAs\n";
  const Fallback *best = nullptr;
  for (const Fallback &neighbour : neighbours) {
    // Serialised wgmma is faster than mma.sync, so schedules without roles are tried only if registers spill.
    if (least.first == 0 && (!least.second || neighbour.schedule.roles == Roles::none))
      break;
    CompileRequest other = request;
    other.schedule = neighbour.schedule;
    if (const Expected<Artifact> tried = assemble(other, compilation.user()); tried && defectsOf(*tried) < least) {
      least = defectsOf(*tried);
      best = &neighbour;
    }
  }
  if (best) {
    CompileRequest chosen = request;
    chosen.schedule = best->schedule;
    artifact = compileFitting(chosen, *makeCompilation(chosen, compilation.user()));
  }
  if (artifact && best)
    artifact->remarks.insert(0, best->remark + reason);
  if (artifact && least.first != 0)
    artifact->remarks += compilation.place() + ": registers spill " + std::to_string(least.first) +
                         " bytes with the best schedule of the compiler; use smaller tiles\n";
  return artifact;
}

Expected<Artifact> compile(const CompileRequest &request) {
  const std::string &target = request.target.name;
  if (mlirPhases(target).empty())
    return Status(ErrorCode::unsupported,
                  "target: '" + target + "' is not known; legal are " + llvm::join(targetNames(), ", "));
  TEGULA_RETURN_IF_ERROR(checkEmit(request));
  std::unique_ptr<Compilation> compilation = makeCompilation(request, request.schedule);
  Expected<Artifact> artifact = compileFitting(request, *compilation);
  return compileUnspilled(request, *compilation, std::move(artifact));
}

} // namespace tegula
