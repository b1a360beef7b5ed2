// SPDX-License-Identifier: MIT
#include "compiler/cuda/layouts/Passes.h"
#include "compiler/cuda/layouts/analysis/ProductGroups.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_PRINTPRODUCTGROUPS
#include "compiler/cuda/layouts/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

/// Emits a remark for each result of the function that is tied to a dot.
static void print(func::FuncOp function) {
  const ProductGroups groups(function);
  llvm::DenseMap<Value, unsigned> numbers;
  function.walk([&](tile::DotOp dot) { numbers.try_emplace(groups.of(dot.getResult()), numbers.size()); });
  function.walk([&](Operation *op) {
    for (OpResult result : op->getResults())
      if (auto group = numbers.find(groups.of(result)); group != numbers.end())
        op->emitRemark("result ") << result.getResultNumber() << " is in group " << group->second;
  });
}

namespace {
struct PrintProductGroups : cuda::impl::PrintProductGroupsBase<PrintProductGroups> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      print(function);
  }
};
} // namespace
