// SPDX-License-Identifier: MIT
#include "diagnostics.h"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace tegula {
namespace {

std::string line(const Location &where, const char *severity, const std::string &text) {
  return std::string(where.file_name()) + ":" + std::to_string(where.line()) + ": " + severity + ": " + text;
}

} // namespace

void Diagnostics::add(Location where, std::string message, std::vector<Note> notes) {
  std::string text = line(where, "error", message);
  for (const Note &note : notes)
    text += "\n" + line(note.where, "note", note.text);
  errors_.push_back({where, std::move(text)});
}

Status Diagnostics::status() const {
  constexpr size_t limit = 20;
  auto key = [](const Error &error) {
    return std::make_tuple(std::string_view(error.where.file_name()), error.where.line(), std::string_view(error.text));
  };
  std::vector<Error> sorted = errors_;
  std::sort(sorted.begin(), sorted.end(), [&](const Error &a, const Error &b) { return key(a) < key(b); });
  auto same = [](const Error &a, const Error &b) { return a.text == b.text; };
  sorted.erase(std::unique(sorted.begin(), sorted.end(), same), sorted.end());

  std::string text;
  for (size_t i = 0; i < std::min(sorted.size(), limit); ++i)
    text += (i ? "\n" : "") + sorted[i].text;
  if (sorted.size() > limit)
    text += "\n" + std::to_string(sorted.size() - limit) + " more errors are not shown";
  return {ErrorCode::invalid_program, text};
}

} // namespace tegula
