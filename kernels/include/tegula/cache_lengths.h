// SPDX-License-Identifier: MIT
#pragma once

namespace tegula {

/// The keys that the lengths of a cache count. New keys are those that a call appends, or those of its queries.
enum class CacheLengths {
  all,       ///< All keys of a sequence.
  before,    ///< The keys before the new ones.
  last_key,  ///< The number of the last key: one less than all.
  last_page, ///< The keys in the last page of a sequence; the pages before it are full.
};

} // namespace tegula
