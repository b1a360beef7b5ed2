// SPDX-License-Identifier: MIT
#include "tegula/worker_compiler.h"

#include "tegula/toolchain.h"

#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace tegula {

/// Returns the directory of the library or program that contains this code.
static std::filesystem::path ownFolder() {
  const std::string file = fileOf(reinterpret_cast<const void *>(&findWorker));
  std::error_code error;
  return std::filesystem::canonical(file, error).parent_path();
}

Expected<std::string> findWorker() {
  if (const char *program = secure_getenv("TEGULA_CC")) {
    if (*program == '\0')
      return Status(ErrorCode::unsupported, "there is no compiler: $TEGULA_CC is set but empty");
    return std::string(program);
  }
  const std::filesystem::path folder = ownFolder();
  for (const char *place : {"tegula-cc", "../bin/tegula-cc", "../../bin/tegula-cc"})
    if (std::string path = folder / place; access(path.c_str(), X_OK) == 0)
      return path;
  return Status(ErrorCode::unsupported, "there is no compiler: tegula-cc is neither in '" + folder.string() +
                                            "' nor in ../bin or ../../bin from there; $TEGULA_CC can name it");
}

} // namespace tegula
