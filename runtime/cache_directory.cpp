// SPDX-License-Identifier: MIT
#include "tegula/cache_directory.h"

#include <cstdlib>

namespace tegula {

static std::string variable(const char *name) {
  const char *value = secure_getenv(name);
  return value != nullptr ? value : "";
}

std::string userCacheDirectory() {
  if (std::string own = variable("TEGULA_CACHE_DIR"); !own.empty())
    return own;
  if (std::string base = variable("XDG_CACHE_HOME"); base.starts_with('/')) // XDG ignores relative paths.
    return base + "/tegula";
  std::string home = variable("HOME");
  return home.empty() ? "" : home + "/.cache/tegula";
}

} // namespace tegula
