// SPDX-License-Identifier: MIT
#include "compiler/cuda/Passes.h"

#include "compiler/sm/Sm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "compiler/cuda/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

namespace {
struct AssignLayouts : cuda::impl::AssignLayoutsBase<AssignLayouts> {
  void runOnOperation() override {}
};
} // namespace
