// SPDX-License-Identifier: MIT
#include "dynamic_library.h"

#include "team.h"

#include <dlfcn.h>

DynamicLibrary::DynamicLibrary(const std::string &file)
    : file_(file), handle_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr)
    fail(std::string("dlopen: ") + dlerror());
}

void *DynamicLibrary::address(const char *name) const {
  void *found = dlsym(handle_, name);
  if (found == nullptr)
    fail(file_ + " has no function " + name);
  return found;
}
