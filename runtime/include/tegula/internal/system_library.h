// SPDX-License-Identifier: MIT
// Libraries that a machine may lack. They are loaded when they are first needed.
#pragma once

#include "tegula/internal/fork.h"
#include "tegula/status.h"

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace tegula {

/// The file to load, and the words of the error message if that fails.
struct SystemLibrary {
  const char *what;                ///< "CUDA driver"
  const char *variable;            ///< Environment variable that names another file; ignored in setuid programs.
  std::vector<const char *> files; ///< In order of preference.
  const char *needed;              ///< "a driver of CUDA 11.0 or newer"

  /// Returns the file that `variable` names, or an empty string if the variable is not set.
  std::string overridden() const;
};

/// A function pointer that bindLibrary fills.
struct Binding {
  const char *symbol;
  void **function;
  bool optional = false; ///< Stays null if the library has no such symbol.
};

/// Loads the library, which is never unloaded, and fills every binding. Returns unsupported, with the reason, if there
/// is no such file or a symbol that is not optional is missing.
Status bindLibrary(const SystemLibrary &library, std::span<const Binding> bindings);

/// Returns the error forked_child for a library.
Status forkedAfterUse(const SystemLibrary &library);

/// Returns the functions of a library. They are bound once for each value of the library's environment variable.
/// `Functions` has a static member `library()` and a member `bindings()`. The state of such libraries does not survive
/// a fork.
template <class Functions> Expected<const Functions *> functionsOf() {
  struct Cache {
    ForkGuard fork;
    std::mutex mutex;
    std::map<std::string, std::unique_ptr<const Functions>> loaded;
  };
  static Cache &cache = *new Cache; // Never destroyed: devices that a host keeps in globals call it at exit.
  const SystemLibrary library = Functions::library();
  if (cache.fork.inChild())
    return forkedAfterUse(library);
  const std::lock_guard lock(cache.mutex);
  std::unique_ptr<const Functions> &functions = cache.loaded[library.overridden()];
  if (!functions) {
    auto fresh = std::make_unique<Functions>();
    TEGULA_RETURN_IF_ERROR(bindLibrary(library, fresh->bindings()));
    functions = std::move(fresh);
  }
  return functions.get();
}

} // namespace tegula
