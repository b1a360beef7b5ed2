// SPDX-License-Identifier: MIT
#include "cache/entry.h"

#include "cache/manifest.h"
#include "tegula/internal/digest.h"
#include "tegula/serialize.h"

#include <charconv>

namespace tegula {
namespace {

constexpr std::string_view kFirstWords = "tegula-entry 1 ";

Status damaged(const char *problem) { return {ErrorCode::internal, std::string("no entry of the cache: ") + problem}; }

} // namespace

std::string encodeEntry(const ArtifactKey &key, const Artifact &artifact) {
  const std::string body =
      key.environment + "\n" + std::to_string(key.request.size()) + "\n" + key.request + serialize(artifact);
  return std::string(kFirstWords) + digest(body) + "\n" + body;
}

Expected<Entry> decodeEntry(std::string_view bytes) {
  std::string_view rest = bytes;
  std::string_view first = takeLine(rest);
  if (!first.starts_with(kFirstWords))
    return damaged("its first words are others");
  if (first.substr(kFirstWords.size()) != digest(rest))
    return damaged("its checksum is wrong");
  Entry entry;
  entry.environment = takeLine(rest);
  const std::string_view digits = takeLine(rest);
  size_t length = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), length).ec != std::errc() || length > rest.size())
    return damaged("its request is cut off");
  entry.request = rest.substr(0, length);
  Expected<Artifact> artifact = parseArtifact(rest.substr(length));
  if (!artifact)
    return artifact.status();
  entry.artifact = std::move(*artifact);
  return entry;
}

Expected<Artifact> decodeEntryFor(const ArtifactKey &key, std::string_view bytes) {
  Expected<Entry> entry = decodeEntry(bytes);
  if (!entry)
    return entry.status();
  if (entry->request != key.request || entry->environment != key.environment)
    return damaged("it belongs to another key");
  return std::move(entry->artifact);
}

} // namespace tegula
