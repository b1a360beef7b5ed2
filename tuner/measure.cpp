// SPDX-License-Identifier: MIT
// tegula-measure: a device in a process of its own. The tuner runs candidates on it, so that one that faults or hangs
// takes nothing else down.
#include "device_server.h"
#include "workload/open_device.h"

int main() { return tegula::tuning::serveDevice(tegula::tools::openDevice); }
