// SPDX-License-Identifier: MIT
#pragma once

#include "attention_options.h"
#include "outcome.h"

namespace tegula::tools {

/// Runs `tegula attention`: runs and times one problem, and if asked checks and saves its results.
Outcome attentionCommand(const AttentionOptions &options);

} // namespace tegula::tools
