// SPDX-License-Identifier: MIT
// The `tile` dialect. Each op has a sentence, a formula and an example.
#ifndef TEGULA_TILE_OPS
#define TEGULA_TILE_OPS

include "compiler/tile/TileDialect.td"
include "compiler/tile/ViewInterface.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ViewLikeInterface.td"

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

def Tile_Scalar : AnyTypeOf<[F32, F16, BF16, F8E4M3FN, I64, I32, I8, I1, Index], "scalar">;
class Tile_TileOf<list<Type> types> : RankedTensorOf<types,
    [CPred<"::tegula::tile::isTileShape(::llvm::cast<::mlir::ShapedType>($_self).getShape())">],
    "tile (1 to 5 static, positive dimensions, at most 1048576 elements)">;
def Tile_Tile : Tile_TileOf<[F32, F16, BF16, F8E4M3FN, I64, I32, I8, I1, Index]>;
def Tile_IndexTile : Tile_TileOf<[I32, I64, Index]>;
def Tile_IndexScalar : AnyTypeOf<[I32, I64, Index], "integer scalar">;
def Tile_AddableTile : Tile_TileOf<[F32, I32]>;
def Tile_FloatTile : Tile_TileOf<[F32, F16, BF16, F8E4M3FN]>;
def Tile_ProbabilityTile : Tile_TileOf<[F32, F16, BF16]>;
def Tile_F32Tile : Tile_TileOf<[F32]>;

//===-- Position in the grid --------------------------------------------------------------------------------------===//

class Tile_GridOp<string mnemonic> : Tile_Op<mnemonic, [Pure]> {
  let arguments = (ins ConfinedAttr<I64Attr, [IntMinValue<0>, IntMaxValue<2>]>:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$axis attr-dict";
}

def Tile_ProgramIdOp : Tile_GridOp<"program_id"> {
  let summary = "returns the position of this program instance along one axis of the grid";
  let description = [{
    The axis is 0, 1 or 2. Axis 0 varies fastest.

    ```mlir
    %block = tile.program_id 0
    ```
  }];
}

def Tile_NumProgramsOp : Tile_GridOp<"num_programs"> {
  let summary = "returns the number of program instances along one axis of the grid";
  let description = [{
    ```mlir
    %blocks = tile.num_programs 0
    ```
  }];
}

//===-- Memory ----------------------------------------------------------------------------------------------------===//

def Tile_DimOp : Tile_Op<"dim", [Pure]> {
  let summary = "returns the run-time size of one dimension of a view";
  let description = [{
    ```mlir
    %keys = tile.dim %k 0 : !tile.view<2xbf16>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$view $axis attr-dict `:` qualified(type($view))";
  let hasVerifier = 1;
}

def Tile_SliceOp : Tile_Op<"slice", [Pure, ViewLikeOpInterface, Tile_View]> {
  let summary = "fixes dimensions of a view that follow each other";
  let description = [{
    `result[x..., y...] = view[x..., indices..., y...]`, with `axis` positions before the indices. If an index is
    outside its dimension, the result is empty: loads from it give the fill value, and stores to it are dropped.

    ```mlir
    %head = tile.slice %q[%b, %h] : !tile.view<4xbf16> -> !tile.view<2xbf16>
    %pages = tile.slice %pool[%h] axis 1 : !tile.view<4xbf16> -> !tile.view<3xbf16>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$indices,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative]>, "0">:$axis);
  let results = (outs Tile_ViewType:$result);
  let extraClassDeclaration = [{
    ::mlir::Value getViewSource() { return getView(); }
    /// Returns true if the first dimension of the result is that of the view.
    bool keepsFirstDimension() { return getAxis() != 0 || getIndices().empty(); }
  }];
  let assemblyFormat = [{
    $view `[` $indices `]` (`axis` $axis^)? attr-dict `:` qualified(type($view)) `->` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Tile_RowsOp : Tile_Op<"rows", [Pure, AllTypesMatch<["view", "result"]>, ViewLikeOpInterface, Tile_View]> {
  let summary = "takes rows of a view whose first and last one are known when the kernel runs";
  let description = [{
    `result[r, x...] = view[begin + r, x...]` for `0 <= r < min(end, rows of the view) - begin`. Rows lie along the
    first dimension. A `begin` outside `0 ... rows of the view` gives a view without rows. No access is outside the
    view, whatever the two numbers are.

    ```mlir
    %sequence = tile.rows %q[%begin, %end] : !tile.view<2xbf16>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Index:$begin, Index:$end);
  let results = (outs Tile_ViewType:$result);
  let extraClassDeclaration = "::mlir::Value getViewSource() { return getView(); }";
  let assemblyFormat = "$view `[` $begin `,` $end `]` attr-dict `:` qualified(type($view))";
}

def Tile_PagesOp : Tile_Op<"pages", [Pure, ViewLikeOpInterface, Tile_View, AttrSizedOperandSegments]> {
  let summary = "makes one dimension of the first two of a view, which are pages and their rows";
  let description = [{
    `result[r, x...] = view[table[r / page], r mod page, x...]`. Without a table, page number i is `view[i]`. Without
    `page`, pages have all rows that the view has. With `lengths`, page `table[i]` has only its first `lengths[i]` rows.
    If the view has no such page, or the page no such row, the row is absent: loads give the fill value, and stores are
    dropped. A table and its lengths are tensors that the program does not write. The first dimension of `view` does not
    lie in pages itself.

    ```mlir
    %keys = tile.pages %pool[%table] page 64 : !tile.view<3xbf16>, !tile.view<1xi32> -> !tile.view<2xbf16>
    %some = tile.pages %pool[%table] lengths %lengths page 64 : !tile.view<3xbf16>, !tile.view<1xi32>, !tile.view<1xi32>
        -> !tile.view<2xbf16>
    %rows = tile.pages %q : !tile.view<3xbf16> -> !tile.view<2xbf16>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Optional<Tile_ViewType>:$table, Optional<Tile_ViewType>:$lengths,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$page);
  let results = (outs Tile_ViewType:$result);
  let extraClassDeclaration = "::mlir::Value getViewSource() { return getView(); }";
  let assemblyFormat = [{
    $view (`[` $table^ `]`)? (`lengths` $lengths^)? (`page` $page^)? attr-dict `:` qualified(type($view))
    (`,` qualified(type($table))^)? (`,` qualified(type($lengths))^)? `->` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Tile_LoadOp : Tile_Op<"load"> {
  let summary = "loads the tile that starts at a position of a view";
  let description = [{
    `result[x] = view[position + x]` where `position + x` lies inside the view, otherwise `fill`. Positions may be
    negative. Without the attribute, `fill` is 0.

    ```mlir
    %k = tile.load %keys[%j, %c0] : !tile.view<2xbf16> -> tensor<64x128xbf16>
    %s = tile.load %lse[%i] {fill = 0xFF800000 : f32} : !tile.view<1xf32> -> tensor<64xf32>
    ```
  }];
  let arguments = (ins Tile_Reads<Tile_ViewType>:$view, Variadic<Index>:$position,
                       OptionalAttr<TypedAttrInterface>:$fill);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{
    $view `[` $position `]` attr-dict `:` qualified(type($view)) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [AttrSizedOperandSegments]> {
  let summary = "writes a tile to a position of a view";
  let description = [{
    `view[position + x] = tile[x]` for every x for which `position + x` lies inside the view. Other elements are
    dropped. With `where`, elements at which the condition is false are dropped, too.

    ```mlir
    tile.store %o, %out[%i, %c0] : tensor<64x128xbf16>, !tile.view<2xbf16>
    tile.store %o, %out[%i, %c0] where %valid : tensor<64x128xbf16>, !tile.view<2xbf16>, tensor<64x128xi1>
    ```
  }];
  let arguments = (ins Tile_Tile:$tile, Tile_Writes<Tile_ViewType>:$view, Variadic<Index>:$position,
                       Optional<Tile_TileOf<[I1]>>:$condition);
  let builders = [OpBuilder<(ins "::mlir::Value":$tile, "::mlir::Value":$view, "::mlir::ValueRange":$position), [{
    build($_builder, $_state, tile, view, position, ::mlir::Value());
  }]>];
  let assemblyFormat = [{
    $tile `,` $view `[` $position `]` (`where` $condition^)? attr-dict
    `:` type($tile) `,` qualified(type($view)) (`,` type($condition)^)?
  }];
  let hasVerifier = 1;
}

def Tile_AtomicAddOp : Tile_Op<"atomic_add", [AttrSizedOperandSegments]> {
  let summary = "adds a tile to memory, atomically per element";
  let description = [{
    `view[position + x] += tile[x]` for every x for which `position + x` lies inside the view. The order in which
    program instances add is not defined, so floating-point results may differ in the last bits between runs.

    With `turn`, the program instances add one after another. The op waits until the counter `turns[place]` is at least
    `turn`. Additions that raised the counter to this number happen before those of the op. After its own additions, the
    op raises the counter to `next`. An op whose place lies outside the view neither waits nor counts. A program
    instance may wait only for those before it in the grid, of which axis 0 varies fastest. All threads of a program
    instance must execute the op.

    ```mlir
    tile.atomic_add %dq, %out[%i, %c0] : tensor<64x128xf32>, !tile.view<2xf32>
    tile.atomic_add %dq, %out[%i, %c0] turn %n of %turns[%i] next %m
      : tensor<64x128xf32>, !tile.view<2xf32>, !tile.view<1xi32>
    ```
  }];
  let arguments = (ins Tile_AddableTile:$tile, Tile_Adds<Tile_ViewType>:$view, Variadic<Index>:$position,
                       Optional<I32>:$turn, Tile_Adds<Optional<Tile_ViewType>>:$turns, Optional<Index>:$place,
                       Optional<I32>:$next);
  let builders = [OpBuilder<(ins "::mlir::Value":$tile, "::mlir::Value":$view, "::mlir::ValueRange":$position), [{
    build($_builder, $_state, tile, view, position, ::mlir::Value(), ::mlir::Value(), ::mlir::Value(), ::mlir::Value());
  }]>];
  let assemblyFormat = [{
    $tile `,` $view `[` $position `]` (`turn` $turn^ `of` $turns `[` $place `]` `next` $next)? attr-dict
    `:` type($tile) `,` qualified(type($view)) (`,` qualified(type($turns))^)?
  }];
  let hasVerifier = 1;
}

def Tile_ArriveOp : Tile_Op<"arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "arrives at a counter in memory, and tells the last program instance of its turn";
  let description = [{
    Adds 1 to the counter `counters[place]` atomically. The instance that is number `count` gets true and sets the
    counter to 0. What all threads of other instances wrote before they arrived happens before what its threads do
    next. At a place outside the counters no instance gets true. All threads of the instance arrive together.

    ```mlir
    %last = tile.arrive %counters[%i] of %count : !tile.view<1xi32>
    scf.if %last {
      ...
    }
    ```
  }];
  let arguments = (ins Tile_Adds<Tile_ViewType>:$counters, Index:$place, I32:$count);
  let results = (outs I1:$last);
  let assemblyFormat = "$counters `[` $place `]` `of` $count attr-dict `:` qualified(type($counters))";
  let hasVerifier = 1;
}

def Tile_NextWorkOp : Tile_Op<"next_work", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "takes the next work index from a counter in memory";
  let description = [{
    Adds 1 to the counter atomically, and returns the counter's previous value. No other program instance gets the same
    value. Launches set a counter (`tile.counter`) to 0. As the condition of an `scf.while`, the op makes a loop of
    which each iteration runs in one program instance:

    ```mlir
    scf.while : () -> i32 {
      %n = tile.next_work %counter : !tile.view<1xi32>
      %more = arith.cmpi slt, %n, %end : i32
      scf.condition(%more) %n : i32
    } do {
    ^bb0(%block: i32):
      ...
      scf.yield
    } attributes {tile.parallel}
    ```
  }];
  let arguments = (ins Tile_Adds<Tile_ViewType>:$counter);
  let results = (outs I32:$number);
  let assemblyFormat = "$counter attr-dict `:` qualified(type($counter))";
  let hasVerifier = 1;
}

def Tile_GatherOp : Tile_Op<"gather", [
    AlwaysSpeculatable, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "reads single elements at positions given by index tiles, or one element at scalar indices";
  let description = [{
    `result[x] = view[indices_0[x], indices_1[x], ...]`, and 0 where this position lies outside the view. If the
    function writes nothing to the tensor, the op has no memory effect, so that passes may move it and share its result.

    ```mlir
    %b = tile.gather %bias[%rows, %keys] : !tile.view<2xf32>, tensor<64x64xi32>, tensor<64x64xi32> -> tensor<64x64xf32>
    %n = tile.gather %lengths[%batch] : !tile.view<1xi32>, index -> i32
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<AnyTypeOf<[Tile_IndexTile, Tile_IndexScalar]>>:$indices);
  let results = (outs AnyTypeOf<[Tile_Tile, Tile_Scalar]>:$result);
  let assemblyFormat = [{
    $view `[` $indices `]` attr-dict `:` qualified(type($view)) `,` type($indices) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_ScatterOp : Tile_Op<"scatter"> {
  let summary = "writes single elements at positions given by index tiles";
  let description = [{
    `view[indices_0[x], indices_1[x], ...] = tile[x]` where this position lies inside the view. Other elements are
    dropped. If several elements have the same position, one of them remains there; it is not defined which.

    ```mlir
    tile.scatter %y, %out[%rows, %columns]
      : tensor<64x128xbf16>, !tile.view<2xbf16>, tensor<64x128xi32>, tensor<64x128xi32>
    ```
  }];
  let arguments = (ins Tile_Tile:$tile, Tile_Writes<Tile_ViewType>:$view, Variadic<Tile_IndexTile>:$indices);
  let assemblyFormat = [{
    $tile `,` $view `[` $indices `]` attr-dict `:` type($tile) `,` qualified(type($view)) `,` type($indices)
  }];
  let hasVerifier = 1;
}

def Tile_ScatterAddOp : Tile_Op<"scatter_add"> {
  let summary = "adds single elements at positions given by index tiles, atomically per element";
  let description = [{
    `view[indices_0[x], indices_1[x], ...] += tile[x]` where this position lies inside the view. It is the adjoint of
    `tile.gather`.

    ```mlir
    tile.scatter_add %ds, %dbias[%rows, %keys] : tensor<64x64xf32>, !tile.view<2xf32>, tensor<64x64xi32>
    ```
  }];
  let arguments = (ins Tile_AddableTile:$tile, Tile_Adds<Tile_ViewType>:$view, Variadic<Tile_IndexTile>:$indices);
  let assemblyFormat = [{
    $tile `,` $view `[` $indices `]` attr-dict `:` type($tile) `,` qualified(type($view)) `,` type($indices)
  }];
  let hasVerifier = 1;
}

//===-- Shapes ----------------------------------------------------------------------------------------------------===//

def Tile_IotaOp : Tile_Op<"iota", [Pure]> {
  let summary = "returns the numbers 0, 1, 2, ...";
  let description = [{
    `result[i] = i`

    ```mlir
    %i = tile.iota : tensor<64xi32>
    ```
  }];
  let results = (outs Tile_IndexTile:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "repeats a scalar, or a tile along its dimensions of size 1";
  let description = [{
    `result[i, j] = source[min(i, d0 - 1), min(j, d1 - 1)]`

    ```mlir
    %a = tile.broadcast %m : tensor<64x1xf32> -> tensor<64x128xf32>
    %b = tile.broadcast %scale : f32 -> tensor<64x128xf32>
    ```
  }];
  let arguments = (ins AnyTypeOf<[Tile_Scalar, Tile_Tile]>:$source);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_ReshapeOp : Tile_Op<"reshape", [Pure]> {
  let summary = "gives a tile another shape, with the same elements in row-major order";
  let description = [{
    ```mlir
    %column = tile.reshape %m : tensor<64xf32> -> tensor<64x1xf32>
    ```
  }];
  let arguments = (ins Tile_Tile:$source);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_TransposeOp : Tile_Op<"transpose", [Pure]> {
  let summary = "permutes the dimensions";
  let description = [{
    Dimension `i` of the result is dimension `permutation[i]` of the source.

    ```mlir
    %kt = tile.transpose %k [1, 0] : tensor<64x128xbf16> -> tensor<128x64xbf16>
    ```
  }];
  let arguments = (ins Tile_Tile:$source, DenseI64ArrayAttr:$permutation);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$source $permutation attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_ColumnsOp : Tile_Op<"columns", [Pure]> {
  let summary = "takes columns of a tile";
  let description = [{
    `result[i, j] = source[i, first + step * j]`. Columns lie along the last dimension, of a tile of any rank.

    ```mlir
    %right = tile.columns %x from 64 step 1 : tensor<64x128xf32> -> tensor<64x64xf32>
    %odd = tile.columns %x from 1 step 2 : tensor<64x128xf32> -> tensor<64x64xf32>
    ```
  }];
  let arguments = (ins Tile_Tile:$source, ConfinedAttr<I64Attr, [IntNonNegative]>:$first,
                       ConfinedAttr<I64Attr, [IntPositive]>:$step);
  let results = (outs Tile_Tile:$result);
  let extraClassDeclaration = [{
    /// Returns the columns of the source that the result consists of.
    ::tegula::tile::ColumnRange getRange();
  }];
  let assemblyFormat = "$source `from` $first `step` $step attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_JoinOp : Tile_Op<"join", [Pure]> {
  let summary = "joins two tiles along their columns";
  let description = [{
    The result has the columns of `left`, then those of `right`. With `interleave`, the columns alternate: column 2 j of
    the result is column j of `left`, and column 2 j + 1 is column j of `right`. Columns lie along the last dimension.

    ```mlir
    %x = tile.join %low, %high : tensor<64x96xf32>, tensor<64x32xf32> -> tensor<64x128xf32>
    %y = tile.join %even, %odd {interleave} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x128xf32>
    ```
  }];
  let arguments = (ins Tile_Tile:$left, Tile_Tile:$right, UnitAttr:$interleave);
  let results = (outs Tile_Tile:$result);
  let extraClassDeclaration = [{
    /// Returns the columns of the result that are operand 0 or 1.
    ::tegula::tile::ColumnRange rangeOf(unsigned operand);
  }];
  let assemblyFormat = "$left `,` $right attr-dict `:` type($left) `,` type($right) `->` type($result)";
  let hasVerifier = 1;
}

//===-- Arithmetic that mixes elements ----------------------------------------------------------------------------===//

def Tile_DotOp : Tile_Op<"dot", [Pure]> {
  let summary = "multiplies two matrices with f32 accumulation";
  let description = [{
    `result[i, j] = acc[i, j] + sum over k of lhs[i, k] * rhs[k, j]`; without `acc` the sum starts at 0. `transpose_lhs`
    reads `lhs[k, i]` instead, and `transpose_rhs` reads `rhs[j, k]`. Canonicalisation folds `tile.transpose` into them.
    Operands may differ in element type: each is widened to f32, which is exact. f32 operands are multiplied in f32
    unless `allow_tf32` is present. With the attribute `tile.warp_local`, each warp of a GPU computes the rows that it
    holds, independently of other warps. The dot may then be in code that only some warps execute.

    ```mlir
    %s = tile.dot %q, %k {transpose_rhs} : tensor<64x128xbf16>, tensor<32x128xbf16> -> tensor<64x32xf32>
    %o = tile.dot %p, %v acc %c
      : tensor<64x32xbf16>, tensor<32x128xbf16>, tensor<64x128xf32> -> tensor<64x128xf32>
    ```
  }];
  let arguments = (ins
    Tile_FloatTile:$lhs, Tile_FloatTile:$rhs,
    Optional<Tile_F32Tile>:$acc,
    UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs, UnitAttr:$allow_tf32);
  let results = (outs Tile_F32Tile:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`acc` $acc^)? attr-dict `:` type($lhs) `,` type($rhs) (`,` type($acc)^)? `->` type($result)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure]> {
  let summary = "combines the elements along one axis, which disappears";
  let description = [{
    `result[i] = source[i, 0] + source[i, 1] + ...` for `add` along axis 1. `max` and `min` may ignore NaN.

    ```mlir
    %m = tile.reduce max %s axis 1 : tensor<64x32xf32> -> tensor<64xf32>
    ```
  }];
  let arguments = (ins Tile_Reduction:$kind, Tile_AddableTile:$source, I64Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$kind $source `axis` $axis attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_CumsumOp : Tile_Op<"cumsum", [Pure, SameOperandsAndResultType]> {
  let summary = "sums the elements along one axis, up to and with each element";
  let description = [{
    `result[i, j] = source[i, 0] + ... + source[i, j]` along axis 1. With `reverse`, the sum is
    `source[i, j] + ... + source[i, n - 1]`. The order of the additions is not defined.

    ```mlir
    %c = tile.cumsum %x axis 1 : tensor<64x32xf32>
    %r = tile.cumsum %x axis 1 {reverse} : tensor<64x32xf32>
    ```
  }];
  let arguments = (ins Tile_AddableTile:$source, I64Attr:$axis, UnitAttr:$reverse);
  let results = (outs Tile_AddableTile:$result);
  let assemblyFormat = "$source `axis` $axis attr-dict `:` type($source)";
  let hasVerifier = 1;
}

def Tile_AnyOp : Tile_Op<"any", [Pure]> {
  let summary = "tests if a condition is true for some element";
  let description = [{
    A target may test only the elements that a group of threads holds, such as a warp, so results may differ between
    threads. Use the op for work that is rarely needed: as the condition of an `scf.if` whose two sides give the same
    result for all elements for which the condition is false.

    ```mlir
    %some = tile.any %exceeds : tensor<64xi1>
    ```
  }];
  let arguments = (ins Tile_TileOf<[I1]>:$condition);
  let results = (outs I1:$result);
  let assemblyFormat = "$condition attr-dict `:` type($condition)";
  let hasFolder = 1;
}

//===-- Debugging -------------------------------------------------------------------------------------------------===//

def Tile_PrintOp : Tile_Op<"print", [MemoryEffects<[MemWrite]>]> {
  let summary = "lets the host print a scalar or a tile";
  let description = [{
    `write-records` replaces the op by stores to a buffer that the launch reads, or erases it if the host wants no text.

    ```mlir
    tile.print "s" %s : tensor<64x32xf32>
    ```
  }];
  let arguments = (ins StrAttr:$label, AnyTypeOf<[Tile_Tile, Tile_Scalar]>:$value);
  let assemblyFormat = "$label $value attr-dict `:` type($value)";
}

def Tile_AssertOp : Tile_Op<"assert", [MemoryEffects<[MemWrite]>]> {
  let summary = "makes a launch fail in which a condition is false";
  let description = [{
    The message has `label` and `value`. `write-records` replaces the op by stores to a buffer that the launch reads, or
    erases it if the host does not want assertions.

    ```mlir
    tile.assert %exists "page" %page : i32
    ```
  }];
  let arguments = (ins I1:$condition, StrAttr:$label, AnyTypeOf<[Tile_Tile, Tile_Scalar]>:$value);
  let assemblyFormat = "$condition $label $value attr-dict `:` type($value)";
}

def Tile_ReportElementOp : Tile_Op<"report_element", [MemoryEffects<[MemWrite]>, AllTypesMatch<["index", "bits"]>]> {
  let summary = "tells the host that an op made an element that is not finite";
  let description = [{
    `made_by` is the name of the op in the language, and `checked` the type of its result. `index` is the element's
    row-major number, and `bits` are its bits as an f32. `check-finite` makes the op, and `write-records` replaces it.

    ```mlir
    tile.report_element "exp"[%index, %bits] of tensor<64x32xf32> : tensor<1xi32>
    ```
  }];
  let arguments = (ins StrAttr:$made_by, Tile_TileOf<[I32]>:$index, Tile_TileOf<[I32]>:$bits, TypeAttr:$checked);
  let assemblyFormat = "$made_by `[` $index `,` $bits `]` `of` $checked attr-dict `:` type($index)";
}

//===-- Random numbers --------------------------------------------------------------------------------------------===//

def Tile_RandomBits : ConfinedAttr<I64Attr, [AttrConstraint<
    CPred<"::llvm::is_contained({8, 32}, ::llvm::cast<::mlir::IntegerAttr>($_self).getInt())">,
    "whose value is 8 or 32">]>;
def Tile_RandomRounds : ConfinedAttr<I64Attr, [IntMinValue<7>, IntMaxValue<16>]>;

def Tile_RandomOp : Tile_Op<"random", [Pure, Elementwise, AllTypesMatch<["row", "column", "result"]>]> {
  let summary = "returns random numbers that depend on a key and a position alone";
  let description = [{
    The generator is Philox 4x32 (Salmon et al. 2011) with `rounds` rounds. Its key is the seed, to whose high half the
    high half of `offset` is added. Each call makes four words of 32 bits from a counter (c0, c1, c2, c3), where c2 is
    `stream` and c3 is the low half of `offset`. Rows and columns are unsigned numbers r and c of 32 bits.

    - `bits 8`: c0 = 4 (r / 16) + (r % 8) / 2, c1 = 4 (c / 16) + (c % 8) / 2. The element is byte
      2 (r / 8 % 2) + c / 8 % 2 of word 2 (r % 2) + c % 2, a number from 0 to 255.
    - `bits 32`: c0 = 2^31 + 8 (r / 16) + r % 8, c1 = 8 (c / 16) + c % 8. The element is word
      2 (r / 8 % 2) + c / 8 % 2.

    A call serves the 16 elements {r, r + 1, r + 8, r + 9} x {c, c + 1, c + 8, c + 9} of `bits 8`. They lie in two
    threads of the accumulators of an MMA, and of their transpose.

    ```mlir
    %x = tile.random %seed, %offset, %stream at %rows, %columns bits 8 rounds 10 : tensor<64x128xi32>
    ```
  }];
  let arguments = (ins I64:$seed, I64:$offset, I32:$stream, AnyTypeOf<[I32, Tile_TileOf<[I32]>]>:$row,
                       AnyTypeOf<[I32, Tile_TileOf<[I32]>]>:$column, Tile_RandomBits:$bits, Tile_RandomRounds:$rounds);
  let results = (outs AnyTypeOf<[I32, Tile_TileOf<[I32]>]>:$result);
  let assemblyFormat = [{
    $seed `,` $offset `,` $stream `at` $row `,` $column `bits` $bits `rounds` $rounds attr-dict `:` type($result)
  }];
}

//===-- Online softmax --------------------------------------------------------------------------------------------===//

def Tile_SoftmaxUpdateOp : Tile_Op<"softmax_update", [Pure,
    TypesMatchWith<"new_max has the type of max", "max", "new_max", "$_self">,
    TypesMatchWith<"new_sum has the type of sum", "sum", "new_sum", "$_self">,
    TypesMatchWith<"new_output has the type of output", "output", "new_output", "$_self">]> {
  let summary = "does one step of the online softmax over a block of keys";
  let description = [{
    Milakov and Gimelshein 2018, in the form of FlashAttention-2 (Dao 2023), section 3.1: the output is not
    divided by the sum until the end.

        m' = max(m, rowmax(s))          -inf while a row has seen no key
        p  = exp(s - m')                0 where s is -inf
        l' = l * exp(m - m') + rowsum(p)
        o' = o * exp(m - m') + p * v

    With `keep`, the dot multiplies only the elements of `p` at which the condition is true; the others count as 0.
    Maxima and sums count all elements. `p` may be rounded to the element type of `v` for the dot, which therefore has
    at least 16 bits. This is one op, so that a target may keep an old maximum as long as results stay exact, and may
    choose the order of the instructions.

    ```mlir
    %m1, %l1, %o1 = tile.softmax_update %s, %v, %m, %l, %o
      : tensor<64x32xf32>, tensor<32x128xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>
    %m2, %l2, %o2 = tile.softmax_update %s, %v, %m, %l, %o keep %kept : tensor<64x32xf32>, tensor<32x128xbf16>,
      tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>, tensor<64x32xi1>
    ```
  }];
  let arguments = (ins
    Tile_F32Tile:$scores, Tile_ProbabilityTile:$values,
    Tile_F32Tile:$max, Tile_F32Tile:$sum, Tile_F32Tile:$output, Optional<Tile_TileOf<[I1]>>:$keep);
  let results = (outs Tile_F32Tile:$new_max, Tile_F32Tile:$new_sum, Tile_F32Tile:$new_output);
  let assemblyFormat = [{
    $scores `,` $values `,` $max `,` $sum `,` $output (`keep` $keep^)? attr-dict
    `:` type($scores) `,` type($values) `,` type($max) `,` type($sum) `,` type($output) (`,` type($keep)^)?
  }];
  let hasVerifier = 1;
}

def Tile_SoftmaxOutputOp : Tile_Op<"softmax_output", [Pure,
    TypesMatchWith<"result has the type of output", "output", "result", "$_self">]> {
  let summary = "returns the attention output of a finished online softmax";
  let description = [{
    `result[i, j] = output[i, j] / sum[i]`, and 0 in rows that have seen no key.

    ```mlir
    %o = tile.softmax_output %l, %acc : tensor<64xf32>, tensor<64x128xf32>
    ```
  }];
  let arguments = (ins Tile_F32Tile:$sum, Tile_F32Tile:$output);
  let results = (outs Tile_F32Tile:$result);
  let assemblyFormat = "$sum `,` $output attr-dict `:` type($sum) `,` type($output)";
  let hasVerifier = 1;
}

def Tile_SoftmaxLseOp : Tile_Op<"softmax_lse", [Pure, SameOperandsAndResultType]> {
  let summary = "returns the log-sum-exp of a finished online softmax";
  let description = [{
    `result[i] = max[i] + ln(sum[i])`, and -inf in rows that have seen no key.

    ```mlir
    %lse = tile.softmax_lse %m, %l : tensor<64xf32>
    ```
  }];
  let arguments = (ins Tile_F32Tile:$max, Tile_F32Tile:$sum);
  let results = (outs Tile_F32Tile:$result);
  let assemblyFormat = "$max `,` $sum attr-dict `:` type($max)";
}

#endif
