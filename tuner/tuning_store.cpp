// SPDX-License-Identifier: MIT
#include "tegula/tuning_store.h"

#include "store_files.h"
#include "tegula/internal/digest.h"
#include "tegula/tuned_schedules.h"

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

struct HeldLock {
  HeldLock(Folder opened, const std::string &name, std::chrono::milliseconds patience)
      : folder(std::move(opened)), lock(folder.lock(name, patience)) {}

  Folder folder;
  Folder::Lock lock;
};

/// Returns the sizes, each rounded up to a power of two.
Sizes sizeClass(Sizes sizes) {
  for (NamedSize &size : sizes)
    size.value = size.value <= 0 ? 0 : int64_t(std::bit_ceil(uint64_t(size.value)));
  return sizes;
}

/// Returns the name of the file of a result. The name only finds the file; its contents must hold the key, too.
std::string fileName(const std::string &kernel, const std::string &kernel_class, const Sizes &sizes,
                     const TuningDevice &machine) {
  std::string text = kernel + "\n" + kernel_class + "\n" + toString(sizeClass(sizes));
  for (const std::string &part :
       {machine.target.name, machine.target.arch, machine.device, machine.driver, machine.compiler})
    text += "\n" + part;
  return kernel + "-" + digest(text) + kExtension;
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

} // namespace

Expected<bool> TuningStore::save(const Tuning &tuning) const {
  if (!tuning.best)
    return false;
  const std::optional<Folder> folder = folder_.empty() ? std::nullopt : Folder::make(folder_.string());
  // The lock keeps other writers away until the result is written.
  const Folder::Lock lock = folder ? folder->lock(kWriting, kWritingPatience) : Folder::Lock();
  if (!lock)
    return notWritable(folder_);
  const auto &[kernel, kernel_class, sizes] = std::tie(tuning.kernel, tuning.kernel_class, tuning.sizes);
  const std::optional<Tuning> earlier = find(kernel, kernel_class, sizes, tuning.machine);
  if (earlier && isBetter(*earlier, tuning))
    return false;
  const bool isWritten = folder->write(fileName(kernel, kernel_class, sizes, tuning.machine), toJson(tuning));
  return isWritten ? Expected<bool>(true) : notWritable(folder_);
}

Status TuningStore::checkWritable() const {
  const std::optional<Folder> folder = folder_.empty() ? std::nullopt : Folder::make(folder_.string());
  const Folder::Lock lock = folder ? folder->lock(kWriting, kWritingPatience) : Folder::Lock();
  const bool isWritten = lock && folder->write(kProbe, std::string(kProbeBytes, ' ')) && folder->remove(kProbe);
  return isWritten ? Status() : notWritable(folder_);
}

std::optional<Tuning> TuningStore::find(const std::string &kernel, const std::string &kernel_class, const Sizes &sizes,
                                        const TuningDevice &machine) const {
  const std::optional<Folder> folder = tuning::openStore(folder_);
  ReadError fault;
  const std::optional<std::string> text =
      folder ? folder->read(fileName(kernel, kernel_class, sizes, machine), fault) : std::nullopt;
  if (!text)
    return std::nullopt;
  Expected<Tuning> tuning = parseTuning(*text);
  if (!tuning || !tuning->best || !tuning::isSame(tuning->machine, machine) || tuning->kernel != kernel ||
      tuning->kernel_class != kernel_class || sizeClass(tuning->sizes) != sizeClass(sizes))
    return std::nullopt;
  tuning->known = true;
  return std::move(*tuning);
}

std::optional<Tuning> TuningStore::find(const TuningTask &task, const TuningDevice &machine) const {
  return find(task.program, problemClass(task.problemOfShape()), attentionSizes(task.shape), machine);
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
