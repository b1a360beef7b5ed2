// SPDX-License-Identifier: MIT
// What an op says that makes a view of another view. ViewParts.h has the types, views.md the reasons.
#ifndef TEGULA_TILE_VIEW_INTERFACE
#define TEGULA_TILE_VIEW_INTERFACE

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ViewLikeInterface.td"

def Tile_ViewInterface : OpInterface<"ViewOpInterface", [ViewLikeOpInterface]> {
  let description = [{
    An op that makes a view of another view, with scalars that are known when the kernel runs. It says where the
    elements of its result are, so that lowerings need to know no such op by name.
  }];
  let cppNamespace = "::tegula::tile";
  let methods = [
    InterfaceMethod<[{
      Changes `parts`, which describe the source, to those of the result, in the program that `s` emits.
    }], "void", "changeParts", (ins "::tegula::tile::Scalars &":$s, "::tegula::tile::ViewParts &":$parts,
                                    "::tegula::tile::LoweredProgram &":$program)>,
    InterfaceMethod<[{
      Changes a position in the result to the position in the source. Returns false if one index for each dimension
      cannot say which elements of the tensor a tile at this position has.
    }], "bool", "changePosition", (ins "::tegula::tile::TensorPosition &":$position)>,
  ];
}

def Tile_PartsInterface : OpInterface<"PartsOpInterface", [ViewLikeOpInterface]> {
  let description = "An op whose results are views of different places, such as the tiles of a slot.";
  let cppNamespace = "::tegula::tile";
  let methods = [InterfaceMethod<"Returns the place that a result is a view of.", "::mlir::Value", "getSourceOf",
                                 (ins "::mlir::OpResult":$result)>];
}

def Tile_Parts : DeclareOpInterfaceMethods<Tile_PartsInterface>;
def Tile_View : DeclareOpInterfaceMethods<Tile_ViewInterface>;

#endif
