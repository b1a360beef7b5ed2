// SPDX-License-Identifier: MIT
#pragma once

#include "caches.h"
#include "runs.h"
#include "tegula/cpu_info.h"
#include "tegula/kernel_cache.h"

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <semaphore>
#include <utility>
#include <vector>

namespace tegula::tuning {

/// Candidates that are plans, and the tensors that their launches read and write.
template <class Plan, class Data> class PlannedRuns : public Runs {
public:
  /// `cache` must outlive the object.
  PlannedRuns(std::shared_ptr<Device> device, KernelCache &cache) : device_(std::move(device)), cache_(cache) {}

  Status loaded(size_t id) final { return plans_.at(id).get().status(); }

  Status makeRoomFor(size_t id) final {
    if (rotation_.empty())
      TEGULA_RETURN_IF_ERROR(makeRotation(id));
    for (Data &data : rotation_)
      TEGULA_RETURN_IF_ERROR(data.makeRoomFor(loadedPlan(id)));
    return {};
  }

  Status launch(size_t id) final { return launch(loadedPlan(id), rotation_[next_++ % rotation_.size()]); }

protected:
  /// Begins to make a plan in a thread of its own, as soon as a core is free. `make` must not use this object.
  void start(size_t id, std::function<Expected<Plan>()> make) {
    plans_[id] = std::async(std::launch::async, [this, make = std::move(make)] {
      loaders_.acquire();
      Expected<Plan> plan = make();
      loaders_.release();
      return plan;
    });
  }

  /// Returns a plan that has been loaded. Throws std::out_of_range for one that was not started.
  const Plan &loadedPlan(size_t id) const { return *plans_.at(id).get(); }

  /// Makes tensors of the task's shape.
  virtual Expected<Data> makeTimed(size_t id) = 0;
  virtual Status launch(const Plan &plan, const Data &data) = 0;

  std::shared_ptr<Device> device_;
  KernelCache &cache_;
  std::optional<Data> check_data_; ///< The tensors of the check.

private:
  Status makeRotation(size_t id) {
    std::vector<Data> rotation;
    int64_t copies = 2;
    while (int64_t(rotation.size()) < copies) {
      Expected<Data> data = makeTimed(id);
      if (!data)
        return data.status();
      rotation.push_back(std::move(*data));
      copies = copiesFor(cacheBytes(device_->target().name), rotation.front().bytes());
    }
    TEGULA_RETURN_IF_ERROR(device_->synchronize());
    rotation_ = std::move(rotation);
    return {};
  }

  std::counting_semaphore<> loaders_{usableCores()};
  std::map<size_t, std::shared_future<Expected<Plan>>> plans_;
  std::vector<Data> rotation_; ///< As many that a launch finds nothing of its own tensors in the caches.
  size_t next_ = 0;            ///< The number of launches so far, which selects a copy in rotation_.
};

} // namespace tegula::tuning
