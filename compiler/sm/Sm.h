// SPDX-License-Identifier: MIT
// The `sm` dialect in C++. SmOps.td says what each op means.
#pragma once

#include "compiler/sm/Layout.h"
#include "compiler/tile/Tile.h"

#include "compiler/sm/SmDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/sm/SmAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/sm/SmTypes.h.inc"

#define GET_OP_CLASSES
#include "compiler/sm/SmOps.h.inc"
