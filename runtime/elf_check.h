// SPDX-License-Identifier: MIT
// Checks that bytes are a whole object, before a loader trusts their header.
#pragma once

#include "tegula/status.h"

#include <string_view>

namespace tegula {

/// Returns invalid_argument unless `bytes` are an ELF shared object for this machine whose segments and section table
/// lie inside. The loader maps what the header says, and beyond the end of the bytes that is a SIGBUS. The contents of
/// segments are not checked.
Status checkSharedObject(std::string_view bytes);

/// Returns invalid_argument unless `bytes` are an ELF object for NVIDIA's GPUs whose segments and sections lie inside.
Status checkCubin(std::string_view bytes);

} // namespace tegula
