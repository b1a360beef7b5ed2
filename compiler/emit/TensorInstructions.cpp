// SPDX-License-Identifier: MIT
// Instructions of sm_100a: products whose results go to tensor memory (tcgen05). All are inline assembly.
#include "compiler/emit/Assembly.h"

namespace tegula::emit {

using namespace mlir;

void Instructions::allocateTensor(Value shared, unsigned columns) {
  Assembly assembly(b_);
  assembly.create("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [" + assembly.input(shared) + "], " +
                  Twine(columns) + ";");
}

void Instructions::relinquishTensor() {
  Assembly(b_).create("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
}

void Instructions::freeTensor(Value address, unsigned columns) {
  Assembly assembly(b_);
  assembly.create("tcgen05.dealloc.cta_group::1.sync.aligned.b32 " + assembly.input(address) + ", " + Twine(columns) +
                  ";");
}

/// The high word of each descriptor: a swizzle of 128 bytes, the version of Blackwell, and 1024 bytes from one 8-row
/// block to the next.
static constexpr uint32_t kDescriptorHigh = (2u << 29) | (1u << 14) | (1024 >> 4);

/// Returns the instruction descriptor: sums of f32, the types and directions of the operands, and the sizes.
static uint32_t descriptorOf(const TensorMma &type) {
  constexpr uint32_t floatSums = 1, rows = 128;
  const uint32_t element = type.element == "bf16" ? 1 : 0;
  return floatSums << 4 | element << 7 | element << 10 | uint32_t(type.transposes[0]) << 15 |
         uint32_t(type.transposes[1]) << 16 | type.columns / 8 << 17 | rows / 16 << 24;
}

void Instructions::multiplyToTensor(const TensorMma &type, Value to, Value a, Value b, Value accumulate) {
  Assembly assembly(b_);
  const std::string place = assembly.input(to), lhs = assembly.input(a), rhs = assembly.input(b),
                    adds = assembly.input(accumulate), high = ", " + std::to_string(kDescriptorHigh) + "};\n";
  assembly.create("{\n.reg .b64 da, db;\n.reg .b32 what;\nmov.b64 da, {" + lhs + high + "mov.b64 db, {" + rhs + high +
                  "mov.b32 what, " + Twine(descriptorOf(type)) + ";\ntcgen05.mma.cta_group::1.kind::f16 [" + place +
                  "], da, db, what, " + adds + ";\n}");
}

void Instructions::commitTensor(Value mbarrier) {
  Assembly assembly(b_);
  assembly.create("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [" + assembly.input(mbarrier) +
                  "];");
}

SmallVector<Value> Instructions::loadTensor(Value address, unsigned count) {
  Assembly assembly(b_, count);
  const std::string from = assembly.input(address);
  return assembly.create("tcgen05.ld.sync.aligned.32x32b.x" + Twine(count) + ".b32 " + assembly.results() + ", [" +
                         from + "];\ntcgen05.wait::ld.sync.aligned;");
}

void Instructions::fenceTensorBefore() { Assembly(b_).create("tcgen05.fence::before_thread_sync;"); }
void Instructions::fenceTensorAfter() { Assembly(b_).create("tcgen05.fence::after_thread_sync;"); }

} // namespace tegula::emit
