// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace tegula {

/// Writes all bytes to a file. Returns 0, or the number of the system's error. All code that may run in a host writes
/// its files here, because a limit on the size of files (RLIMIT_FSIZE) would otherwise end the host by SIGXFSZ. With
/// this function the limit is an error: EFBIG. The thread's signal mask stays as it is. So does a SIGXFSZ that was
/// pending before.
int writeAll(int descriptor, std::string_view bytes) noexcept;

} // namespace tegula
