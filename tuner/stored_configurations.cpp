// SPDX-License-Identifier: MIT
// Reads the configurations of the store for hosts, without the figures of every candidate. Files are parsed as events,
// because destroying a tree of nlohmann::json takes memory, and ends the process if there is none.
#include "store_files.h"
#include "tegula/cache_directory.h"
#include "tegula/tuning_store.h"

#include <cstdint>
#include <map>
#include <vector>

#include <nlohmann/json.hpp>

namespace tegula {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// The strings and whole numbers of an object and of the objects in it, by their paths ("class.sizes.heads"). Members
/// of arrays do not count.
class Members final : public nlohmann::json_sax<json> {
public:
  /// Parses a text. Returns false for anything but one complete value.
  bool read(const std::string &text) { return json::sax_parse(text, this); }

  /// Returns the string at a path; empty if there is none.
  std::string string(const std::string &path) const {
    const auto found = strings_.find(path);
    return found != strings_.end() ? found->second : "";
  }
  /// Returns the number at a path; 0 if there is none.
  int64_t number(const std::string &path) const {
    const auto found = numbers_.find(path);
    return found != numbers_.end() ? found->second : 0;
  }

  /// Returns the numbers of an object, by the names of its members.
  Sizes numbersOf(const std::string &object) const {
    Sizes numbers;
    for (const auto &[path, value] : numbers_)
      if (path.starts_with(object + "."))
        numbers.push_back({path.substr(object.size() + 1), value});
    return numbers;
  }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return keep(numbers_, value); }
  bool number_unsigned(number_unsigned_t value) override { return keep(numbers_, static_cast<int64_t>(value)); }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &value) override { return keep(strings_, value); }
  bool binary(binary_t &) override { return true; }
  bool start_object(size_t) override {
    path_.emplace_back();
    return true;
  }
  bool key(string_t &name) override {
    path_.back() = name;
    return true;
  }
  bool end_object() override {
    path_.pop_back();
    return true;
  }
  bool start_array(size_t) override {
    ++arrays_;
    return true;
  }
  bool end_array() override {
    --arrays_;
    return true;
  }
  bool parse_error(size_t, const std::string &, const json::exception &) override { return false; }

private:
  template <class Value> bool keep(std::map<std::string, Value> &values, const Value &value) {
    if (arrays_ > 0)
      return true;
    std::string path;
    for (const std::string &name : path_)
      path += (path.empty() ? "" : ".") + name;
    values[path] = value;
    return true;
  }

  std::map<std::string, std::string> strings_;
  std::map<std::string, int64_t> numbers_;
  std::vector<std::string> path_;
  int arrays_ = 0;
};

TuningDevice machineOf(const Members &members) {
  return {.target = {members.string("target"), members.string("arch"), ""},
          .device = members.string("device"),
          .driver = members.string("driver"),
          .compiler = members.string("compiler")};
}

/// A result of a kernel without tunables has a schedule only.
std::optional<TunedConfiguration> configurationOf(const Members &members) {
  if (members.string("class.kernel").empty())
    return std::nullopt;
  return TunedConfiguration{.kernel = members.string("class.kernel"),
                            .kernel_class = members.string("class.kernel_class"),
                            .sizes = members.numbersOf("class.sizes"),
                            .text =
                                members.string(members.string("configuration").empty() ? "schedule" : "configuration")};
}

/// Adds the results of a machine.
void collect(const fs::path &path, const TuningDevice &machine, TunedConfigurations &all) {
  const std::optional<Folder> folder = tuning::openStore(path);
  if (!folder)
    return;
  for (const FolderFile &file : folder->files()) {
    ReadError fault;
    const std::optional<std::string> text = folder->read(file.name, fault);
    Members members;
    if (text && members.read(*text) && members.number("format") == tuning::kFormat &&
        tuning::isSame(machineOf(members), machine))
      if (std::optional<TunedConfiguration> tuned = configurationOf(members))
        all.add(std::move(*tuned));
  }
}

} // namespace

fs::path TuningStore::userDirectory() {
  std::string cache = userCacheDirectory();
  return cache.empty() ? fs::path() : fs::path(cache) / "schedules";
}

TunedConfigurations TuningStore::configurations(const TuningDevice &machine) const noexcept {
  TunedConfigurations all;
  try {
    collect(folder_, machine, all);
  } catch (...) { // Memory ran out. Plans have what was read so far.
  }
  return all;
}

} // namespace tegula
