// SPDX-License-Identifier: MIT
// Plans of a host's own kernels, from the texts of the C interface.
#pragma once

#include "context.h"
#include "tegula/plan.h"

namespace tegula {

/// Compiles the kernels of the description and makes their plan.
Expected<Plan> makePlan(HostContext &host, const tegula_plan_description &description);

} // namespace tegula
