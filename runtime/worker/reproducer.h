// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace tegula {

/// Writes a serialised request into `folder`, which is made if it does not exist. The file's name follows from its
/// bytes. Returns the path, or an empty string if the file cannot be written.
std::string writeReproducer(const std::string &folder, const std::string &request);

} // namespace tegula
