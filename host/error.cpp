// SPDX-License-Identifier: MIT
#include "api.h"

#include <new>

struct tegula_error {
  std::string message;
};

namespace tegula {

tegula_status report(const Status &status, tegula_error **error) noexcept {
  if (error != nullptr && !status.ok())
    try {
      *error = new tegula_error{status.message()};
    } catch (const std::bad_alloc &) {
      *error = nullptr; // The host reads null as "out of memory".
    }
  return static_cast<tegula_status>(status.code());
}

Status nullArgument(const char *name) {
  return {ErrorCode::invalid_argument, "argument '" + std::string(name) + "': it is null"};
}

Status badSize(const char *name, uint32_t size, size_t known) {
  const std::string text = "argument '" + std::string(name) + "': its struct_size is " + std::to_string(size) +
                           "; this library knows " + std::to_string(known) + " bytes";
  return size > known ? Status(ErrorCode::unsupported, text + ", and what lies beyond is not 0")
                      : Status(ErrorCode::invalid_argument, text);
}

} // namespace tegula

extern "C" {

const char *tegula_error_message(const tegula_error *error) {
  return error != nullptr ? error->message.c_str() : "out of memory";
}

void tegula_error_free(tegula_error *error) { delete error; }

uint32_t tegula_abi_version(void) { return TEGULA_ABI_VERSION; }

const char *tegula_version(void) { return TEGULA_VERSION; }
}
