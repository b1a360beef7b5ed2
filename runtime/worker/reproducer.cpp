// SPDX-License-Identifier: MIT
#include "worker/reproducer.h"

#include "tegula/internal/digest.h"

#include <filesystem>
#include <fstream>

namespace tegula {

std::string writeReproducer(const std::string &folder, const std::string &request) {
  if (folder.empty())
    return "";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::string path = folder + "/" + digest(request) + ".mlir";
  std::ofstream file(path, std::ios::binary);
  file << request;
  file.close();
  return file ? path : "";
}

} // namespace tegula
