// SPDX-License-Identifier: MIT
#include "cache_options.h"
#include "legal_values.h"

namespace tegula::tools {

static CLI::App &addAction(CLI::App &command, CacheOptions &options, const char *name, const char *help) {
  CLI::App *action = command.add_subcommand(name, help);
  action->callback([&options, name] { options.action = name; });
  action->add_option("--directory", options.directory, "A cache's folder (the user's)")->type_name("FOLDER");
  return *action;
}

void addCacheOptions(CLI::App &command, CacheOptions &options) {
  command.require_subcommand(1);
  addAction(command, options, "list", "Kernels that are kept, those used last first.");
  CLI::App &show = addAction(command, options, "show", "All about one kernel, its program included.");
  show.add_option("KEY", options.key, "The first digits of a key, as `list` shows them")->required()->type_name(" ");
  addAction(command, options, "verify", "Check every byte, and remove what is damaged.");
  CLI::App &prune = addAction(command, options, "prune", "Remove what was used last longest ago.");
  addNumber(prune, "--limit", options.limit_mib, 0, 1 << 20, "MiB that may stay (1024)");
  addAction(command, options, "clear", "Remove everything.");
}

} // namespace tegula::tools
