// SPDX-License-Identifier: MIT
#pragma once

#include "attention_options.h"

namespace tegula::tools {

/// `tegula attention`: runs, times, and if asked checks and saves one problem.
Status attentionCommand(const AttentionOptions &options);

} // namespace tegula::tools
