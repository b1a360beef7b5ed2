// SPDX-License-Identifier: MIT
#include "tegula/worker_compiler.h"

#include "tegula/internal/worker_process.h"
#include "tegula/toolchain.h"

#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace tegula {

std::string findOwnProgram(const std::string &name) {
  const std::string file = fileOf(reinterpret_cast<const void *>(&findOwnProgram));
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::canonical(file, error).parent_path();
  for (const char *place : {".", "../bin", "../../bin"})
    if (std::string path = folder / place / name; access(path.c_str(), X_OK) == 0)
      return path;
  return folder / name;
}

Expected<std::string> findWorker() {
  if (const char *program = secure_getenv("TEGULA_CC")) {
    if (*program == '\0')
      return Status(ErrorCode::unsupported, "there is no compiler: $TEGULA_CC is set but empty");
    return std::string(program);
  }
  const std::filesystem::path path = findOwnProgram("tegula-cc");
  if (access(path.c_str(), X_OK) == 0)
    return path.string();
  return Status(ErrorCode::unsupported, "there is no compiler: tegula-cc is neither in '" +
                                            path.parent_path().string() +
                                            "' nor in ../bin or ../../bin from there; $TEGULA_CC can name it");
}

} // namespace tegula
