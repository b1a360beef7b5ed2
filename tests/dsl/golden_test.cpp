// SPDX-License-Identifier: MIT
// Recorded text, byte for byte. TEGULA_UPDATE_GOLDEN=1 rewrites the expectations.
#include "programs.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <ostream>
#include <sstream>

void PrintTo(const GoldenProgram &golden, std::ostream *out) { *out << golden.name; }

namespace {

class Golden : public testing::TestWithParam<GoldenProgram> {};

TEST_P(Golden, TextIsUnchanged) {
  tegula::Expected<tegula::Program> program = GetParam().record();
  ASSERT_TRUE(program) << program.status().message();
  std::string path = std::string(TEGULA_GOLDEN_DIR "/") + GetParam().name + ".mlir";
  if (std::getenv("TEGULA_UPDATE_GOLDEN"))
    std::ofstream(path) << program->text;
  std::ifstream file(path);
  std::istringstream text(program->text);
  for (std::string is, expected; std::getline(text, is);) {
    std::getline(file, expected);
    ASSERT_EQ(is, expected) << "in " << path;
  }
  EXPECT_EQ(file.peek(), EOF) << path << " has more lines";
}

TEST_P(Golden, SecondRecordingIsEqual) { EXPECT_EQ(GetParam().record()->text, GetParam().record()->text); }

INSTANTIATE_TEST_SUITE_P(Programs, Golden, testing::ValuesIn(goldenPrograms().begin(), goldenPrograms().end()),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
