// SPDX-License-Identifier: MIT
// From optimised LLVM IR to PTX. PTX is a virtual machine with registers without end, and its assembler optimises: what
// is left to do is to name each value, to spell each instruction, and to leave out copies that join values.
#pragma once

#include "tegula/status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace llvm {
class Module;
} // namespace llvm

namespace tegula::ptx {

/// The GPU to print for.
struct Target {
  std::string_view arch;    ///< "sm_90a"
  std::string_view version; ///< Of PTX: "8.1".
  int64_t number = 0;       ///< 90
};

/// The module's kernel. Returns internal, naming it, if there is an instruction, an intrinsic or a type in it that our
/// own lowering and LLVM's clean-up of it do not make.
Expected<std::string> toPtx(llvm::Module &module, const Target &target);

} // namespace tegula::ptx
