// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/Passes.h"
#include "compiler/cuda/roles/analysis/RoleTraces.h"
#include "compiler/sm/Roles.h"

#include "mlir/Pass/Pass.h"
#include "llvm/ADT/MapVector.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_PRINTROLETRACES
#include "compiler/cuda/roles/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using Kind = sm::RoleEvent::Kind;

static StringRef nameOf(Kind kind) {
  switch (kind) {
  case Kind::waitEmpty:
    return "waits for empty";
  case Kind::fill:
    return "fills";
  case Kind::waitFull:
    return "waits for full";
  case Kind::release:
    return "releases";
  case Kind::store:
    return "stores";
  case Kind::close:
    return "closes";
  case Kind::next:
    return "waits for the next";
  case Kind::takeTurn:
    return "takes a turn";
  case Kind::passTurn:
    return "passes a turn";
  }
  llvm_unreachable("an event of no kind");
}

/// Emits a remark at each op: the numbers of its steps in the role, and what they do to which slot in which phase.
static void print(const RoleTrace &trace) {
  llvm::MapVector<Operation *, SmallVector<std::string>> texts;
  for (auto [number, step] : llvm::enumerate(trace.steps)) {
    std::string text = std::to_string(number) + " " + nameOf(step.kind).str();
    if (step.channel)
      text += " " + std::to_string(step.slot) + "." + std::to_string(step.phase);
    texts[step.op].push_back(text);
  }
  for (const auto &[op, steps] : texts)
    op->emitRemark(llvm::join(steps, ", "));
}

namespace {
struct PrintRoleTraces : cuda::impl::PrintRoleTracesBase<PrintRoleTraces> {
  void runOnOperation() override {
    getOperation()->walk([](sm::RolesOp roles) {
      for (const sm::RoleRef &role : sm::rolesOf(roles))
        print(traceOf(role.body(), /*scenario=*/0));
    });
  }
};
} // namespace
