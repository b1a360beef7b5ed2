// SPDX-License-Identifier: MIT
// Turns schedules.json into the rows of schedules.cpp, while the library is built:
//
//   tegula-schedule-rows schedules.json schedule_rows.inc
//
// It checks each key and each word, and names the row of the first error. docs/tuning.md describes the file.
#include "tegula/dtype.h"
#include "tegula/schedule.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {
namespace {

using Json = nlohmann::ordered_json;
using Keys = std::vector<std::string_view>;

[[noreturn]] void fail(const std::string &what) { throw std::runtime_error(what); }

std::string enumerate(const Keys &keys) {
  std::string text;
  for (std::string_view key : keys)
    text.append(text.empty() ? "" : ", ").append(key);
  return text;
}

/// Refuses an object that lacks a key of `required`, or has a key that is in neither list.
void checkKeys(const Json &object, const std::string &name, const Keys &required, const Keys &optional) {
  if (!object.is_object())
    fail(name + " must be an object");
  for (std::string_view key : required)
    if (!object.contains(key))
      fail(name + " has no key '" + std::string(key) + "'");
  const auto lists = [](const Keys &keys, const std::string &key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  for (const auto &[key, value] : object.items())
    if (!lists(required, key) && !lists(optional, key))
      fail(name + " has the unknown key '" + key + "'; legal are " + enumerate(required) +
           (required.empty() || optional.empty() ? "" : ", ") + enumerate(optional));
}

std::string textAt(const Json &object, std::string_view key) {
  const Json &value = object.at(key);
  if (!value.is_string() || value.get<std::string>().empty())
    fail("'" + std::string(key) + "' is " + value.dump() + "; it must be a text that is not empty");
  return value.get<std::string>();
}

int64_t countAt(const Json &object, std::string_view key) {
  const Json &value = object.at(key);
  if (!value.is_number_integer() || value.get<int64_t>() < 1)
    fail("'" + std::string(key) + "' is " + value.dump() + "; it must be a whole number from 1 on");
  return value.get<int64_t>();
}

void append(std::string &fields, std::string_view key, const std::string &value) {
  fields.append(fields.empty() ? "." : ", .").append(key).append(" = ").append(value);
}

/// Returns the initializer of a struct Problems.
std::string problemsOf(const Json &problems) {
  const Keys flags = {"causal", "no_score", "no_score_or_mask",  "no_variant", "ranges",     "tiles_of_scores",
                      "window", "peak",     "contain_nonfinite", "dropout",    "block_mask", "probability"};
  Keys optional = {"element_bytes", "dtype", "max_keys"};
  optional.insert(optional.end(), flags.begin(), flags.end());
  checkKeys(problems, "'problems'", {"max_head_dim"}, optional);
  std::string fields;
  append(fields, "max_head_dim", std::to_string(countAt(problems, "max_head_dim")));
  for (std::string_view key : {"element_bytes", "max_keys"})
    if (problems.contains(key))
      append(fields, key, std::to_string(countAt(problems, key)));
  if (problems.contains("dtype")) {
    const std::string dtype = textAt(problems, "dtype");
    if (dtype != "f32" && dtype != "f16" && dtype != "bf16")
      fail("'dtype' is '" + dtype + "'; it must be f32, f16 or bf16");
    append(fields, "dtype", dtype);
  }
  for (std::string_view key : flags)
    if (problems.contains(key)) {
      if (problems[key] != true)
        fail("'" + std::string(key) + "' is " + problems[key].dump() +
             "; it must be true, or left out if the row does not depend on it");
      append(fields, key, "true");
    }
  return "{" + fields + "}";
}

/// A field that a row for a GPU leaves out would be the compiler's choice, and rows have been timed with what they say.
void checkDecided(const Schedule &schedule, const std::string &text, const std::string &target) {
  if (target.starts_with("cuda") && !schedule.roles)
    fail("schedule: '" + text + "' must give roles, which are none or load");
  if (schedule.roles == Roles::load && !schedule.overlap)
    fail("schedule: '" + text + "' must give overlap, which is none or pingpong");
}

/// Returns the initializer of a struct Schedule.
std::string scheduleOf(const std::string &text, const std::string &target) {
  Expected<Schedule> schedule = parseSchedule(text);
  if (!schedule)
    fail(schedule.status().message());
  if (toString(*schedule) != text)
    fail("schedule: the words must be in this order: '" + toString(*schedule) + "'");
  if (schedule->block_m == 0 || schedule->block_n == 0)
    fail("schedule: '" + text + "' must give block_m and block_n");
  checkDecided(*schedule, text, target);
  std::string fields;
  for (const ScheduleField &field : scheduleFields()) {
    const std::string value = field.text(*schedule), name(field.name);
    if (value.empty())
      continue;
    const bool isLiteral = value == "true" || value == "false" || value.starts_with('"') ||
                           value.find_first_not_of("0123456789") == value.npos;
    append(fields, name, isLiteral ? value : "decltype(Schedule::" + name + ")::value_type::" + value);
  }
  return "{" + fields + "}";
}

void checkProvenance(const Json &provenance) {
  checkKeys(provenance, "'provenance'", {"chosen"}, {"timed", "not_timed"});
  checkKeys(provenance["chosen"], "'chosen'", {"commit", "date"}, {});
  if (provenance.contains("timed") == provenance.contains("not_timed"))
    fail("'provenance' must have either 'timed', or 'not_timed' with the reason");
  if (provenance.contains("not_timed"))
    (void)textAt(provenance, "not_timed");
  else
    checkKeys(provenance["timed"], "'timed'", {"device", "driver", "commit", "date", "source", "ms"},
              {"tflops", "sm_clock_mhz", "power_w", "compared_with"});
  if (provenance.contains("timed") && provenance["timed"].contains("compared_with"))
    checkKeys(provenance["timed"]["compared_with"], "'compared_with'", {"ms"},
              {"schedule", "implementation", "tflops", "sm_clock_mhz", "power_w"});
}

/// Returns the initializer of a struct Row.
std::string rowOf(const Json &row) {
  checkKeys(row, "the row", {"problems", "schedule", "example", "provenance"}, {"target", "program", "shared_kib"});
  checkKeys(row["example"], "'example'", {"dtype", "head_dim", "batch", "heads", "seqlen"},
            {"causal", "variant", "algorithm", "contain_nonfinite", "dropout", "block_mask"});
  checkProvenance(row["provenance"]);
  std::string fields;
  if (row.contains("target")) {
    const std::string target = textAt(row, "target");
    if (target != "cpu" && target != "cuda" && !target.starts_with("cuda:sm_"))
      fail("'target' is '" + target + "'; it must be cpu, cuda, or cuda: and an architecture such as sm_90a");
    append(fields, "target", '"' + target + '"');
  }
  if (row.contains("program"))
    append(fields, "program", '"' + textAt(row, "program") + '"');
  append(fields, "problems", problemsOf(row["problems"]));
  if (row.contains("shared_kib"))
    append(fields, "shared_kib", std::to_string(countAt(row, "shared_kib")));
  append(fields, "schedule", scheduleOf(textAt(row, "schedule"), row.value("target", "")));
  return "{" + fields + "}";
}

std::string includeOf(const Json &file) {
  checkKeys(file, "the file", {"rows"}, {});
  if (!file["rows"].is_array() || file["rows"].empty())
    fail("'rows' must be a list of rows");
  std::string text = "// Written by tegula-schedule-rows from kernels/schedules.json.\n";
  for (size_t n = 0; n < file["rows"].size(); ++n)
    try {
      text += rowOf(file["rows"][n]) + ",\n";
    } catch (const std::exception &error) {
      fail("row " + std::to_string(n + 1) + ": " + error.what());
    }
  return text;
}

int run(const char *input, const char *output) {
  try {
    std::ifstream in(input);
    if (!in)
      fail("it cannot be read");
    const std::string text = includeOf(Json::parse(in));
    std::ofstream out(output);
    out << text;
    out.close();
    if (!out)
      fail(std::string("'") + output + "' cannot be written");
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s: %s\n", input, error.what());
    std::remove(output);
    return 1;
  }
}

} // namespace
} // namespace tegula

int main(int argc, char **argv) {
  if (argc != 3)
    return std::fprintf(stderr, "usage: tegula-schedule-rows schedules.json schedule_rows.inc\n"), 2;
  return tegula::run(argv[1], argv[2]);
}
