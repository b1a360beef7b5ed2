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

/// Sets the number of younger stores that may still run. They are those of other buffers. As they count, each must
/// close a commit group in any case.
static void setPending(sm::TmaStoreWaitOp wait, int64_t pending) {
  wait.setPending(pending);
  if (pending == 0)
    return;
  wait->getParentOfType<sm::RolesOp>().walk([&](sm::CopyOutOp copy) {
    if (copy.getByTma() && copy.getShared() != wait.getShared())
      copy.setAlwaysCommits(true);
  });
}

namespace {
struct CountWaits : cuda::impl::CountWaitsBase<CountWaits> {
  void runOnOperation() override {
    for (auto [op, pending] : sm::pendingGroups(getOperation())) {
      if (auto await = dyn_cast<sm::AwaitOp>(op))
        await.setPending(pending);
      else
        setPending(cast<sm::TmaStoreWaitOp>(op), pending);
    }
  }
};
} // namespace
