// SPDX-License-Identifier: MIT
#include "compiler/cuda/shared/Passes.h"

#include "compiler/sm/PendingGroups.h"

#include "llvm/ADT/TypeSwitch.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_COUNTWAITS
#include "compiler/cuda/shared/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

namespace {
struct CountWaits : cuda::impl::CountWaitsBase<CountWaits> {
  void runOnOperation() override {
    for (auto [op, pending] : sm::pendingGroups(getOperation()))
      TypeSwitch<Operation *>(op).Case<sm::AwaitOp, sm::WaitOp, sm::TmaStoreWaitOp>(
          [&](auto wait) { wait.setPending(pending); });
  }
};
} // namespace
