// SPDX-License-Identifier: MIT
// Records a described program with the tile language.
#pragma once

#include "random/description.h"

#include "tegula/program.h"
#include "tegula/status.h"

namespace tegula::random_programs {

Expected<Program> build(const Case &program);

} // namespace tegula::random_programs
