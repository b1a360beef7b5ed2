// SPDX-License-Identifier: MIT
#include "compiler/emit/Emit.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/TargetParser/X86TargetParser.h"

#include <mutex>

namespace tegula::emit {

using namespace llvm;

namespace {

void initializeX86() {
  static std::once_flag once;
  std::call_once(once, [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
  });
}

std::string hostFeatures() {
  SubtargetFeatures features;
  for (auto &[name, enabled] : sys::getHostCPUFeatures())
    features.AddFeature(name, enabled);
  return features.getString();
}

/// Returns the features of `cpu`, or "" if LLVM does not know the CPU.
std::string featuresOf(StringRef cpu) {
  if (X86::parseArchX86(cpu) == X86::CK_None)
    return "";
  SmallVector<StringRef> names;
  X86::getFeaturesForCPU(cpu, names, /*NeedPlus=*/true);
  return join(names, ",");
}

bool has(const std::string &features, StringRef name) {
  return is_contained(SubtargetFeatures(features).getFeatures(), ("+" + name).str());
}

} // namespace

Expected<CpuTarget> resolveCpu(const std::string &arch, const std::string &features) {
  CpuTarget target{arch.empty() ? sys::getHostCPUName().str() : arch, features};
  if (features.empty())
    target.features = arch.empty() ? hostFeatures() : featuresOf(arch);
  if (target.features.empty())
    return Status(ErrorCode::invalid_argument,
                  "arch: no x86 CPU is called '" + arch +
                      "'; legal are LLVM's names, such as x86-64-v3, znver3, sapphirerapids");
  for (const char *needed : {"avx2", "fma", "f16c"})
    if (!has(target.features, needed))
      return Status(ErrorCode::unsupported,
                    "the cpu target needs a CPU with AVX2, FMA and F16C; '" + target.cpu + "' has no " + needed);
  target.lanes = has(target.features, "avx512f") ? 16 : 8;
  return target;
}

std::unique_ptr<TargetMachine> makeTargetMachine(const CpuTarget &target, CodeGenOptLevel level) {
  initializeX86();
  Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const Target *x86 = TargetRegistry::lookupTarget(triple, error);
  TargetOptions options;
  return std::unique_ptr<TargetMachine>(
      x86->createTargetMachine(triple, target.cpu, target.features, options, Reloc::PIC_, std::nullopt, level));
}

namespace {

// The pipelines are short, because the loops already have their final form. They only clean up after the lowering.
constexpr StringLiteral kCpuPasses = "function(early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
                                     "loop-mssa(licm<allowspeculation>),gvn,simplifycfg)";
constexpr StringLiteral kFastPasses = "function(early-cse)";
// Registers are scarce on a GPU. Therefore `licm` moves only values out of a loop that every iteration computes, and
// `sink` moves values that only the slow path of a memory access needs into the branch of that path.
constexpr StringLiteral kGpuPasses = "function(early-cse,instcombine<no-verify-fixpoint>,simplifycfg,"
                                     "loop-mssa(licm<no-allowspeculation>),simplifycfg,sink)";

// No library function is declared available, so that no loop becomes a call of memset or memcpy.
void runPasses(Module &module, TargetMachine *machine, StringRef names) {
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  tuning.LoopUnrolling = false;
  PassBuilder passes(machine, tuning);
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager sccs;
  ModuleAnalysisManager modules;
  TargetLibraryInfoImpl library(module.getTargetTriple());
  library.disableAllFunctions();
  functions.registerPass([&] { return TargetLibraryAnalysis(library); });
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(sccs);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, sccs, modules);
  ModulePassManager pipeline;
  cantFail(passes.parsePassPipeline(pipeline, names));
  pipeline.run(module, modules);
}

} // namespace

/// Computes minima and maxima of f16 as f32. LLVM narrows those of f32 where it can, and selects a call of the C
/// library for the narrow ones.
static void widenExtrema(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : make_early_inc_range(instructions(function))) {
      auto *extremum = dyn_cast<IntrinsicInst>(&instruction);
      if (!extremum || !is_contained({Intrinsic::minnum, Intrinsic::maxnum}, extremum->getIntrinsicID()) ||
          !extremum->getType()->isHalfTy())
        continue;
      IRBuilder<> builder(extremum);
      auto wide = [&](unsigned operand) {
        return builder.CreateFPExt(extremum->getArgOperand(operand), builder.getFloatTy());
      };
      Value *result = builder.CreateBinaryIntrinsic(extremum->getIntrinsicID(), wide(0), wide(1));
      extremum->replaceAllUsesWith(builder.CreateFPTrunc(result, extremum->getType()));
      extremum->eraseFromParent();
    }
}

/// Defines the function that LLVM calls to round f32 to bf16 on a CPU without an instruction for it. LLVM calls it even
/// where code only moves a bf16 value. The libraries of some hosts lack it, and a kernel must need none.
static void defineBf16Rounding(Module &module) {
  auto makesBf16 = [](const Instruction &instruction) { return instruction.getType()->getScalarType()->isBFloatTy(); };
  if (none_of(module, [&](Function &function) { return any_of(instructions(function), makesBf16); }))
    return;
  LLVMContext &context = module.getContext();
  auto *type = FunctionType::get(Type::getBFloatTy(context), {Type::getFloatTy(context)}, /*isVarArg=*/false);
  Function *function = Function::Create(type, GlobalValue::ExternalLinkage, "__truncsfbf2", module);
  function->setVisibility(GlobalValue::HiddenVisibility);
  IRBuilder<> builder(BasicBlock::Create(context, "", function));
  Value *value = function->getArg(0), *bits = builder.CreateBitCast(value, builder.getInt32Ty());
  Value *isOdd = builder.CreateAnd(builder.CreateLShr(bits, 16), 1);
  Value *rounded = builder.CreateAdd(bits, builder.CreateAdd(isOdd, builder.getInt32(0x7fff)));
  Value *quietNan = builder.CreateOr(bits, 0x400000);
  Value *word = builder.CreateSelect(builder.CreateFCmpUNO(value, value), quietNan, rounded);
  Value *half = builder.CreateTrunc(builder.CreateLShr(word, 16), builder.getInt16Ty());
  builder.CreateRet(builder.CreateBitCast(half, type->getReturnType()));
}

void optimize(Module &module, TargetMachine &machine) {
  module.setDataLayout(machine.createDataLayout());
  module.setTargetTriple(machine.getTargetTriple());
  runPasses(module, &machine, machine.getOptLevel() == CodeGenOptLevel::None ? kFastPasses : kCpuPasses);
  widenExtrema(module);
  defineBf16Rounding(module);
}

/// Compares bf16 values as f32. LLVM narrows comparisons of f32 where it can. If it cannot select the narrow
/// comparison, it widens each operand with a conversion, even a constant, which no such instruction of PTX takes.
static void widenComparisons(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : make_early_inc_range(instructions(function))) {
      auto *compare = dyn_cast<FCmpInst>(&instruction);
      if (!compare || !compare->getOperand(0)->getType()->isBFloatTy())
        continue;
      IRBuilder<> builder(compare);
      for (Use &operand : compare->operands())
        operand.set(builder.CreateFPExt(operand.get(), builder.getFloatTy()));
    }
}

// The data layout says that addresses in shared memory have 32 bits.
void optimizeForGpu(Module &module) {
  module.setDataLayout(
      "e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-p7:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64");
  module.setTargetTriple(Triple("nvptx64-nvidia-cuda"));
  runPasses(module, nullptr, kGpuPasses);
  widenComparisons(module);
}

namespace {

std::string generate(Module &module, TargetMachine &machine, CodeGenFileType type) {
  SmallString<0> output;
  raw_svector_ostream stream(output);
  legacy::PassManager passes;
  TargetLibraryInfoImpl library(machine.getTargetTriple());
  library.disableAllFunctions();
  passes.add(new TargetLibraryInfoWrapperPass(library));
  machine.addPassesToEmitFile(passes, stream, nullptr, type);
  passes.run(module);
  return output.str().str();
}

} // namespace

std::string toText(const Module &module) {
  std::string text;
  raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

std::string toAssembly(Module &module, TargetMachine &machine) {
  return generate(module, machine, CodeGenFileType::AssemblyFile);
}

std::string toObject(Module &module, TargetMachine &machine) {
  return generate(module, machine, CodeGenFileType::ObjectFile);
}

} // namespace tegula::emit
