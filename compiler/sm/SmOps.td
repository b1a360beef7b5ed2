// SPDX-License-Identifier: MIT
// The `sm` dialect: each op is a sentence and an example.
#ifndef TEGULA_SM_OPS
#define TEGULA_SM_OPS

include "compiler/sm/SmDialect.td"
include "compiler/tile/TileDialect.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Sm_Op<string mnemonic, list<Trait> traits = []> : Op<Sm_Dialect, mnemonic, traits>;

def Sm_Tile : Type<
    CPred<"::tegula::sm::isRegisterTile($_self)">, "tile in registers (a tensor with a #sm.layout)",
    "::mlir::RankedTensorType">;

//===-- Values -----------------------------------------------------------------------------------------------------===//

def Sm_LinearOp : Sm_Op<"linear", [Pure, TypesMatchWith<"the first number is an element of the result", "result", "first",
    "::llvm::cast<::mlir::RankedTensorType>($_self).getElementType()">]> {
  let summary = "numbers that grow by a constant along each dimension";
  let description = [{
    `result[i, j] = first + (steps[0] * i + steps[1] * j)`, where the part of the sum that depends on the thread is added
    first: one addition of a constant for each element that a thread holds, and none where an integer is compared with
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

def Sm_OpaqueOp : Sm_Op<"opaque", [Pure, SameOperandsAndResultType]> {
  let summary = "the same number, from which everything is computed anew";
  let description = [{
    Neither the compiler nor the assembler sees that it is the same, so that they keep nothing from before that depends
    on it: for what is rarely done. All lanes of a warp have one number.

    ```mlir
    %again = sm.opaque %position : i32
    ```
  }];
  let arguments = (ins I32:$source);
  let results = (outs I32:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
}

def Sm_RowLimitOp : Sm_Op<"row_limit", [Pure, AllTypesMatch<["bound", "result"]>]> {
  let summary = "the bound of a loop over columns, of which the first rows need less";
  let description = [{
    The result is `bound`. An iteration at `first + x` or behind it changes nothing for the first x rows of the loop's
    tiles: warps that hold no others may leave the loop there.

    ```mlir
    %end = sm.row_limit %bound first %diagonal : index
    %r = scf.for %j = %c0 to %end step %c64 ...
    ```
  }];
  let arguments = (ins Index:$bound, Index:$first);
  let results = (outs Index:$result);
  let assemblyFormat = "$bound `first` $first attr-dict `:` type($result)";
}

//===-- Values: where a tile is wanted -----------------------------------------------------------------------------===//

def Sm_LoadSharedOp : Sm_Op<"load_shared", [MemoryEffects<[MemRead]>]> {
  let summary = "a tile of a view, in shared memory";
  let description = [{
    `result[x] = view[position + x]` for x inside `shape` where that lies inside the view, else 0. The result's shape is
    `shape` rounded up to what the readers need.

    ```mlir
    %k = sm.load_shared %K[%j, %c0] [64, 128] : !tile.view<2xbf16> -> !sm.shared<64x128xbf16, 128>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$position, DenseI64ArrayAttr:$shape);
  let results = (outs Sm_SharedType:$result);
  let assemblyFormat = [{
    $view `[` $position `]` $shape attr-dict `:` qualified(type($view)) `->` qualified(type($result))
  }];
}

def Sm_ToSharedOp : Sm_Op<"to_shared", [Pure]> {
  let summary = "a tile that is in registers, in shared memory";
  let description = [{
    What the result's shape has beyond the tile's is 0.

    ```mlir
    %p_s = sm.to_shared %p : tensor<64x128xbf16, #c> -> !sm.shared<64x128xbf16, 128>
    ```
  }];
  let arguments = (ins Sm_Tile:$tile);
  let results = (outs Sm_SharedType:$result);
  let assemblyFormat = "$tile attr-dict `:` type($tile) `->` qualified(type($result))";
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
    For the cases in which elements change threads; `tile.reshape` stays where only dimensions of size 1 come or go.

    ```mlir
    %y = sm.reshape %x : tensor<64x128xf32, #a> -> tensor<8192xf32, #b>
    ```
  }];
  let arguments = (ins Sm_Tile:$source);
  let results = (outs Sm_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
}

def Sm_PackOp : Sm_Op<"pack", [Pure]> {
  let summary = "each two neighbours in a row of 16-bit elements as one number of 32 bits";
  let description = [{
    The first in the low half; what lies outside the tile is 0. The operand of `sm.wgmma` that is in registers.

    ```mlir
    %words = sm.pack %p : tensor<64x128xbf16, #c> -> tensor<64x64xi32, #words>
    ```
  }];
  let arguments = (ins Sm_Tile:$source);
  let results = (outs Sm_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
}

def Sm_PartialReduceOp : Sm_Op<"partial_reduce", [Pure]> {
  let summary = "`tile.reduce` as far as each thread gets with its own elements";
  let description = [{
    The axis stays, with one element for each thread that held some of it. A `tile.reduce` along it gives the whole.

    ```mlir
    %part = sm.partial_reduce max %s axis 1 : tensor<64x128xf32, #c> -> tensor<64x4xf32, #quads>
    %m = tile.reduce max %part axis 1 : tensor<64x4xf32, #quads> -> tensor<64xf32, #rows>
    ```
  }];
  let arguments = (ins Tile_Reduction:$kind, Sm_Tile:$source, I64Attr:$axis);
  let results = (outs Sm_Tile:$result);
  let assemblyFormat = "$kind $source `axis` $axis attr-dict `:` type($source) `->` type($result)";
}

def Sm_ReadOp : Sm_Op<"read", [MemoryEffects<[MemRead]>]> {
  let summary = "a tile of shared memory, in registers";
  let description = [{
    The tile's shape may be smaller than the buffer's in every dimension. With `reshaped`, both are taken in row-major
    order instead, and only the number of elements is the same.

    ```mlir
    %q = sm.read %q_s : !sm.shared<128x128xbf16, 128> -> tensor<128x128xbf16, #a>
    ```
  }];
  let arguments = (ins Sm_SharedType:$shared, UnitAttr:$reshaped);
  let results = (outs Sm_Tile:$result);
  let assemblyFormat = "$shared attr-dict `:` qualified(type($shared)) `->` type($result)";
}

def Sm_MmaOp : Sm_Op<"mma", [MemoryEffects<[MemRead]>]> {
  let summary = "matrix product on the layout of tensor-core accumulators";
  let description = [{
    `result[i, j] = acc[i, j] + sum over k < depth of lhs[i, k] * rhs[k, j]`. `lhs` is in shared memory, or in registers in
    the layout `operandLayout` of the result's; `rhs` is in shared memory. `transpose_lhs` and `transpose_rhs` are those
    of `tile.dot`. Both bf16 or both f16: tensor cores, f32 sums. f32 with `allow_tf32`: tensor cores on operands
    rounded to tf32. Anything else is widened to f32 and multiplied exactly.

    ```mlir
    %s = sm.mma %q, %k depth 128 {transpose_rhs}
      : !sm.shared<128x128xbf16, 128>, !sm.shared<64x128xbf16, 128> -> tensor<128x64xf32, #c>
    %o = sm.mma %p, %v depth 64 acc %o0
      : tensor<128x64xbf16, #a>, !sm.shared<64x128xbf16, 128>, tensor<128x128xf32, #c> -> tensor<128x128xf32, #c>
    ```
  }];
  let arguments = (ins
    AnyTypeOf<[Sm_SharedType, Sm_Tile]>:$lhs, Sm_SharedType:$rhs, I64Attr:$depth, Optional<Sm_Tile>:$acc,
    UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs, UnitAttr:$allow_tf32);
  let results = (outs Sm_Tile:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `depth` $depth (`acc` $acc^)? attr-dict
    `:` qualified(type($lhs)) `,` qualified(type($rhs)) (`,` type($acc)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

//===-- Shared memory ----------------------------------------------------------------------------------------------===//

def Sm_AllocOp : Sm_Op<"alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "a buffer in shared memory";
  let description = [{
    `offset` is its place in bytes, 1024-byte aligned, which `plan-shared` decides. Contents are undefined.

    ```mlir
    %ring = sm.alloc : !sm.shared<2x64x128xbf16, 128>
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Sm_SharedType:$result);
  let assemblyFormat = "attr-dict `:` qualified(type($result))";
}

def Sm_SlotOp : Sm_Op<"slot", [Pure]> {
  let summary = "one tile of a ring";
  let description = [{
    ```mlir
    %k = sm.slot %ring[%i] : !sm.shared<2x64x128xbf16, 128> -> !sm.shared<64x128xbf16, 128>
    ```
  }];
  let arguments = (ins Sm_SharedType:$ring, I32:$index);
  let results = (outs Sm_SharedType:$result);
  let assemblyFormat = "$ring `[` $index `]` attr-dict `:` qualified(type($ring)) `->` qualified(type($result))";
}

def Sm_ColumnsOp : Sm_Op<"columns", [Pure]> {
  let summary = "some columns of a matrix";
  let description = [{
    The columns from `first` on, whole panels.

    ```mlir
    %right = sm.columns %k from 128 : !sm.shared<96x256xbf16, 128> -> !sm.shared<96x128xbf16, 128>
    ```
  }];
  let arguments = (ins Sm_SharedType:$matrix, I64Attr:$first);
  let results = (outs Sm_SharedType:$result);
  let assemblyFormat = "$matrix `from` $first attr-dict `:` qualified(type($matrix)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Sm_CopyInOp : Sm_Op<"copy_in", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "starts copying a tile of a view to shared memory";
  let description = [{
    What `sm.load_shared` says; the data is there for the issuing thread once an `sm.wait` covers it, and for the others after
    an `sm.barrier` more.

    ```mlir
    sm.copy_in %K[%j, %c0] [64, 128], %k : !tile.view<2xbf16>, !sm.shared<64x128xbf16, 128>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$position, DenseI64ArrayAttr:$shape, Sm_SharedType:$shared);
  let assemblyFormat = [{
    $view `[` $position `]` $shape `,` $shared attr-dict `:` qualified(type($view)) `,` qualified(type($shared))
  }];
}

def Sm_CommitOp : Sm_Op<"commit", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "closes the group of copies that this thread has started since the last one";
  let assemblyFormat = "attr-dict";
}

def Sm_WaitOp : Sm_Op<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until at most `pending` of this thread's groups are not finished";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$pending);
  let assemblyFormat = "$pending attr-dict";
}

def Sm_WriteOp : Sm_Op<"write", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes a tile from registers to shared memory";
  let description = [{
    What `sm.to_shared` says.

    ```mlir
    sm.write %p, %p_s : tensor<64x128xbf16, #c>, !sm.shared<64x128xbf16, 128>
    ```
  }];
  let arguments = (ins Sm_Tile:$tile, Sm_SharedType:$shared);
  let assemblyFormat = "$tile `,` $shared attr-dict `:` type($tile) `,` qualified(type($shared))";
}

def Sm_CopyOutOp : Sm_Op<"copy_out", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "copies a tile from shared memory to a view";
  let description = [{
    `view[position + x] = shared[x]` for every x inside `shape` that lies inside the view. Element types are equal.

    With `rows_of_warp`, warp w copies rows w * rows_of_warp and up, which are those that its own lanes have written, and
    will write next: warps need not wait for each other. Consumers (`sm.roles`) have TMA store them where it can.

    ```mlir
    sm.copy_out %o_s, %O[%i, %c0] [128, 128] rows_of_warp 16 : !sm.shared<128x128xbf16, 128>, !tile.view<2xbf16>
    ```
  }];
  let arguments = (ins Sm_SharedType:$shared, Tile_ViewType:$view, Variadic<Index>:$position, DenseI64ArrayAttr:$shape,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$rows_of_warp);
  let assemblyFormat = [{
    $shared `,` $view `[` $position `]` $shape (`rows_of_warp` $rows_of_warp^)? attr-dict `:` qualified(type($shared)) `,` qualified(type($view))
  }];
}

def Sm_BarrierOp : Sm_Op<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits for all threads of the role or the program instance, and orders what they access";
  let description = [{
    With `warp`, for those of the same warp.

    ```mlir
    sm.barrier
    sm.barrier warp
    ```
  }];
  let arguments = (ins UnitAttr:$warp);
  let assemblyFormat = "(`warp` $warp^)? attr-dict";
}

//===-- Roles ------------------------------------------------------------------------------------------------------===//

def Sm_RolesOp : Sm_Op<"roles", [SingleBlockImplicitTerminator<"EndOp">]> {
  let summary = "some warps feed rings in shared memory, the others compute";
  let description = [{
    The consumers are the first `tile.num_warps` warps of a block, in whole warpgroups of four; the producers are
    `tile.producer_warps` more. Each role may then use `registers` of them a thread. It is the last op of a function:
    nothing is left to do together.

    ```mlir
    sm.roles producer 32 {
      sm.producer_load ...
    } consumer 160 {
      %k = sm.consumer_wait ...
    }
    ```
  }];
  let arguments = (ins I64Attr:$producer_registers, I64Attr:$consumer_registers);
  let regions = (region SizedRegion<1>:$producer, SizedRegion<1>:$consumer);
  let assemblyFormat = [{
    `producer` $producer_registers $producer `consumer` $consumer_registers $consumer attr-dict
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Sm_EndOp : Sm_Op<"end", [Terminator, Pure, HasParent<"RolesOp">]> {
  let summary = "the end of a role";
  let assemblyFormat = "attr-dict";
}

def Sm_MbarriersOp : Sm_Op<"mbarriers", [MemoryEffects<[MemAlloc]>]> {
  let summary = "the mbarriers of a ring: all slots are empty";
  let description = [{
    A slot is empty again when each warpgroup of the consumers has released it. Where no one ever releases one, the
    producer fills each slot once, without waiting.

    ```mlir
    %b = sm.mbarriers : !sm.mbarriers<2>
    ```
  }];
  let results = (outs Sm_MbarriersType:$result);
  let assemblyFormat = "attr-dict `:` qualified(type($result))";
}

def Sm_ProducerLoadOp : Sm_Op<"producer_load", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "fills a slot of a ring as soon as it is empty";
  let description = [{
    What `sm.load_shared` says, for the consumers that receive the slot in this phase: 0 in the first round through the ring,
    then 1, then 0 again. The producer does not wait for the data. Where TMA cannot copy the tile, the producer moves the
    elements, or with `tma_only` hands the slot over as it is, for consumers to fill (`sm.fallback_copy`). Where nobody releases
    the ring's slots, they come back with those of another that it has waited for in this round.

    ```mlir
    sm.producer_load %K[%j, %c0] [128, 128], %tile, %b[%slot] phase %phase
      : !tile.view<2xbf16>, !sm.shared<128x128xbf16, 128>, !sm.mbarriers<2>
    ```
  }];
  let arguments = (ins
    Tile_ViewType:$view, Variadic<Index>:$position, DenseI64ArrayAttr:$shape,
    Sm_SharedType:$tile, Sm_MbarriersType:$mbarriers, I32:$slot, I32:$phase, UnitAttr:$tma_only);
  let assemblyFormat = [{
    $view `[` $position `]` $shape `,` $tile `,` $mbarriers `[` $slot `]` `phase` $phase (`tma_only` $tma_only^)? attr-dict
    `:` qualified(type($view)) `,` qualified(type($tile)) `,` qualified(type($mbarriers))
  }];
  let hasVerifier = 1;
}

def Sm_ConsumerWaitOp : Sm_Op<"consumer_wait", [MemoryEffects<[MemRead, MemWrite]>, AllTypesMatch<["tile", "result"]>]> {
  let summary = "a slot of a ring, once it is full";
  let description = [{
    ```mlir
    %k = sm.consumer_wait %tile, %b[%slot] phase %phase : !sm.shared<128x128xbf16, 128>, !sm.mbarriers<2>
    ```
  }];
  let arguments = (ins Sm_SharedType:$tile, Sm_MbarriersType:$mbarriers, I32:$slot, I32:$phase);
  let results = (outs Sm_SharedType:$result);
  let assemblyFormat = [{
    $tile `,` $mbarriers `[` $slot `]` `phase` $phase attr-dict
    `:` qualified(type($tile)) `,` qualified(type($mbarriers))
  }];
  let hasVerifier = 1;
}

def Sm_FallbackCopyOp : Sm_Op<"fallback_copy", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "what TMA could not bring of a tile that was received";
  let description = [{
    What `sm.producer_load` with `tma_only` says, if the strides of the tensor or the place of the tile forbid TMA to copy it; else
    nothing. Warp w moves rows w * rows_of_warp and up, which its own lanes read afterwards: warps need not wait for each
    other.

    ```mlir
    sm.fallback_copy %tile, %bias[%i, %j] [128, 64] rows_of_warp 16 : !sm.shared<128x64xbf16, 128>, !tile.view<2xbf16>
    ```
  }];
  let arguments = (ins Sm_SharedType:$tile, Tile_ViewType:$view, Variadic<Index>:$position, DenseI64ArrayAttr:$shape,
                       ConfinedAttr<I64Attr, [IntPositive]>:$rows_of_warp);
  let assemblyFormat = [{
    $tile `,` $view `[` $position `]` $shape `rows_of_warp` $rows_of_warp attr-dict
    `:` qualified(type($tile)) `,` qualified(type($view))
  }];
}

def Sm_ReleaseOp : Sm_Op<"release", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "this warpgroup has read the slot for the last time in its phase";
  let description = [{
    One of the warpgroup's warps says so, because a product that was waited for has brought them together since they
    received the tile. `per_warp`: perhaps none has; a warp that had not yet seen the phase's end would miss it once the
    slot is filled again, so each of them says it.

    ```mlir
    sm.release %b[%slot] : !sm.mbarriers<2>
    sm.release %b[%slot] per_warp : !sm.mbarriers<2>
    ```
  }];
  let arguments = (ins Sm_MbarriersType:$mbarriers, I32:$slot, UnitAttr:$per_warp);
  let assemblyFormat = "$mbarriers `[` $slot `]` (`per_warp` $per_warp^)? attr-dict `:` qualified(type($mbarriers))";
}

def Sm_ProduceWorkOp : Sm_Op<"produce_work", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "`tile.next_work` of a producer, which tells the consumers the number";
  let description = [{
    In a slot of a ring of numbers, as soon as that is empty, for the consumers that ask in this phase. The numbers lie
    beside the mbarriers.

    ```mlir
    %n = sm.produce_work %counter, %b[%slot] phase %phase : !tile.view<1xi32>, !sm.mbarriers<2>
    ```
  }];
  let arguments = (ins Tile_ViewType:$counter, Sm_MbarriersType:$mbarriers, I32:$slot, I32:$phase);
  let results = (outs I32:$number);
  let assemblyFormat = [{
    $counter `,` $mbarriers `[` $slot `]` `phase` $phase attr-dict
    `:` qualified(type($counter)) `,` qualified(type($mbarriers))
  }];
  let hasVerifier = 1;
}

def Sm_ConsumeWorkOp : Sm_Op<"consume_work", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits for the index that the producer got";
  let description = [{
    ```mlir
    %n = sm.consume_work %b[%slot] phase %phase : !sm.mbarriers<2>
    sm.release %b[%slot] per_warp : !sm.mbarriers<2>
    ```
  }];
  let arguments = (ins Sm_MbarriersType:$mbarriers, I32:$slot, I32:$phase);
  let results = (outs I32:$number);
  let assemblyFormat = "$mbarriers `[` $slot `]` `phase` $phase attr-dict `:` qualified(type($mbarriers))";
  let hasVerifier = 1;
}

def Sm_SequenceInitOp : Sm_Op<"sequence_init", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the consumers' warpgroups take turns from here on, the first one first";
  let description = [{
    All of them take equally many. A turn orders no memory: it says only whose products start first, and without it the
    results are the same.

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

def Sm_SequenceWaitOp : Sm_Op<"sequence_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until it is this warpgroup's turn";
  let assemblyFormat = "attr-dict";
}

def Sm_SequenceArriveOp : Sm_Op<"sequence_arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "gives the turn to the next warpgroup";
  let assemblyFormat = "attr-dict";
}

//===-- Warpgroups -------------------------------------------------------------------------------------------------===//

def Sm_WarpgroupOp : Sm_Op<"warpgroup", [Pure]> {
  let summary = "the number of this warpgroup among the consumers";
  let results = (outs Index:$number);
  let assemblyFormat = "attr-dict `:` type($number)";
}

def Sm_WgmmaOp : Sm_Op<"wgmma", [MemoryEffects<[MemRead]>]> {
  let summary = "starts the product of `sm.mma` on the tensor cores of warpgroups";
  let description = [{
    Each warpgroup multiplies 64 rows. Operands in shared memory are in panels of 128 bytes, an operand in registers is
    packed (`sm.pack`); neither may be written until an `sm.wgmma_wait` covers the product.

    ```mlir
    %f = sm.wgmma %q, %k depth 128 {transpose_rhs}
      : !sm.shared<192x128xbf16, 128>, !sm.shared<128x128xbf16, 128> -> !sm.inflight<tensor<192x128xf32, #c>>
    ```
  }];
  let arguments = (ins
    AnyTypeOf<[Sm_SharedType, Sm_Tile]>:$lhs, Sm_SharedType:$rhs, I64Attr:$depth, Optional<Sm_Tile>:$acc,
    UnitAttr:$transpose_rhs);
  let results = (outs Sm_InflightType:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `depth` $depth (`acc` $acc^)? attr-dict
    `:` qualified(type($lhs)) `,` qualified(type($rhs)) (`,` type($acc)^)? `->` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Sm_WgmmaWaitOp : Sm_Op<"wgmma_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits for a product, while at most `pending` later ones go on";
  let description = [{
    ```mlir
    %s = sm.wgmma_wait 0 %f : !sm.inflight<tensor<192x128xf32, #c>> -> tensor<192x128xf32, #c>
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$pending, Sm_InflightType:$mma);
  let results = (outs Sm_Tile:$result);
  let assemblyFormat = "$pending $mma attr-dict `:` qualified(type($mma)) `->` type($result)";
  let hasVerifier = 1;
}

def Sm_ProxyFenceOp : Sm_Op<"proxy_fence", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "lets products and asynchronous copies see what this thread has written to shared memory";
  let assemblyFormat = "attr-dict";
}

#endif
