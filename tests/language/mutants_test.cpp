// SPDX-License-Identifier: MIT
// Tests that programs of one to five products, which are not attention, need every wait, arrival and fence that the
// compiler gives them on sm_90a and sm_100a.
#include "bench/products/programs.h"
#include "compiler/client/InProcessCompiler.h"
#include "language/hopper_programs.h"
#include "language/machine.h"
#include "mutants/sweep.h"
#include "workload/mutants.h"

#include <gmock/gmock.h>

#include <numeric>

namespace tegula::language {
namespace {

using ::testing::IsEmpty;

/// A kernel on the executor, with the tensors of several launches.
class Mutated {
public:
  explicit Mutated(const Expected<Program> &program, const Schedule &schedule = {}, const char *arch = "sm_90a")
      : simt_(testing::valueOf(simtDevice({.arch = arch}))), compiler_(makeInProcessCompiler()),
        cache_(*compiler_, simt_) {
    EXPECT_TRUE(program.ok()) << program.status().message();
    kernel_ = testing::valueOf(cache_.get(program->text, schedule));
  }

  /// Adds a launch with tensors of these shapes. `row_gap` elements follow each row: 3 keep TMA from addressing it.
  void addLaunch(Grid grid, std::vector<std::pair<DType, std::vector<int64_t>>> tensors, int64_t row_gap = 0) {
    Launch launch{.grid = grid, .memory = {}, .arguments = {}};
    for (const auto &[dtype, shape] : tensors) {
      const int64_t row = shape.back() + row_gap, rows = product(shape) / std::max<int64_t>(shape.back(), 1);
      launch.memory.emplace_back(rows * row * 4, std::byte{0});
      TensorRef tensor = testing::valueOf(contiguous(launch.memory.back().data(), dtype, shape));
      for (size_t dim = 0, rank = shape.size(); dim + 1 < rank; ++dim)
        tensor.strides[dim] = tensor.strides[dim] / std::max<int64_t>(shape.back(), 1) * row;
      launch.arguments.push_back(tensor);
    }
    launches_.push_back(std::move(launch));
  }

  /// Returns the mutants that no launch detects, without those that are explained.
  std::vector<std::string> survivors(std::span<const testing::Explained> explained) {
    std::vector<tools::Mutant> mutants;
    for (const SimtSite &site : simt_->sites())
      std::ranges::move(tools::mutantsOf(site), std::back_inserter(mutants));
    std::vector<tools::SimtRun> runs;
    for (Launch &launch : launches_)
      runs.push_back([&](const SimtInterleaving &interleaving) { return run(launch, interleaving); });
    const testing::Sweep sweep = testing::valueOf(testing::sweep(std::move(mutants), runs, explained));
    EXPECT_GT(sweep.mutants, 20);
    return testing::unexplained(sweep.survivors, explained);
  }

private:
  struct Launch {
    Grid grid;
    std::vector<std::vector<std::byte>> memory;
    std::vector<Argument> arguments;
  };

  static int64_t product(const std::vector<int64_t> &shape) {
    return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  }

  /// Runs a launch in memory of zeros, with which counters begin.
  Expected<SimtReport> run(Launch &launch, const SimtInterleaving &interleaving) {
    for (std::vector<std::byte> &memory : launch.memory)
      std::ranges::fill(memory, std::byte{0});
    simt_->setSchedule(interleaving);
    const Status status = kernel_->launch(launch.grid, launch.arguments);
    SimtReport report = simt_->takeReport();
    if (report.findings.empty() && !status.ok())
      return status;
    return report;
  }

  std::shared_ptr<SimtDevice> simt_;
  std::unique_ptr<Compiler> compiler_;
  KernelCache cache_;
  std::shared_ptr<Kernel> kernel_;
  std::vector<Launch> launches_;
};

using Known = std::vector<testing::Explained>;

TEST(ProductMutants, OfAMatrixProduct) {
  Mutated product(bench::recordMatrixProduct(bf16, {128, 128, 64}));
  for (int64_t gap : {0, 3})
    product.addLaunch({.x = 1}, {{bf16, {100, 328}}, {bf16, {328, 104}}, {bf16, {100, 104}}}, gap);
  EXPECT_THAT(product.survivors({}), IsEmpty());
}

const Schedule kWithTensorMemory{.num_warps = 4, .num_stages = 3, .roles = Roles::load};

/// TMA loads all tensors, or one warp copies them.
TEST(ProductMutants, OfAMatrixProductInTensorMemory) {
  Mutated product(bench::recordMatrixProduct(bf16, {128, 128, 64}), kWithTensorMemory, "sm_100a");
  for (int64_t gap : {0, 3})
    product.addLaunch({.x = 1}, {{bf16, {100, 328}}, {bf16, {328, 104}}, {bf16, {100, 104}}}, gap);
  EXPECT_THAT(product.survivors({}), IsEmpty());
}

/// Five tiles in a loop: accumulators have two slots, each of which is used again.
TEST(ProductMutants, OfAPersistentMatrixProductInTensorMemory) {
  Mutated product(bench::recordPersistentMatrixProduct(bf16, {128, 64, 64}), kWithTensorMemory, "sm_100a");
  for (int64_t gap : {0, 3})
    product.addLaunch({.x = 1}, {{bf16, {100, 136}}, {bf16, {136, 264}}, {bf16, {100, 264}}}, gap);
  EXPECT_THAT(product.survivors({}), IsEmpty());
}

/// Where one warp copies, the lanes meet after the first copies of W, before all reads.
const Known kOfChain = {{"bar.warp.sync", "X.load(", 1}};

TEST(ProductMutants, OfAChainOfTwoProducts) {
  Mutated chain(bench::recordTwoProducts(bf16, {128, 64, 64}, 128));
  for (int64_t gap : {0, 3})
    chain.addLaunch({.x = 1}, {{bf16, {100, 128}}, {bf16, {128, 328}}, {bf16, {328, 128}}, {bf16, {100, 128}}}, gap);
  EXPECT_THAT(chain.survivors(kOfChain), IsEmpty());
}

/// Where one warp copies, the lanes meet after the first copies of W, before all reads, and after the copy of `scale`,
/// which each warpgroup reads before V.
const Known kOfVector = {{"bar.warp.sync", "X.load(", 1}, {"bar.warp.sync", "V.load({h, 0}", 1}};

/// TMA can load all tensors, all but the vectors, or none.
TEST(ProductMutants, OfAProductWithAVector) {
  Mutated scaled(recordScaledColumns(), {.num_warps = 8, .num_stages = 2, .roles = Roles::load});
  for (auto [columns, gap] : {std::pair(336, 0), std::pair(333, 0), std::pair(333, 3)})
    scaled.addLaunch(
        {.x = 1, .y = 2},
        {{bf16, {100, 128}}, {bf16, {128, 328}}, {f32, {2, columns}}, {bf16, {328, 64}}, {f32, {2, 100, 64}}}, gap);
  EXPECT_THAT(scaled.survivors(kOfVector), IsEmpty());
}

/// Consumers wait twice for X, which two products read: the second time in the next iteration. One warp copies B before
/// the first block of A. V starts while X runs; ptxas notices if its fence is missing.
const Known kOfBothSides = {{"mbarrier.try_wait", "Value x = cast(", 4},
                            {"fence.proxy.async", "Value b = B.load(", 1},
                            {"bar.warp.sync", "Value b = B.load(", 1},
                            {"wgmma.fence", "V.atomicAdd(", 1}};

TEST(ProductMutants, OfThreeProductsWithAnExchange) {
  Mutated both(recordBothSides("x v@1 u"), {.num_warps = 8, .num_stages = 2, .roles = Roles::load, .add_by_tma = true});
  for (int64_t gap : {0, 3})
    both.addLaunch({.x = 1},
                   {{bf16, {360, 128}}, {bf16, {128, 128}}, {bf16, {360, 128}}, {f32, {128, 128}}, {f32, {360, 128}}},
                   gap);
  EXPECT_THAT(both.survivors(kOfBothSides), IsEmpty());
}

/// Three roles: the one that transposes waits for two others and has both wait.
TEST(ProductMutants, OfATransposedOperand) {
  Mutated product(recordTf32Product(128, 128), {.num_warps = 8, .num_stages = 2, .roles = Roles::load});
  for (int64_t gap : {0, 3})
    product.addLaunch({.x = 1, .y = 1}, {{f32, {100, 164}}, {f32, {164, 104}}, {f32, {100, 104}}}, gap);
  EXPECT_THAT(product.survivors({}), IsEmpty());
}

TEST(ProductMutants, OfATransposedOperandOfE4m3) {
  Mutated product(recordE4m3Product(128, 128), {.num_warps = 8, .num_stages = 2, .roles = Roles::load});
  for (int64_t gap : {0, 3})
    product.addLaunch({.x = 1, .y = 1}, {{e4m3, {100, 528}}, {e4m3, {528, 112}}, {f32, {100, 112}}}, gap);
  EXPECT_THAT(product.survivors({}), IsEmpty());
}

/// A warp meets before it hands a tile to the adder, closes the channel, or gives the slot back, because a GPU counts
/// whole warps at a barrier; the executor counts lanes.
const Known kOfAdder = {{"bar.warp.sync", "C.atomicAdd({i, 0}", 3}};

/// The adder is the fourth warp of the small roles' warpgroup. Two instances on a multiprocessor would leave the role
/// that transposes too few registers.
TEST(ProductMutants, OfATransposedOperandWithTheAdder) {
  Mutated rows(recordTf32Rows(),
               {.num_warps = 8, .num_stages = 2, .roles = Roles::load, .add_by_tma = true, .instances_per_sm = 1});
  for (int64_t gap : {0, 3})
    rows.addLaunch({.x = 1}, {{f32, {140, 32}}, {f32, {32, 128}}, {f32, {140, 128}}}, gap);
  EXPECT_THAT(rows.survivors(kOfAdder), IsEmpty());
}

/// The same for additions in turns. Where one warp copies B, it meets after the copy of A, too, before all reads.
const Known kOfTurns = {{"bar.warp.sync", "C.orderedAdd({i, column}", 3}, {"bar.warp.sync", "Value b = B.load(", 1}};

TEST(ProductMutants, OfASplitProductInTurns) {
  Mutated product(recordSplitProductInTurns(),
                  {.num_warps = 8, .num_stages = 2, .roles = Roles::load, .add_by_tma = true});
  for (auto [columns, gap] : {std::pair(136, 0), std::pair(136, 3)})
    product.addLaunch({.x = 3, .y = 2},
                      {{bf16, {140, 192}}, {bf16, {192, columns}}, {f32, {140, columns}}, {i32, {2, 140}}}, gap);
  EXPECT_THAT(product.survivors(kOfTurns), IsEmpty());
}

/// The consumers' barriers around the arrival, and the arrival itself, order instances.
TEST(ProductMutants, OfASplitProductWithArrivals) {
  Mutated product(recordSplitProductWithArrivals(), {.num_warps = 8, .num_stages = 1, .roles = Roles::load});
  for (int64_t gap : {0, 3})
    product.addLaunch({.x = 2, .y = 1},
                      {{bf16, {100, 256}}, {bf16, {256, 128}}, {f32, {2, 100, 128}}, {i32, {1}}, {f32, {100, 128}}},
                      gap);
  EXPECT_THAT(product.survivors({}), IsEmpty());
}

/// Two roles read each number of a block that the producer draws. With a depth of one tile, it soon draws the next.
TEST(ProductMutants, OfATransposedOperandInDrawnWork) {
  Mutated product(recordDrawnTf32Product(), {.num_warps = 8, .num_stages = 2, .roles = Roles::load});
  for (auto [depth, gap] : {std::pair(32, 0), std::pair(100, 0), std::pair(100, 3)})
    product.addLaunch({.x = 1}, {{f32, {400, depth}}, {f32, {depth, 104}}, {f32, {400, 104}}, {i32, {1}}}, gap);
  EXPECT_THAT(product.survivors({}), IsEmpty());
}

/// Lanes share the boxes of a tile in pages, and another tile has none. TMA loads both, or one warp copies them.
TEST(ProductMutants, OfRowsInPages) {
  const auto kernel = [](View Table, View X, View Y, View W) {
    View x = paged(X, Table, 16);
    Var w = fill({128, 64}, 0.0);
    for (Value i : range(0, x.dim(0), 64)) {
      Value rows = x.load({i, 0}, {64, 128});
      Value others = Y.load({i, 0}, {64, 64});
      w = dot(transpose(rows), others, w);
    }
    W.store({0, 0}, cast(bf16, w));
  };
  Mutated product(record("paged", kernel, TensorArg{"table", i32, 1}, TensorArg{"x", bf16, 3}, TensorArg{"y", bf16, 2},
                         TensorArg{"w", bf16, 2}),
                  {.num_warps = 8, .num_stages = 2, .roles = Roles::load});
  for (int64_t gap : {0, 3})
    product.addLaunch({.x = 1}, {{i32, {22}}, {bf16, {3, 16, 128}}, {bf16, {352, 64}}, {bf16, {128, 64}}}, gap);
  EXPECT_THAT(product.survivors({}), IsEmpty());
}

/// One warp copies q, k and v of a chunk, and what follows the last copy comes before all reads. Scores and state are
/// written one after the other, each with a fence, before one barrier. The products with q and of the next state start
/// while others run: ptxas notices if the fence of the second is missing, and the first has no registers of its own.
const Known kOfLinearAttention = {{"fence.proxy.async", "auto chunk", 1},
                                  {"bar.warp.sync", "auto chunk", 1},
                                  {"fence.proxy.async", "O.at(head).store(", 1},
                                  {"wgmma.fence", "O.at(head).store(", 1},
                                  {"wgmma.fence", "state = dot(", 1}};

TEST(ProductMutants, OfLinearAttentionWithFourProducts) {
  Mutated attention(bench::recordLinearAttention(bf16, 128, 128));
  for (int64_t gap : {0, 3})
    attention.addLaunch(
        {.x = 1}, {{bf16, {1, 500, 128}}, {bf16, {1, 500, 128}}, {bf16, {1, 500, 128}}, {bf16, {1, 500, 128}}}, gap);
  EXPECT_THAT(attention.survivors(kOfLinearAttention), IsEmpty());
}

/// Where one warp copies, the lanes meet after the copies of B and E, before all reads. Both tiles are written, each
/// with a fence, before one barrier.
const Known kOfTwoStores = {{"bar.warp.sync", "Value b = B.load(", 2}, {"fence.proxy.async", "C.store(", 1}};

TEST(ProductMutants, OfTwoStoresInALoop) {
  Mutated stores(recordTwoStores(), {.num_warps = 8, .num_stages = 2, .roles = Roles::load});
  for (auto [c, d, gap] :
       {std::tuple(128, 128, 0), std::tuple(128, 124, 0), std::tuple(124, 128, 0), std::tuple(128, 128, 3)})
    stores.addLaunch(
        {.x = 1},
        {{bf16, {500, 64}}, {bf16, {64, 128}}, {bf16, {64, 128}}, {bf16, {500, c}}, {bf16, {500, d}}, {f32, {500}}},
        gap);
  EXPECT_THAT(stores.survivors(kOfTwoStores), IsEmpty());
}

/// As in the backward pass of softmax attention (tests/simt/mutants/sweep.cpp).
const Known kOfBackward = {
    {"wgmma.fence", "dot(d_o, transpose(v))", 2},
    {"wgmma.fence", "dv = label(", 1},
    {"wgmma.fence", "dk = label(", 2},
    {"mbarrier.try_wait", "range(0, Q.dim(0), 64, Steps(steps))", 2},
    {"mbarrier.try_wait", "Value ds = cast(", 3},
    {"mbarrier.try_wait", "Value q = Q.load(", 2},
    {"bar.warp.sync", "Value k = K.load(", 2},
    {"fence.proxy.async", "Value k = K.load(", 1},
};

TEST(ProductMutants, OfSigmoidAttentionBackward) {
  Mutated backward(
      recordSigmoidBackward(),
      {.num_warps = 8, .num_stages = 2, .roles = Roles::load, .overlap = Overlap::pingpong, .add_by_tma = true});
  for (auto [queries, gap] : {std::pair(296, 0), std::pair(296, 3), std::pair(50, 0)})
    backward.addLaunch({.x = 1},
                       {{bf16, {queries, 64}},
                        {bf16, {100, 64}},
                        {bf16, {100, 64}},
                        {bf16, {queries, 64}},
                        {f32, {queries, 64}},
                        {f32, {100, 64}},
                        {f32, {100, 64}}},
                       gap);
  EXPECT_THAT(backward.survivors(kOfBackward), IsEmpty());
}

} // namespace
} // namespace tegula::language
