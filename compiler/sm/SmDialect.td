// SPDX-License-Identifier: MIT
#ifndef TEGULA_SM_DIALECT
#define TEGULA_SM_DIALECT

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def Sm_Dialect : Dialect {
  let name = "sm";
  let cppNamespace = "::tegula::sm";
  let summary = "One program instance on a streaming multiprocessor: registers of threads, shared memory, copies.";
  let description = [{
    `sm` lies between `tile`, which knows no hardware, and scalar code, which knows no tiles. A tile in registers is a
    builtin tensor whose encoding says which thread holds which element. A tile in shared memory is a `!sm.shared`.

    There are two groups of ops. `load_shared`, `to_shared`, `convert` and `read` have value semantics: they say that a
    tile is wanted in shared memory, or in another layout. `alloc`, `slot`, `copy_in`, `copy_out`, `write`, `commit`,
    `wait` and `barrier` say how that happens. `allocate-shared` and `pipeline-copies` turn the first group into the
    second.
  }];
  let dependentDialects = ["::tegula::tile::TileDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

def Sm_LayoutAttr : AttrDef<Sm_Dialect, "Layout"> {
  let mnemonic = "layout";
  let genMnemonicAlias = 1;
  let summary = "the register, lane and warp that hold each element of a tile";
  let description = [{
    A register number, a lane (0 to 31) and a warp together select an element. Each of the three is written in mixed
    radix, least significant digit first. A digit `dim:size:stride` has `size` values; it adds its value times `stride`
    to the coordinate `dim`. Threads that differ only in a digit `*:size` hold the same element. An atom of the hardware
    is a few digits, and repetitions of an atom, of any number, are one digit more.

    The accumulator of mma.m16n8 for a 64 x 24 tile on four warps with 16 rows each:

    ```mlir
    #sm.layout<registers = [1:2:1, 0:2:8, 1:3:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
    ```

    Register 5 has the digits 1, 0 and 1, so it is 1 + 1 * 8 = 9 columns to the right of register 0 of the same thread.

    A register whose coordinates lie outside the tile is padding; its contents are undefined.
  }];
  let parameters = (ins
    ArrayRefParameter<"::tegula::sm::Digit">:$registers,
    ArrayRefParameter<"::tegula::sm::Digit">:$lanes,
    ArrayRefParameter<"::tegula::sm::Digit">:$warps);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Sm_RoleAttr : AttrDef<Sm_Dialect, "Role"> {
  let mnemonic = "role";
  let summary = "a role without its program: its warps, and the registers of each of its threads";
  let description = [{
    `plan-roles` writes the roles of a function, of which `split-roles` makes an `sm.roles`:

    ```mlir
    func.func @f(...) attributes {
        sm.roles = [#sm.role<"compute" warps 8 registers 232>, #sm.role<"load" warps 1 registers 40>]} {
    ```
  }];
  let parameters = (ins StringRefParameter<>:$name, "int64_t":$warps, "int64_t":$registers);
  let assemblyFormat = "`<` $name `warps` $warps `registers` $registers `>`";
}

def Sm_SharedType : TypeDef<Sm_Dialect, "Shared"> {
  let mnemonic = "shared";
  let summary = "a tile, or a ring of tiles, in shared memory";
  let description = [{
    `!sm.shared<64x128xbf16, 128>` is stored in panels: the first 128 bytes of each row, then the next 128 bytes of each
    row, and so on. Within a panel, the 16-byte chunks of a row are permuted, so that eight rows of one chunk touch all
    banks:

    | panel, bytes | position of chunk c of row r               |
    | ------------ | ------------------------------------------ |
    | 128          | c ^ (r % 8), the pattern of `SWIZZLE_128B` |
    | 64           | c ^ (r / 2 % 4)                            |
    | 32           | c ^ (r / 4 % 2)                            |
    | 16           | c                                          |
    | 0            | no panels: row-major order                 |

    `!sm.shared<2x64x128xbf16, 128>` of rank 3 is a ring of two such tiles, each aligned to 1024 bytes. A plain buffer
    (panel 0) may have any rank. `!sm.shared<2x64xf32, 0>` is a matrix or a ring of two vectors, without a gap between
    them.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType, "int64_t":$panel);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    unsigned elementBytes() const { return (getElementType().getIntOrFloatBitWidth() + 7) / 8; }
    /// Returns the size of the whole ring.
    int64_t bytes() const;
    /// Returns the distance from one tile of this ring to the next one.
    int64_t slotBytes() const;
    /// Returns the type of one tile of this ring.
    SharedType slot() const;
    /// Returns the type of a ring of such tiles.
    SharedType ring(int64_t slots) const;
  }];
}

def Sm_TensorMemoryType : TypeDef<Sm_Dialect, "TensorMemory"> {
  let mnemonic = "tensor_memory";
  let summary = "accumulators, or a ring of them, in tensor memory";
  let description = [{
    `!sm.tensor_memory<2, 128, 64>` is a ring of two tiles of 128 rows and 64 columns of f32. A row is one of the 128
    lanes of tensor memory, which have 512 columns of 32 bits. Only tensor cores write it (`sm.tcgen05`). A warp may
    read 32 lanes: warp w of its warpgroup those from 32 * w on.
  }];
  let parameters = (ins "int64_t":$slots, "int64_t":$rows, "int64_t":$columns);
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns the columns that the ring takes: a power of 2, as tensor memory is allocated.
    int64_t allocated() const;
  }];
  let assemblyFormat = "`<` $slots `,` $rows `,` $columns `>`";
}

def Sm_InflightType : TypeDef<Sm_Dialect, "Inflight"> {
  let mnemonic = "inflight";
  let summary = "the accumulators of an MMA that is in flight";
  let description = [{
    `!sm.inflight<tensor<192x128xf32, #c>>` becomes the tile only through `sm.await`: an earlier access to these
    registers would stop the tensor cores. Exactly one op consumes it: an `sm.await`, an `sm.wgmma` that adds to the
    same accumulators, or a loop that carries it.
  }];
  let parameters = (ins "::mlir::RankedTensorType":$tile);
  let assemblyFormat = "`<` $tile `>`";
}

def Sm_CopiesType : TypeDef<Sm_Dialect, "Copies"> {
  let mnemonic = "copies";
  let summary = "the copies of one commit group, which may still be in flight";
  let description = [{
    An `sm.commit` makes it and any number of `sm.wait` name it. A loop may carry it. It takes no register.
  }];
  let builderCall = "$_builder.getType<CopiesType>()";
}

def Sm_ChannelType : TypeDef<Sm_Dialect, "Channel"> {
  let mnemonic = "channel";
  let summary = "a ring of slots through which warps pass tiles, or work indices, to other warps";
  let description = [{
    `!sm.channel<2, !sm.shared<128x64xbf16, 128>>` has two slots of such a tile. A slot of several tiles has a part for
    each, as `!sm.channel<2, !sm.shared<128x64xbf16, 128>, !sm.shared<64x128xbf16, 128>>`. `!sm.channel<2>` has two work
    indices, or two slots that say only that accumulators in tensor memory are full or empty.
  }];
  let parameters = (ins "int64_t":$slots, OptionalArrayRefParameter<"::tegula::sm::SharedType">:$parts);
  let assemblyFormat = "`<` $slots (`,` custom<Parts>($parts)^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool hasTiles() const { return !getParts().empty(); }
    /// Returns the type of the buffer that holds the tiles of a part.
    SharedType ring(size_t part) const;
  }];
}

#endif
