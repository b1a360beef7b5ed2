// SPDX-License-Identifier: MIT
#include "tegula/tuning_store.h"

#include "store_files.h"
#include "tegula/internal/digest.h"

#include <algorithm>
#include <bit>

namespace tegula {
namespace {

namespace fs = std::filesystem;

constexpr const char *kExtension = ".json";
/// The name of the lock of all writers. They hold it for moments.
constexpr const char *kWriting = "writing";
constexpr std::chrono::seconds kWritingPatience{20};
/// A file that is written to see whether results can be, and its size. Its name is that of no result.
constexpr const char *kProbe = ".probe";
constexpr size_t kProbeBytes = size_t(1) << 16;
/// The longest time between two questions whether to stop.
constexpr std::chrono::milliseconds kTimeToStop{50};

/// Reads a result for the machine that has a winner.
template <class Result>
std::optional<Result> readResult(const fs::path &path, const std::string &name, const TuningDevice &machine,
                                 Expected<Result> (*parse)(const std::string &text)) {
  std::optional<Folder> folder = tuning::openStore(path);
  ReadError fault;
  std::optional<std::string> text = folder ? folder->read(name, fault) : std::nullopt;
  if (!text)
    return std::nullopt;
  Expected<Result> result = parse(*text);
  if (!result || !result->best || !tuning::isSame(result->machine, machine))
    return std::nullopt;
  result->known = true;
  return std::move(*result);
}

bool isSame(const TuningTask &a, const TuningTask &b) {
  return a.program == b.program && problemClass(a.problem) == problemClass(b.problem) &&
         shapeClass(a.shape) == shapeClass(b.shape);
}

struct HeldLock {
  HeldLock(Folder opened, const std::string &name, std::chrono::milliseconds patience)
      : folder(std::move(opened)), lock(folder.lock(name, patience)) {}

  Folder folder;
  Folder::Lock lock;
};

/// Returns the name of the file of a result. The name only finds the file; its contents must hold the key, too.
std::string fileName(const std::string &program, const std::string &key, const TuningDevice &machine) {
  std::string text = program + "\n" + key;
  for (const std::string &part :
       {machine.target.name, machine.target.arch, machine.device, machine.driver, machine.compiler})
    text += "\n" + part;
  return program + "-" + digest(text) + kExtension;
}

std::string fileName(const TuningTask &task, const TuningDevice &machine) {
  const ShapeClass shape = shapeClass(task.shape);
  const std::string key = problemClass(task.problem) + "\n" + std::to_string(shape.heads) + "\n" +
                          std::to_string(shape.query_heads_per_kv_head) + "\n" + std::to_string(shape.seqlen_q) + "\n" +
                          std::to_string(shape.seqlen_k);
  return fileName(task.program, key, machine);
}

/// Returns the sizes, each rounded up to a power of two.
Sizes sizeClass(Sizes sizes) {
  for (NamedSize &size : sizes)
    size.value = size.value <= 0 ? 0 : int64_t(std::bit_ceil(uint64_t(size.value)));
  return sizes;
}

std::string fileName(const std::string &kernel, const std::string &kernel_class, const Sizes &sizes,
                     const TuningDevice &machine) {
  return fileName(kernel, kernel_class + "\n" + toString(sizeClass(sizes)), machine);
}

Status notWritable(const fs::path &path) {
  if (path.empty())
    return {ErrorCode::resource_exhausted,
            "there is no directory for results: none of TEGULA_CACHE_DIR, XDG_CACHE_HOME "
            "and HOME is set"};
  return {ErrorCode::resource_exhausted,
          "results cannot be written to '" + path.string() +
              "'; it must be a directory of this user that nobody else may write to, with room for files"};
}

/// Writes a result, unless the store has a better one, which `find` returns. The lock keeps other writers away between
/// the two steps.
template <class Result, class Find>
Expected<bool> replace(const fs::path &path, const std::string &name, const Result &result, Find find) {
  if (!result.best)
    return false;
  const std::optional<Folder> folder = path.empty() ? std::nullopt : Folder::make(path.string());
  const Folder::Lock lock = folder ? folder->lock(kWriting, kWritingPatience) : Folder::Lock();
  if (!lock)
    return notWritable(path);
  if (const std::optional<Result> earlier = find(); earlier && isBetter(*earlier, result))
    return false;
  return folder->write(name, toJson(result)) ? Expected<bool>(true) : notWritable(path);
}

} // namespace

Expected<bool> TuningStore::save(const Tuning &tuning) const {
  return replace(folder_, fileName(tuning.task, tuning.machine), tuning,
                 [&] { return find(tuning.task, tuning.machine); });
}

Expected<bool> TuningStore::save(const PlanTuning &tuning) const {
  return replace(folder_, fileName(tuning.kernel, tuning.kernel_class, tuning.sizes, tuning.machine), tuning,
                 [&] { return find(tuning.kernel, tuning.kernel_class, tuning.sizes, tuning.machine); });
}

Status TuningStore::checkWritable() const {
  const std::optional<Folder> folder = folder_.empty() ? std::nullopt : Folder::make(folder_.string());
  const Folder::Lock lock = folder ? folder->lock(kWriting, kWritingPatience) : Folder::Lock();
  const bool isWritten = lock && folder->write(kProbe, std::string(kProbeBytes, ' ')) && folder->remove(kProbe);
  return isWritten ? Status() : notWritable(folder_);
}

std::optional<Tuning> TuningStore::find(const TuningTask &task, const TuningDevice &machine) const {
  std::optional<Tuning> tuning = readResult<Tuning>(folder_, fileName(task, machine), machine, parseTuning);
  return tuning && isSame(tuning->task, task) ? std::move(tuning) : std::nullopt;
}

std::optional<PlanTuning> TuningStore::find(const std::string &kernel, const std::string &kernel_class,
                                            const Sizes &sizes, const TuningDevice &machine) const {
  std::optional<PlanTuning> tuning =
      readResult<PlanTuning>(folder_, fileName(kernel, kernel_class, sizes, machine), machine, parsePlanTuning);
  const bool isIt = tuning && tuning->kernel == kernel && tuning->kernel_class == kernel_class &&
                    sizeClass(tuning->sizes) == sizeClass(sizes);
  return isIt ? std::move(tuning) : std::nullopt;
}

std::shared_ptr<void> TuningStore::lock(const TuningDevice &machine, std::chrono::milliseconds patience,
                                        const std::function<bool()> &stopped) const {
  const auto end = std::chrono::steady_clock::now() + patience;
  const std::string name = "tuning-" + digest(machine.device);
  while (true) {
    std::optional<Folder> folder = folder_.empty() ? std::nullopt : Folder::make(folder_.string());
    if (!folder)
      return nullptr;
    auto held = std::make_shared<HeldLock>(std::move(*folder), name, std::min(patience, kTimeToStop));
    if (held->lock)
      return held;
    if ((stopped && stopped()) || std::chrono::steady_clock::now() >= end)
      return nullptr;
  }
}

} // namespace tegula
