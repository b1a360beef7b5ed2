// SPDX-License-Identifier: MIT
#pragma once

#include "files.h"
#include "outcome.h"
#include "progress.h"
#include "tegula/search.h"
#include "tune_options.h"

namespace tegula::tools {

/// Tunes attention, or a program of the user's, remembers the result, and prints it.
Outcome tuneCommand(const TuneOptions &options);

/// Makes a search show its progress, and end at Ctrl-C.
void watch(TuningOptions &options, Progress &progress);

/// Prints the table of a result, and writes the files that a user asked for.
Outcome report(const Expected<Tuning> &tuning, const ReportFiles &files);

} // namespace tegula::tools
