// SPDX-License-Identifier: MIT
// Programs whose recorded text is compared byte for byte.
#pragma once

#include "tegula/program.h"
#include "tegula/status.h"

#include <span>

struct GoldenProgram {
  const char *name;
  tegula::Expected<tegula::Program> (*record)();
};

std::span<const GoldenProgram> goldenPrograms();
