// SPDX-License-Identifier: MIT
// Tests that every program in errors/ gives exactly the errors that its comments expect.
#include "error_program.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <ostream>
#include <sstream>

std::vector<ErrorProgram> &ErrorProgram::all() {
  static std::vector<ErrorProgram> programs;
  return programs;
}

void PrintTo(const ErrorProgram &program, std::ostream *out) { *out << program.file; }

namespace {

/// A line of a Status, or the comment that expects it.
struct Message {
  int line;
  std::string severity;
  std::string text;
};

std::vector<Message> expected(const std::string &file) {
  std::vector<Message> messages;
  std::ifstream stream(file);
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    for (std::string severity : {"error", "note"}) {
      std::string marker = "// expect-" + severity + ": ";
      for (size_t at = line.find(marker); at != std::string::npos; at = line.find(marker, at + 1)) {
        size_t begin = at + marker.size(), end = line.find(" // expect-", begin);
        messages.push_back({number, severity, line.substr(begin, end == std::string::npos ? end : end - begin)});
      }
    }
  }
  return messages;
}

/// Removes the first expectation that `message` fulfils. Returns false if there is none.
bool take(std::vector<Message> &expectations, const std::string &file, const std::string &message) {
  auto found = std::find_if(expectations.begin(), expectations.end(), [&](const Message &expectation) {
    std::string start = file + ":" + std::to_string(expectation.line) + ": " + expectation.severity + ": ";
    return message.rfind(start, 0) == 0 && message.find(expectation.text, start.size()) != std::string::npos;
  });
  if (found == expectations.end())
    return false;
  expectations.erase(found);
  return true;
}

class Errors : public testing::TestWithParam<ErrorProgram> {};

TEST_P(Errors, AreThoseExpected) {
  tegula::Expected<tegula::Program> program = GetParam().record();
  ASSERT_FALSE(program) << program->text;
  EXPECT_EQ(program.status().code(), tegula::ErrorCode::invalid_program);
  std::vector<Message> expectations = expected(GetParam().file);
  ASSERT_FALSE(expectations.empty()) << "cannot read " << GetParam().file;
  std::istringstream lines(program.status().message());
  for (std::string line; std::getline(lines, line);)
    EXPECT_TRUE(take(expectations, GetParam().file, line)) << "not expected: " << line;
  for (const Message &message : expectations)
    ADD_FAILURE() << GetParam().file << ":" << message.line << ": did not get the " << message.severity << ": "
                  << message.text;
}

std::string nameOf(const testing::TestParamInfo<ErrorProgram> &info) {
  std::string name = info.param.file;
  name = name.substr(name.find_last_of('/') + 1);
  name = name.substr(0, name.find('.'));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Programs, Errors, testing::ValuesIn(ErrorProgram::all()), nameOf);

} // namespace
