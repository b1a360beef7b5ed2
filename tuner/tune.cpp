// SPDX-License-Identifier: MIT
// tune() and tuneOnce() of both kinds of tasks.
#include "attention_subject.h"
#include "plan_subject.h"
#include "run_search.h"
#include "tegula/guard.h"
#include "tegula/tune_once.h"

#include <utility>

namespace tegula {
namespace {

using tuning::AttentionSubject, tuning::PlanSubject, tuning::Subject;

/// Saves a result that has a winner, and notes what became of it.
void keep(const Subject &subject, const TuningStore &store, Tuning &tuning) {
  const Expected<bool> saved = store.save(tuning);
  tuning.store_error = saved.status();
  tuning.outranked = saved && !*saved;
  if (!saved || tuning.outranked)
    return;
  const Expected<std::vector<Tuning>> implied = subject.implied(tuning);
  tuning.store_error = implied.status();
  for (size_t n = 0; tuning.store_error.ok() && n < implied->size(); ++n)
    tuning.store_error = store.save((*implied)[n]).status();
}

/// Returns what the store has about a subject, unless the caller stopped that search.
std::optional<Tuning> knownAbout(const Subject &subject, const TuningStore &store) {
  const Tuning &about = subject.about();
  std::optional<Tuning> known = store.find(about.kernel, about.kernel_class, about.sizes, about.machine);
  if (!known || !known->complete)
    return std::nullopt;
  known->programs = about.programs; // Their files may have other names today.
  return known;
}

Expected<Tuning> searchOnce(Subject &subject, Compiler &compiler, const TuningStore &store,
                            const TuningOptions &options, const StoreOptions &stored) {
  // No stored result answers a question about all candidates, or about these.
  const bool again = stored.again || options.exhaustive || !options.given.empty();
  if (!again)
    if (std::optional<Tuning> known = knownAbout(subject, store))
      return std::move(*known);
  const bool isKept = options.given.empty();
  if (const Status status = isKept ? store.checkWritable() : Status(); !status.ok() && stored.not_writable)
    stored.not_writable(status);
  const std::shared_ptr<void> lock = store.lock(subject.about().machine, stored.patience, options.stopped);
  if (!again)
    if (std::optional<Tuning> known = knownAbout(subject, store)) // Another process has measured it.
      return std::move(*known);
  Expected<Tuning> result = runSearch(subject, compiler, options);
  if (result && result->best && isKept)
    keep(subject, store, *result);
  return result;
}

/// Returns what `search` finds about the subject of a task.
template <class SubjectOfTask, class Task, class Search>
Expected<Tuning> searchFor(const Task &task, const TuningDevice &machine, Search search) {
  return guarded([&]() -> Expected<Tuning> {
    Expected<SubjectOfTask> subject = SubjectOfTask::make(task, machine);
    return subject ? search(*subject) : subject.status();
  });
}

} // namespace

Expected<Tuning> tune(const TuningTask &task, const TuningDevice &machine, Compiler &compiler,
                      const TuningOptions &options) {
  return searchFor<AttentionSubject>(task, machine,
                                     [&](Subject &subject) { return runSearch(subject, compiler, options); });
}

Expected<Tuning> tune(const PlanTask &task, const TuningDevice &machine, Compiler &compiler,
                      const TuningOptions &options) {
  return searchFor<PlanSubject>(task, machine, [&](Subject &subject) { return runSearch(subject, compiler, options); });
}

Expected<Tuning> tuneOnce(const TuningTask &task, const TuningDevice &machine, Compiler &compiler,
                          const TuningStore &store, const TuningOptions &options, const StoreOptions &stored) {
  return searchFor<AttentionSubject>(
      task, machine, [&](Subject &subject) { return searchOnce(subject, compiler, store, options, stored); });
}

Expected<Tuning> tuneOnce(const PlanTask &task, const TuningDevice &machine, Compiler &compiler,
                          const TuningStore &store, const TuningOptions &options, const StoreOptions &stored) {
  return searchFor<PlanSubject>(
      task, machine, [&](Subject &subject) { return searchOnce(subject, compiler, store, options, stored); });
}

} // namespace tegula
