// SPDX-License-Identifier: MIT
// Makes listings such as nvdisasm prints, from one line for each instruction or label.
#pragma once

#include "sass/sass.h"

#include <gtest/gtest.h>

#include <sstream>

namespace tegula::testing {

/// Returns the listing of lines such as "@P0 BRA `(.L_x_1)" or ".L_x_1:".
inline std::string listing(const std::string &lines) {
  std::string text = "\t.target\tsm_90a\n.text.kernel:\n";
  std::istringstream rest(lines);
  for (std::string line; std::getline(rest, line);)
    text += line.ends_with(":") ? line + "\n" : "        /*0a10*/                   " + line + " ;\n";
  return text;
}

inline Sass parsed(const std::string &lines) {
  Expected<Sass> sass = Sass::parse(listing(lines));
  EXPECT_TRUE(sass.ok()) << sass.status().message();
  return sass ? std::move(*sass) : Sass();
}

} // namespace tegula::testing
