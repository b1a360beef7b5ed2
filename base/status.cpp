// SPDX-License-Identifier: MIT
#include "tegula/status.h"

namespace tegula {

const char *toString(ErrorCode code) {
  switch (code) {
  case ErrorCode::Ok:
    return "Ok";
  case ErrorCode::InvalidArgument:
    return "InvalidArgument";
  case ErrorCode::InvalidProgram:
    return "InvalidProgram";
  case ErrorCode::Unsupported:
    return "Unsupported";
  case ErrorCode::NeedsCompile:
    return "NeedsCompile";
  case ErrorCode::CompileFailed:
    return "CompileFailed";
  case ErrorCode::CompileCrashed:
    return "CompileCrashed";
  case ErrorCode::CompileTimeout:
    return "CompileTimeout";
  case ErrorCode::ResourceExhausted:
    return "ResourceExhausted";
  case ErrorCode::LaunchFailed:
    return "LaunchFailed";
  case ErrorCode::DeviceLost:
    return "DeviceLost";
  case ErrorCode::ForkedChild:
    return "ForkedChild";
  case ErrorCode::Cancelled:
    return "Cancelled";
  case ErrorCode::Internal:
    return "Internal";
  }
  return "unknown";
}

} // namespace tegula
