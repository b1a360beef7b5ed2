// SPDX-License-Identifier: MIT
#include "replay/operation.h"

#include <sstream>

namespace tegula::test {

std::string ptxOf(const Operation &operation) {
  std::ostringstream text;
  const bool is90 = operation.needs_sm_90a;
  text << ".version " << (is90 ? "8.3" : "7.8") << "\n.target " << (is90 ? "sm_90a" : "sm_80") << "\n"
       << ".address_size 64\n.extern .shared .align 1024 .b8 memory[];\n"
       << ".visible .entry operation(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d, .param .u64 e, "
          ".param .u64 g)\n.reqntid "
       << operation.threads << "\n{\n"
       << ".reg .b64 pin, pout, rd<32>;\n.reg .b32 tid, sh, r<512>;\n.reg .b16 h<8>;\n.reg .f32 f<512>;\n.reg .pred "
          "p<8>;\n"
       << "ld.param.u64 pin, [a];\nld.param.u64 pout, [d];\n"
       << "mov.u32 tid, %tid.x;\nmov.u32 sh, memory;\n"
       << operation.body << "ret;\n}\n";
  return text.str();
}

std::string loadWords(uint32_t first, uint32_t count, uint32_t skip) {
  std::ostringstream text;
  text << "mad.wide.u32 rd31, tid, " << 4 * count << ", pin;\n";
  for (uint32_t i = 0; i < count; ++i)
    text << "ld.global.b32 r" << first + i << ", [rd31+" << 4 * (skip + i) << "];\n";
  return text.str();
}

std::string storeWords(uint32_t first, uint32_t count) {
  std::ostringstream text;
  text << "mad.wide.u32 rd31, tid, " << 4 * count << ", pout;\n";
  for (uint32_t i = 0; i < count; ++i)
    text << "st.global.b32 [rd31+" << 4 * i << "], r" << first + i << ";\n";
  return text.str();
}

std::string registerList(const std::string &prefix, uint32_t first, uint32_t count) {
  std::string text;
  for (uint32_t i = 0; i < count; ++i)
    text += (i ? ", " : "{") + prefix + std::to_string(first + i);
  return text + "}";
}

static std::string moves(const char *to, uint32_t firstTo, const char *from, uint32_t firstFrom, uint32_t count) {
  std::ostringstream text;
  for (uint32_t i = 0; i < count; ++i)
    text << "mov.b32 " << to << firstTo + i << ", " << from << firstFrom + i << ";\n";
  return text.str();
}

std::string toFloats(uint32_t firstFloat, uint32_t firstWord, uint32_t count) {
  return moves("f", firstFloat, "r", firstWord, count);
}
std::string toWords(uint32_t firstWord, uint32_t firstFloat, uint32_t count) {
  return moves("r", firstWord, "f", firstFloat, count);
}

} // namespace tegula::test
