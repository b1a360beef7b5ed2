// SPDX-License-Identifier: MIT
// The format of the files of results, for the code that writes them and the code that reads them.
#pragma once

#include "tegula/internal/folder.h"
#include "tegula/search.h"

#include <filesystem>
#include <optional>

namespace tegula::tuning {

inline std::optional<Folder> openStore(const std::filesystem::path &path) {
  ReadError fault;
  return Folder::open(path.string(), Folder::Access::own, fault);
}

/// Returns true if results for `a` hold for `b`. False for unknown compilers, which may differ.
inline bool isSame(const TuningDevice &a, const TuningDevice &b) {
  return a.target.name == b.target.name && a.target.arch == b.target.arch && a.device == b.device &&
         a.driver == b.driver && a.compiler == b.compiler && !a.compiler.empty();
}

/// The number of the format. It changes whenever the meaning of a member of a file changes.
inline constexpr int kFormat = 5;

} // namespace tegula::tuning
