// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/Passes.h"
#include "compiler/cuda/roles/analysis/LoopOrder.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_PRINTLOOPGRAPH
#include "compiler/cuda/roles/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

static std::string listed(ArrayRef<LoopGraph::Number> numbers) {
  return llvm::join(llvm::map_range(numbers, [](LoopGraph::Number number) { return std::to_string(number); }), ", ");
}

/// Emits a remark at each op: its number, what it comes after, and whether it works for the iteration before.
static void print(const LoopGraph &graph) {
  for (const LoopGraph::Node &node : graph.nodes) {
    std::string text = "op " + std::to_string(graph.numbers.at(node.op));
    if (node.isDelayed)
      text += ", late";
    if (graph.coveredFences.contains(node.op))
      text += ", covered by the fence of a store";
    if (llvm::is_contained(graph.comparisons, node.op))
      text += ", constant in later iterations";
    SmallVector<LoopGraph::Number, 4> dependences(node.dependences);
    llvm::sort(dependences);
    dependences.erase(llvm::unique(dependences), dependences.end());
    node.op->emitRemark(text) << ": after " << (dependences.empty() ? "nothing" : listed(dependences));
  }
  auto numbers = llvm::map_to_vector(graph.mmas, [&](sm::AsyncProduct mma) { return graph.numbers.at(mma); });
  scf::ForOp(graph.loop).emitRemark() << "starts MMAs " << listed(numbers) << "; hands over " << graph.handedOver.size()
                                      << " values";
}

namespace {
struct PrintLoopGraph : cuda::impl::PrintLoopGraphBase<PrintLoopGraph> {
  void runOnOperation() override {
    getOperation()->walk([](scf::ForOp loop) {
      auto text = loop->getAttrOfType<StringAttr>(tile::steps);
      if (!text || loop->hasAttr(kPipelined))
        return;
      llvm::Expected<sm::StepList> steps = sm::parseSteps(text.getValue());
      llvm::Expected<LoopGraph> graph = steps ? LoopGraph::of(loop, *steps) : steps.takeError();
      if (graph)
        print(*graph);
      else
        loop.emitRemark("has no graph: ") << llvm::toString(graph.takeError());
    });
  }
};
} // namespace
