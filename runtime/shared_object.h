// SPDX-License-Identifier: MIT
// A shared object that was loaded from memory.
#pragma once

#include "tegula/internal/fork.h"
#include "tegula/status.h"

#include <string>
#include <string_view>
#include <utility>

namespace tegula {

/// Owner of a loaded object. The object is unloaded with it, except in a forked child, which may have inherited the
/// loader's lock in any state.
class SharedObject {
public:
  /// Loads the bytes of an ELF shared object. No file remains, no descriptor stays open, and none of its symbols
  /// becomes visible to other objects. /proc/self/maps and profilers show `name`. Returns invalid_argument if the bytes
  /// are refused. Returns resource_exhausted if memory or descriptors are used up.
  static Expected<SharedObject> load(std::string_view bytes, const std::string &name);

  SharedObject(SharedObject &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)), fork_(other.fork_) {}
  SharedObject &operator=(SharedObject &&) = delete;
  ~SharedObject();

  /// Returns the address of a symbol. Returns invalid_argument if there is no such symbol.
  Expected<void *> symbol(const std::string &name) const;

private:
  explicit SharedObject(void *handle) : handle_(handle) {}

  void *handle_;
  ForkGuard fork_;
};

} // namespace tegula
