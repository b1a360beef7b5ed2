// SPDX-License-Identifier: MIT
// The interpreter of the comparison: that it computes what PTX says, and accepts nothing else.
#include "ptx/floats.h"
#include "ptx/kernel_memory.h"
#include "ptx/machine.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tegula::ptx_fuzz {
namespace {

/// Returns a kernel with these lines that may use four registers of each size.
std::string kernelWith(const std::string &lines) {
  return ".visible .entry kernel(.param .b64 p0, .param .b32 p1) {\n.reg .pred %p<4>;\n.reg .b16 %h<4>;\n"
         ".reg .b32 %r<4>;\n.reg .b64 %d<4>;\nld.param.b64 %d0, [p0];\n" +
         lines + "\nret;\n}\n";
}

std::string problemOf(const std::string &lines) { return parseProgram(kernelWith(lines)).status().message(); }

/// Runs lines that leave their result in %r1. `word` is the kernel's parameter, and in %r0.
uint32_t resultOf(const std::string &lines, uint32_t word = 0) {
  const Expected<Program> program =
      parseProgram(kernelWith("ld.param.b32 %r0, [p1];\n" + lines + "\nst.global.b32 [%d0], %r1;"));
  EXPECT_TRUE(program.ok()) << program.status().message();
  if (!program)
    return 0;
  std::vector<uint8_t> parameters(12), memory(16);
  std::memcpy(parameters.data(), &kMemoryAddress, 8);
  std::memcpy(&parameters[8], &word, 4);
  EXPECT_EQ(execute(*program, parameters, memory), "");
  uint32_t result = 0;
  std::memcpy(&result, memory.data(), 4);
  return result;
}

TEST(PtxProgram, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(problemOf("frob.b32 %r1, %r0;"), "an instruction that the interpreter does not know: frob.b32 %r1, %r0");
  EXPECT_EQ(problemOf("add.ftz.f32 %r1, %r0, %r0;"),
            "an instruction that the interpreter does not know: add.ftz.f32 %r1, %r0, %r0");
  EXPECT_EQ(problemOf("bra nowhere;"), "a label that is not defined: nowhere");
}

TEST(PtxProgram, RefusesOperandsThatPtxasRefuses) {
  EXPECT_EQ(problemOf("cvt.f32.f16 %r1, 15360;"), "an integer for a float: cvt.f32.f16 %r1, 15360");
  EXPECT_EQ(problemOf("add.s32 %r1, %r0, 0f3F800000;"), "a float for an integer: add.s32 %r1, %r0, 0f3F800000");
  EXPECT_EQ(problemOf("add.s32 %r1, %r0, %d0;"), "wrong size of a register: add.s32 %r1, %r0, %d0");
  EXPECT_EQ(problemOf("add.s32 %r1, %r0;"), "wrong number of operands: add.s32 %r1, %r0");
}

TEST(PtxMachine, ComputesIntegers) {
  EXPECT_EQ(resultOf("shr.s32 %r1, %r0, 4;", 0x80000000), 0xf8000000);
  EXPECT_EQ(resultOf("shr.u32 %r1, %r0, 40;", 0x80000000), 0u);
  EXPECT_EQ(resultOf("mul.hi.s32 %r1, %r0, -2;", 5), 0xffffffff);
  EXPECT_EQ(resultOf("mul.hi.u32 %r1, %r0, -2;", 5), 4u);
  EXPECT_EQ(resultOf("rem.s32 %r1, %r0, 4;", static_cast<uint32_t>(-7)), static_cast<uint32_t>(-3));
  EXPECT_EQ(resultOf("bfe.s32 %r1, %r0, 4, 4;", 0x80), 0xfffffff8);
  EXPECT_EQ(resultOf("bmsk.clamp.b32 %r1, 0, %r0;", 5), 31u);
  EXPECT_EQ(resultOf("bmsk.clamp.b32 %r1, 0, %r0;", 0x80000000), 0xffffffff);
  EXPECT_EQ(resultOf("bmsk.clamp.b32 %r1, %r0, 40;", 31), 0x80000000);
  EXPECT_EQ(resultOf("prmt.b32 %r1, %r0, 305419896, 0x7a41;", 0x00808000), 0x12ff7880u);
  EXPECT_EQ(resultOf("shf.l.wrap.b32 %r1, 1, %r0, 33;", 0x80000000), 0u);
}

TEST(PtxMachine, ComputesFloats) {
  EXPECT_EQ(resultOf("add.rn.f32 %r1, %r0, 0f33800000;", 0x3f800001), 0x3f800002u); // A tie goes to the even one.
  EXPECT_EQ(resultOf("min.f32 %r1, %r0, 0f3F800000;", 0x7fc00000), 0x3f800000u);
  EXPECT_EQ(resultOf("min.NaN.f32 %r1, %r0, 0f3F800000;", 0x7fc00000), 0x7fffffffu);
  EXPECT_EQ(resultOf("max.f32 %r1, %r0, 0f00000000;", 0x80000000), 0u);
  EXPECT_EQ(resultOf("cvt.rzi.s32.f32 %r1, %r0;", 0xff800000), 0x80000000);
  EXPECT_EQ(resultOf("setp.ltu.f32 %p1, %r0, 0f00000000;\nselp.b32 %r1, 1, 0, %p1;", 0x7fffffff), 1u);
}

TEST(PtxMachine, Branches) {
  EXPECT_EQ(resultOf("mov.b32 %r1, 0;\n$L1:\nadd.s32 %r1, %r1, 3;\nsub.s32 %r0, %r0, 1;\n"
                     "setp.ne.b32 %p1, %r0, 0;\n@%p1 bra $L1;",
                     5),
            15u);
}

TEST(PtxMachine, ReportsWrongAddresses) {
  const Expected<Program> program = parseProgram(kernelWith("st.global.v2.b32 [%d0+4], {%r0, %r0};"));
  std::vector<uint8_t> parameters(12), memory(16);
  std::memcpy(parameters.data(), &kMemoryAddress, 8);
  EXPECT_EQ(execute(*program, parameters, memory), "a wrong address: st.global.v2.b32 [%d0+4], {%r0, %r0}");
}

TEST(PtxFloats, RoundOnce) {
  EXPECT_EQ(roundTo(kBf16, 0x0100ffff), 0x4b80u); // In f32, it is a tie, and would go up.
  EXPECT_EQ(roundTo(kF16, 65519.0L), 0x7bffu);    // The largest number.
  EXPECT_EQ(roundTo(kF16, 65520.0L), 0x7c00u);    // Infinite.
  EXPECT_EQ(roundTo(kF16, 0x1.8p-24L), 0x0002u);  // Subnormal, and a tie.
  EXPECT_EQ(roundTo(kF16, 1e9L, Rounding::to_zero), 0x7bffu);
  // The product is a tie, which 2^-60 or 2^-100 breaks.
  EXPECT_EQ(fuse(kBf16, 0x3f81, 0x3fc0, 0x0000), 0x3fc2u);
  EXPECT_EQ(fuse(kBf16, 0x3f81, 0x3fc0, 0xa180), 0x3fc1u);
  EXPECT_EQ(fuse(kBf16, 0x3f81, 0x3fc0, 0x8d80), 0x3fc1u);
  EXPECT_EQ(fuse(kF16, 0x0001, 0x0001, 0x7bff), 0x7bffu);
}

TEST(PtxFloats, KeepEachValueOf16Bits) {
  for (Format format : {kF16, kBf16})
    for (uint32_t bits = 0; bits < 0x10000; ++bits)
      ASSERT_EQ(roundTo(format, valueOf(format, bits)), (bits & 0x7fff) > format.infinity() ? 0x7fff : bits) << bits;
}

} // namespace
} // namespace tegula::ptx_fuzz
