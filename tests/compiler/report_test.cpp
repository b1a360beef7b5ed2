// SPDX-License-Identifier: MIT
// Tests what `--emit report` says about the work of a loop.
#include "compiler/client/InProcessCompiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tegula {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string emitted(const std::string &program, const std::string &phase, const Schedule &schedule = {}) {
  Expected<Artifact> artifact = makeInProcessCompiler()->compile(
      {.program = program, .schedule = schedule, .target = {.name = "cuda", .arch = "sm_90a"}, .emit = phase});
  return artifact.ok() ? artifact->text : artifact.status().message();
}

/// The online softmax of 128 queries, 128 keys in an iteration; all columns have 128 elements.
const char *const kAttention = R"(
func.func @attention(%q: !tile.view<2xbf16>, %k: !tile.view<2xbf16>, %v: !tile.view<2xbf16>,
                     %o: !tile.view<2xf32> {tile.written}) {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %n = tile.dim %k 0 : !tile.view<2xbf16>
  %none = arith.constant dense<0xFF800000> : tensor<128xf32>
  %l0 = arith.constant dense<0.0> : tensor<128xf32>
  %o0 = arith.constant dense<0.0> : tensor<128x128xf32>
  %x = tile.load %q[%c0, %c0] : !tile.view<2xbf16> -> tensor<128x128xbf16>
  %r:3 = scf.for %j = %c0 to %n step %c128 iter_args(%m = %none, %l = %l0, %a = %o0)
      -> (tensor<128xf32>, tensor<128xf32>, tensor<128x128xf32>) {
    %y = tile.load %k[%j, %c0] : !tile.view<2xbf16> -> tensor<128x128xbf16>
    %z = tile.load %v[%j, %c0] : !tile.view<2xbf16> -> tensor<128x128xbf16>
    %s = tile.dot %x, %y {transpose_rhs} : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
    %m1, %l1, %a1 = tile.softmax_update %s, %z, %m, %l, %a
      : tensor<128x128xf32>, tensor<128x128xbf16>, tensor<128xf32>, tensor<128xf32>, tensor<128x128xf32>
    scf.yield %m1, %l1, %a1 : tensor<128xf32>, tensor<128xf32>, tensor<128x128xf32>
  }
  %out = tile.softmax_output %r#1, %r#2 : tensor<128xf32>, tensor<128x128xf32>
  tile.store %out, %o[%c0, %c0] : tensor<128x128xf32>, !tile.view<2xf32>
  return
}
)";

/// Two MMAs have 2 * 128^3 multiply-adds and P has 128^2 exponentials, however the softmax guards its rare paths.
TEST(LoopReport, RarePathsDoNotCount) {
  for (bool optimistic : {false, true})
    for (Overlap overlap : {Overlap::none, Overlap::pingpong}) {
      const Schedule schedule{
          .num_warps = 8, .num_stages = 2, .roles = Roles::load, .overlap = overlap, .optimistic_softmax = optimistic};
      SCOPED_TRACE(toString(schedule));
      EXPECT_THAT(emitted(kAttention, "report", schedule),
                  HasSubstr(", an iteration of a program instance\n"
                            "tensor cores       8.39 MFLOP    2048 clocks at least\n"
                            "SFU operations          16384    1024 clocks at least\n"
                            "loads                64.0 KiB\n"));
    }
}

/// Tensor cores take half as long for elements of 8 bits as for those of 16.
TEST(LoopReport, OperationsOfNarrowElementsCountOnce) {
  const char *product = R"(
func.func @product(%a: !tile.view<2xf8E4M3FN>, %b: !tile.view<2xf8E4M3FN>, %c: !tile.view<2xf32> {tile.written}) {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %n = tile.dim %a 1 : !tile.view<2xf8E4M3FN>
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %sum = scf.for %k = %c0 to %n step %c128 iter_args(%acc = %zero) -> tensor<128x128xf32> {
    %x = tile.load %a[%c0, %k] : !tile.view<2xf8E4M3FN> -> tensor<128x128xf8E4M3FN>
    %y = tile.load %b[%c0, %k] : !tile.view<2xf8E4M3FN> -> tensor<128x128xf8E4M3FN>
    %next = tile.dot %x, %y acc %acc {transpose_rhs}
      : tensor<128x128xf8E4M3FN>, tensor<128x128xf8E4M3FN>, tensor<128x128xf32> -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  tile.store %sum, %c[%c0, %c0] : tensor<128x128xf32>, !tile.view<2xf32>
  return
}
)";
  EXPECT_THAT(emitted(product, "report"), HasSubstr("\ntensor cores       4.19 MFLOP     512 clocks at least\n"
                                                    "loads                32.0 KiB\n"));
}

/// Returns a loop that computes `op` of the 64 x 64 numbers %x, as %y.
std::string loopWith(const std::string &op) {
  return R"(
func.func @elements(%a: !tile.view<2xf32>, %c: !tile.view<2xf32> {tile.written}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %n = tile.dim %a 0 : !tile.view<2xf32>
  %one = arith.constant dense<1.0> : tensor<64x64xf32>
  scf.for %i = %c0 to %n step %c64 {
    %x = tile.load %a[%i, %c0] : !tile.view<2xf32> -> tensor<64x64xf32>
    %y = )" +
         op +
         R"( : tensor<64x64xf32>
    tile.store %y, %c[%i, %c0] : tensor<64x64xf32>, !tile.view<2xf32>
  }
  return
}
)";
}

int64_t count(const std::string &text, const std::string &word) {
  int64_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++found;
  return found;
}

/// Each of these instructions takes one operation of the special-function units.
int64_t specialInstructions(const std::string &ptx) {
  int64_t sum = 0;
  for (const char *name : {"\tex2.", "\tlg2.", "\trcp.", "\tdiv.full.", "\tsqrt.", "\ttanh."})
    sum += count(ptx, name);
  return sum;
}

TEST(LoopReport, SpecialFunctionsAreThoseOfThePtx) {
  constexpr int64_t kElements = 64 * 64, kOfThread = kElements / 128;
  for (const auto &[op, functions] :
       {std::pair("math.exp2 %x", 1), std::pair("math.exp %x", 1), std::pair("math.log2 %x", 1),
        std::pair("math.log %x", 1), std::pair("math.sqrt %x", 1), std::pair("arith.divf %x, %x", 1),
        std::pair("arith.divf %one, %x", 1), std::pair("math.tanh %x", 2), std::pair("math.tanh %x fastmath<afn>", 1),
        std::pair("math.powf %x, %x", 1), std::pair("math.erf %x", 0), std::pair("math.sin %x", 0),
        std::pair("arith.mulf %x, %x", 0)}) {
    SCOPED_TRACE(op);
    const std::string program = loopWith(op), report = emitted(program, "report", {.num_warps = 4});
    EXPECT_EQ(specialInstructions(emitted(program, "ptx", {.num_warps = 4})), functions * kOfThread);
    if (functions == 0)
      EXPECT_THAT(report, Not(HasSubstr("SFU")));
    else
      EXPECT_THAT(report, testing::ContainsRegex("\nSFU operations +" + std::to_string(functions * kElements) + " +" +
                                                 std::to_string(functions * kElements / 16) + " clocks at least\n"));
  }
}

} // namespace
} // namespace tegula
