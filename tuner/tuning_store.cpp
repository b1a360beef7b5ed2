// SPDX-License-Identifier: MIT
#include "tegula/tuning_store.h"

#include "tegula/cache_directory.h"

#include <cctype>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

namespace tegula {
namespace {

namespace fs = std::filesystem;

constexpr const char *kExtension = ".json";

std::optional<Tuning> readTuning(const fs::path &file) {
  std::ifstream stream(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  Expected<Tuning> tuning = parseTuning(text);
  return tuning && tuning->best ? std::optional(std::move(*tuning)) : std::nullopt;
}

bool isSame(const TuningMachine &a, const TuningMachine &b) {
  return a.target.name == b.target.name && a.target.arch == b.target.arch && a.device == b.device &&
         a.driver == b.driver && a.compiler == b.compiler && !a.compiler.empty();
}

bool isSame(const TuningTask &a, const TuningTask &b) {
  return a.program == b.program && problemClass(a.problem) == problemClass(b.problem) &&
         shapeClass(a.shape) == shapeClass(b.shape);
}

/// Letters and digits of `text`, and _ for anything else.
std::string word(const std::string &text) {
  std::string result;
  for (unsigned char c : text)
    result += std::isalnum(c) ? char(c) : '_';
  return result;
}

/// Writes to a file of its own, then gives it the name, so that no reader sees a part.
bool publish(const fs::path &file, const std::string &bytes) {
  std::string temporary = file.string() + ".XXXXXX";
  int descriptor = mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0)
    return false;
  bool written = write(descriptor, bytes.data(), bytes.size()) == ssize_t(bytes.size()) && fsync(descriptor) == 0;
  bool closed = close(descriptor) == 0;
  if (written && closed && rename(temporary.c_str(), file.c_str()) == 0)
    return true;
  int error = errno;
  unlink(temporary.c_str());
  errno = error;
  return false;
}

} // namespace

fs::path TuningStore::userFolder() {
  std::string cache = userCacheDirectory();
  return cache.empty() ? fs::path() : fs::path(cache) / "schedules";
}

/// The name only finds the file; what counts is what the file says.
fs::path TuningStore::fileOf(const TuningTask &task, const TuningMachine &machine) const {
  ShapeClass shape = shapeClass(task.shape);
  size_t build = std::hash<std::string>()(machine.driver + "\n" + machine.compiler);
  return folder_ / fmt::format("{}-{}-{}x{}-{}x{}-{}-{:016x}{}", task.program, word(problemClass(task.problem)),
                               shape.heads, shape.group, shape.seqlen_q, shape.seqlen_k, word(machine.device), build,
                               kExtension);
}

Status TuningStore::save(const Tuning &tuning) const {
  if (folder_.empty() || !tuning.best)
    return {};
  std::error_code error;
  fs::create_directories(folder_, error);
  fs::path file = fileOf(tuning.task, tuning.machine);
  if (publish(file, toJson(tuning)))
    return {};
  return {ErrorCode::ResourceExhausted, fmt::format("cannot write '{}': {}", file.string(),
                                                    std::error_code(errno, std::generic_category()).message())};
}

std::optional<Tuning> TuningStore::find(const TuningTask &task, const TuningMachine &machine) const {
  std::optional<Tuning> tuning = readTuning(fileOf(task, machine));
  if (!tuning || !isSame(tuning->machine, machine) || !isSame(tuning->task, task))
    return std::nullopt;
  tuning->known = true;
  return tuning;
}

TunedSchedules TuningStore::schedules(const TuningMachine &machine) const {
  TunedSchedules all;
  std::error_code error;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder_, error)) {
    if (entry.path().extension() != kExtension)
      continue;
    std::optional<Tuning> tuning = readTuning(entry.path());
    if (tuning && isSame(tuning->machine, machine))
      all.add({tuning->task.program, problemClass(tuning->task.problem), shapeClass(tuning->task.shape),
               tuning->winner()->schedule});
  }
  return all;
}

} // namespace tegula
