// SPDX-License-Identifier: MIT
// The tile language. Running a kernel function records it as a Program; nothing is computed.
//
//   Value   an immutable scalar or tile          (host `if`, `for` and `?:` specialise the kernel while it is recorded)
//   Var     an assignable variable               (carries state through device loops and branches)
//   View    a tensor argument, or a slice of it  (loads and stores handle bounds)
//
// Arithmetic follows numpy: scalars and dimensions of size 1 repeat. A C++ literal takes the other operand's type; a
// position (`index`) takes an integer tile's type; narrower floats are widened to f32, so only `cast` rounds.
// docs/language.md is the reference.
#pragma once

#include "tegula/control.h"
#include "tegula/ops.h"
#include "tegula/record.h"
#include "tegula/value.h"
#include "tegula/view.h"
