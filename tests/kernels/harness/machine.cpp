// SPDX-License-Identifier: MIT
#include "harness/machine.h"

#include "compiler/client/InProcessCompiler.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tegula::testing {
namespace {

template <class T> T orDie(Expected<T> value) {
  if (!value) {
    std::fprintf(stderr, "%s\n", value.status().message().c_str());
    std::exit(2);
  }
  return std::move(*value);
}

Machine makeMachine() {
  Machine machine{makeInProcessCompiler(), orDie(cpuDevice()), nullptr};
  machine.cache = std::make_unique<KernelCache>(*machine.compiler, machine.device);
  return machine;
}

} // namespace

Machine &machine() {
  static Machine shared = makeMachine();
  return shared;
}

ScratchMemory::ScratchMemory(int64_t bytes) : buffer_(orDie(machine().device->allocate(bytes))) {
  if (bytes > 0)
    std::memset(buffer_.data(), 0xff, size_t(bytes));
}

} // namespace tegula::testing
