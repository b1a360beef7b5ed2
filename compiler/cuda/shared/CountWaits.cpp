// SPDX-License-Identifier: MIT
#include "compiler/cuda/shared/Passes.h"

#include "compiler/sm/PendingGroups.h"

#include "mlir/Pass/Pass.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_COUNTWAITS
#include "compiler/cuda/shared/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

namespace {
struct CountWaits : cuda::impl::CountWaitsBase<CountWaits> {
  void runOnOperation() override {
    for (auto [op, pending] : sm::pendingGroups(getOperation())) {
      if (auto await = dyn_cast<sm::AwaitOp>(op))
        await.setPending(pending);
      else
        cast<sm::TmaStoreWaitOp>(op).setPending(pending);
    }
  }
};
} // namespace
