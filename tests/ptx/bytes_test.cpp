// SPDX-License-Identifier: MIT
// Comparisons of the bytes of a word with a limit, for every limit and every byte.
#include "ptx/machine.h"
#include "ptx/printers.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace tegula::ptx_fuzz {
namespace {

/// Returns a kernel that stores a word in which bit i says that byte i of its parameter is below the limit.
std::string kernelFor(uint32_t limit) {
  std::string text = "define ptx_kernel void @kernel(i64 %to, i32 %word) {\n  %sum = add i32 0, 0\n";
  std::string sum = "%sum";
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i), bits = "%b" + n, next = "%s" + n;
    text += "  " + bits + " = and i32 %word, " + std::to_string(255U << 8 * i) + "\n  %c" + n + " = icmp ult i32 " +
            bits + ", " + std::to_string(limit << 8 * i) + "\n  %i" + n + " = select i1 %c" + n + ", i32 " +
            std::to_string(1 << i) + ", i32 0\n  " + next + " = or i32 " + sum + ", %i" + n + "\n";
    sum = next;
  }
  return text + "  call void asm sideeffect \"st.global.b32 [$0], $1;\", \"l,r\"(i64 %to, i32 " + sum +
         ")\n  ret void\n}\n";
}

Program programFor(uint32_t limit) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(kernelFor(limit), error, context);
  EXPECT_NE(module, nullptr) << error.getMessage().str();
  const Expected<std::string> ptx = tegulaPtx(*module, "sm_90a");
  EXPECT_TRUE(ptx.ok()) << ptx.status().message();
  EXPECT_NE(ptx->find("setp.lt.f16x2"), std::string::npos) << *ptx;
  const Expected<Program> program = parseProgram(*ptx);
  EXPECT_TRUE(program.ok()) << program.status().message();
  return *program;
}

TEST(Bytes, EveryLimitAndByte) {
  for (uint32_t limit = 1; limit < 256; ++limit) {
    const Program program = programFor(limit);
    for (uint32_t value = 0; value < 256; ++value) {
      const std::array<uint32_t, 4> bytes = {value, 255 - value, (value + 128) % 256, value ^ 0x55};
      uint32_t word = 0, expected = 0, stored = 0;
      for (uint32_t i = 0; i < 4; ++i) {
        word |= bytes[i] << 8 * i;
        expected |= static_cast<uint32_t>(bytes[i] < limit) << i;
      }
      std::vector<uint8_t> parameters(12), memory(4);
      std::memcpy(parameters.data(), &kMemoryAddress, 8);
      std::memcpy(&parameters[8], &word, 4);
      ASSERT_EQ(execute(program, parameters, memory), "");
      std::memcpy(&stored, memory.data(), 4);
      ASSERT_EQ(stored, expected) << "limit " << limit << ", word " << word;
    }
  }
}

} // namespace
} // namespace tegula::ptx_fuzz
