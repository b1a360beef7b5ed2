// SPDX-License-Identifier: MIT
// What a command hands back.
#pragma once

#include "tegula/status.h"

#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace tegula::tools {

/// How a command ended, which of its results were lost after it had measured, and what it could not try.
struct Outcome {
  Outcome(Status ended = {}) : status(std::move(ended)) {}

  /// Notes an error of keeping or writing a result.
  void add(Status error) {
    if (!error.ok())
      lost.push_back(std::move(error));
  }

  Status status;
  std::vector<Status> lost = {};
  Status untried = {}; ///< An error if the command could not try something. Then nothing is known about it.
};

/// Files that the user wants results in. Empty names mean none.
struct ReportFiles {
  std::string json, html;

  /// Returns the error of a file that cannot be written, before anything is measured.
  Status check() const;
  /// Writes the files. Each one that cannot be written is lost.
  void write(Outcome &outcome, const std::string &json_text, const std::string &html_text) const;
};

/// Adds the options --json and --html.
void addReportFiles(CLI::App &command, ReportFiles &files, const char *html_help);

} // namespace tegula::tools
