// SPDX-License-Identifier: MIT
// What a plan asks of a device, seen by a device that only writes it down.
#include "plan/programs.h"

#include "compiler/client/InProcessCompiler.h"
#include "tegula/dsl.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tegula::testing {
namespace {

/// The launches of a device, such as "sum_merge 2 1 1".
using Log = std::vector<std::string>;

std::string text(const Grid &grid) {
  return std::to_string(grid.x) + " " + std::to_string(grid.y) + " " + std::to_string(grid.z);
}

class FakeKernel final : public Kernel {
public:
  FakeKernel(const Artifact &artifact, Log &log)
      : Kernel(artifact.kernel, artifact.parameters, artifact.kernel == "second" ? 7 : 11), log_(log) {}

protected:
  Status run(Grid grid, std::span<const Argument>, Stream stream) const override {
    log_.push_back(name() + " " + text(grid) + (stream.handle == nullptr ? "" : " on a stream"));
    return {};
  }
  Status clear(void *, size_t, Stream) const override { return {}; }

private:
  Log &log_;
};

class FakeDevice final : public Device {
public:
  std::string_view name() const noexcept override { return "fake"; }
  const Target &target() const noexcept override { return target_; }
  Expected<Buffer> allocate(int64_t) noexcept override { return refused(); }
  Status copyToDevice(void *, const void *, int64_t, Stream) noexcept override { return refused(); }
  Status copyToHost(void *, const void *, int64_t, Stream) noexcept override { return refused(); }
  Expected<std::shared_ptr<Kernel>> load(const Artifact &artifact) noexcept override {
    return std::shared_ptr<Kernel>(std::make_shared<FakeKernel>(artifact, log));
  }
  Status synchronize(Stream) noexcept override { return refused(); }
  Expected<MemoryInfo> memory() const noexcept override { return refused(); }
  Expected<std::unique_ptr<Timer>> makeTimer() noexcept override { return refused(); }

  Log log;

private:
  /// A launch may ask for none of these.
  static Status refused() { return {ErrorCode::internal, "a plan asked for it"}; }

  Target target_{.name = "cpu"};
};

class FakePlan : public ::testing::Test {
protected:
  Plan planOf(const PlanSpec &spec) {
    Expected<Plan> plan = Plan::make(spec, cache_);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return *plan;
  }

  Log takeLog() { return std::exchange(device_->log, {}); }

  /// Returns a tensor at an address of its own.
  TensorRef tensor(std::initializer_list<int64_t> shape) {
    TensorRef view = *contiguous(nullptr, f32, std::vector<int64_t>(shape));
    view.data = reinterpret_cast<void *>(next_ += 1 << 20);
    return view;
  }

  Workspace workspace() { return {reinterpret_cast<void *>(next_ += 1 << 20), 1 << 20}; }

  std::unique_ptr<Compiler> compiler_ = makeInProcessCompiler();
  std::shared_ptr<FakeDevice> device_ = std::make_shared<FakeDevice>();
  KernelCache cache_{*compiler_, device_};
  uintptr_t next_ = 1 << 20;
};

TEST_F(FakePlan, LaunchesKernelsInTheirOrderOnTheStream) {
  const Plan plan = planOf(sigmoidBackward());
  const TensorRef q = tensor({40, 16}), k = tensor({50, 16}), v = tensor({50, 16}), d_o = tensor({40, 16}),
                  dq = tensor({40, 16}), dk = tensor({50, 16}), dv = tensor({50, 16});
  int stream = 0;
  const Status status =
      plan.launch({{"q", q}, {"k", k}, {"v", v}, {"do", d_o}, {"dq", dq}, {"dk", dk}, {"dv", dv}, {"scale", 1.0f}},
                  workspace(), Stream{&stream});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(takeLog(), (Log{"set_to_zero 1 1 1 on a stream", "sigmoid_main 2 1 1 on a stream",
                            "sigmoid_finish 3 1 1 on a stream"}));
}

TEST_F(FakePlan, LeavesKernelsOut) {
  const Plan plan = planOf(splitSum());
  const TensorRef x = tensor({20, 1000}), y = tensor({20});
  ASSERT_TRUE(plan.launch({{"x", x}, {"y", y}, {"splits", int64_t(1)}}, workspace()).ok());
  EXPECT_EQ(takeLog(), (Log{"sum_whole 2 1 1"}));
  ASSERT_TRUE(plan.launch({{"x", x}, {"y", y}, {"splits", int64_t(7)}}, workspace()).ok());
  EXPECT_EQ(takeLog(), (Log{"sum_parts 7 2 1", "sum_merge 2 1 1"}));
  ASSERT_TRUE(plan.launch({{"x", x}, {"y", y}}, workspace()).ok());
  EXPECT_EQ(takeLog(), (Log{"sum_parts 4 2 1", "sum_merge 2 1 1"}));
}

TEST_F(FakePlan, PreparesOnce) {
  const Plan plan = planOf(packRows());
  TensorRef counts = tensor({40});
  counts.dtype = i32;
  const TensorRef x = tensor({40, 16}), y = tensor({300});
  const Workspace prepared{workspace().data, *plan.preparedBytes({{"rows", 40}})};
  int stream = 0;
  ASSERT_TRUE(plan.prepare({{"counts", counts}}, prepared, Stream{&stream}).ok());
  EXPECT_EQ(takeLog(), (Log{"row_offsets 1 1 1 on a stream"}));
  ASSERT_TRUE(plan.launch({{"counts", counts}, {"x", x}, {"y", y}}, {}, Stream{&stream}, prepared).ok());
  EXPECT_EQ(takeLog(), (Log{"pack_row 40 1 1 on a stream"}));
  ASSERT_TRUE(plan.launch({{"counts", counts}, {"x", x}, {"y", y}}, workspace()).ok());
  EXPECT_EQ(takeLog(), (Log{"row_offsets 1 1 1", "pack_row 40 1 1"}));
}

TEST_F(FakePlan, ZeroesWhatIsPreparedWithIt) {
  const auto add = [](View X, View Sums) { Sums.atomicAdd(0, X.load(0, {16})); };
  const auto addBoth = [](View Sums, View Own, View Y) {
    Own.atomicAdd(0, Sums.load(0, {16}));
    Y.store(0, Sums.load(0, {16}));
  };
  const Size n("n");
  const TensorSpec sums = zeroed(tegula::workspace("sums", f32, {n})), own = zeroed(tegula::workspace("own", f32, {n}));
  const Plan plan = planOf(PlanSpec("sums", {KernelSpec("add", add, input("x", f32, {n}), sums),
                                             KernelSpec("add_both", addBoth, sums, own, output("y", f32, {n}))})
                               .preparation(1));
  const TensorRef x = tensor({16}), y = tensor({16});
  const Workspace prepared{workspace().data, *plan.preparedBytes({{"n", 16}})};
  ASSERT_TRUE(plan.prepare({{"x", x}}, prepared).ok());
  EXPECT_EQ(takeLog(), (Log{"set_to_zero 1 1 1", "add 1 1 1"}));
  ASSERT_TRUE(plan.launch({{"x", x}, {"y", y}}, workspace(), {}, prepared).ok());
  EXPECT_EQ(takeLog(), (Log{"set_to_zero 1 1 1", "add_both 1 1 1"}));
  ASSERT_TRUE(plan.launch({{"x", x}, {"y", y}}, workspace()).ok());
  EXPECT_EQ(takeLog(), (Log{"set_to_zero 1 1 1", "set_to_zero 1 1 1", "add 1 1 1", "add_both 1 1 1"}));
}

TEST_F(FakePlan, RunsNothingIfOneKernelWouldRefuse) {
  const Plan plan = planOf(splitSum());
  const TensorRef x = tensor({20, 1000});
  TensorRef y = tensor({20});
  y.data = static_cast<char *>(y.data) + 2; // Not aligned, which only sum_merge sees, the second kernel.
  EXPECT_FALSE(plan.launch({{"x", x}, {"y", y}, {"splits", int64_t(3)}}, workspace()).ok());
  EXPECT_EQ(takeLog(), Log{});
}

TEST_F(FakePlan, GivesGridsAndChoicesTheConcurrency) {
  const auto copy = [](View X, View Y) {
    for (Value i : range(programId(0) * 16, X.dim(0), 16 * numPrograms(0)))
      Y.store(i, X.load(i, {16}));
  };
  Size n("n"), parts("parts");
  const KernelSpec kernel("copy", copy, input("x", f32, {n}), output("y", f32, {n}));
  const TensorRef x = tensor({1000}), y = tensor({1000});
  ASSERT_TRUE(planOf(KernelSpec(kernel).grid(min(concurrency(), ceilDiv(n, 16)))).launch({{"x", x}, {"y", y}}).ok());
  EXPECT_EQ(takeLog(), (Log{"copy 11 1 1"}));
  const PlanSpec spec = PlanSpec(KernelSpec(kernel).grid(parts)).choice("parts", concurrency() * 2);
  ASSERT_TRUE(planOf(spec).launch({{"x", x}, {"y", y}}).ok());
  EXPECT_EQ(takeLog(), (Log{"copy 22 1 1"}));

  const KernelSpec second("second", copy, input("x", f32, {n}), output("z", f32, {n}));
  const PlanSpec both = PlanSpec("both", {KernelSpec(kernel).grid(parts), KernelSpec(second).grid(parts)})
                            .choice("parts", concurrency() * 2, "second");
  ASSERT_TRUE(planOf(both).launch({{"x", x}, {"y", y}, {"z", tensor({1000})}}).ok());
  EXPECT_EQ(takeLog(), (Log{"copy 14 1 1", "second 14 1 1"}));
}

} // namespace
} // namespace tegula::testing
