// SPDX-License-Identifier: MIT
#include "compiler/driver/GpuCompilation.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace tegula {

namespace {

/// A compilation for the simt executor. The passes make the code of one lane, and LLVM compiles it for the host.
class SimtCompilation : public GpuCompilation {
public:
  using GpuCompilation::GpuCompilation;

private:
  Status generateCode() override {
    TEGULA_RETURN_IF_ERROR(describeLaunch());
    // The code is the same on every host, so that a test that passes here passes elsewhere.
    Expected<emit::CpuTarget> host = emit::resolveCpu("x86-64-v3", "");
    if (!host)
      return host.status();
    llvm::LLVMContext context;
    // The executor spends most of its time on its checks, and most of its kernels run once.
    return generateHostCode(emit::translate(source_.module(), context), *host, llvm::CodeGenOptLevel::None);
  }
};

} // namespace

std::unique_ptr<Compilation> makeSimtCompilation(const CompileRequest &request, const Schedule &user) {
  return std::make_unique<SimtCompilation>(request, user);
}

} // namespace tegula
