// SPDX-License-Identifier: MIT
#include "harness/machine.h"

#include "compiler/client/InProcessCompiler.h"
#include "support/test_device.h"

#include <vector>

namespace tegula::testing {

static Machine makeMachine() {
  Machine machine{makeInProcessCompiler(), testDevice(), nullptr};
  machine.cache = std::make_unique<KernelCache>(*machine.compiler, machine.device);
  return machine;
}

Machine &machine() {
  static Machine shared = makeMachine();
  return shared;
}

ScratchMemory::ScratchMemory(int64_t bytes) : buffer_(valueOf(testDevice()->allocate(bytes))) {
  std::vector<std::byte> nans(size_t(bytes), std::byte(0xff));
  require(testDevice()->copyToDevice(buffer_.data(), nans.data(), bytes));
  require(testDevice()->synchronize());
}

ScratchMemory::~ScratchMemory() { (void)testDevice()->synchronize(); }

} // namespace tegula::testing
