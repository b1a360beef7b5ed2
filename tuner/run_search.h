// SPDX-License-Identifier: MIT
// The search itself, whatever it is about.
#pragma once

#include "subject.h"

namespace tegula::tuning {

/// Compiles, checks and times candidates until the fastest is known, in the calling thread. Returns internal if the
/// process that measures does not work at all. A candidate that fails is no error.
Expected<Tuning> runSearch(Subject &subject, Compiler &compiler, const TuningOptions &options);

} // namespace tegula::tuning
