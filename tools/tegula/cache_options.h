// SPDX-License-Identifier: MIT
// The command line of `tegula cache`.
#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace tegula::tools {

struct CacheOptions {
  std::string action;    ///< list, show, verify, prune or clear.
  std::string directory; ///< Empty: the user's.
  std::string key;       ///< The first digits of one (show).
  int64_t limit_mib = 1024;
};

void addCacheOptions(CLI::App &command, CacheOptions &options);

} // namespace tegula::tools
