// SPDX-License-Identifier: MIT
// What commands say about --check and --repeat.
#pragma once

#include "workload/attention_check.h"
#include "workload/reruns.h"

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace tegula::tools {

std::string toTable(const AttentionErrors &errors);
std::string toTable(const Reruns &reruns);
nlohmann::ordered_json toJson(const Reruns &reruns);

} // namespace tegula::tools
