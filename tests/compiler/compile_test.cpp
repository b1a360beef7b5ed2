// SPDX-License-Identifier: MIT
// Tests of the compiler as a function: artifacts for several CPUs, and messages about input that it cannot compile.
#include "compiler/client/InProcessCompiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tegula {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A program that computes y = exp(x) * scale, with one row of 40 per program instance.
const char *const kProgram = R"(
module attributes {tile.version = 1 : i64} {
  func.func @scaled_exp(%x: !tile.view<2xbf16> {tile.name = "x"}, %y: !tile.view<2xf32> {tile.name = "y", tile.written},
                        %scale: f32 {tile.name = "scale"}) {
    %row = tile.program_id 0
    %c0 = arith.constant 0 : index
    %t = tile.load %x[%row, %c0] : !tile.view<2xbf16> -> tensor<1x40xbf16>
    %w = arith.extf %t : tensor<1x40xbf16> to tensor<1x40xf32>
    %e = math.exp %w : tensor<1x40xf32>
    %s = tile.broadcast %scale : f32 -> tensor<1x40xf32>
    %r = arith.mulf %e, %s : tensor<1x40xf32>
    tile.store %r, %y[%row, %c0] : tensor<1x40xf32>, !tile.view<2xf32>
    return
  }
}
)";

Expected<Artifact> compile(const std::string &program, const std::string &emit = "", const std::string &arch = "",
                           const std::string &target = "cpu") {
  CompileRequest request;
  request.program = program;
  request.emit = emit;
  request.target.name = target;
  request.target.arch = arch;
  return makeInProcessCompiler()->compile(request);
}

void expectRefusal(const Expected<Artifact> &result, ErrorCode code, const std::string &part) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), code);
  EXPECT_THAT(result.status().message(), HasSubstr(part));
}

TEST(Compile, AnArtifactDescribesItsParameters) {
  Expected<Artifact> artifact = compile(kProgram);
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  EXPECT_EQ(artifact->kernel, "scaled_exp");
  EXPECT_EQ(artifact->parameters,
            (std::vector<Parameter>{{.name = "x", .dtype = bf16, .rank = 2},
                                    {.name = "y", .dtype = f32, .rank = 2, .written = true},
                                    {.name = "scale", .kind = Parameter::Kind::scalar, .dtype = f32}}));
  EXPECT_EQ(artifact->binary.substr(1, 3), "ELF");
}

TEST(Compile, TheSameProgramGivesTheSameBytes) {
  Expected<Artifact> first = compile(kProgram), second = compile(kProgram);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->binary, second->binary);
}

TEST(Compile, EveryPhaseCanBePrinted) {
  EXPECT_THAT(compile(kProgram, "tile")->text, HasSubstr("math.exp "));
  EXPECT_THAT(compile(kProgram, "simplify")->text, HasSubstr("math.exp2"));
  EXPECT_THAT(compile(kProgram, "plan")->text, HasSubstr("tile.buffer = \"row\""));
  EXPECT_THAT(compile(kProgram, "loops")->text, HasSubstr("vector.store"));
  EXPECT_THAT(compile(kProgram, "llvm")->text, HasSubstr("define"));
  EXPECT_THAT(compile(kProgram, "asm")->text, HasSubstr("vmovups"));
}

TEST(Compile, VectorsAreAsWideAsTheCpuAllows) {
  EXPECT_THAT(compile(kProgram, "asm", "x86-64-v3")->text, Not(HasSubstr("zmm")));
  EXPECT_THAT(compile(kProgram, "asm", "sapphirerapids")->text, HasSubstr("zmm"));
  for (const char *arch : {"x86-64-v3", "znver3", "x86-64-v4", "sapphirerapids"}) {
    Expected<Artifact> artifact = compile(kProgram, "", arch);
    EXPECT_TRUE(artifact.ok()) << arch << ": " << artifact.status().message();
  }
}

/// LLVM rounds to bf16 with a function of the host's library where the CPU has no instruction for it.
TEST(Compile, Bf16NeedsNoLibraryOfTheHost) {
  const std::string program = R"(
module attributes {tile.version = 1 : i64} {
  func.func @copy(%x: !tile.view<2xbf16> {tile.name = "x"}, %y: !tile.view<2xbf16> {tile.name = "y", tile.written}) {
    %c0 = arith.constant 0 : index
    %t = tile.load %x[%c0, %c0] : !tile.view<2xbf16> -> tensor<16x8xbf16>
    tile.store %t, %y[%c0, %c0] : tensor<16x8xbf16>, !tile.view<2xbf16>
    return
  }
}
)";
  for (auto [target, arch] : {std::pair("cpu", "x86-64-v3"), std::pair("simt", "sm_80"), std::pair("simt", "sm_90a")}) {
    Expected<Artifact> artifact = compile(program, "", arch, target);
    EXPECT_TRUE(artifact.ok()) << target << ": " << artifact.status().message();
  }
}

TEST(Compile, CpusThatAreUnknownOrTooOldAreRefused) {
  expectRefusal(compile(kProgram, "", "pentium-12"), ErrorCode::invalid_argument,
                "arch: no x86 CPU is called 'pentium-12'; legal are LLVM's names");
  expectRefusal(compile(kProgram, "", "x86-64-v2"), ErrorCode::unsupported,
                "needs a CPU with AVX2, FMA and F16C; 'x86-64-v2' has no avx2");
}

TEST(Compile, UnknownTargetsAndPhasesAreRefused) {
  expectRefusal(compile(kProgram, "", "", "tpu"), ErrorCode::unsupported,
                "target: 'tpu' is not known; legal are cpu, cuda, simt");
  expectRefusal(compile(kProgram, "ptx"), ErrorCode::invalid_argument,
                "emit: no phase is called 'ptx'; legal are tile, simplify, plan, loops, llvm, asm");
}

TEST(Compile, WhatACpuCannotObeyIsRefused) {
  CompileRequest request;
  request.program = kProgram;
  request.schedule.num_stages = 3;
  expectRefusal(makeInProcessCompiler()->compile(request), ErrorCode::invalid_argument,
                "num_stages is 3; the cpu target has no such field, leave it out");
  request.schedule = {.instances_per_sm = 2};
  expectRefusal(makeInProcessCompiler()->compile(request), ErrorCode::invalid_argument,
                "instances_per_sm is 2; the cpu target has no such field, leave it out");
}

TEST(Compile, TextThatIsNoProgramIsRefusedAtItsLine) {
  expectRefusal(compile("int main() {}"), ErrorCode::compile_failed, "program:1: error:");
  expectRefusal(compile(""), ErrorCode::compile_failed, "exactly one function, this one has 0");
  expectRefusal(compile("module {\n  func.func @f(%x: !tile.view<9xf32>) { return }\n}"), ErrorCode::compile_failed,
                "program:2: error:");
}

TEST(Compile, ErrorsPointAtTheLineThatTheProgramNames) {
  std::string text = R"(
func.func @f(%x: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<4x8xf32> loc("mine.cpp":12:0)
  %d = tile.dot %a, %a : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("mine.cpp":13:0)
  return
})";
  expectRefusal(compile(text), ErrorCode::compile_failed, "mine.cpp:13: error:");
}

TEST(Compile, ParametersOfOtherTypesAreRefused) {
  expectRefusal(compile("func.func @f(%x: tensor<4xf32>) { return }"), ErrorCode::compile_failed,
                "parameter 'arg0' has type tensor<4xf32>; legal are");
}

TEST(Compile, OverlongProgramsAreRefused) {
  expectRefusal(compile(std::string(5 << 20, ' ')), ErrorCode::resource_exhausted, "at most 4194304 are allowed");
}

TEST(Compile, ManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::vector<std::string> binaries(8);
  for (std::string &binary : binaries)
    threads.emplace_back([&binary] {
      if (Expected<Artifact> artifact = compile(kProgram))
        binary = artifact->binary;
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &binary : binaries)
    EXPECT_EQ(binary, binaries.front());
  EXPECT_FALSE(binaries.front().empty());
}

} // namespace
} // namespace tegula
