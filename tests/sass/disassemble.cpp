// SPDX-License-Identifier: MIT
#include "sass/sass.h"
#include "tegula/toolchain.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace tegula::testing {
namespace {

/// Returns the output of a command, and true if the command succeeded.
std::pair<std::string, bool> outputOf(const std::string &command) {
  std::FILE *pipe = popen(command.c_str(), "r");
  if (pipe == nullptr)
    return {"cannot start " + command, false};
  std::string text;
  char part[4096];
  while (size_t bytes = std::fread(part, 1, sizeof part, pipe))
    text.append(part, bytes);
  return {text, pclose(pipe) == 0};
}

} // namespace

std::string findDisassembler() {
  if (const char *path = std::getenv("TEGULA_NVDISASM"))
    return path;
  const std::filesystem::path assembler = findAssembler();
  if (const std::filesystem::path beside = assembler.parent_path() / "nvdisasm"; std::filesystem::exists(beside))
    return beside;
  std::string path = outputOf("command -v nvdisasm").first;
  return path.substr(0, path.find('\n'));
}

Expected<std::string> disassemble(const std::string &cubin) {
  const std::string path = std::filesystem::temp_directory_path() / ("tegula-" + std::to_string(getpid()) + ".cubin");
  std::ofstream(path, std::ios::binary) << cubin;
  auto [listing, succeeded] = outputOf("'" + findDisassembler() + "' -c '" + path + "' 2>&1");
  std::filesystem::remove(path);
  if (!succeeded)
    return Status(ErrorCode::internal, "nvdisasm: " + listing);
  return listing;
}

} // namespace tegula::testing
