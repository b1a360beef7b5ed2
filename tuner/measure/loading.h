// SPDX-License-Identifier: MIT
// Plans that are made in threads of their own.
#pragma once

#include "tegula/cpu_info.h"
#include "tegula/status.h"

#include <functional>
#include <future>
#include <map>
#include <semaphore>

namespace tegula::tuning {

template <class Plan> class Loading {
public:
  /// Begins to make a plan, as soon as a core is free.
  void start(size_t id, std::function<Expected<Plan>()> make) {
    plans_[id] = std::async(std::launch::async, [this, make = std::move(make)] {
      loaders_.acquire();
      Expected<Plan> plan = make();
      loaders_.release();
      return plan;
    });
  }

  /// Waits for a plan. Throws std::out_of_range for one that was not started.
  const Expected<Plan> &get(size_t id) const { return plans_.at(id).get(); }

private:
  std::counting_semaphore<> loaders_{usableCores()};
  std::map<size_t, std::shared_future<Expected<Plan>>> plans_;
};

} // namespace tegula::tuning
