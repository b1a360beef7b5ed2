// SPDX-License-Identifier: MIT
#include "simt/findings.h"

#include <gtest/gtest.h>

namespace tegula::simt {
namespace {

std::vector<SimtSite> sites() {
  return {{.kernel = "k", .number = 0, .instruction = "ldmatrix.x4", .location = "k.cpp:3"},
          {.kernel = "k", .number = 1, .instruction = "ldmatrix.x4", .location = "k.cpp:3"},
          {.kernel = "k", .number = 2, .instruction = "ldmatrix.x4", .location = "k.cpp:4"},
          {.kernel = "k", .number = 3, .instruction = "st.shared", .location = "k.cpp:3"}};
}

TEST(Findings, CopiesOfAnInstructionAreOne) {
  EXPECT_EQ(firstCopies(sites()), (std::vector<uint32_t>{0, 0, 2, 3}));
  const std::vector<uint32_t> copies = firstCopies(sites());
  Findings findings(copies);
  for (const uint32_t site : {0, 1, 2})
    findings.add(SimtErrorKind::race, 3, site, [&] { return std::to_string(site); });
  findings.add(SimtErrorKind::unwaited_copy, 3, 1, [] { return "another kind"; });
  findings.add(SimtErrorKind::deadlock, 99, 99, [] { return "no site"; });
  std::string messages;
  for (const SimtFinding &finding : findings.take())
    messages += finding.message + ";";
  EXPECT_EQ(messages, "0;2;another kind;no site;");
}

} // namespace
} // namespace tegula::simt
