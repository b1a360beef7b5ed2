// SPDX-License-Identifier: MIT
// Tests of the compiler as a function, for GPUs.
#include "compiler/client/InProcessCompiler.h"
#include "support/missing_tool.h"
#include "tegula/serialize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

namespace tegula {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// A program that computes c = a b, with 64 rows per program instance.
const char *const kProgram = R"(
module attributes {tile.version = 1 : i64} {
  func.func @product(%a: !tile.view<2xbf16> {tile.name = "a"}, %b: !tile.view<2xbf16> {tile.name = "b"},
                     %c: !tile.view<2xf32> {tile.name = "c", tile.written}) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %block = tile.program_id 0
    %row = arith.muli %block, %c64 : index
    %0 = tile.load %a[%row, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
    %1 = tile.load %b[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
    %2 = tile.dot %0, %1 : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    tile.store %2, %c[%row, %c0] : tensor<64x64xf32>, !tile.view<2xf32>
    return
  }
}
)";

/// A program with two operands of 256 x 128 f32, which need 256 KiB of shared memory.
const char *const kTooLarge = R"(
func.func @too_large(%a: !tile.view<2xf32>, %c: !tile.view<2xf32> {tile.written}) {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %0 = tile.load %a[%c0, %c0] : !tile.view<2xf32> -> tensor<256x128xf32>
  %1 = tile.load %a[%c256, %c0] : !tile.view<2xf32> -> tensor<256x128xf32>
  %2 = tile.dot %0, %1 {transpose_rhs} : tensor<256x128xf32>, tensor<256x128xf32> -> tensor<256x256xf32>
  tile.store %2, %c[%c0, %c0] : tensor<256x256xf32>, !tile.view<2xf32>
  return
}
)";

CompileRequest request(const std::string &program = kProgram) {
  CompileRequest request;
  request.program = program;
  request.target.name = "cuda";
  return request;
}

Expected<Artifact> compile(const CompileRequest &request) { return makeInProcessCompiler()->compile(request); }

std::string text(const std::string &phase, const std::string &arch = "") {
  CompileRequest r = request();
  r.emit = phase;
  r.target.arch = arch;
  Expected<Artifact> artifact = compile(r);
  return artifact ? artifact->text : artifact.status().message();
}

void expectRefusal(const CompileRequest &request, ErrorCode code, const std::string &message) {
  Expected<Artifact> artifact = compile(request);
  ASSERT_FALSE(artifact.ok());
  EXPECT_EQ(artifact.status().code(), code);
  EXPECT_THAT(artifact.status().message(), HasSubstr(message));
}

/// An environment variable that is set for as long as this object lives.
class Environment {
public:
  Environment(const char *name, const char *value) : name_(name) {
    if (const char *before = std::getenv(name))
      before_ = before;
    setenv(name, value, 1);
  }
  ~Environment() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }

private:
  const char *name_;
  std::optional<std::string> before_;
};

TEST(CompileCuda, AnArtifactSaysWhatALaunchNeeds) {
  Expected<Artifact> artifact = compile(request());
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  EXPECT_EQ(artifact->target, "cuda");
  EXPECT_EQ(artifact->kernel, "product");
  EXPECT_EQ(artifact->threads, 128);
  EXPECT_EQ(artifact->shared_bytes, 2 * 64 * 64 * 2);
  EXPECT_EQ(artifact->parameters.size(), 3u);
  EXPECT_TRUE(artifact->parameters[2].written);
  EXPECT_EQ(artifact->instances_per_sm, 1);
  CompileRequest shared = request();
  shared.schedule.instances_per_sm = 4;
  artifact = compile(shared);
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  EXPECT_EQ(artifact->instances_per_sm, 4);
}

TEST(CompileCuda, EveryPhaseCanBePrinted) {
  EXPECT_THAT(text("tile"), HasSubstr("tile.dot"));
  EXPECT_THAT(text("simplify"), HasSubstr("tile.dot"));
  EXPECT_THAT(text("layouts"), HasSubstr("sm.mma"));
  EXPECT_THAT(text("shared"), HasSubstr("sm.copy_in"));
  EXPECT_THAT(text("threads"), HasSubstr("nvvm.mma.sync"));
  EXPECT_THAT(text("nvvm"), HasSubstr("nvvm.kernel"));
  EXPECT_THAT(text("llvm"), HasSubstr("define ptx_kernel void @product("));
  EXPECT_THAT(text("ptx"), HasSubstr(".visible .entry product("));
}

constexpr const char *kArchs[] = {"sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120"};

TEST(CompileCuda, EveryArchIsNamedInItsPtx) {
  for (const char *arch : kArchs)
    EXPECT_THAT(text("ptx", arch), HasSubstr(std::string(".target ") + arch + "\n"));
}

TEST(CompileCuda, EveryArchAssembles) {
  for (const char *arch : kArchs) {
    CompileRequest r = request();
    r.target.arch = arch;
    Expected<Artifact> artifact = compile(r);
    ASSERT_TRUE(artifact.ok()) << arch << ": " << artifact.status().message();
    if (artifact->report.assembler.empty())
      return missingTool("ptxas");
    EXPECT_THAT(artifact->binary, StartsWith("\x7f"
                                             "ELF"));
  }
}

TEST(CompileCuda, TheAssemblerReports) {
  Expected<Artifact> artifact = compile(request());
  ASSERT_TRUE(artifact.ok());
  if (artifact->report.assembler.empty())
    return missingTool("ptxas");
  EXPECT_THAT(artifact->binary, StartsWith("\x7f"
                                           "ELF"));
  EXPECT_THAT(artifact->report.assembler, testing::MatchesRegex("ptxas [0-9]+\\.[0-9]+.*"));
  EXPECT_GT(artifact->report.registers, 16);
  EXPECT_LT(artifact->report.registers, 256);
  EXPECT_EQ(artifact->report.spill_bytes, 0);
  EXPECT_EQ(artifact->report.stack_bytes, 0);
  EXPECT_EQ(artifact->report.notes, "");
  const std::string report = text("report");
  EXPECT_THAT(report,
              StartsWith("kernel         " + artifact->kernel + "\nschedule       " + artifact->schedule + "\n"));
  EXPECT_THAT(report, HasSubstr("\nspilled bytes  0\n"));
  EXPECT_THAT(report, testing::ContainsRegex("\ninstances      [1-9][0-9]* on a multiprocessor, limited by "));
}

/// A loop over 256 columns of a, 64 at a time.
const char *const kProductLoop = R"(
func.func @loop(%a: !tile.view<2xbf16>, %b: !tile.view<2xbf16>, %c: !tile.view<2xf32> {tile.written}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %sum = scf.for %k = %c0 to %c256 step %c64 iter_args(%acc = %zero) -> tensor<128x128xf32> {
    %x = tile.load %a[%c0, %k] : !tile.view<2xbf16> -> tensor<128x64xbf16>
    %y = tile.load %b[%k, %c0] : !tile.view<2xbf16> -> tensor<64x128xbf16>
    %next = tile.dot %x, %y acc %acc : tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32> -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  %e = math.exp %sum : tensor<128x128xf32>
  tile.store %e, %c[%c0, %c0] : tensor<128x128xf32>, !tile.view<2xf32>
  return
}
)";

TEST(CompileCuda, TheReportSaysWhatALoopHasToDo) {
  CompileRequest loop = request(kProductLoop);
  loop.emit = "report";
  for (const auto &[arch, words] :
       {std::pair("sm_90a", std::vector<std::string>{"\nwgmma          8 (bf16)\nmma.sync       0\nTMA loads      3\n",
                                                     "\ntensor cores       2.10 MFLOP     512 clocks at least\n"
                                                     "loads                32.0 KiB\n"}),
        std::pair("sm_80", std::vector<std::string>{"\nwgmma          0\nmma.sync       128 (bf16)\nTMA loads      0\n",
                                                    "\ntensor cores       2.10 MFLOP    1024 clocks at least\n"
                                                    "loads                32.0 KiB\n"})}) {
    SCOPED_TRACE(arch);
    loop.target.arch = arch;
    Expected<Artifact> artifact = compile(loop);
    ASSERT_TRUE(artifact.ok()) << artifact.status().message();
    for (const std::string &word : words)
      EXPECT_THAT(artifact->text, HasSubstr(word));
    EXPECT_THAT(artifact->text, Not(HasSubstr("SFU")));
  }
}

TEST(CompileCuda, WithoutAnAssemblerTheBinaryIsPtx) {
  Environment none("TEGULA_PTXAS", "");
  Expected<Artifact> artifact = compile(request());
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  EXPECT_THAT(artifact->binary, HasSubstr(".visible .entry product("));
  EXPECT_EQ(artifact->report.assembler, "");
  EXPECT_THAT(text("report"), HasSubstr("\nassembler      none: the driver will assemble\n"));
}

TEST(CompileCuda, AnAssemblerThatDoesNotWorkIsNamed) {
  Environment missing("TEGULA_PTXAS", "/nowhere/ptxas");
  expectRefusal(request(), ErrorCode::compile_failed, "ptxas: '/nowhere/ptxas' does not start");
  Environment failing("TEGULA_PTXAS", "/bin/false");
  expectRefusal(request(), ErrorCode::compile_failed, "ptxas: '/bin/false' says");
}

TEST(CompileCuda, TheScheduleIsObeyed) {
  for (int warps : {1, 2, 4, 8, 16}) {
    CompileRequest r = request();
    r.schedule.num_warps = warps;
    Expected<Artifact> artifact = compile(r);
    ASSERT_TRUE(artifact.ok()) << warps << ": " << artifact.status().message();
    EXPECT_EQ(artifact->threads, 32 * warps);
  }
}

TEST(CompileCuda, SchedulesThatAreNotLegalAreRefused) {
  CompileRequest r = request();
  r.schedule.num_warps = 3;
  expectRefusal(r, ErrorCode::invalid_argument,
                "num_warps is 3; legal are 1, 2, 4, 8, 12, 16, and 0 for the compiler's choice");
  r = request();
  r.schedule.num_stages = 9;
  expectRefusal(r, ErrorCode::invalid_argument, "num_stages is 9; legal are 1, 2, 3, 4, 5, 6, 7, 8, and 0");
  r = request();
  r.target.arch = "sm_90";
  r.schedule.roles = Roles::load;
  expectRefusal(r, ErrorCode::unsupported,
                "roles is load, which only sm_90a and sm_100a have instructions for, not sm_90");
  r.schedule = {.overlap = Overlap::pingpong};
  expectRefusal(r, ErrorCode::invalid_argument, "overlap is pingpong, which needs roles=load");
  r.schedule = {.optimistic_softmax = true};
  expectRefusal(r, ErrorCode::invalid_argument, "optimistic_softmax is true, which needs roles=load");
  r.schedule = {.add_by_tma = true};
  expectRefusal(r, ErrorCode::invalid_argument, "add_by_tma is true, which needs roles=load");
  r.schedule = {.instances_per_sm = 5};
  expectRefusal(r, ErrorCode::invalid_argument, "instances_per_sm is 5; legal are 1, 2, 3, 4, and 0");
  r.target.arch = "sm_90a";
  r.schedule = {.roles = Roles::load, .lhs_in_registers = true};
  expectRefusal(r, ErrorCode::invalid_argument,
                "lhs_in_registers is true, which with roles=load needs overlap=pingpong");
}

/// A program that computes c = a b, with 64 rows per program instance and a loop over the depth.
const char *const kLoop = R"(
module attributes {tile.version = 1 : i64} {
  func.func @product(%a: !tile.view<2xbf16> {tile.name = "a"}, %b: !tile.view<2xbf16> {tile.name = "b"},
                     %c: !tile.view<2xf32> {tile.name = "c", tile.written}) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %depth = tile.dim %b 0 : !tile.view<2xbf16>
    %block = tile.program_id 0
    %row = arith.muli %block, %c64 : index
    %q = tile.load %a[%row, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %sum = scf.for %k = %c0 to %depth step %c64 iter_args(%acc = %zero) -> tensor<64x64xf32> {
      %0 = tile.load %b[%k, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
      %1 = tile.dot %q, %0 acc %acc : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
      scf.yield %1 : tensor<64x64xf32>
    }
    tile.store %sum, %c[%row, %c0] : tensor<64x64xf32>, !tile.view<2xf32>
    return
  }
}
)";

TEST(CompileCuda, WhatAScheduleAsksForInVainIsARemark) {
  CompileRequest r = request();
  r.target.arch = "sm_90a";
  r.schedule = {.roles = Roles::load, .overlap = Overlap::pingpong};
  Expected<Artifact> artifact = compile(r);
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  EXPECT_THAT(artifact->remarks, HasSubstr("roles=load has no effect: no loop loads tiles that a producer could load"));
  EXPECT_EQ(compile(request())->remarks, "");
  r = request(kLoop);
  r.target.arch = "sm_90a";
  r.schedule = {.roles = Roles::load, .add_by_tma = true};
  EXPECT_THAT(compile(r)->remarks, HasSubstr("add_by_tma has no effect: no loop of the consumers adds f32"));
}

TEST(CompileCuda, AnArtifactHasTheScheduleThatTheCompilerChose) {
  CompileRequest r = request(kLoop);
  r.target.arch = "sm_90a";
  r.schedule.block_m = 64;
  r.emit = "ptx";
  const Expected<Artifact> artifact = compile(r);
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  EXPECT_EQ(artifact->schedule, "block_m=64 num_warps=4 num_stages=4 roles=load instances_per_sm=4");
  CompileRequest same = r;
  same.schedule = *parseSchedule(artifact->schedule);
  EXPECT_EQ(compile(same)->text, artifact->text);
  EXPECT_EQ(parseArtifact(serialize(*artifact))->schedule, artifact->schedule);
  r.emit = "tile";
  EXPECT_EQ(compile(r)->schedule, artifact->schedule);
}

TEST(CompileCuda, AScheduleIsCheckedForEachText) {
  CompileRequest r = request(kLoop);
  r.target.arch = "sm_90";
  r.schedule.roles = Roles::load;
  r.emit = "tile";
  expectRefusal(r, ErrorCode::unsupported, "roles is load, which only sm_90a and sm_100a have instructions for");
}

TEST(CompileCuda, AProgramCannotSayWhatTheCompilerChose) {
  std::string program = kLoop;
  const std::string version = "tile.version = 1 : i64";
  program.replace(program.find(version), version.size(),
                  version + ", tile.chosen = [3], tile.neighbours = 1 : i64, tile.has_wgmma = true");
  CompileRequest r = request(program);
  r.target.arch = "sm_80";
  r.emit = "ptx";
  const Expected<Artifact> artifact = compile(r);
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  r.program = kLoop;
  EXPECT_EQ(artifact->text, compile(r)->text);
}

TEST(CompileCuda, TheOrderOfALoopIsAText) {
  CompileRequest r = request(kLoop);
  r.target.arch = "sm_90a";
  r.schedule = {.num_stages = 2, .roles = Roles::load};
  r.emit = "order";
  Expected<Artifact> artifact = compile(r);
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  EXPECT_EQ(artifact->text, R"(kernel         product
schedule       num_warps=4 num_stages=2 roles=load instances_per_sm=4

loop at program:12, steps "p0"
  consumer_wait   b                       program:13
  start           p0                      program:14
  await           p0                      program:14
  release         b                       program:13
)");
  EXPECT_EQ(artifact->binary, "");
}

/// Returns the part of a text of the phase "order" after the kernel and its schedule.
std::string loopsOf(const std::string &order) { return order.substr(order.find("\n\n") + 2); }

/// Returns kProductLoop with an exponential in each iteration, and a label.
std::string labelledLoop() {
  std::string text = kProductLoop;
  const std::string dot = "tile.dot %x, %y acc %acc", load = "%x = tile.load";
  text.replace(text.find(dot), dot.size(), dot + " {tile.label = \"c\"}");
  text.replace(text.find(load), load.size(), "%e0 = math.exp %acc : tensor<128x128xf32>\n    " + load);
  const std::string acc = "acc %acc";
  return text.replace(text.find(acc), acc.size(), "acc %e0");
}

TEST(CompileCuda, TheOrderNamesWhatIsInFlightAndOfTheIterationBefore) {
  CompileRequest r = request(kProductLoop);
  r.target.arch = "sm_90a";
  r.schedule = {.num_warps = 8, .num_stages = 3, .roles = Roles::load};
  r.emit = "order";
  EXPECT_EQ(loopsOf(compile(r)->text), R"(loop at program:7, steps "p0 p0.end@1"
  consumer_wait   arg0, arg1              program:8
  start           p0                      program:10
  await reads     p0@1, 1 may run         program:10
  release         arg0@1, arg1@1          program:8
)");
  r.program = labelledLoop();
  EXPECT_THAT(loopsOf(compile(r)->text), AllOf(StartsWith("loop at program:7, steps \"c\"\n"),
                                               HasSubstr("\n  exponentials    16384                   program:8\n"),
                                               HasSubstr("\n  start           c ")));
  r.target.arch = "sm_80";
  r.schedule = {};
  EXPECT_THAT(compile(r)->text,
              testing::EndsWith("\n\nno loop has an order of MMAs: only consumers have one (roles=load on sm_90a)\n"));
}

TEST(CompileCuda, TheOrderNamesTheTensorToWhichARoleAdds) {
  CompileRequest r = request(R"(
func.func @added(%a: !tile.view<2xbf16>, %b: !tile.view<2xbf16>, %c: !tile.view<2xf32> {tile.written}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %y = tile.load %b[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x128xbf16>
  scf.for %i = %c0 to %c256 step %c64 {
    %x = tile.load %a[%i, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
    %z = tile.dot %x, %y : tensor<64x64xbf16>, tensor<64x128xbf16> -> tensor<64x128xf32>
    tile.atomic_add %z, %c[%i, %c0] : tensor<64x128xf32>, !tile.view<2xf32>
  }
  return
}
)");
  r.target.arch = "sm_90a";
  r.schedule = {.num_warps = 8, .num_stages = 2, .roles = Roles::load, .add_by_tma = true};
  r.emit = "order";
  EXPECT_THAT(loopsOf(compile(r)->text), testing::ContainsRegex("\n  release +arg0 .*\n  producer_store  arg2 "));
}

TEST(CompileCuda, AScheduleMayHaveAStepList) {
  CompileRequest r = request(kProductLoop);
  r.target.arch = "sm_90a";
  r.schedule = {.num_warps = 8, .num_stages = 3, .roles = Roles::load, .steps = "p0"};
  r.emit = "order";
  EXPECT_THAT(loopsOf(compile(r)->text),
              AllOf(StartsWith("loop at program:7, steps \"p0\"\n"), Not(HasSubstr("await reads"))));
  r.schedule.steps = "s p0";
  expectRefusal(r, ErrorCode::compile_failed,
                "program:7: error: no loop has all labels of steps=\"s p0\"; legal are the labels of one loop\n"
                "program:7: note: this loop of the role 'compute' has p0");
  r.schedule.steps = "p0@2";
  expectRefusal(
      r, ErrorCode::invalid_argument,
      "steps is \"p0@2\", and 'p0@2' is no step; legal are LABEL, LABEL@1, LABEL.end@1, LABEL.lhs, LABEL.rhs, "
      "< and >");
  r.schedule = {.roles = Roles::none, .steps = "p0"};
  expectRefusal(r, ErrorCode::invalid_argument, "steps is a step list, which needs roles=load");
}

/// A program whose right operand is computed. The compiler's choice does not count the memory for it.
const char *const kComputedOperand = R"(
func.func @computed(%a: !tile.view<2xbf16>, %b: !tile.view<2xf32>, %c: !tile.view<2xf32> {tile.written}) {
  %c0 = arith.constant 0 : index
  %c192 = arith.constant 192 : index
  %depth = tile.dim %b 0 : !tile.view<2xf32>
  %zero = arith.constant dense<0.0> : tensor<128x256xf32>
  %sum = scf.for %k = %c0 to %depth step %c192 iter_args(%acc = %zero) -> tensor<128x256xf32> {
    %x = tile.load %a[%c0, %k] : !tile.view<2xbf16> -> tensor<128x192xbf16>
    %y = tile.load %b[%k, %c0] : !tile.view<2xf32> -> tensor<192x256xf32>
    %z = arith.truncf %y : tensor<192x256xf32> to tensor<192x256xbf16>
    %next = tile.dot %x, %z acc %acc : tensor<128x192xbf16>, tensor<192x256xbf16>, tensor<128x256xf32> -> tensor<128x256xf32>
    scf.yield %next : tensor<128x256xf32>
  }
  tile.store %sum, %c[%c0, %c0] : tensor<128x256xf32>, !tile.view<2xf32>
  return
}
)";

TEST(CompileCuda, AChoiceThatNeedsTooMuchMemoryGetsFewerStagesWithARemark) {
  CompileRequest r = request(kComputedOperand);
  r.target.arch = "sm_90a";
  r.emit = "ptx";
  Expected<Artifact> artifact = compile(r);
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  EXPECT_THAT(artifact->text, HasSubstr("mbarrier"));
  EXPECT_THAT(
      artifact->remarks,
      StartsWith("program:11: the compiler chooses num_warps=8 num_stages=2 roles=load instances_per_sm=1, "
                 "because with num_warps=8 num_stages=4 roles=load instances_per_sm=1, a program instance needs "
                 "294976 bytes of shared memory, sm_90a has 232448; lower block_m, block_n or num_stages\n"));
}

TEST(CompileCuda, AnArtifactHasTheScheduleThatFits) {
  CompileRequest r = request(kComputedOperand);
  r.target.arch = "sm_90a";
  r.emit = "ptx";
  EXPECT_EQ(compile(r)->schedule, "num_warps=8 num_stages=2 roles=load instances_per_sm=1");
}

TEST(CompileCuda, AFieldThatIsGivenKeepsItsValueWhereItDoesNotFit) {
  CompileRequest r = request(kComputedOperand);
  r.target.arch = "sm_90a";
  r.schedule = {.num_warps = 8, .num_stages = 4, .roles = Roles::load};
  expectRefusal(r, ErrorCode::resource_exhausted, "a program instance needs 294976 bytes of shared memory");
}

TEST(CompileCuda, ASecondRoleNeedsWarpsAndTensorMaps) {
  CompileRequest r = request(kLoop);
  r.target.arch = "sm_90a";
  r.schedule.roles = Roles::load;
  Expected<Artifact> artifact = compile(r);
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  EXPECT_EQ(artifact->threads, 2 * 128);
  const TensorMap a{.parameter = 0, .dtype = bf16, .box = {64, 64}, .swizzle = 128, .columns = 64};
  TensorMap b = a;
  b.parameter = 1;
  EXPECT_EQ(artifact->tensor_maps, (std::vector{a, b}));
  r.emit = "ptx";
  EXPECT_THAT(compile(r)->text, AllOf(HasSubstr("wgmma.mma_async"), HasSubstr("cp.async.bulk.tensor.2d"),
                                      HasSubstr(".param .align 64 .b8 product_param_0[128]")));
}

/// A program that adds a b + bias to 64 rows of c in each iteration.
const char *const kAdditions = R"(
module attributes {tile.version = 1 : i64} {
  func.func @additions(%a: !tile.view<2xbf16> {tile.name = "a"}, %b: !tile.view<2xbf16> {tile.name = "b"},
                       %bias: !tile.view<1xf32> {tile.name = "bias"}, %c: !tile.view<2xf32> {tile.name = "c", tile.written}) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %rows = tile.dim %a 0 : !tile.view<2xbf16>
    %right = tile.load %b[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
    scf.for %i = %c0 to %rows step %c64 {
      %left = tile.load %a[%i, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
      %product = tile.dot %left, %right : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      %0 = tile.load %bias[%i] : !tile.view<1xf32> -> tensor<64xf32>
      %1 = tile.reshape %0 : tensor<64xf32> -> tensor<1x64xf32>
      %2 = tile.broadcast %1 : tensor<1x64xf32> -> tensor<64x64xf32>
      %sum = arith.addf %product, %2 : tensor<64x64xf32>
      tile.atomic_add %sum, %c[%i, %c0] : tensor<64x64xf32>, !tile.view<2xf32>
    }
    return
  }
}
)";

TEST(CompileCuda, TmaLoadsVectorsAndAddsAccumulators) {
  CompileRequest r = request(kAdditions);
  r.target.arch = "sm_90a";
  r.schedule = {.roles = Roles::load, .add_by_tma = true};
  Expected<Artifact> artifact = compile(r);
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  const TensorMap bias{.parameter = 2, .dtype = f32, .box = {64}, .swizzle = 0, .columns = INT32_MAX};
  const TensorMap c{.parameter = 3, .dtype = f32, .box = {32, 16}, .swizzle = 128, .columns = INT32_MAX};
  EXPECT_THAT(artifact->tensor_maps, AllOf(testing::SizeIs(4), testing::Contains(bias), testing::Contains(c)));
  EXPECT_EQ(artifact->remarks, "");
  r.emit = "ptx";
  EXPECT_THAT(compile(r)->text, AllOf(HasSubstr("cp.async.bulk.tensor.1d.shared::cluster"),
                                      HasSubstr("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile")));
  if (artifact->report.assembler.empty())
    return missingTool("ptxas");
  EXPECT_THAT(artifact->binary, StartsWith("\x7f"
                                           "ELF"));
}

TEST(CompileCuda, WhereAProducerCannotLoadAllWarpsCopy) {
  CompileRequest r = request();
  r.target.arch = "sm_90a";
  r.schedule.roles = Roles::load;
  r.emit = "ptx";
  Expected<Artifact> artifact = compile(r);
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  EXPECT_EQ(artifact->tensor_maps.size(), 0u);
  EXPECT_THAT(artifact->text, AllOf(HasSubstr("cp.async.cg.shared"), HasSubstr("fence.proxy.async"),
                                    HasSubstr("wgmma.mma_async"), Not(HasSubstr("mbarrier"))));
}

/// A program with hand-written roles. A schedule with two thread blocks for a multiprocessor makes them illegal.
const char *const kRoles = R"(
module attributes {tile.version = 1 : i64, tile.num_warps = 4 : i64} {
  func.func @roles(%a: !tile.view<1xf32> {tile.name = "a"}) {
    sm.roles {
      compute warps 4 registers 232 {
      }
      load warps 1 registers 40 {
      }
    }
    return
  }
}
)";

TEST(CompileCuda, WhatAPhaseLeavesIsVerified) {
  CompileRequest r = request(kRoles);
  r.target.arch = "sm_90a";
  r.emit = "ptx";
  EXPECT_TRUE(compile(r).ok()) << compile(r).status().message();
  r.schedule.instances_per_sm = 2;
  expectRefusal(r, ErrorCode::compile_failed, "needs 34816 registers; its threads start with 32768");
}

TEST(CompileCuda, GpusThatAreNotKnownAreRefused) {
  CompileRequest r = request();
  r.target.arch = "sm_75";
  expectRefusal(
      r, ErrorCode::invalid_argument,
      "arch: no GPU is called 'sm_75'; legal are sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_100a, sm_120");
  r = request();
  r.target.features = "+ptx90";
  expectRefusal(r, ErrorCode::invalid_argument, "features: the cuda target has none");
  r = request();
  r.emit = "asm";
  expectRefusal(
      r, ErrorCode::invalid_argument,
      "emit: no phase is called 'asm'; legal are tile, simplify, layouts, roles, shared, threads, nvvm, llvm, ptx, "
      "cubin, report, order");
}

/// A program with a remainder of floats, which the language does not have.
const char *const kRemainder = R"(
func.func @remainder(%a: !tile.view<1xf32>, %b: !tile.view<1xf32> {tile.written}) {
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%c0] : !tile.view<1xf32> -> tensor<64xf32>
  %y = arith.remf %x, %x : tensor<64xf32>
  tile.store %y, %b[%c0] : tensor<64xf32>, !tile.view<1xf32>
  return
}
)";

TEST(CompileCuda, AnInstructionThatPtxDoesNotHaveIsNamed) {
  expectRefusal(request(kRemainder), ErrorCode::internal, "cannot print PTX for the instruction frem");
}

TEST(CompileCuda, TooMuchSharedMemoryIsRefused) {
  CompileRequest r = request(kTooLarge);
  r.schedule.num_warps = 16;
  r.target.arch = "sm_86";
  expectRefusal(r, ErrorCode::resource_exhausted,
                "a program instance needs 262144 bytes of shared memory, sm_86 has 101376; lower block_m or block_n");
  r = request(kTooLarge);
  r.schedule = {.num_warps = 16, .instances_per_sm = 2};
  expectRefusal(r, ErrorCode::resource_exhausted,
                "each of 2 program instances needs 262144 bytes of shared memory, sm_80 has 82944; lower block_m "
                "or block_n, or instances_per_sm");
}

} // namespace
} // namespace tegula
