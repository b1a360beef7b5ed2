// SPDX-License-Identifier: MIT
#include "tegula/tuning_store.h"

#include "store_files.h"
#include "tegula/internal/digest.h"

namespace tegula {
namespace {

namespace fs = std::filesystem;

constexpr const char *kExtension = ".json";

std::optional<Tuning> readTuning(const Folder &folder, const std::string &name) {
  ReadError fault;
  std::optional<std::string> text = folder.read(name, fault);
  if (!text)
    return std::nullopt;
  Expected<Tuning> tuning = parseTuning(*text);
  return tuning && tuning->best ? std::optional(std::move(*tuning)) : std::nullopt;
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
std::string fileName(const TuningTask &task, const TuningDevice &machine) {
  ShapeClass shape = shapeClass(task.shape);
  std::string key = task.program;
  for (const std::string &part :
       {problemClass(task.problem), std::to_string(shape.heads), std::to_string(shape.query_heads_per_kv_head),
        std::to_string(shape.seqlen_q), std::to_string(shape.seqlen_k), machine.target.name, machine.target.arch,
        machine.device, machine.driver, machine.compiler})
    key += "\n" + part;
  return task.program + "-" + digest(key) + kExtension;
}

} // namespace

Status TuningStore::save(const Tuning &tuning) const {
  if (folder_.empty() || !tuning.best)
    return {};
  std::optional<Folder> folder = Folder::make(folder_.string());
  if (folder && folder->write(fileName(tuning.task, tuning.machine), toJson(tuning)))
    return {};
  return {ErrorCode::resource_exhausted, "the result cannot be written to '" + folder_.string() + "'"};
}

std::optional<Tuning> TuningStore::find(const TuningTask &task, const TuningDevice &machine) const {
  std::optional<Folder> folder = tuning::openStore(folder_);
  if (!folder)
    return std::nullopt;
  std::optional<Tuning> tuning = readTuning(*folder, fileName(task, machine));
  if (!tuning || !tuning::isSame(tuning->machine, machine) || !isSame(tuning->task, task))
    return std::nullopt;
  tuning->known = true;
  return tuning;
}

std::shared_ptr<void> TuningStore::lock(const TuningDevice &machine, std::chrono::milliseconds patience) const {
  std::optional<Folder> folder = Folder::make(folder_.string());
  if (!folder)
    return nullptr;
  return std::make_shared<HeldLock>(std::move(*folder), "tuning-" + digest(machine.device), patience);
}

} // namespace tegula
