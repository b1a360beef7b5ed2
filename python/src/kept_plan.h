// SPDX-License-Identifier: MIT
#pragma once

#include "context.h"

#include <map>
#include <mutex>

namespace tegula_torch {

/// Returns the plan of a key, which `create(plan, error)` makes the first time. Each caller has keys of its own. Plans
/// live as long as the process, as contexts do.
template <class Key, class Create> const tegula_plan *keptPlan(const Key &key, Create create) {
  static std::mutex mutex;
  static std::map<Key, tegula_plan *> plans;
  const std::lock_guard lock(mutex);
  tegula_plan *&plan = plans[key];
  tegula_error *error = nullptr;
  if (plan == nullptr)
    check(create(&plan, &error), error);
  return plan;
}

} // namespace tegula_torch
