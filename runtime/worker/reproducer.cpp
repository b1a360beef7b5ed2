// SPDX-License-Identifier: MIT
#include "worker/reproducer.h"

#include "tegula/internal/descriptor.h"
#include "tegula/internal/digest.h"
#include "tegula/internal/write_all.h"

#include <fcntl.h>
#include <filesystem>

namespace tegula {

std::string writeReproducer(const std::string &folder, const std::string &request) {
  if (folder.empty())
    return "";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::string path = folder + "/" + digest(request) + ".mlir";
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file.isOpen())
    return "";
  if (writeAll(file.number(), request) == 0)
    return path;
  std::filesystem::remove(path, error);
  return "";
}

} // namespace tegula
