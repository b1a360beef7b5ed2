// SPDX-License-Identifier: MIT
#include "files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fmt/format.h>

namespace tegula::tools {
namespace {

using File = std::unique_ptr<FILE, int (*)(FILE *)>;

Status failure(const char *verb, std::string_view name, ErrorCode code) {
  return {code, fmt::format("cannot {} '{}': {}", verb, name, std::strerror(errno))};
}

} // namespace

Expected<std::string> readFile(const std::string &name) {
  File file = name == "-" ? File(stdin, [](FILE *) { return 0; }) : File(std::fopen(name.c_str(), "rb"), std::fclose);
  if (!file)
    return failure("read", name, ErrorCode::InvalidArgument);
  std::string bytes;
  char chunk[1 << 16];
  while (size_t count = std::fread(chunk, 1, sizeof chunk, file.get()))
    bytes.append(chunk, count);
  if (std::ferror(file.get()))
    return failure("read", name, ErrorCode::InvalidArgument);
  return bytes;
}

Status writeFile(const std::string &name, std::string_view bytes) {
  FILE *file = std::fopen(name.c_str(), "wb");
  if (!file)
    return failure("write", name, ErrorCode::InvalidArgument);
  bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  bool closed = std::fclose(file) == 0;
  return written && closed ? Status() : failure("write", name, ErrorCode::ResourceExhausted);
}

Status print(std::string_view bytes) {
  bool written = std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size();
  return written && std::fflush(stdout) == 0 ? Status()
                                             : failure("write", "standard output", ErrorCode::ResourceExhausted);
}

} // namespace tegula::tools
