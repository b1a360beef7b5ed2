// SPDX-License-Identifier: MIT
// Tuning that remembers: what the store knows is not measured again, and what is measured is kept.
#pragma once

#include "tegula/plan_tuner.h"
#include "tegula/tuner.h"
#include "tegula/tuning_store.h"

#include <chrono>
#include <functional>

namespace tegula {

struct StoreOptions {
  bool again = false; ///< Measure although the result is known, as `exhaustive` and `given` of TuningOptions do.
  /// The longest wait for another process that tunes on the same machine.
  std::chrono::milliseconds patience = std::chrono::minutes(10);
  /// Called before anything is measured if the result cannot be kept, with the reason. Measuring goes on.
  std::function<void(const Status &why)> not_writable = {};
};

/// Returns the result for the task and its sizes from the store. If there is none, or it was stopped, tunes and saves
/// what it finds. A `compiler` of makeCachingCompiler() compiles no candidate again after an interruption. Returns the
/// errors of tune(). That a result cannot be kept is no error: Tuning::store_error says why.
Expected<Tuning> tuneOnce(const TuningTask &task, const TuningDevice &machine, Compiler &compiler,
                          const TuningStore &store, const TuningOptions &options = {}, const StoreOptions &stored = {});
/// If the kernel has several named programs, keeps the result also for the fastest of them alone, so that a host finds
/// it that has no other.
Expected<Tuning> tuneOnce(const PlanTask &task, const TuningDevice &machine, Compiler &compiler,
                          const TuningStore &store, const TuningOptions &options = {}, const StoreOptions &stored = {});

} // namespace tegula
