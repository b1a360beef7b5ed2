// SPDX-License-Identifier: MIT
// The plan that makes the lists of one pass, and where they lie in memory.
#pragma once

#include "attention_spec.h"

namespace tegula {

/// The lists of block_lists.h for a launch. Tensors of rank 0 are not there.
struct ListTensors {
  TensorRef tiles = {}, counts = {}, ranks = {}, block_states = {};
};

/// Makes the lists of the tiles that a pass visits.
class ListPlan {
public:
  /// Records and compiles the programs. The problem has a block mask.
  static Expected<ListPlan> make(const AttentionProblem &problem, Pass pass, KernelCache &cache, const Schedule &given,
                                 const TunedConfigurations *tuned);

  /// Returns the bytes of the lists: a multiple of 64. The shape is legal.
  Expected<int64_t> listBytes(const AttentionShape &shape) const;
  /// Returns the bytes of workspace that `launch` needs.
  Expected<int64_t> workspaceBytes(const AttentionShape &shape) const;
  /// Returns the lists that begin at `memory`.
  ListTensors tensors(const AttentionShape &shape, void *memory) const;
  /// Makes the lists. `call` is checked.
  Status launch(const AttentionLists &call, const ListTensors &lists, const Workspace &workspace, Stream stream) const;

private:
  struct ListSizes {
    int64_t batch, heads, strips, tiles;
    int64_t block_batch, block_heads, block_rows, block_columns; ///< The lengths of the lists of given blocks.
  };
  ListSizes sizes(const AttentionShape &shape) const;

  ListPlan(Plan plan, std::vector<size_t> places, const AttentionConfig &visitor, Pass pass)
      : plan_(std::move(plan)), places_(std::move(places)), mask_(visitor.block_mask), axes_(visitor.list_axes),
        pass_(pass), block_m_(visitor.block_m), block_n_(visitor.block_n),
        ranks_(pass == Pass::backward && visitor.deterministic) {}

  Plan plan_;
  std::vector<size_t> places_; ///< For each argument of the plan, its index in the order of launch().
  BlockMask mask_;
  ListAxes axes_;
  Pass pass_;
  int block_m_, block_n_;
  bool ranks_;
};

} // namespace tegula
