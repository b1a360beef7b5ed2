// SPDX-License-Identifier: MIT
#include "files.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

namespace tegula::tools {
namespace {

using File = std::unique_ptr<FILE, int (*)(FILE *)>;

File openToRead(const std::string &name) {
  return name == "-" ? File(stdin, [](FILE *) { return 0; }) : File(std::fopen(name.c_str(), "rb"), std::fclose);
}

/// Returns the error of a call that has just failed.
Status failure(ErrorCode code, std::string_view option, std::string_view verb, std::string_view name) {
  std::error_code reason(errno, std::generic_category());
  return {code, fmt::format("{}: cannot {} '{}': {}", option, verb, name, reason.message())};
}

} // namespace

Expected<std::string> readFile(std::string_view option, const std::string &name) {
  File file = openToRead(name);
  if (!file)
    return failure(ErrorCode::invalid_argument, option, "read", name);
  std::string bytes;
  char chunk[1 << 16];
  while (size_t count = std::fread(chunk, 1, sizeof chunk, file.get()))
    bytes.append(chunk, count);
  if (std::ferror(file.get()))
    return failure(ErrorCode::invalid_argument, option, "read", name);
  return bytes;
}

Status checkWritable(std::string_view option, const std::string &name) {
  std::error_code error;
  const bool isNew = !std::filesystem::exists(name, error);
  FILE *file = std::fopen(name.c_str(), "ab");
  if (!file)
    return failure(ErrorCode::invalid_argument, option, "write", name);
  std::fclose(file);
  if (isNew)
    std::filesystem::remove(name, error);
  return {};
}

Status writeFile(std::string_view option, const std::string &name, std::string_view bytes) {
  FILE *file = std::fopen(name.c_str(), "wb");
  if (!file)
    return failure(ErrorCode::invalid_argument, option, "write", name);
  bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  bool closed = std::fclose(file) == 0;
  return written && closed ? Status() : failure(ErrorCode::resource_exhausted, option, "write", name);
}

Status createFolder(std::string_view option, const std::string &name) {
  std::error_code error;
  std::filesystem::create_directories(name, error);
  if (!error)
    return {};
  return {ErrorCode::invalid_argument, fmt::format("{}: cannot create '{}': {}", option, name, error.message())};
}

Status print(std::string_view bytes) {
  bool written = std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size();
  if (written && std::fflush(stdout) == 0)
    return {};
  return failure(ErrorCode::resource_exhausted, "output", "write", "standard output");
}

} // namespace tegula::tools
