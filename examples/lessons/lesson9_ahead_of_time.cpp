// SPDX-License-Identifier: MIT
// Lesson 9: kernels are compiled ahead of time. A host then loads them from a folder, without a compiler.
#include "matrix_product.h"
#include "tegula/bundle.h"
#include "tegula/no_compiler.h"

using namespace tegula;

constexpr const char *kBundle = "matrix_product_bundle";

/// Compiles the matrix product for a target, and puts it into the bundle.
void addToBundleFor(const Target &target, Compiler &compiler) {
  BundledKernel bundled;
  bundled.request.program = recordMatrixProduct().text;
  bundled.request.target = target;
  bundled.artifact = valueOf(compiler.compile(bundled.request));
  std::printf("bundled for %s %s: %zu bytes\n", target.name.c_str(), target.arch.c_str(),
              bundled.artifact.binary.size());
  require(addToBundle(kBundle, {bundled}));
}

int main() {
  Machine machine;
  addToBundleFor(machine.device->target(), *machine.compiler);
  addToBundleFor({.name = "cuda", .arch = "sm_90a", .features = {}}, *machine.compiler);

  // The host. It finds a kernel by its program, schedule and target.
  ArtifactCacheOptions files{.directory = "", .read_only = {kBundle}};
  KernelCache cache(noCompiler(), machine.device, {std::make_shared<ArtifactCache>(files), CompilePolicy::load_only});
  const std::shared_ptr<Kernel> kernel = valueOf(cache.get(recordMatrixProduct().text));
  const Product product(machine, /*m=*/200, /*n=*/300, /*k=*/250);
  require(product.launch(*kernel));

  // A kernel that is not in the bundle is an error, because the host must not compile.
  const Status missing = cache.get(recordMatrixProduct({.m = 64}).text).status();
  std::printf("%s\n", missing.message().c_str());
  return product.isRight() && missing.code() == ErrorCode::needs_compile ? 0 : 1;
}
