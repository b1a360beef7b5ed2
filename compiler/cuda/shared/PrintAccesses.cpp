// SPDX-License-Identifier: MIT
#include "compiler/cuda/shared/Passes.h"

#include "compiler/sm/Sm.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_PRINTACCESSES
#include "compiler/cuda/shared/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

static StringRef nameOf(sm::AccessKind kind) {
  switch (kind) {
  case sm::AccessKind::read:
    return "reads";
  case sm::AccessKind::write:
    return "writes";
  case sm::AccessKind::add:
    return "adds to";
  }
  llvm_unreachable("an access of no kind");
}

static StringRef nameOf(sm::Engine engine) {
  switch (engine) {
  case sm::Engine::none:
    return "lanes";
  case sm::Engine::cpAsync:
    return "cp.async";
  case sm::Engine::tma:
    return "TMA";
  case sm::Engine::tensorCores:
    return "tensor cores";
  }
  llvm_unreachable("an engine without a name");
}

/// Returns what `op` does, in phrases without a subject.
static SmallVector<std::string> phrasesOf(Operation *op) {
  SmallVector<std::string> phrases;
  for (const sm::Access &access : sm::accessesOf(op))
    phrases.push_back((nameOf(access.kind) + " operand " + Twine(access.place->getOperandNumber()) + " by " +
                       nameOf(access.engine) + (access.isOfSlot ? ", ordered by mbarriers" : ""))
                          .str());
  const sm::Order order = sm::orderOf(op);
  for (auto [meeting, verb] : {std::pair(order.meeting, "waits for"), std::pair(order.mayMeet, "may wait for")})
    if (meeting != sm::Meeting::none)
      phrases.push_back((verb + Twine(meeting == sm::Meeting::warp ? " its warp" : " its role")).str());
  if (order.ends != sm::Engine::none)
    phrases.push_back(("ends accesses of " + nameOf(order.ends)).str());
  if (order.fences)
    phrases.push_back("fences the asynchronous proxy");
  return phrases;
}

namespace {
struct PrintAccesses : cuda::impl::PrintAccessesBase<PrintAccesses> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (SmallVector<std::string> phrases = phrasesOf(op); !phrases.empty())
        op->emitRemark(llvm::join(phrases, "; "));
    });
  }
};
} // namespace
