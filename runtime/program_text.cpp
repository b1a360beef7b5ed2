// SPDX-License-Identifier: MIT
#include "tegula/internal/program_text.h"

#include <cctype>

namespace tegula {
namespace {

size_t skipDigits(std::string_view text, size_t at) {
  while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0)
    ++at;
  return at;
}

/// Returns the end of ` loc("file":LINE:COLUMN)` if this text begins at `at`, otherwise `at`. No other MLIR has this
/// form, not even inside a string, where quotes are escaped.
size_t skipLocation(std::string_view text, size_t at) {
  constexpr std::string_view begin = " loc(\"";
  if (text.substr(at, begin.size()) != begin)
    return at;
  const size_t quote = text.find('"', at + begin.size());
  if (quote == std::string_view::npos || text.substr(quote, 2) != "\":")
    return at;
  const size_t colon = skipDigits(text, quote + 2);
  if (text.substr(colon, 1) != ":")
    return at;
  const size_t end = skipDigits(text, colon + 1);
  return text.substr(end, 1) == ")" ? end + 1 : at;
}

} // namespace

std::string withoutLocations(std::string_view program) {
  std::string text;
  text.reserve(program.size());
  size_t kept = 0; // Start of the text that has not been copied.
  for (size_t at = program.find(" loc("); at != std::string_view::npos; at = program.find(" loc(", at)) {
    const size_t end = skipLocation(program, at);
    if (end == at) {
      ++at;
      continue;
    }
    text.append(program.substr(kept, at - kept));
    kept = at = end;
  }
  return text.append(program.substr(kept));
}

} // namespace tegula
