// SPDX-License-Identifier: MIT
// Packed sequences: sequences of any lengths lie one after another in one tensor. Attention with the variant
// documents() computes them as one long sequence, and skips all other tiles in both passes. These are its intervals.
#pragma once

#include "tegula/plan.h"

namespace tegula {

/// Describes the plan that writes the intervals of packed sequences. Its arguments, in this order:
///
///   offsets_q      i32 [sequences + 1]: the first query of each sequence, and the end of the last one (cu_seqlens)
///   offsets_k      i32 [sequences + 1]: the same for keys
///   left, right    i32: a query sees keys from its own - left to its own + right; negative: no bound. A causal mask is
///                  right = 0. The last query and the last key of a sequence have one position
///   begin, end     i32 [queries], written: query i sees the keys begin[i] to end[i] - 1
///   query_begin, query_end   i32 [keys], written: the queries that see a key
///
/// All four do not decrease, as documents() asks. What comes after the last sequence sees nothing. Offsets must not
/// decrease. They are read on the device, so that no launch waits for them, and a captured one may be replayed with
/// others.
Expected<PlanSpec> packedIntervals() noexcept;

/// Pages that hold the keys of packed queries.
struct PackedPagesProblem {
  int page_size = 0;
  bool page_offsets = false; ///< The pages of all sequences stand one after another in the table.
};

/// Describes the plan that puts the pages of sequences into one row of keys, and writes which of them packed queries
/// see. A problem with the variant packedQueries() and this page_size (AttentionProblem) then computes attention of all
/// sequences in one launch; its third tensor, `query_offsets`, is `offsets_q`. The arguments of this plan, in this
/// order:
///
///   lengths        i32 [sequences]: the keys of each sequence
///   page_table     i32 [sequences, room]: the pages of each sequence; with page_offsets i32 [room]
///   page_offsets   i32 [sequences + 1], if the problem has them: the first entry of each sequence in page_table, and
///                  the end of the last one
///   offsets_q, left, right, begin, end   as above
///   pages          i32 [entries], written: AttentionForward::page_table. Sequences have as many entries as their keys
///                  need; what is left of `entries` has no keys
///   page_lengths   i32 [entries], written: AttentionForward::page_lengths
///
/// Keys for which a sequence has no pages do not exist. All numbers are read on the device, as above.
Expected<PlanSpec> packedPages(const PackedPagesProblem &problem) noexcept;

} // namespace tegula
