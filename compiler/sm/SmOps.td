// SPDX-License-Identifier: MIT
// The ops of the `sm` dialect.
#ifndef TEGULA_SM_OPS
#define TEGULA_SM_OPS

include "compiler/sm/Access.td"
include "compiler/sm/SmDialect.td"
include "compiler/tile/TileDialect.td"
include "compiler/tile/ViewInterface.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/ViewLikeInterface.td"

class Sm_Op<string mnemonic, list<Trait> traits = []> : Op<Sm_Dialect, mnemonic, traits>;

def Sm_Tile : Type<
    CPred<"::tegula::sm::isRegisterTile($_self)">, "tile in registers (a tensor with a #sm.layout)",
    "::mlir::RankedTensorType">;

//===-- Values ----------------------------------------------------------------------------------------------------===//

def Sm_LinearOp : Sm_Op<"linear", [Pure, TypesMatchWith<
    "the first number is an element of the result", "result", "first",
    "::llvm::cast<::mlir::RankedTensorType>($_self).getElementType()">]> {
  let summary = "a tile of numbers that grow by a constant along each dimension";
  let description = [{
    `result[i, j] = first + (steps[0] * i + steps[1] * j)`. The part of the sum that depends on the thread is added to
    `first` once. Each element of a thread then needs one addition of a constant, or none if an integer is compared with
    a constant. Integers do not overflow.

    ```mlir
    %distances = sm.linear %first [1, -1] : tensor<128x64xf32>
    ```
  }];
  let arguments = (ins AnyTypeOf<[F32, I32]>:$first, DenseI64ArrayAttr:$steps);
  let results = (outs RankedTensorOf<[F32, I32]>:$result);
  let assemblyFormat = "$first $steps attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Sm_RandomOp : Sm_Op<"random", [Pure]> {
  let summary = "the random numbers of a block of rows and columns";
  let description = [{
    Element (i, j) is what `tile.random` returns for the row `row + i` and the column `column + j`. If a dimension has
    more than one element, its first row or column is a multiple of 16. The threads that hold the elements of a call of
    the generator are then known, so a thread makes each call once.

    ```mlir
    %x = sm.random %seed, %offset, %stream at %row, %column bits 8 rounds 10 : tensor<64x128xi32>
    ```
  }];
  let arguments = (ins I64:$seed, I64:$offset, I32:$stream, I32:$row, I32:$column, I64Attr:$bits, I64Attr:$rounds);
  let results = (outs RankedTensorOf<[I32]>:$result);
  let assemblyFormat = [{
    $seed `,` $offset `,` $stream `at` $row `,` $column `bits` $bits `rounds` $rounds attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Sm_OpaqueOp : Sm_Op<"opaque", [Pure, SameOperandsAndResultType]> {
  let summary = "a number that the compiler and ptxas cannot prove equal to the operand";
  let description = [{
    For code that runs rarely, such as the recompute path of the optimistic softmax. It computes what it needs from the
    result again, so ptxas keeps no earlier values in registers for it. All lanes of a warp have the same number.

    ```mlir
    %again = sm.opaque %position : i32
    ```
  }];
  let arguments = (ins I32:$source);
  let results = (outs I32:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
}

def Sm_RowLimitOp : Sm_Op<"row_limit", [Pure, AllTypesMatch<["bound", "result"]>]> {
  let summary = "the bound of a loop over columns, and how much earlier the first rows may stop";
  let description = [{
    The result is `bound`. An iteration at `first + x` or later changes nothing for the first x rows of the loop's
    tiles. Warps that have only such rows may leave the loop there (`end-warpgroups-early`).

    ```mlir
    %end = sm.row_limit %bound first %diagonal : index
    %r = scf.for %j = %c0 to %end step %c64 ...
    ```
  }];
  let arguments = (ins Index:$bound, Index:$first);
  let results = (outs Index:$result);
  let assemblyFormat = "$bound `first` $first attr-dict `:` type($result)";
}

//===-- Values: tiles in registers and shared memory --------------------------------------------------------------===//

def Sm_LoadSharedOp : Sm_Op<"load_shared"> {
  let summary = "a tile of a view, in shared memory";
  let description = [{
    `result[x] = view[position + x]` if x is inside `shape` and the element is inside the view, otherwise 0. The result
    has the shape `shape`, rounded up to what its readers need. Later passes decide how the tile gets there.

    ```mlir
    %k = sm.load_shared %K[%j, %c0] [64, 128] : !tile.view<2xbf16> -> !sm.shared<64x128xbf16, 128>
    ```
  }];
  let arguments = (ins Tile_Reads<Tile_ViewType>:$view, Variadic<Index>:$position, DenseI64ArrayAttr:$shape);
  let results = (outs Sm_SharedType:$result);
  let assemblyFormat = [{
    $view `[` $position `]` $shape attr-dict `:` qualified(type($view)) `->` qualified(type($result))
  }];
}

def Sm_ToSharedOp : Sm_Op<"to_shared", [Pure]> {
  let summary = "a tile of registers, in shared memory";
  let description = [{
    The result may be larger than the tile; elements beyond the tile are 0.

    ```mlir
    %p_s = sm.to_shared %p : tensor<64x128xbf16, #c> -> !sm.shared<64x128xbf16, 128>
    ```
  }];
  let arguments = (ins Sm_Tile:$tile);
  let results = (outs Sm_SharedType:$result);
  let assemblyFormat = "$tile attr-dict `:` type($tile) `->` qualified(type($result))";
}

def Sm_TransposeOp : Sm_Op<"transpose"> {
  let summary = "the transpose of a tile in shared memory, in shared memory";
  let description = [{
    For an operand that the tensor cores must read K-major, while memory has it the other way. `plan-roles` decides
    which warps transpose the tile: those of a role of its own or those that compute.

    ```mlir
    %bt = sm.transpose %b : !sm.shared<32x128xf32, 128> -> !sm.shared<128x32xf32, 128>
    ```
  }];
  let arguments = (ins Tile_Reads<Sm_SharedType>:$source);
  let results = (outs Sm_SharedType:$result);
  let assemblyFormat = "$source attr-dict `:` qualified(type($source)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Sm_ConvertOp : Sm_Op<"convert", [Pure]> {
  let summary = "the same tile in another layout";
  let description = [{
    ```mlir
    %y = sm.convert %x : tensor<64x128xf32, #c> -> tensor<64x128xf32, #rows>
    ```
  }];
  let arguments = (ins Sm_Tile:$source);
  let results = (outs Sm_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
}

def Sm_ReshapeOp : Sm_Op<"reshape", [Pure]> {
  let summary = "the same elements in row-major order under another shape, through shared memory";
  let description = [{
    For reshapes in which elements move between threads. A reshape that only adds or removes dimensions of size 1
    remains a `tile.reshape`.

    ```mlir
    %y = sm.reshape %x : tensor<64x128xf32, #a> -> tensor<8192xf32, #b>
    ```
  }];
  let arguments = (ins Sm_Tile:$source);
  let results = (outs Sm_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
}

def Sm_SelectColumnsOp : Sm_Op<"select_columns", [Pure]> {
  let summary = "columns of a tile, through shared memory";
  let description = [{
    Column j of the result is column `first + step * j` of the source, or the nearest column that the source has.
    Columns lie along the last dimension. For columns that move between threads; others remain a `tile.columns`.

    ```mlir
    %y = sm.select_columns %x from 5 step 2 : tensor<64x128xf32, #a> -> tensor<64x24xf32, #b>
    ```
  }];
  let arguments = (ins Sm_Tile:$source, I64Attr:$first, ConfinedAttr<I64Attr, [IntPositive]>:$step);
  let results = (outs Sm_Tile:$result);
  let assemblyFormat = "$source `from` $first `step` $step attr-dict `:` type($source) `->` type($result)";
}

def Sm_PackOp : Sm_Op<"pack", [Pure]> {
  let summary = "pairs of neighbours in a row of 16-bit elements, each pair as one 32-bit number";
  let description = [{
    The first element of a pair is in the low half. Elements outside the tile are 0. `sm.wgmma` takes a left operand in
    registers in this form.

    ```mlir
    %words = sm.pack %p : tensor<64x128xbf16, #c> -> tensor<64x64xi32, #words>
    ```
  }];
  let arguments = (ins Sm_Tile:$source);
  let results = (outs Sm_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
}

def Sm_PartialReduceOp : Sm_Op<"partial_reduce", [Pure]> {
  let summary = "the part of a `tile.reduce` that each thread can do with its own elements";
  let description = [{
    The axis stays, with one element for each thread that had elements along it. A `tile.reduce` along this axis gives
    the whole result.

    ```mlir
    %part = sm.partial_reduce max %s axis 1 : tensor<64x128xf32, #c> -> tensor<64x4xf32, #quads>
    %m = tile.reduce max %part axis 1 : tensor<64x4xf32, #quads> -> tensor<64xf32, #rows>
    ```
  }];
  let arguments = (ins Tile_Reduction:$kind, Sm_Tile:$source, I64Attr:$axis);
  let results = (outs Sm_Tile:$result);
  let assemblyFormat = "$kind $source `axis` $axis attr-dict `:` type($source) `->` type($result)";
}

def Sm_ReadOp : Sm_Op<"read"> {
  let summary = "a tile of shared memory, in registers";
  let description = [{
    The tile may be smaller than the buffer in every dimension. With `reshaped`, tile and buffer are taken in row-major
    order and only need the same number of elements. With `from` and `step`, column j of the tile is column
    `first + step * j` of the buffer, or the nearest column that the buffer has.

    ```mlir
    %q = sm.read %q_s : !sm.shared<128x128xbf16, 128> -> tensor<128x128xbf16, #a>
    %y = sm.read %x_s from 5 step 2 : !sm.shared<64x128xf32, 0> -> tensor<64x24xf32, #b>
    ```
  }];
  let arguments = (ins Tile_Reads<Sm_SharedType>:$shared, UnitAttr:$reshaped, OptionalAttr<I64Attr>:$first,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$step);
  let results = (outs Sm_Tile:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$shared, CArg<"bool", "false">:$reshaped), [{
    build($_builder, $_state, result, shared, reshaped, ::mlir::IntegerAttr(), ::mlir::IntegerAttr());
  }]>];
  let assemblyFormat = [{
    $shared (`from` $first^ `step` $step)? attr-dict `:` qualified(type($shared)) `->` type($result)
  }];
}

def Sm_MmaOp : Sm_Op<"mma"> {
  let summary = "a matrix multiplication whose result has the layout of tensor-core accumulators";
  let description = [{
    `result[i, j] = acc[i, j] + sum over k < depth of lhs[i, k] * rhs[k, j]`. `lhs` is in shared memory, or in registers
    with the `operandLayout` that belongs to the result's layout. `rhs` is in shared memory. `transpose_lhs` and
    `transpose_rhs` mean the same as in `tile.dot`. The element types choose the hardware:

    | element types              | computation                                                  |
    | -------------------------- | ------------------------------------------------------------ |
    | both bf16, or both f16     | tensor cores, f32 accumulators                               |
    | both f32, and `allow_tf32` | tensor cores on operands rounded to tf32, f32 accumulators   |
    | others                     | f32 multiply-adds of threads, on operands that are widened   |

    ```mlir
    %s = sm.mma %q, %k depth 128 {transpose_rhs}
      : !sm.shared<128x128xbf16, 128>, !sm.shared<64x128xbf16, 128> -> tensor<128x64xf32, #c>
    %o = sm.mma %p, %v depth 64 acc %o0
      : tensor<128x64xbf16, #a>, !sm.shared<64x128xbf16, 128>, tensor<128x128xf32, #c> -> tensor<128x128xf32, #c>
    ```
  }];
  let arguments = (ins
    Tile_Reads<AnyTypeOf<[Sm_SharedType, Sm_Tile]>>:$lhs, Tile_Reads<Sm_SharedType>:$rhs, I64Attr:$depth,
    Optional<Sm_Tile>:$acc,
    UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs, UnitAttr:$allow_tf32);
  let results = (outs Sm_Tile:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `depth` $depth (`acc` $acc^)? attr-dict
    `:` qualified(type($lhs)) `,` qualified(type($rhs)) (`,` type($acc)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

//===-- Shared memory ---------------------------------------------------------------------------------------------===//

def Sm_AllocOp : Sm_Op<"alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "a buffer in shared memory";
  let description = [{
    `offset` is the byte offset of the buffer in shared memory, a multiple of 1024. `plan-shared` sets it. The contents
    are undefined.

    ```mlir
    %ring = sm.alloc : !sm.shared<2x64x128xbf16, 128>
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Sm_SharedType:$result);
  let builders =
    [OpBuilder<(ins "::mlir::Type":$result), [{ build($_builder, $_state, result, ::mlir::IntegerAttr()); }]>];
  let assemblyFormat = "attr-dict `:` qualified(type($result))";
}

def Sm_SlotOp : Sm_Op<"slot", [Pure, ViewLikeOpInterface]> {
  let summary = "one tile of a ring";
  let description = [{
    ```mlir
    %k = sm.slot %ring[%i] : !sm.shared<2x64x128xbf16, 128> -> !sm.shared<64x128xbf16, 128>
    ```
  }];
  let arguments = (ins Sm_SharedType:$ring, I32:$index);
  let results = (outs Sm_SharedType:$result);
  let extraClassDeclaration = "::mlir::Value getViewSource() { return getRing(); }";
  let assemblyFormat = "$ring `[` $index `]` attr-dict `:` qualified(type($ring)) `->` qualified(type($result))";
}

def Sm_ColumnsOp : Sm_Op<"columns", [Pure, ViewLikeOpInterface]> {
  let summary = "a range of columns of a matrix";
  let description = [{
    The columns from `first` on. The range consists of whole panels.

    ```mlir
    %right = sm.columns %k from 128 : !sm.shared<96x256xbf16, 128> -> !sm.shared<96x128xbf16, 128>
    ```
  }];
  let arguments = (ins Sm_SharedType:$matrix, I64Attr:$first);
  let results = (outs Sm_SharedType:$result);
  let extraClassDeclaration = "::mlir::Value getViewSource() { return getMatrix(); }";
  let assemblyFormat = "$matrix `from` $first attr-dict `:` qualified(type($matrix)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Sm_CopyInOp : Sm_Op<"copy_in", [Sm_Async]> {
  let summary = "starts copying a tile of a view to shared memory";
  let description = [{
    Copies what `sm.load_shared` describes. The issuing thread sees the data after an `sm.wait` that covers the copy,
    other threads after an additional `sm.barrier`.

    ```mlir
    sm.copy_in %K[%j, %c0] [64, 128], %k : !tile.view<2xbf16>, !sm.shared<64x128xbf16, 128>
    ```
  }];
  let arguments = (ins Tile_Reads<Tile_ViewType>:$view, Variadic<Index>:$position, DenseI64ArrayAttr:$shape,
                       Tile_Writes<Sm_SharedType>:$shared);
  let assemblyFormat = [{
    $view `[` $position `]` $shape `,` $shared attr-dict `:` qualified(type($view)) `,` qualified(type($shared))
  }];
}

def Sm_CommitOp : Sm_Op<"commit", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "closes the commit group of all copies that this thread has started since its last commit";
  let description = [{
    The result stands for the copies. With `joins_next`, the group stays open until the next commit, which adds its
    copies.

    ```mlir
    %k_copies = sm.commit
    %q_copies = sm.commit joins_next
    ```
  }];
  let arguments = (ins UnitAttr:$joins_next);
  let results = (outs Sm_CopiesType:$copies);
  let assemblyFormat = "(`joins_next` $joins_next^)? attr-dict";
  let hasVerifier = 1;
}

def Sm_WaitOp : Sm_Op<"wait", [MemoryEffects<[MemRead, MemWrite]>, Sm_Orders]> {
  let summary = "waits until the copies of commit groups of this thread are finished";
  let description = [{
    Groups finish in the order of their commits. `pending` is the number of younger groups that may still be in flight.
    `count-waits` sets it; without it, none may.

    ```mlir
    sm.wait %q_copies, %k_copies pending 1
    ```
  }];
  let arguments = (ins Variadic<Sm_CopiesType>:$copies,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$pending);
  let builders =
    [OpBuilder<(ins "::mlir::ValueRange":$copies), [{ build($_builder, $_state, copies, ::mlir::IntegerAttr()); }]>];
  let assemblyFormat = "$copies (`pending` $pending^)? attr-dict";
}

def Sm_WriteOp : Sm_Op<"write"> {
  let summary = "writes a tile from registers to shared memory";
  let description = [{
    Writes what `sm.to_shared` describes. With `staggered`, odd rows write the two halves of a panel in the other order,
    which spreads f32 accumulators of an `sm.wgmma` over the banks.

    ```mlir
    sm.write %p, %p_s : tensor<64x128xbf16, #c>, !sm.shared<64x128xbf16, 128>
    sm.write %dq, %buffer staggered : tensor<64x128xf32, #c>, !sm.shared<64x128xf32, 128>
    ```
  }];
  let arguments = (ins Sm_Tile:$tile, Tile_Writes<Sm_SharedType>:$shared, UnitAttr:$staggered);
  let assemblyFormat = [{
    $tile `,` $shared (`staggered` $staggered^)? attr-dict `:` type($tile) `,` qualified(type($shared))
  }];
}

def Sm_CopyOutOp : Sm_Op<"copy_out"> {
  let summary = "copies a tile from shared memory to a view, by lanes";
  let description = [{
    `view[position + x] = shared[x]` for every x inside `shape` whose element lies inside the view. Both element types
    are equal.

    With `rows_of_warp`, warp w copies `rows_of_warp` rows from row w * rows_of_warp on. Its own lanes have written
    these rows and will write them next, so warps need not wait for each other.

    ```mlir
    sm.copy_out %o_s, %O[%i, %c0] [128, 128] rows_of_warp 16 : !sm.shared<128x128xbf16, 128>, !tile.view<2xbf16>
    ```
  }];
  let arguments = (ins Tile_Reads<Sm_SharedType>:$shared, Tile_Writes<Tile_ViewType>:$view, Variadic<Index>:$position,
                       DenseI64ArrayAttr:$shape, OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$rows_of_warp);
  let assemblyFormat = [{
    $shared `,` $view `[` $position `]` $shape (`rows_of_warp` $rows_of_warp^)? attr-dict `:`
    qualified(type($shared)) `,` qualified(type($view))
  }];
}

def Sm_TmaStoreOp : Sm_Op<"tma_store", [Sm_Async]> {
  let summary = "starts the TMA stores of a tile from shared memory to a view";
  let description = [{
    Does what `sm.copy_out` with `rows_of_warp` does, where an `sm.fits` is true. Each warp starts the store of its own
    rows. TMA reads the tile after the op is over, until an `sm.tma_store_wait`.

    ```mlir
    sm.tma_store %o_s, %O[%i, %c0] rows_of_warp 16 : !sm.shared<128x128xbf16, 128>, !tile.view<2xbf16>
    ```
  }];
  let arguments = (ins Tile_Reads<Sm_SharedType>:$shared, Tile_Writes<Tile_ViewType>:$view, Variadic<Index>:$position,
                       ConfinedAttr<I64Attr, [IntPositive]>:$rows_of_warp);
  let assemblyFormat = [{
    $shared `,` $view `[` $position `]` `rows_of_warp` $rows_of_warp attr-dict `:`
    qualified(type($shared)) `,` qualified(type($view))
  }];
  let hasVerifier = 1;
}

def Sm_TmaCommitOp : Sm_Op<"tma_commit", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "closes a commit group of TMA without a store, so that waits can count stores that lanes make instead";
  let assemblyFormat = "attr-dict";
}

def Sm_TmaStoreWaitOp : Sm_Op<"tma_store_wait", [MemoryEffects<[MemRead, MemWrite]>, Sm_Orders]> {
  let summary = "waits until TMA has read what this thread stores from a buffer";
  let description = [{
    One lane starts the stores of its warp, so the other lanes may write the buffer only after an `sm.barrier warp` that
    follows.
    Without a buffer, the op waits for all stores and additions of the thread. With `written`, it waits until these are
    over, so that other program instances see them after a pass of a turn.

    `pending` is the number of younger stores that may still run. `count-waits` sets it; without it, none may.

    ```mlir
    sm.tma_store_wait %o_s pending 1 : !sm.shared<128x128xbf16, 128>
    sm.tma_store_wait
    sm.tma_store_wait written
    ```
  }];
  let arguments = (ins Optional<Sm_SharedType>:$shared,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$pending, UnitAttr:$written);
  let builders =
    [OpBuilder<(ins "::mlir::Value":$shared), [{ build($_builder, $_state, shared, ::mlir::IntegerAttr()); }]>];
  let assemblyFormat = [{
    ($shared^)? (`pending` $pending^)? (`written` $written^)? attr-dict (`:` qualified(type($shared))^)?
  }];
  let hasVerifier = 1;
}

def Sm_FitsOp : Sm_Op<"fits", [Pure]> {
  let summary = "true if TMA can store tiles in a tensor, or add them to it, in this launch";
  let description = [{
    TMA can if the strides of the tensor allow it and all `indices` are coordinates. A tile may lie between them: they
    are bounds of its indices in the tensor, such as those of a loop. The tiles come from buffers of type `buffer`. With
    `ends_inside`, they are of rows that end inside the tensor (`tile.rows`).

    The op asks about additions (`sm.tma_add`, also for `columns`), and all threads of a role have the same result. With
    `rows_of_warp`, it asks about the store of one tile, of which each warp has that number of rows. All threads of a
    warp then have the same result.

    ```mlir
    %fits = sm.fits %dQ at %first, %end, %c0 from !sm.shared<64x128xf32, 128> : !tile.view<2xf32>
    %fits = sm.fits %O at %c0, %i from !sm.shared<128x128xbf16, 128> rows_of_warp 16 : !tile.view<2xbf16>
    ```
  }];
  let arguments = (ins Tile_ViewType:$tensor, Variadic<Index>:$indices, TypeAttrOf<Sm_SharedType>:$buffer,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$rows_of_warp,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$columns, UnitAttr:$ends_inside);
  let results = (outs I1:$result);
  let assemblyFormat = [{
    $tensor `at` $indices `from` $buffer (`rows_of_warp` $rows_of_warp^)? (`columns` $columns^)?
    (`ends_inside` $ends_inside^)? attr-dict `:` qualified(type($tensor))
  }];
  let hasVerifier = 1;
}

def Sm_CoordinatesOp : Sm_Op<"coordinates", [Pure]> {
  let summary = "the coordinates of a position, as TMA and the counters of turns take them";
  let description = [{
    The coordinates are those in the tensor of the view, the innermost dimension first, clamped to i32. With `tested`,
    an `sm.fits` is true of the position, so that nothing is clamped. If the rows of the view end inside the tensor, two
    more say where (docs/design/tma.md). A role may hand them to another one.

    ```mlir
    %at:3 = sm.coordinates %matrix[%i, %c0] : !tile.view<2xf32> -> i32, i32, i32
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$position, UnitAttr:$tested);
  let results = (outs Variadic<I32>:$coordinates);
  let builders =
    [OpBuilder<(ins "::mlir::Value":$view, "::mlir::ValueRange":$position, CArg<"bool", "false">:$tested)>];
  let assemblyFormat = [{
    $view `[` $position `]` (`tested` $tested^)? attr-dict `:` qualified(type($view)) `->` type($coordinates)
  }];
  let hasVerifier = 1;
}

def Sm_TmaAddOp : Sm_Op<"tma_add", [Sm_Async]> {
  let summary = "starts the TMA additions of a tile in shared memory";
  let description = [{
    Adds the tile to a tensor at the `coordinates` that an `sm.coordinates` has computed, where an `sm.fits` is true.
    The tile has the layout of the accumulators of an `sm.wgmma`. In a role with the warps of `layout`, each warp starts
    the additions of what it has written. In a role of one warp, each lane starts those of what one warp of `layout`
    holds. The buffer has whole panels for all columns of the layout. With `columns`, the tile begins at column 0, has
    only that number of columns, and TMA sees no more of the tensor. Only additions may access the tensor. TMA reads the
    tile after the op is over, until an `sm.tma_store_wait`.

    ```mlir
    sm.tma_add %tile layout #c, %dQ at %x, %y, %head : !sm.shared<64x128xf32, 128>, !tile.view<3xf32>
    ```
  }];
  let arguments = (ins Tile_Reads<Sm_SharedType>:$shared, Sm_LayoutAttr:$layout,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$columns,
                       Tile_Adds<Tile_ViewType>:$tensor, Variadic<I32>:$coordinates);
  let extraClassDeclaration = [{
    /// Returns true if the tile is one of rows that end inside the tensor.
    bool endsInside() { return getCoordinates().size() != static_cast<size_t>(getTensor().getType().getRank()); }
    /// Returns the type of the tile in registers.
    ::mlir::RankedTensorType tile() {
      SharedType type = getShared().getType();
      const int64_t columns = getColumns().value_or(type.getShape().back());
      return ::mlir::RankedTensorType::get({type.getShape().front(), columns}, type.getElementType(), getLayout());
    }
  }];
  let assemblyFormat = [{
    $shared `layout` qualified($layout) (`columns` $columns^)? `,` $tensor `at` $coordinates attr-dict
    `:` qualified(type($shared)) `,` qualified(type($tensor))
  }];
  let hasVerifier = 1;
}

def Sm_BarrierOp : Sm_Op<"barrier", [MemoryEffects<[MemRead, MemWrite]>, Sm_Orders]> {
  let summary = "waits for all threads of the role or the program instance, and orders their accesses";
  let description = [{
    With `warp`, waits only for the threads of the same warp.

    ```mlir
    sm.barrier
    sm.barrier warp
    ```
  }];
  let arguments = (ins UnitAttr:$warp);
  let assemblyFormat = "(`warp` $warp^)? attr-dict";
}

//===-- One thread for all ----------------------------------------------------------------------------------------===//

def Sm_DrawWorkOp : Sm_Op<"draw_work", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "takes the next work index from a counter by one thread, which writes it to the word that all share";
  let description = [{
    The first thread of the role or of the program instance does what `tile.next_work` describes. A barrier must come
    before, so that all threads have read the word of an earlier op, and another one before an `sm.read_word`.

    ```mlir
    sm.barrier
    sm.draw_work %counter : !tile.view<1xi32>
    sm.barrier
    %n = sm.read_word : i32
    ```
  }];
  let arguments = (ins Tile_Adds<Tile_ViewType>:$counter);
  let assemblyFormat = "$counter attr-dict `:` qualified(type($counter))";
}

def Sm_ArriveOp : Sm_Op<"arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "arrives at a counter by one thread, which writes to the word that all share if it is the last";
  let description = [{
    The first thread of the role or of the program instance does what `tile.arrive` describes. The word becomes 1 if the
    instance is the last one, otherwise 0. Barriers must come before and after, as for `sm.draw_work`. They also order
    the arrival after all that the threads wrote before, and before all that they do next.

    ```mlir
    sm.barrier
    sm.arrive %counters[%i] of %count : !tile.view<1xi32>
    sm.barrier
    %last = sm.read_word : i32
    ```
  }];
  let arguments = (ins Tile_Adds<Tile_ViewType>:$counters, Index:$place, I32:$count);
  let assemblyFormat = "$counters `[` $place `]` `of` $count attr-dict `:` qualified(type($counters))";
}

def Sm_ReadWordOp : Sm_Op<"read_word", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the word that one thread has written for all";
  let description = [{
    ```mlir
    %n = sm.read_word : i32
    ```
  }];
  let results = (outs I32:$word);
  let assemblyFormat = "attr-dict `:` type($word)";
}

//===-- Turns of memory -------------------------------------------------------------------------------------------===//

def Sm_WaitMemoryTurnOp : Sm_Op<"wait_memory_turn", [
    MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "waits until program instances before this one have passed a turn on";
  let description = [{
    One thread of the role or of the program instance waits until the counter `turns[place]` is at least `number`. What
    happened before an `sm.pass_memory_turn` made it so has then happened for this thread, and after a barrier for the
    others. There is no wait if `place` is outside the view. `known`, if any, is a number that the counter has been seen
    with, by an `sm.read_memory_turn`: the wait may then end without a look at the counter.

    ```mlir
    sm.wait_memory_turn %turns[%i] until %n : !tile.view<1xi32>
    sm.wait_memory_turn %turns[%i] until %n known %now : !tile.view<1xi32>
    ```
  }];
  let arguments = (ins Tile_Adds<Tile_ViewType>:$turns, Variadic<Index>:$place, I32:$number, Optional<I32>:$known);
  let assemblyFormat = [{
    $turns `[` $place `]` `until` $number (`known` $known^)? attr-dict `:` qualified(type($turns))
  }];
}

def Sm_ReadMemoryTurnOp : Sm_Op<"read_memory_turn", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the counter of a turn; 0 if the place is outside the view";
  let description = [{
    What happened before the counter became this number has happened for the thread.

    ```mlir
    %now = sm.read_memory_turn %turns[%i] : !tile.view<1xi32>
    ```
  }];
  let arguments = (ins Tile_Adds<Tile_ViewType>:$turns, Variadic<Index>:$place);
  let results = (outs I32:$number);
  let assemblyFormat = "$turns `[` $place `]` attr-dict `:` qualified(type($turns))";
}

def Sm_PassMemoryTurnOp : Sm_Op<"pass_memory_turn", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "passes a turn on to another program instance";
  let description = [{
    One thread of the role or of the program instance raises the counter `turns[place]` to `number`, unless it is larger
    already. A barrier must come before, so that all threads have done what the turn was for.

    ```mlir
    sm.pass_memory_turn %turns[%i] next %m : !tile.view<1xi32>
    ```
  }];
  let arguments = (ins Tile_Adds<Tile_ViewType>:$turns, Variadic<Index>:$place, I32:$number);
  let assemblyFormat = "$turns `[` $place `]` `next` $number attr-dict `:` qualified(type($turns))";
}

//===-- Roles -----------------------------------------------------------------------------------------------------===//

def Sm_RolesOp : Sm_Op<"roles", [SingleBlockImplicitTerminator<"EndOp">]> {
  let summary = "divides the warps into roles, which pass tiles to each other through channels";
  let description = [{
    Each role has a name, a number of warps, and a program. Its threads may use the given number of registers. Warps are
    numbered in the order of the roles; in a role, they count from 0. A role has one to three warps, or whole
    warpgroups. Roles of one to three warps with equal registers share a warpgroup; any other role begins at the next
    one, because warpgroups divide the registers. Warps that no role takes end at once. `sm.roles` is the last op of its
    function, because the roles do not meet again.

    `barrier` is the named barrier at which the warps of a role meet, `turns` that of its first warpgroup's turn
    (`sm.sequence_init`). `plan-shared` sets them.

    ```mlir
    sm.roles {
      compute warps 8 registers 240 barrier 1 turns 2 {
        %k = sm.consumer_wait ...
      }
      load warps 1 registers 24 {
        sm.producer_load ...
      }
    }
    ```
  }];
  let arguments = (ins StrArrayAttr:$names, DenseI64ArrayAttr:$warps, DenseI64ArrayAttr:$registers,
                       OptionalAttr<DenseI64ArrayAttr>:$barriers, OptionalAttr<DenseI64ArrayAttr>:$turns);
  let regions = (region VariadicRegion<SizedRegion<1>>:$bodies);
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::ArrayAttr":$roles)>];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Sm_EndOp : Sm_Op<"end", [Terminator, Pure, ParentOneOf<["RolesOp", "ElectOp"]>]> {
  let summary = "the end of a role, or of what one lane executes";
  let assemblyFormat = "attr-dict";
}

def Sm_ElectOp : Sm_Op<"elect", [SingleBlockImplicitTerminator<"EndOp">, RecursiveMemoryEffects]> {
  let summary = "a part of a role that one lane of a warp executes";
  let description = [{
    It is in a role of one warp. The other lanes go on with what follows.

    ```mlir
    sm.elect {
      sm.producer_load %K[%j, %c0] [128, 128], %k[%slot] phase %phase
        : !tile.view<2xbf16>, !sm.channel<2, !sm.shared<128x128xbf16, 128>>
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins), [{ ensureTerminator(*$_state.addRegion(), $_builder, $_state.location); }]>];
  let assemblyFormat = "$body attr-dict";
  let hasVerifier = 1;
}

def Sm_ChannelOp : Sm_Op<"channel", [MemoryEffects<[MemAlloc]>, ViewLikeOpInterface]> {
  let summary = "a ring of slots with the mbarriers that hand each slot from one role to others and back";
  let description = [{
    A slot has a part for each tile that it passes. The tiles of a part lie in a buffer of `rings`, work indices next to
    the mbarriers. At first all slots are empty. The role `from` fills them, the roles `to` read them. A slot is full
    when all of its parts are. A slot is empty again when each reading warpgroup has released it. If no role
    releases a slot, each is filled once, without waiting. With `per_warpgroup`, each warpgroup of `from` fills a part
    of each slot (`sm.producer_store`) and has a full mbarrier of its own, and there are no empty ones. `protocolOf`
    counts the mbarriers and their arrivals. A slot of accumulators in tensor memory has no buffer here: products that a
    lane starts fill it (`sm.producer_acquire`, `sm.producer_commit`), and an `sm.wait_full` waits for it.

    With `by_barriers`, named barriers hand over the only slot, so warps sleep while they wait, and need no phase. Whole
    warpgroups fill it (`sm.producer_store`), one warp reads it. It waits by an `sm.next`, and first releases the slot.
    A slot then also has `words` of 32 bits. `first_barrier` is the barrier at which the slot becomes full; one for each
    warpgroup follows, at which it becomes empty. `plan-shared` sets it.

    ```mlir
    %k = sm.channel %ring from load to [compute] : !sm.channel<2, !sm.shared<128x128xbf16, 128>>
    %ab = sm.channel %as, %bs from load to [compute]
      : !sm.channel<3, !sm.shared<128x64xbf16, 128>, !sm.shared<64x128xbf16, 128>>
    %work = sm.channel from load to [compute] : !sm.channel<2>
    %ds = sm.channel %ring from compute to [compute] per_warpgroup : !sm.channel<3, !sm.shared<128x64xbf16, 128>>
    %dq = sm.channel %ring from compute to [add] by_barriers words 4 : !sm.channel<1, !sm.shared<64x128xf32, 128>>
    ```
  }];
  let arguments = (ins Variadic<Sm_SharedType>:$rings, StrAttr:$from, StrArrayAttr:$to, UnitAttr:$per_warpgroup,
                       UnitAttr:$by_barriers, OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$words,
                       OptionalAttr<I64Attr>:$first_barrier);
  let results = (outs Sm_ChannelType:$result);
  let extraClassDeclaration = [{
    /// Returns the ring of part 0. The ops that name the tiles of a slot know the rings of all parts (Tile_Parts).
    ::mlir::Value getViewSource() { return getRings().empty() ? ::mlir::Value() : getRings().front(); }
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Sm_ProducerLoadOp : Sm_Op<"producer_load", [Sm_Async, Sm_RoleEvents]> {
  let summary = "waits until a slot of a channel is empty, then starts to load a tile into it";
  let description = [{
    Loads what `sm.load_shared` describes, for the consumers that wait for the slot in this phase. The phase is 0 in the
    first round through the ring, then 1, then 0 again. The producer does not wait for the data. If TMA cannot copy the
    tile, the producer copies the elements itself. With `tma_only` it then leaves the slot as it is and marks it as
    full. Consumers make the same test (`sm.is_loaded`) and get the tile themselves. With `fenced`, lanes that copy
    elements let MMAs see them before they mark the slot as full. `place-fences` sets it.

    If the slot has several parts, a load for each follows, in their order. The load of part 0 waits for the slot, and
    tells its full mbarrier how many bytes all of them bring.

    If no consumer releases the slots of this channel, a release of another channel frees them, too, and the producer
    has already waited for that one in this round.

    After `elect-lanes`, TMA loads the tile. One lane starts it in an `sm.elect`. If the op is in none, the lanes of the
    warp share the boxes of a tile in several pages: each lane says where a box is, and one lane starts the copies. With
    `tested`, an `sm.producer_acquire` has waited for the slot, and an `sm.is_loaded` of the tile is true.

    ```mlir
    sm.producer_load %K[%j, %c0] [128, 128], %k[%slot] phase %phase
      : !tile.view<2xbf16>, !sm.channel<2, !sm.shared<128x128xbf16, 128>>
    sm.producer_load %B[%k, %j] [64, 128], %ab[%slot] phase %phase part 1
      : !tile.view<2xbf16>, !sm.channel<3, !sm.shared<128x64xbf16, 128>, !sm.shared<64x128xbf16, 128>>
    ```
  }];
  let arguments = (ins
    Tile_Reads<Tile_ViewType>:$view, Variadic<Index>:$position, DenseI64ArrayAttr:$shape,
    Sm_WritesSlot<Sm_ChannelType>:$channel, I32:$slot, I32:$phase,
    DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative]>, "0">:$part, UnitAttr:$tma_only, UnitAttr:$tested,
    UnitAttr:$fenced);
  let assemblyFormat = [{
    $view `[` $position `]` $shape `,` $channel `[` $slot `]` `phase` $phase (`part` $part^)? (`tma_only` $tma_only^)?
    (`tested` $tested^)? attr-dict `:` qualified(type($view)) `,` qualified(type($channel))
  }];
  let extraClassDeclaration = [{
    /// Returns the type of the tile that the op loads.
    SharedType getTile() { return getChannel().getType().getParts()[getPart()]; }
    bool fillsFirstPart() { return getPart() == 0; }
    bool fillsLastPart() { return getPart() + 1 == getChannel().getType().getParts().size(); }
  }];
  let hasVerifier = 1;
}

def Sm_ProducerAcquireOp : Sm_Op<"producer_acquire", [
    MemoryEffects<[MemRead, MemWrite]>, Sm_RoleEvents, Tile_Parts,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "waits until a slot of a channel is empty; the results are its tiles";
  let description = [{
    There is a result for each part. There is no wait if no role releases the slots of the channel. A channel that
    passes accumulators in tensor memory has no tiles, so the op then has no result.

    ```mlir
    %tile = sm.producer_acquire %k[%slot] phase %phase : !sm.channel<2, !sm.shared<128x128xbf16, 128>>
    sm.producer_acquire %c[%slot] phase %phase : !sm.channel<1>
    ```
  }];
  let arguments = (ins Sm_ChannelType:$channel, I32:$slot, I32:$phase);
  let results = (outs Variadic<Sm_SharedType>:$tiles);
  let extraClassDeclaration = "::mlir::Value getViewSource() { return getChannel(); }";
  let assemblyFormat = "$channel `[` $slot `]` `phase` $phase attr-dict `:` qualified(type($channel))";
  let hasVerifier = 1;
}

def Sm_ProducerCommitOp : Sm_Op<"producer_commit", [MemoryEffects<[MemRead, MemWrite]>, Sm_RoleEvents]> {
  let summary = "makes a slot full";
  let description = [{
    One lane arrives for its warp. With `after_products`, the slot of a channel without tiles becomes full later, when
    the products that the lane has started are over.

    ```mlir
    sm.producer_commit %k[%slot] : !sm.channel<2, !sm.shared<128x128xbf16, 128>>
    sm.producer_commit %c[%slot] after_products : !sm.channel<1>
    ```
  }];
  let arguments = (ins Sm_ChannelType:$channel, I32:$slot, UnitAttr:$after_products);
  let assemblyFormat = [{
    $channel `[` $slot `]` (`after_products` $after_products^)? attr-dict `:` qualified(type($channel))
  }];
  let hasVerifier = 1;
}

def Sm_ConsumerWaitOp : Sm_Op<"consumer_wait", [
    MemoryEffects<[MemRead, MemWrite]>, Sm_Orders, Sm_RoleEvents, Tile_Parts,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "waits until a slot of a channel is full; the results are its tiles";
  let description = [{
    There is a result for each part.

    ```mlir
    %tile = sm.consumer_wait %k[%slot] phase %phase : !sm.channel<2, !sm.shared<128x128xbf16, 128>>
    %a, %b = sm.consumer_wait %ab[%slot] phase %phase
      : !sm.channel<3, !sm.shared<128x64xbf16, 128>, !sm.shared<64x128xbf16, 128>>
    ```

    With `already_full`, another wait before it implies this one, and the op only names the tiles.
  }];
  let arguments = (ins Sm_ChannelType:$channel, I32:$slot, I32:$phase, UnitAttr:$already_full);
  let results = (outs Variadic<Sm_SharedType>:$tiles);
  let extraClassDeclaration = "::mlir::Value getViewSource() { return getChannel(); }";
  let assemblyFormat = [{
    $channel `[` $slot `]` `phase` $phase (`already_full` $already_full^)? attr-dict `:` qualified(type($channel))
  }];
  let hasVerifier = 1;
}

def Sm_ProducerStoreOp : Sm_Op<"producer_store", [Sm_RoleEvents]> {
  let summary = "writes a tile from registers to a slot of a channel";
  let description = [{
    Waits until the slot is empty. Each warp of the role then writes its elements of the tile and arrives at the full
    mbarrier, which counts the warps.

    In a channel `per_warpgroup`, which warpgroups fill for each other, a warp arrives at the mbarrier of its warpgroup.
    An `sm.consumer_wait` for the slot returns when all warpgroups have stored it. No op releases the slots, and no
    store waits: the channel must have enough slots that every reader of a tile is over when its slot is written again.
    `exchange-tiles` counts them.

    In a channel `by_barriers`, the phase counts for nothing, and the first thread writes the words of the slot. With
    `staggered`, odd rows write the two halves of a panel in the other order, which spreads f32 accumulators over the
    banks.

    ```mlir
    sm.producer_store %ds, %c[%slot] phase %phase
      : tensor<128x64xbf16, #c>, !sm.channel<3, !sm.shared<128x64xbf16, 128>>
    sm.producer_store %dq, %c[%zero] phase %zero words(%x, %y) staggered
      : tensor<64x128xf32, #c>, !sm.channel<1, !sm.shared<64x128xf32, 128>>
    ```
  }];
  let arguments = (ins Sm_Tile:$tile, Sm_WritesSlot<Sm_ChannelType>:$channel, I32:$slot, I32:$phase,
                       Variadic<I32>:$words, UnitAttr:$staggered);
  let assemblyFormat = [{
    $tile `,` $channel `[` $slot `]` `phase` $phase (`words` `(` $words^ `)`)? (`staggered` $staggered^)? attr-dict
    `:` type($tile) `,` qualified(type($channel))
  }];
  let hasVerifier = 1;
}

def Sm_CloseOp : Sm_Op<"close", [MemoryEffects<[MemRead, MemWrite]>, Sm_RoleEvents]> {
  let summary = "waits until the slot of a channel is empty, then says that no tile follows";
  let description = [{
    The last op of the writing role on a channel `by_barriers`.

    ```mlir
    sm.close %c : !sm.channel<1, !sm.shared<64x128xf32, 128>>
    ```
  }];
  let arguments = (ins Sm_ChannelType:$channel);
  let assemblyFormat = "$channel attr-dict `:` qualified(type($channel))";
  let hasVerifier = 1;
}

def Sm_NextOp : Sm_Op<"next", [MemoryEffects<[MemRead, MemWrite]>, Sm_RoleEvents]> {
  let summary = "waits until a slot is full or the channel is closed; true if the slot is full";
  let description = [{
    ```mlir
    %open = sm.next %c : !sm.channel<1, !sm.shared<64x128xf32, 128>>
    ```
  }];
  let arguments = (ins Sm_ChannelType:$channel);
  let results = (outs I1:$open);
  let assemblyFormat = "$channel attr-dict `:` qualified(type($channel))";
  let hasVerifier = 1;
}

def Sm_WordsOp : Sm_Op<"words", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the words of a slot that has been waited for";
  let description = [{
    ```mlir
    %w:2 = sm.words %c : !sm.channel<1, !sm.shared<64x128xf32, 128>> -> i32, i32
    ```
  }];
  let arguments = (ins Sm_ChannelType:$channel);
  let results = (outs Variadic<I32>:$words);
  let assemblyFormat = "$channel attr-dict `:` qualified(type($channel)) `->` type($words)";
  let hasVerifier = 1;
}

def Sm_CanLoadByTmaOp : Sm_Op<"can_load_by_tma", [Pure]> {
  let summary = "true if TMA loads tiles in this launch";
  let description = [{
    True if the strides of the tensors allow TMA to load all tiles whose `sm.producer_load` is not `tested`. All threads
    have the same result.

    ```mlir
    %by_tma = sm.can_load_by_tma : i1
    ```
  }];
  let results = (outs I1:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Sm_IsLoadedOp : Sm_Op<"is_loaded", [Pure]> {
  let summary = "true if TMA loads a tile to its slot in this launch";
  let description = [{
    True if TMA loads tiles (`sm.can_load_by_tma`), and the strides of the tensor and the position of this tile allow
    it, too. With `inside`, the tile must also be completely inside the view, for TMA fills with zeros only. All threads
    have the same result, so the producer and the consumers of the tile agree. The op does not read the tile.

    ```mlir
    %loaded = sm.is_loaded %tile, %bias[%i, %j] : !sm.shared<128x64xbf16, 128>, !tile.view<2xbf16>
    %loaded = sm.is_loaded %vector, %lse[%i] inside : !sm.shared<64xf32, 0>, !tile.view<1xf32>
    ```
  }];
  let arguments = (ins Sm_SharedType:$tile, Tile_ViewType:$view, Variadic<Index>:$position, UnitAttr:$inside);
  let results = (outs I1:$result);
  let assemblyFormat = [{
    $tile `,` $view `[` $position `]` (`inside` $inside^)? attr-dict `:`
    qualified(type($tile)) `,` qualified(type($view))
  }];
}

def Sm_FallbackCopyOp : Sm_Op<"fallback_copy"> {
  let summary = "copies a tile to its slot by lanes, where TMA cannot load it";
  let description = [{
    Copies what an `sm.producer_load` describes. Without `rows_of_warp`, the op is in a producer, and the lanes that
    execute it copy the whole tile: those of the role's only warp, or the one of an `sm.elect`, which copies vectors
    only.

    With `rows_of_warp`, consumers copy a tile that the producer has left out. Warp w copies `rows_of_warp` rows from
    row w * rows_of_warp on. Its own lanes read these rows afterwards, so warps need not wait for each other.

    ```mlir
    sm.fallback_copy %tile, %K[%j, %c0] [128, 128] : !sm.shared<128x128xbf16, 128>, !tile.view<2xbf16>
    sm.fallback_copy %tile, %bias[%i, %j] [128, 64] rows_of_warp 16 : !sm.shared<128x64xbf16, 128>, !tile.view<2xbf16>
    ```
  }];
  let arguments = (ins Sm_WritesSlot<Sm_SharedType>:$tile, Tile_Reads<Tile_ViewType>:$view, Variadic<Index>:$position,
                       DenseI64ArrayAttr:$shape, OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$rows_of_warp);
  let assemblyFormat = [{
    $tile `,` $view `[` $position `]` $shape (`rows_of_warp` $rows_of_warp^)? attr-dict
    `:` qualified(type($tile)) `,` qualified(type($view))
  }];
}

def Sm_ReleaseOp : Sm_Op<"release", [MemoryEffects<[MemRead, MemWrite]>, Sm_RoleEvents]> {
  let summary = "tells the producer that this warpgroup has read a slot for the last time in its phase";
  let description = [{
    One warp arrives for its warpgroup. This is enough if an MMA that was waited for has synchronised the warps since
    they waited for the tile. Otherwise a warp might not have seen the end of the phase yet, and would miss it once the
    slot is filled again. With `per_warp`, therefore, each warp arrives. One lane arrives for its warp, so an
    `sm.barrier warp` comes before, unless an MMA has synchronised the lanes.

    With `after_products`, the slot becomes empty later, when the products that the lane has started are over.

    ```mlir
    sm.release %k[%slot] : !sm.channel<2, !sm.shared<128x128xbf16, 128>>
    sm.release %k[%slot] per_warp : !sm.channel<2, !sm.shared<128x128xbf16, 128>>
    sm.release %k[%slot] per_warp after_products : !sm.channel<2, !sm.shared<128x128xbf16, 128>>
    ```
  }];
  let arguments = (ins Sm_ChannelType:$channel, I32:$slot, UnitAttr:$per_warp, UnitAttr:$after_products);
  let builders = [OpBuilder<(ins "::mlir::Value":$channel, "::mlir::Value":$slot, "bool":$per_warp), [{
    build($_builder, $_state, channel, slot, per_warp, /*after_products=*/false);
  }]>];
  let assemblyFormat = [{
    $channel `[` $slot `]` (`per_warp` $per_warp^)? (`after_products` $after_products^)? attr-dict
    `:` qualified(type($channel))
  }];
}

def Sm_ProduceWorkOp : Sm_Op<"produce_work", [MemoryEffects<[MemRead, MemWrite]>, Sm_RoleEvents]> {
  let summary = "a `tile.next_work` of the producer, which passes the work index to the consumers";
  let description = [{
    Waits until a slot is empty, then writes the work index there for the consumers that wait for it in this phase.

    ```mlir
    %n = sm.produce_work %counter, %work[%slot] phase %phase : !tile.view<1xi32>, !sm.channel<2>
    ```
  }];
  let arguments = (ins Tile_Adds<Tile_ViewType>:$counter, Sm_ChannelType:$channel, I32:$slot, I32:$phase);
  let results = (outs I32:$number);
  let assemblyFormat = [{
    $counter `,` $channel `[` $slot `]` `phase` $phase attr-dict
    `:` qualified(type($counter)) `,` qualified(type($channel))
  }];
  let hasVerifier = 1;
}

def Sm_ConsumeWorkOp : Sm_Op<"consume_work", [MemoryEffects<[MemRead, MemWrite]>, Sm_RoleEvents]> {
  let summary = "waits for the work index that the producer has drawn";
  let description = [{
    ```mlir
    %n = sm.consume_work %work[%slot] phase %phase : !sm.channel<2>
    sm.release %work[%slot] per_warp : !sm.channel<2>
    ```
  }];
  let arguments = (ins Sm_ChannelType:$channel, I32:$slot, I32:$phase);
  let results = (outs I32:$number);
  let assemblyFormat = "$channel `[` $slot `]` `phase` $phase attr-dict `:` qualified(type($channel))";
  let hasVerifier = 1;
}

def Sm_SequenceInitOp : Sm_Op<"sequence_init", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "creates a mutex that the warpgroups of a role take one after another, the first one first";
  let description = [{
    All warpgroups must take the mutex equally often. It orders no memory; it only says whose MMAs start first. Without
    it the results are the same.

    ```mlir
    sm.sequence_init
    ...
    sm.sequence_wait
    %s = sm.wgmma ...
    sm.sequence_arrive
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Sm_SequenceWaitOp : Sm_Op<"sequence_wait", [
    MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments, Sm_RoleEvents]> {
  let summary = "waits until this warpgroup may take the mutex";
  let description = [{
    With a channel that consumers fill for each other (`sm.producer_store`), the store of a tile passes the mutex. The
    first warpgroup then waits until the last one has stored the tile before this one, each other warpgroup until the
    warpgroup before it has stored this one.

    ```mlir
    sm.sequence_wait
    sm.sequence_wait stores %c[%slot] phase %phase : !sm.channel<3, !sm.shared<128x64xbf16, 128>>
    ```
  }];
  let arguments = (ins Optional<Sm_ChannelType>:$channel, Optional<I32>:$slot, Optional<I32>:$phase);
  let builders = [OpBuilder<(ins), [{
    build($_builder, $_state, ::mlir::Value(), ::mlir::Value(), ::mlir::Value());
  }]>];
  let assemblyFormat = [{
    (`stores` $channel^ `[` $slot `]` `phase` $phase)? attr-dict (`:` qualified(type($channel))^)?
  }];
}

def Sm_SequenceArriveOp : Sm_Op<"sequence_arrive", [MemoryEffects<[MemRead, MemWrite]>, Sm_RoleEvents]> {
  let summary = "passes the mutex to the next warpgroup";
  let assemblyFormat = "attr-dict";
}

//===-- Warpgroups ------------------------------------------------------------------------------------------------===//

def Sm_WarpgroupOp : Sm_Op<"warpgroup", [Pure]> {
  let summary = "the index of this warpgroup in its role";
  let results = (outs Index:$number);
  let assemblyFormat = "attr-dict `:` type($number)";
}

def Sm_WgmmaOp : Sm_Op<"wgmma", [Sm_Async, Sm_AsyncProduct]> {
  let summary = "starts the MMA that `sm.mma` describes on the tensor cores of warpgroups";
  let description = [{
    The warpgroups divide the rows, the columns or both, as the layout of the accumulators says. A warpgroup multiplies
    64 rows at a time. Operands in shared memory are in panels of 128 bytes; an operand in registers is packed
    (`sm.pack`). No operand may be written until an `sm.await` covers the MMA. The accumulators may be in flight:
    they are then those of an older MMA, which the same loop carries, say.

    With `fenced`, the MMA begins with a fence, `wgmma.fence`. It covers the registers that the thread has written
    before, for this MMA and for later ones. `place-fences` sets it.

    ```mlir
    %f = sm.wgmma %q, %k depth 128 {transpose_rhs}
      : !sm.shared<192x128xbf16, 128>, !sm.shared<128x128xbf16, 128> -> !sm.inflight<tensor<192x128xf32, #c>>
    ```
  }];
  let arguments = (ins
    Tile_Reads<AnyTypeOf<[Sm_SharedType, Sm_Tile]>>:$lhs, Tile_Reads<Sm_SharedType>:$rhs, I64Attr:$depth,
    Optional<AnyTypeOf<[Sm_Tile, Sm_InflightType]>>:$acc,
    UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs, UnitAttr:$fenced);
  let results = (outs Sm_InflightType:$result);
  let extraClassDeclaration = [{
    ::mlir::Value getHandle() { return getResult(); }
    ::mlir::RankedTensorType getSum() { return getType().getTile(); }
  }];
  let assemblyFormat = [{
    $lhs `,` $rhs `depth` $depth (`acc` $acc^)? attr-dict
    `:` qualified(type($lhs)) `,` qualified(type($rhs)) (`,` qualified(type($acc))^)? `->` qualified(type($result))
  }];
  let hasVerifier = 1;
}

//===-- Tensor memory ---------------------------------------------------------------------------------------------===//

def Sm_Tcgen05Op : Sm_Op<"tcgen05", [
    MemoryEffects<[MemRead, MemWrite]>, Sm_Async,
    DeclareOpInterfaceMethods<Sm_AsyncProduct, ["getSumPlace", "getIssuer"]>]> {
  let summary = "starts an MMA whose accumulators are in tensor memory";
  let description = [{
    Adds the product to what a slot of `sums` holds, or replaces it if `accumulates` is false. Operands are as in
    `sm.wgmma`, both in shared memory. One lane starts the MMA, in a role of one warp. MMAs of a lane follow each other.
    Nothing waits for a single one: an `sm.producer_commit` or an `sm.release` with `after_products` arrives at a
    channel when all MMAs that the lane has started are over.

    ```mlir
    sm.tcgen05 %a, %b depth 64 into %sums[%slot] accumulates %more {transpose_rhs}
      : !sm.shared<128x64xbf16, 128>, !sm.shared<128x64xbf16, 128>, !sm.tensor_memory<1, 128, 128>
    ```
  }];
  let arguments = (ins
    Tile_Reads<Sm_SharedType>:$lhs, Tile_Reads<Sm_SharedType>:$rhs, I64Attr:$depth, Sm_TensorMemoryType:$sums,
    I32:$slot, I1:$accumulates, UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let assemblyFormat = [{
    $lhs `,` $rhs `depth` $depth `into` $sums `[` $slot `]` `accumulates` $accumulates attr-dict
    `:` qualified(type($lhs)) `,` qualified(type($rhs)) `,` qualified(type($sums))
  }];
  let hasVerifier = 1;
}

def Sm_TensorAllocOp : Sm_Op<"tensor_alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "columns of tensor memory";
  let description = [{
    Waits until other program instances have left enough columns. All warps execute it. Before roles exist, it also
    says where accumulators begin: a product of this iteration overwrites them first.

    ```mlir
    %sums = sm.tensor_alloc : !sm.tensor_memory<1, 128, 128>
    ```
  }];
  let results = (outs Sm_TensorMemoryType:$result);
  let assemblyFormat = "attr-dict `:` qualified(type($result))";
}

def Sm_TensorFreeOp : Sm_Op<"tensor_free", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "gives columns of tensor memory back";
  let description = [{
    One warp gives them back. This counts as a write, so a barrier follows the reads of other warps.

    ```mlir
    sm.tensor_free %sums : !sm.tensor_memory<1, 128, 128>
    ```
  }];
  let arguments = (ins Tile_Writes<Sm_TensorMemoryType>:$sums);
  let assemblyFormat = "$sums attr-dict `:` qualified(type($sums))";
}

def Sm_TensorReadOp : Sm_Op<"tensor_read", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the accumulators of a slot in tensor memory, in registers";
  let description = [{
    The products must be over. Each thread holds a row, or a part of it: `tensorLayout` says which. The tile is 0 if
    `written` is false, because no product has written the slot.

    ```mlir
    %c = sm.tensor_read %sums[%slot] written %any : !sm.tensor_memory<1, 128, 128> -> tensor<128x128xf32, #rows>
    ```
  }];
  let arguments = (ins Tile_Reads<Sm_TensorMemoryType>:$sums, I32:$slot, I1:$written);
  let results = (outs Sm_Tile:$result);
  let assemblyFormat = [{
    $sums `[` $slot `]` `written` $written attr-dict `:` qualified(type($sums)) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Sm_WaitFullOp : Sm_Op<"wait_full", [MemoryEffects<[MemRead, MemWrite]>, Sm_RoleEvents]> {
  let summary = "waits until a slot of accumulators is full";
  let description = [{
    ```mlir
    sm.wait_full %c[%slot] phase %phase : !sm.channel<1>
    ```
  }];
  let arguments = (ins Sm_ChannelType:$channel, I32:$slot, I32:$phase);
  let assemblyFormat = "$channel `[` $slot `]` `phase` $phase attr-dict `:` qualified(type($channel))";
  let hasVerifier = 1;
}

def Sm_AwaitOp : Sm_Op<"await", [MemoryEffects<[MemRead, MemWrite]>, Sm_Orders]> {
  let summary = "waits for what is in flight; the result is the tile of the accumulators";
  let description = [{
    With `reads`, waits only until the operands of the MMA have been read, so that they may be written again. The
    accumulators stay in flight, and there is no result.

    `pending` is the number of younger MMAs that may still run. `count-waits` sets it; without it, none may.

    ```mlir
    %s = sm.await %f : !sm.inflight<tensor<192x128xf32, #c>>
    sm.await reads %g pending 1 : !sm.inflight<tensor<192x128xf32, #c>>
    ```
  }];
  let arguments = (ins UnitAttr:$reads, Sm_InflightType:$handle,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$pending);
  let results = (outs Optional<Sm_Tile>:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$handle)>];
  let assemblyFormat = [{
    custom<Reads>($reads) $handle (`pending` $pending^)? attr-dict `:` qualified(type($handle))
    custom<AwaitedTile>(type($result), ref(type($handle)), ref($reads))
  }];
  let hasVerifier = 1;
}

def Sm_ProxyFenceOp : Sm_Op<"proxy_fence", [MemoryEffects<[MemRead, MemWrite]>, Sm_Orders]> {
  let summary = "lets MMAs and asynchronous copies see the earlier writes of this thread to shared memory";
  let description = [{
    With `tensors`, those to tensors, also those that the thread has waited for.

    ```mlir
    sm.proxy_fence
    sm.proxy_fence tensors
    ```
  }];
  let arguments = (ins UnitAttr:$tensors);
  let assemblyFormat = "(`tensors` $tensors^)? attr-dict";
}

#endif
