// SPDX-License-Identifier: MIT
// From optimised LLVM IR to PTX. PTX is a virtual machine with an unlimited number of registers, and ptxas optimises.
// This folder therefore only names each value, spells each instruction, and removes copies between values.
#pragma once

#include "tegula/status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace llvm {
class Module;
} // namespace llvm

namespace tegula::ptx {

/// The GPU whose PTX is printed.
struct Target {
  std::string_view arch;    ///< "sm_90a"
  std::string_view version; ///< The version of PTX, such as "8.1".
  int64_t number = 0;       ///< 90
};

/// Returns the PTX of the module's kernel. Returns internal, with the name of the offender, if the kernel contains an
/// instruction, an intrinsic or a type that neither our own lowering nor LLVM's clean-up of it produces.
Expected<std::string> toPtx(llvm::Module &module, const Target &target);

} // namespace tegula::ptx
