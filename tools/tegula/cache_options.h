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
  std::string directory; ///< Empty means the user's directory.
  std::string key;       ///< The first digits of a key (show).
  int64_t limit_mib = 1024;
};

void addCacheOptions(CLI::App &command, CacheOptions &options);

} // namespace tegula::tools
