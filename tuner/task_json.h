// SPDX-License-Identifier: MIT
// Tasks and sizes as JSON, for results.
#pragma once

#include "tegula/tuner.h"

#include <nlohmann/json.hpp>

namespace tegula::tuning {

using Json = nlohmann::ordered_json;

Json toJson(const TuningTask &task);

/// Returns an object with a member for each size.
Json toJson(const Sizes &sizes);
/// Parses it. Throws nlohmann::json::exception for anything else.
Sizes sizesOf(const Json &json);

} // namespace tegula::tuning
