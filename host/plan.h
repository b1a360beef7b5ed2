// SPDX-License-Identifier: MIT
// The two kinds of plans that a C host has.
#pragma once

#include "context.h"
#include "tegula/plan.h"

#include <memory>
#include <variant>

struct tegula_plan {
  std::shared_ptr<tegula::HostContext> host;
  std::variant<tegula::AttentionPlan, tegula::Plan> plan;
};
