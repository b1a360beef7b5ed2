// SPDX-License-Identifier: MIT
#include "workload/npy.h"

#include <bit>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tegula::tools {

static_assert(std::endian::native == std::endian::little, "'<f4' below says little-endian");

/// Version 1.0 of the format: magic, version, length, and a Python literal that ends at a multiple of 64 bytes.
static std::string header(const std::vector<int64_t> &shape) {
  constexpr size_t preamble = 10;
  std::string text =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({},), }}", fmt::join(shape, ", "));
  text.append(63 - (preamble + text.size()) % 64, ' ');
  text += '\n';
  std::string result = "\x93NUMPY\x01";
  result += '\0';
  result += static_cast<char>(text.size() & 0xff);
  result += static_cast<char>(text.size() >> 8);
  return result + text;
}

Status saveNpy(const std::filesystem::path &file, const std::vector<float> &values, const std::vector<int64_t> &shape) {
  std::ofstream stream(file, std::ios::binary);
  stream << header(shape);
  stream.write(reinterpret_cast<const char *>(values.data()), std::streamsize(values.size() * sizeof(float)));
  stream.close();
  if (!stream)
    return {ErrorCode::resource_exhausted, fmt::format("cannot write {}", file.string())};
  return {};
}

} // namespace tegula::tools
