// SPDX-License-Identifier: MIT
#include "replay/tensor_map.h"

#include <cstring>
#include <dlfcn.h>

namespace tegula::test {
namespace {

struct alignas(64) Encoded {
  unsigned char bytes[128];
};

/// cuTensorMapEncodeTiled; enumerations are ints.
using Encode = int (*)(Encoded *map, int type, unsigned rank, void *address, const uint64_t *sizes,
                       const uint64_t *strides, const unsigned *box, const unsigned *steps, int interleave, int swizzle,
                       int promotion, int fill);

Encode encoder() {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  return driver ? reinterpret_cast<Encode>(dlsym(driver, "cuTensorMapEncodeTiled")) : nullptr;
}

} // namespace

bool encodeTensorMap(const SimtTensorMap &map, uint64_t address, void *encoded) {
  static const Encode encode = encoder();
  if (encode == nullptr)
    return false;
  constexpr int kUint16 = 1, kFloat32 = 7;
  const int swizzle = map.swizzle == 0 ? 0 : map.swizzle == 32 ? 1 : map.swizzle == 64 ? 2 : 3;
  const unsigned steps[5] = {1, 1, 1, 1, 1};
  Encoded result;
  if (encode(&result, map.element_bytes == 2 ? kUint16 : kFloat32, map.rank, reinterpret_cast<void *>(address),
             map.size, map.stride, map.box, steps, 0, swizzle, 0, 0) != 0)
    return false;
  std::memcpy(encoded, result.bytes, sizeof result.bytes);
  return true;
}

} // namespace tegula::test
