// SPDX-License-Identifier: MIT
// Described plans in the messages of messages.h.
#pragma once

#include "messages.h"
#include "tegula/plan_run.h"

#include <span>
#include <string>
#include <string_view>

namespace tegula::tuning {

/// Describes a plan with the programs of one configuration for each kernel, in the order of the kernels. Returns the
/// errors of recording them.
Expected<Json> toJson(const PlanSpec &plan, std::span<const Configuration> configurations);
/// Parses a description. Its kernels have no tunables. Throws nlohmann::json::exception for anything else.
PlanSpec planOf(const Json &json);

Json toJson(const std::vector<ScalarValue> &scalars);
std::vector<ScalarValue> scalarsOf(const Json &json);

/// Returns the message that sends an input of a run.
std::string tensorMessage(std::string_view purpose, const HostTensor &tensor);
/// Returns the message that sends the right values of an output.
std::string expectedMessage(const HostTensor &tensor);
/// Parses the bytes of an `expected` message.
std::vector<double> valuesOf(std::string_view bytes);

} // namespace tegula::tuning
