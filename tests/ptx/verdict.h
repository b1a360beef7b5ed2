// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace llvm {
class Module;
} // namespace llvm

namespace tegula::ptx_fuzz {

/// The result of the comparison of both printers on a kernel.
struct Verdict {
  enum class Kind {
    equal,
    refused,  ///< Our printer refuses the kernel.
    rejected, ///< Our text is not what the interpreter, or ptxas, accepts.
    failed,   ///< The interpreter cannot run LLVM's text.
    differs,
  };

  Kind kind = Kind::equal;
  std::string why;
};

/// Returns the name of a kind, such as `refused`.
const char *toString(Verdict::Kind kind);

/// How a random kernel is compiled. Each follows from the seed.
struct Settings {
  uint64_t seed;

  bool isOptimized() const { return seed & 1; } ///< By the passes that Tegula runs before its printer.
  const char *arch() const { return seed & 2 ? "sm_90a" : "sm_80"; }
};

/// Returns the kernel as both printers get it.
std::unique_ptr<llvm::Module> compiled(const llvm::Module &module, Settings settings);

/// Compares the printers on a kernel.
Verdict judge(const llvm::Module &module, Settings settings);

} // namespace tegula::ptx_fuzz
