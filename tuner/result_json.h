// SPDX-License-Identifier: MIT
// The members of a result that all searches have, as JSON.
#pragma once

#include "messages.h"
#include "tegula/search.h"

namespace tegula::tuning {

/// Appends the members to `json`, which has those that say what was tuned.
void appendResult(Json &json, const SearchResult &result);
/// Reads them. Throws nlohmann::json::exception for anything else.
SearchResult resultOf(const Json &json);

} // namespace tegula::tuning
