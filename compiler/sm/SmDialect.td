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
    Between `tile`, which knows no machine, and scalar code, which knows no tile. A tile in registers is a builtin
    tensor whose encoding says which thread holds which element; a tile in shared memory is a `!sm.shared`.

    There are two groups of ops. `fetch`, `stage`, `convert` and `read` have value semantics: they say that a tile is
    wanted in shared memory, or in another layout. `alloc`, `slot`, `copy_in`, `copy_out`, `write`, `commit`, `wait` and
    `barrier` say how that happens; `allocate-shared` and `pipeline-copies` turn the first into the second.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

def Sm_LayoutAttr : AttrDef<Sm_Dialect, "Layout"> {
  let mnemonic = "layout";
  let genMnemonicAlias = 1;
  let summary = "which register of which thread holds which element of a tile";
  let description = [{
    Three numbers name a place: register, lane (0 to 31) and warp. Each is written in digits, least significant
    first, and a digit `dim:size:stride` adds `digit * stride` to the coordinate `dim`. A digit `*:size` counts copies.
    So atoms of the hardware are a few digits, and repetitions of an atom one digit more, of any size.

    The accumulator of mma.m16n8 for a 64 x 24 tile on four warps, whose rows are 16 to a warp:

    ```mlir
    #sm.layout<registers = [1:2:1, 0:2:8, 1:3:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
    ```

    Coordinates outside the tile are padding: what such a register holds is undefined.
  }];
  let parameters = (ins
    ArrayRefParameter<"::tegula::sm::Digit">:$registers,
    ArrayRefParameter<"::tegula::sm::Digit">:$lanes,
    ArrayRefParameter<"::tegula::sm::Digit">:$warps);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Sm_SharedType : TypeDef<Sm_Dialect, "Shared"> {
  let mnemonic = "shared";
  let summary = "a tile, or a ring of tiles, in shared memory";
  let description = [{
    `!sm.shared<64x128xbf16, 128>` is stored in panels: the first 128 bytes of each row, then the next 128 of each row,
    and so on. Within a panel the 16-byte chunk c of row r lies at c ^ (r % 8), so that eight rows of one chunk touch
    all banks: the pattern of TMA's SWIZZLE_128B. Panels of 64 bytes use c ^ (r / 2 % 4), of 32 bytes c ^ (r / 4 % 2),
    of 16 bytes none. A panel of 0 means plain row-major order without panels.

    `!sm.shared<2x64x128xbf16, 128>` of rank 3 is a ring of two such tiles, each aligned to 1024 bytes; a plain buffer
    (panel 0) may have any rank.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType, "int64_t":$panel);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    unsigned elementBytes() const { return (getElementType().getIntOrFloatBitWidth() + 7) / 8; }
    /// Of the whole ring.
    int64_t bytes() const;
    /// Of one tile of a ring, its alignment included.
    int64_t slotBytes() const;
    /// A tile of this ring.
    SharedType slot() const;
  }];
}

def Sm_InflightType : TypeDef<Sm_Dialect, "Inflight"> {
  let mnemonic = "inflight";
  let summary = "the accumulators of products that tensor cores are still working on";
  let description = [{
    `!sm.inflight<tensor<192x128xf32, #c>>` becomes the tile only through `sm.wgmma_wait`, and has exactly one use: who
    read or wrote the registers earlier would stop the tensor cores.
  }];
  let parameters = (ins "::mlir::RankedTensorType":$tile);
  let assemblyFormat = "`<` $tile `>`";
}

def Sm_MbarriersType : TypeDef<Sm_Dialect, "Mbarriers"> {
  let mnemonic = "mbarriers";
  let summary = "for each slot of a ring, an mbarrier that is passed when it is full and one for when it is empty";
  let parameters = (ins "int64_t":$slots);
  let assemblyFormat = "`<` $slots `>`";
}

#endif
