// SPDX-License-Identifier: MIT
#include "ptx/comparison.h"

#include "ptx/kernel_memory.h"
#include "ptx/machine.h"
#include "ptx/random.h"

#include <cstring>

namespace tegula::ptx_fuzz {

namespace {

constexpr int kRuns = 4;

using Bytes = std::vector<uint8_t>;

/// Returns bytes that as floats and as integers are often special: small, infinite, or the least of all.
Bytes randomBytes(Random &random, size_t count) {
  static constexpr uint32_t kSpecial[] = {0,          1,          0xffffffff, 0x80000000, 0x7fffffff, 0x3f800000,
                                          0x7f800000, 0xff800000, 0x80018001, 0x3c003c00, 0x7c00fc00, 0x00007f80,
                                          0x477fe000, 0x0100ffff, 0x01010001, 0x33800000, 0x00ff00ff, 0x00000080};
  Bytes bytes;
  while (bytes.size() < count) {
    const uint32_t word = random.percent(40) ? random.of(kSpecial) : static_cast<uint32_t>(random.bits());
    for (unsigned shift = 0; shift < 32; shift += 8)
      bytes.push_back(static_cast<uint8_t>(word >> shift));
  }
  return bytes;
}

Bytes randomParameters(Random &random) {
  Bytes bytes = randomBytes(random, sizeof(Parameters));
  const uint64_t addresses[] = {kMemoryAddress, kMemoryAddress + kInputBytes};
  std::memcpy(bytes.data(), addresses, sizeof(addresses));
  return bytes;
}

std::string hex(const Bytes &bytes, size_t begin) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = begin; i < std::min(bytes.size(), begin + 8); ++i)
    text += std::string(" ") + kDigits[bytes[i] >> 4] + kDigits[bytes[i] & 15];
  return text;
}

Verdict compareOnce(const Program &ours, const Program &theirs, Random &random) {
  const Bytes parameters = randomParameters(random), memory = randomBytes(random, kInputBytes + kOutputBytes);
  Bytes our = memory, their = memory;
  if (std::string problem = execute(theirs, parameters, their); !problem.empty())
    return {Verdict::Kind::failed, "LLVM's PTX: " + problem};
  if (std::string problem = execute(ours, parameters, our); !problem.empty())
    return {Verdict::Kind::differs, "our PTX: " + problem};
  for (size_t i = 0; i < our.size(); ++i)
    if (our[i] != their[i])
      return {Verdict::Kind::differs,
              "from byte " + std::to_string(i) + " on, we have" + hex(our, i) + ", and LLVM has" + hex(their, i)};
  return {};
}

} // namespace

Verdict compare(const Program &ours, const Program &theirs, uint64_t seed) {
  Random random(seed);
  Verdict verdict;
  for (int run = 0; run < kRuns && verdict.kind == Verdict::Kind::equal; ++run)
    verdict = compareOnce(ours, theirs, random);
  return verdict;
}

} // namespace tegula::ptx_fuzz
