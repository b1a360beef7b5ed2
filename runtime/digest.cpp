// SPDX-License-Identifier: MIT
#include "tegula/internal/digest.h"

#include <cstdint>
#include <cstdio>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tegula {

std::string digest(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text;
}

} // namespace tegula
