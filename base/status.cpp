// SPDX-License-Identifier: MIT
#include "tegula/status.h"

namespace tegula {

const char *toString(ErrorCode code) {
  switch (code) {
  case ErrorCode::ok:
    return "ok";
  case ErrorCode::invalid_argument:
    return "invalid_argument";
  case ErrorCode::invalid_program:
    return "invalid_program";
  case ErrorCode::unsupported:
    return "unsupported";
  case ErrorCode::needs_compile:
    return "needs_compile";
  case ErrorCode::compile_failed:
    return "compile_failed";
  case ErrorCode::compile_crashed:
    return "compile_crashed";
  case ErrorCode::compile_timeout:
    return "compile_timeout";
  case ErrorCode::resource_exhausted:
    return "resource_exhausted";
  case ErrorCode::launch_failed:
    return "launch_failed";
  case ErrorCode::device_lost:
    return "device_lost";
  case ErrorCode::forked_child:
    return "forked_child";
  case ErrorCode::cancelled:
    return "cancelled";
  case ErrorCode::internal:
    return "internal";
  }
  return "unknown";
}

} // namespace tegula
