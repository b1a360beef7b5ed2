// SPDX-License-Identifier: MIT
#include "outcome.h"

#include "files.h"

#include <CLI/CLI.hpp>

namespace tegula::tools {

Status ReportFiles::check() const {
  if (!json.empty())
    TEGULA_RETURN_IF_ERROR(checkWritable("--json", json));
  return html.empty() ? Status() : checkWritable("--html", html);
}

void ReportFiles::write(Outcome &outcome, const std::string &json_text, const std::string &html_text) const {
  if (!json.empty())
    outcome.add(writeFile("--json", json, json_text));
  if (!html.empty())
    outcome.add(writeFile("--html", html, html_text));
}

void addReportFiles(CLI::App &command, ReportFiles &files, const char *html_help) {
  command.add_option("--json", files.json, "Write all figures there")->type_name("FILE");
  command.add_option("--html", files.html, html_help)->type_name("FILE");
}

} // namespace tegula::tools
