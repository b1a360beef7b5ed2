// SPDX-License-Identifier: MIT
// Options of commands that explore interleavings on the simt device.
#pragma once

#include "tegula/exploration.h"

namespace CLI {
class App;
}

namespace tegula::tools {

void addExplorationOptions(CLI::App &command, ExplorationOptions &options);
bool isUsed(const ExplorationOptions &options);

} // namespace tegula::tools
