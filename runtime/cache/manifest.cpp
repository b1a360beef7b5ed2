// SPDX-License-Identifier: MIT
#include "cache/manifest.h"

#include "tegula/serialize.h"

#include <algorithm>
#include <charconv>

namespace tegula {
namespace {

constexpr std::string_view kFirstLine = "tegula-bundle 1\n";

std::string_view takeWord(std::string_view &line) {
  const size_t length = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, length);
  line.remove_prefix(std::min(length + 1, line.size()));
  return word;
}

std::optional<ManifestKernel> takeKernel(std::string_view &text) {
  std::string_view line = takeLine(text);
  ManifestKernel kernel;
  kernel.request_digest = takeWord(line);
  kernel.checksum = takeWord(line);
  const std::string_view digits = takeWord(line);
  kernel.file = line;
  size_t bytes = 0;
  const bool isNumber = std::from_chars(digits.data(), digits.data() + digits.size(), bytes).ec == std::errc();
  if (!isNumber || bytes > text.size() || kernel.file.empty() || kernel.file.find('/') != std::string::npos)
    return {};
  Expected<Artifact> artifact = parseArtifact(text.substr(0, bytes));
  if (!artifact)
    return {};
  text.remove_prefix(bytes);
  kernel.artifact = std::move(*artifact);
  return kernel;
}

} // namespace

std::string_view takeLine(std::string_view &text) {
  const size_t length = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, length);
  text.remove_prefix(std::min(length + 1, text.size()));
  return line;
}

std::string writeManifest(const std::vector<ManifestKernel> &kernels) {
  std::string text(kFirstLine);
  for (const ManifestKernel &kernel : kernels) {
    const std::string artifact = serialize(kernel.artifact);
    text += kernel.request_digest + " " + kernel.checksum + " " + std::to_string(artifact.size()) + " " + kernel.file +
            "\n" + artifact;
  }
  return text;
}

std::optional<std::vector<ManifestKernel>> parseManifest(std::string_view text) {
  if (!text.starts_with(kFirstLine))
    return {};
  text.remove_prefix(kFirstLine.size());
  std::vector<ManifestKernel> kernels;
  while (!text.empty()) {
    std::optional<ManifestKernel> kernel = takeKernel(text);
    if (!kernel)
      return {};
    kernels.push_back(std::move(*kernel));
  }
  return kernels;
}

} // namespace tegula
