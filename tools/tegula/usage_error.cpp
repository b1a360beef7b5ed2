// SPDX-License-Identifier: MIT
#include "usage_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tegula::tools {
namespace {

/// Returns "tegula", with the subcommand if one was given.
std::string commandName(const CLI::App &app) {
  std::vector<CLI::App *> given = app.get_subcommands();
  return given.empty() ? app.get_name() : app.get_name() + " " + given.front()->get_name();
}

std::vector<std::string> unknownWords(const CLI::App &app) { return app.remaining(/*recurse=*/true); }

std::string missingCommand(const CLI::App &app) {
  std::vector<std::string> unknown = unknownWords(app);
  return unknown.empty() ? "a command is missing" : fmt::format("'{}' is no command", unknown.front());
}

} // namespace

std::string usageError(const CLI::ParseError &error, const CLI::App &app) {
  std::string name = commandName(app);
  std::string problem = error.what();
  if (dynamic_cast<const CLI::ExtrasError *>(&error))
    problem = fmt::format("'{}' is no option of `{}`", fmt::join(unknownWords(app), "', '"), name);
  else if (dynamic_cast<const CLI::ArgumentMismatch *>(&error))
    problem = problem.substr(0, problem.find(':')) + " needs a value";
  else if (app.get_subcommands().empty())
    problem = missingCommand(app);
  return fmt::format("{}; `{} --help` lists what is legal", problem, name);
}

} // namespace tegula::tools
