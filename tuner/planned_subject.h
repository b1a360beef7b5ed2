// SPDX-License-Identifier: MIT
#pragma once

#include "caches.h"
#include "subject.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace tegula::tuning {

/// A subject whose candidates are plans of one type, and the tensors that their launches read and write.
template <class Plan, class Data> class PlannedSubject : public Subject {
public:
  Expected<std::shared_ptr<Kernel>> makePlan(size_t index, const Candidate &candidate, KernelCache &cache) final {
    Expected<std::shared_ptr<Kernel>> kernel = kernelOf(candidate, cache);
    if (!kernel)
      return kernel;
    Expected<Plan> plan = planOf(candidate, cache);
    if (!plan)
      return plan.status();
    const std::lock_guard lock(*mutex_);
    plans_.insert_or_assign(index, std::move(*plan));
    return kernel;
  }

  Status prepareCheck(size_t index, const std::shared_ptr<Device> &device) final {
    if (checked_)
      return {};
    Expected<Data> data = makeData(Purpose::check, plan(index), device);
    if (data)
      checked_ = std::move(*data);
    return data.status();
  }

  Expected<Verdict> check(size_t index) final {
    TEGULA_RETURN_IF_ERROR(checked_->makeRoomFor(plan(index)));
    return check(plan(index), *checked_);
  }

  Status prepareLaunches(size_t index, const std::shared_ptr<Device> &device) final {
    if (rotation_.empty())
      TEGULA_RETURN_IF_ERROR(makeRotation(plan(index), device));
    for (Data &data : rotation_)
      TEGULA_RETURN_IF_ERROR(data.makeRoomFor(plan(index)));
    return {};
  }

  Status launch(size_t index) final { return launch(plan(index), rotation_[next_++ % rotation_.size()]); }

  void forgetTensors() final {
    checked_.reset();
    rotation_.clear();
  }

protected:
  enum class Purpose { check, time };

  using Subject::Subject;

  virtual Expected<std::shared_ptr<Kernel>> kernelOf(const Candidate &candidate, KernelCache &cache) const = 0;
  virtual Expected<Plan> planOf(const Candidate &candidate, KernelCache &cache) const = 0;
  /// Makes the tensors of a check, and what it compares with, or tensors of the task's shape.
  virtual Expected<Data> makeData(Purpose purpose, const Plan &plan, const std::shared_ptr<Device> &device) = 0;
  virtual Expected<Verdict> check(const Plan &plan, const Data &data) const = 0;
  virtual Status launch(const Plan &plan, const Data &data) const = 0;

private:
  const Plan &plan(size_t index) const {
    const std::lock_guard lock(*mutex_);
    return plans_.at(index);
  }

  Status makeRotation(const Plan &plan, const std::shared_ptr<Device> &device) {
    std::vector<Data> rotation;
    int64_t copies = 2;
    while (int64_t(rotation.size()) < copies) {
      Expected<Data> data = makeData(Purpose::time, plan, device);
      if (!data)
        return data.status();
      rotation.push_back(std::move(*data));
      copies = copiesFor(device->target().name, rotation.front().bytes());
    }
    TEGULA_RETURN_IF_ERROR(device->synchronize());
    rotation_ = std::move(rotation);
    return {};
  }

  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>(); ///< Guards plans_.
  std::map<size_t, Plan> plans_;
  std::optional<Data> checked_; ///< The tensors of checks.
  std::vector<Data> rotation_;  ///< As many that a launch finds nothing of its own tensors in the caches.
  size_t next_ = 0;             ///< The number of launches so far, which selects a copy in rotation_.
};

} // namespace tegula::tuning
