// SPDX-License-Identifier: MIT
// Where what outlives a process is kept.
#pragma once

#include <string>

namespace tegula {

/// The user's folder: $TEGULA_CACHE_DIR, $XDG_CACHE_HOME/tegula or $HOME/.cache/tegula; it need not exist. Empty if
/// there is none, and in setuid programs, which trust no variable. Parts have folders of their own in it: `kernels`,
/// `reproducers`, `schedules`.
std::string userCacheDirectory();

} // namespace tegula
