// SPDX-License-Identifier: MIT
#include "tegula/internal/system_library.h"

#include <cstdlib>
#include <dlfcn.h>

namespace tegula {
namespace {

struct Opened {
  void *handle;
  std::string file;
};

Status unusable(const SystemLibrary &library, const std::string &problem) {
  return {ErrorCode::unsupported,
          std::string("no usable ") + library.what + ": " + problem + "; needed is " + library.needed};
}

/// Opens the first file that can be loaded. If there is none, returns the error of the preferred file.
Expected<Opened> openFirst(const SystemLibrary &library, const std::vector<std::string> &files) {
  std::string problem;
  for (const std::string &file : files) {
    if (void *handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL))
      return Opened{handle, file};
    const char *error = dlerror();
    if (problem.empty())
      problem = error != nullptr ? error : file + " cannot be loaded";
  }
  return unusable(library, problem);
}

} // namespace

std::string SystemLibrary::overridden() const {
  const char *value = secure_getenv(variable);
  return value != nullptr ? value : "";
}

Status bindLibrary(const SystemLibrary &library, std::span<const Binding> bindings) {
  std::vector<std::string> files(library.files.begin(), library.files.end());
  if (const std::string file = library.overridden(); !file.empty())
    files = {file};
  const Expected<Opened> opened = openFirst(library, files);
  if (!opened)
    return opened.status();
  for (const Binding &binding : bindings) {
    *binding.function = dlsym(opened->handle, binding.symbol);
    if (*binding.function == nullptr && !binding.optional)
      return unusable(library, opened->file + " has no " + binding.symbol);
  }
  return {};
}

Status forkedAfterUse(const SystemLibrary &library) {
  return {ErrorCode::forked_child,
          std::string("the process was forked after the ") + library.what + " was first used; start a new process"};
}

} // namespace tegula
