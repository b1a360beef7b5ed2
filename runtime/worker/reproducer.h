// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace tegula {

/// Writes a serialised request into `folder`, which is made if need be, under a name that follows from its bytes.
/// The path; empty if it cannot be written.
std::string writeReproducer(const std::string &folder, const std::string &request);

} // namespace tegula
