// SPDX-License-Identifier: MIT
// What those who write results and those who read them agree on.
#pragma once

#include "cache/folder.h"
#include "tegula/tuner.h"

#include <filesystem>
#include <optional>

namespace tegula::tuning {

inline std::optional<Folder> openStore(const std::filesystem::path &path) {
  ReadFault fault;
  return Folder::open(path.string(), Folder::Access::own, fault);
}

/// Whether results for `a` hold for `b`. Nobody knows whether two unknown compilers are the same.
inline bool isSame(const TuningMachine &a, const TuningMachine &b) {
  return a.target.name == b.target.name && a.target.arch == b.target.arch && a.device == b.device &&
         a.driver == b.driver && a.compiler == b.compiler && !a.compiler.empty();
}

/// Changes whenever the meaning of a member of a file does.
inline constexpr int kFormat = 3;

} // namespace tegula::tuning
