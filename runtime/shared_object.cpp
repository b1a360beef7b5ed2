// SPDX-License-Identifier: MIT
#include "shared_object.h"

#include "elf_check.h"
#include "tegula/internal/descriptor.h"
#include "tegula/internal/write_all.h"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U // Linux 6.3; needed where the system makes other memory files non-executable.
#endif

namespace tegula {
namespace {

Status systemError(const char *action, int error) {
  return {ErrorCode::resource_exhausted, std::string(action) + " failed: " + std::strerror(error)};
}

Expected<Descriptor> createMemoryFile(const std::string &name) {
  const std::string label = ("tegula:" + name).substr(0, 200); // The system refuses more than 249 characters.
  int number = memfd_create(label.c_str(), MFD_CLOEXEC | MFD_EXEC);
  if (number < 0 && errno == EINVAL)
    number = memfd_create(label.c_str(), MFD_CLOEXEC);
  if (number < 0)
    return systemError("memfd_create", errno);
  return Descriptor(number);
}

/// Returns a path that this process has not used before. The loader takes equal paths for the same object, but
/// descriptor numbers are used again after they are closed. "/" and "./" after a directory change nothing, and spell a
/// serial number.
std::string uniquePath(int descriptor) {
  static std::atomic<uint64_t> serial{0};
  std::string path = "/proc/self/fd/";
  for (uint64_t rest = ++serial; rest != 0; rest >>= 1)
    path += (rest & 1) != 0 ? "./" : "/";
  return path + std::to_string(descriptor);
}

} // namespace

Expected<SharedObject> SharedObject::load(std::string_view bytes, const std::string &name) {
  TEGULA_RETURN_IF_ERROR(checkSharedObject(bytes));
  const Expected<Descriptor> file = createMemoryFile(name);
  if (!file)
    return file.status();
  if (const int error = writeAll(file->number(), bytes); error != 0)
    return systemError("writing to a memory file", error);
  void *handle = dlopen(uniquePath(file->number()).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return Status(ErrorCode::invalid_argument, std::string("the system cannot load the binary: ") + dlerror());
  return SharedObject(handle);
}

SharedObject::~SharedObject() {
  if (handle_ != nullptr && !fork_.inChild())
    dlclose(handle_);
}

Expected<void *> SharedObject::symbol(const std::string &name) const {
  if (void *address = dlsym(handle_, name.c_str()))
    return address;
  return Status(ErrorCode::invalid_argument, "the binary has no symbol '" + name + "'");
}

} // namespace tegula
