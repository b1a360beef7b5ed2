// SPDX-License-Identifier: MIT
#include "workload/markup.h"

namespace tegula::tools {

std::string escaped(std::string_view words) {
  std::string result;
  for (const char c : words)
    switch (c) {
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '&':
      result += "&amp;";
      break;
    case '"':
      result += "&quot;";
      break;
    default:
      result += c;
    }
  return result;
}

} // namespace tegula::tools
