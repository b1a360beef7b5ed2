// SPDX-License-Identifier: MIT
// The directory of files that outlive a process.
#pragma once

#include <string>

namespace tegula {

/// Returns the user's directory: $TEGULA_CACHE_DIR, $XDG_CACHE_HOME/tegula or $HOME/.cache/tegula. It need not exist.
/// Returns an empty string if there is none, and in setuid programs, which trust no variable. Parts of Tegula have
/// their own directories in it: `kernels`, `reproducers`, `schedules`.
std::string userCacheDirectory();

} // namespace tegula
