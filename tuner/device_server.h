// SPDX-License-Identifier: MIT
// The other side of a RemoteProcess.
#pragma once

#include "tegula/device.h"

#include <functional>
#include <memory>
#include <string_view>

namespace tegula::tuning {

using OpenDevice = std::function<Expected<std::shared_ptr<Device>>(std::string_view target)>;

/// Executes the commands that come through the standard input, which is a socket, until the other side closes it. Ends
/// with the process that started this one. Returns the exit code.
int serveDevice(const OpenDevice &open);

} // namespace tegula::tuning
