// SPDX-License-Identifier: MIT
// The `tile` dialect in C++. TileOps.td says what each op means.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "compiler/tile/TileDialect.h.inc"
#include "compiler/tile/TileEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/tile/TileTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/tile/TileAttrs.h.inc"

#define GET_OP_CLASSES
#include "compiler/tile/TileOps.h.inc"
