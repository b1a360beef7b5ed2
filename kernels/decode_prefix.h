// SPDX-License-Identifier: MIT
// The keys with which all sequences begin (Hydragen, Juravsky et al. 2024; cascade attention of FlashInfer). A tile has
// queries of many sequences, so that each key is read once for all of them. The parts are merged with those of the keys
// that a sequence has alone.
#pragma once

#include "decode_parts.h"

namespace tegula::decoding {

/// Returns the workspace that has the elements kPrefixKeys, kLeastKeys and kMostKeys.
TensorSpec prefixSizes();
/// Returns the arguments of storePrefixSizes; none without a prefix.
std::vector<ArgumentSpec> prefixCache(const DecodeProblem &problem);
/// Returns the parts and their LSE, of all rows of a head of k; none without a prefix.
std::vector<ArgumentSpec> prefixParts(const DecodeProblem &problem);
/// Returns the most keys of the prefix.
Size prefixCapacity(const DecodeProblem &problem);
/// Returns into how many parts the prefix is cut unless the launch says it.
Size numPrefixParts(const DecodeProblem &problem, const Target &target);

/// Stores the number of keys of each sequence together with the prefix, and prefixSizes(). The views of prefixCache()
/// are the others of `cache`; `q` and `k` are the arguments, and `batch` the number of sequences.
void storePrefixSizes(const Config &c, View q, View k, const Cache &cache, Value batch);

/// Describes the kernel that computes the parts.
KernelSpec prefixKernel(const DecodeProblem &problem, const Target &target, const TensorSpec &q, const TensorSpec &of_k,
                        const TensorSpec &of_v);

} // namespace tegula::decoding
