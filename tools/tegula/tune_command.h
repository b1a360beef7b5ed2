// SPDX-License-Identifier: MIT
#pragma once

#include "files.h"
#include "outcome.h"
#include "progress.h"
#include "tegula/tune_once.h"
#include "tune_options.h"

namespace tegula::tools {

/// Tunes, remembers the result, and prints it.
Outcome tuneCommand(const TuneOptions &options);

/// Returns the options of a search, which shows its progress and ends at Ctrl-C.
TuningOptions tuningOptions(const TuneOptions &options, Progress &progress);
/// Returns how results are kept. A result that cannot be is announced on stderr before it is measured.
StoreOptions storeOptions(const TuneOptions &options);
/// Makes a search show its progress, and end at Ctrl-C.
void watch(TuningOptions &options, Progress &progress);

/// Prints the table of a result, and writes the files that a user asked for.
template <class Result> Outcome report(const Expected<Result> &result, const ReportFiles &files) {
  if (!result)
    return result.status();
  Outcome outcome = result->best ? Status() : Status(ErrorCode::internal, "no schedule was timed");
  outcome.add(print(toTable(*result)));
  files.write(outcome, toJson(*result), toHtml(*result));
  outcome.add(result->store_error);
  return outcome;
}

} // namespace tegula::tools
