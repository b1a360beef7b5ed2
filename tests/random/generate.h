// SPDX-License-Identifier: MIT
// Makes well-typed programs at random.
#pragma once

#include "random/choices.h"
#include "random/description.h"

namespace tegula::random_programs {

/// Makes the program that the choices describe. Any choices make a legal program: its instances write to different
/// elements or add atomically, and its numbers stay small.
Case generate(Choices &choices);

} // namespace tegula::random_programs
