// SPDX-License-Identifier: MIT
#pragma once

#include "files.h"
#include "progress.h"
#include "tegula/search.h"
#include "tune_options.h"

namespace tegula::tools {

/// Tunes, remembers the result, and prints it.
Status tuneCommand(const TuneOptions &options);

/// Returns the options of a search, which shows its progress and ends at Ctrl-C.
TuningOptions tuningOptions(const TuneOptions &options, Progress &progress);

/// Writes the files that a user asked for, and prints the table of a result.
template <class Result> Status report(const Result &result, const std::string &json, const std::string &svg) {
  if (!json.empty())
    TEGULA_RETURN_IF_ERROR(writeFile("--json", json, toJson(result)));
  if (!svg.empty())
    TEGULA_RETURN_IF_ERROR(writeFile("--svg", svg, toSvg(result)));
  TEGULA_RETURN_IF_ERROR(print(toTable(result)));
  return result.best ? Status() : Status(ErrorCode::internal, "no schedule was timed");
}

} // namespace tegula::tools
