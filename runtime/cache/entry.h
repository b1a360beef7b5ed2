// SPDX-License-Identifier: MIT
// Format of a file of the cache:
//
//   tegula-entry 1 CHECKSUM      of all that follows
//   ENVIRONMENT                  as in ArtifactKey
//   BYTES                        length of the request
//   the request as in ArtifactKey, then the artifact as in serialize.h
#pragma once

#include "tegula/artifact_cache.h"

#include <string>
#include <string_view>

namespace tegula {

struct Entry {
  std::string_view environment, request;
  Artifact artifact;
};

std::string encodeEntry(const ArtifactKey &key, const Artifact &artifact);
/// Decodes an entry, which has views into `bytes`. Returns internal, with the problem, if a single bit is not as it was
/// written.
Expected<Entry> decodeEntry(std::string_view bytes);
/// Decodes the artifact of an entry. Also returns internal if the entry was written for another key.
Expected<Artifact> decodeEntryFor(const ArtifactKey &key, std::string_view bytes);

} // namespace tegula
