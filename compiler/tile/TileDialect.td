// SPDX-License-Identifier: MIT
#ifndef TEGULA_TILE_DIALECT
#define TEGULA_TILE_DIALECT

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::tegula::tile";
  let summary = "Attention kernels as programs over tiles, independent of the target.";
  let description = [{
    A program is one `func.func` that every program instance of a grid runs. Its arguments are tensors in memory
    (`!tile.view`) and scalars. Values inside are scalars (`f32`, `i32`, `index`, ...) and tiles, which are builtin
    tensors of static shape: `tensor<128x64xbf16>`. Dimensions may be any positive number.

    Elementwise arithmetic is upstream's `arith` and `math`. Control flow is upstream's `scf`. This dialect adds memory
    access with bounds handling, tile shapes, `dot`, reductions and the online softmax.

    `tile.version` on the module is the version of this vocabulary. The compiler refuses a version that it does not
    know.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"]; // constants
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let useDefaultTypePrinterParser = 1;
}

def Tile_ViewType : TypeDef<Tile_Dialect, "View"> {
  let mnemonic = "view";
  let summary = "a tensor in memory with run-time shape and strides";
  let description = [{
    `!tile.view<2xbf16>` is a rank-2 tensor of bf16. Shape and strides are 64-bit run-time values. Strides count
    elements and may have any value, 0 included. Positions outside the shape are never accessed.
  }];
  let parameters = (ins "unsigned":$rank, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Tile_Reduction : I32EnumAttr<"Reduction", "how elements are combined",
    [I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Min", 2, "min">]> {
  let cppNamespace = "::tegula::tile";
}

// Operands in memory. What is read and written is added to: the only such accesses are atomic additions.
class Tile_Reads<Constraint type> : Arg<type, "", [MemRead]>;
class Tile_Writes<Constraint type> : Arg<type, "", [MemWrite]>;
class Tile_Adds<Constraint type> : Arg<type, "", [MemRead, MemWrite]>;

#endif
