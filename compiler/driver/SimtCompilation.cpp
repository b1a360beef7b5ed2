// SPDX-License-Identifier: MIT
#include "compiler/driver/GpuCompilation.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace tegula {

namespace {

/// The passes have made the code of one lane; this compiles it for the host.
class SimtCompilation : public GpuCompilation {
public:
  using GpuCompilation::GpuCompilation;

private:
  Status generateCode() override {
    TEGULA_RETURN_IF_ERROR(describeLaunch());
    Expected<emit::CpuTarget> host = emit::resolveCpu("", "");
    if (!host)
      return host.status();
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> module = emit::translate(source_.module(), context);
    if (!module)
      return source_.failure();
    std::unique_ptr<llvm::TargetMachine> machine = emit::makeTargetMachine(*host);
    emit::optimize(*module, *machine);
    if (wants(kLlvmPhase))
      artifact_.text = emit::toText(*module);
    else if (wants(kAsmPhase))
      artifact_.text = emit::toAssembly(*module, *machine);
    else
      return link(emit::toObject(*module, *machine));
    return {};
  }
};

} // namespace

std::unique_ptr<Compilation> makeSimtCompilation(const CompileRequest &request) {
  return std::make_unique<SimtCompilation>(request);
}

} // namespace tegula
