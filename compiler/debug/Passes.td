// SPDX-License-Identifier: MIT
// Keep alphabetical.
#ifndef TEGULA_DEBUG_PASSES
#define TEGULA_DEBUG_PASSES

include "mlir/Pass/PassBase.td"

def CheckFinite : Pass<"check-finite", "::mlir::func::FuncOp"> {
  let summary = "reports the first NaN with the op that made it";
  let description = [{
    Adds a test for each tile of floating-point numbers that is stored, or that an op other than elementwise arithmetic
    reads. If an element is NaN there, `tile.report_element` names the first elementwise op, load, dot, reduction or
    online softmax in whose result this element is NaN. Elementwise ops before the tested tile need no test of their
    own, so a NaN that `arith.select`, `arith.minnumf` or `arith.maxnumf` discards is no error. Elements that only reach
    elements of a store outside its view do not count, such as rows of a tile beyond the end of a matrix.

    With the option `infinities`, the test also finds infinities. An elementwise op has made one if all its operands are
    finite there. Loads, dots, reductions and the online softmax may have infinite results, because masks use
    infinities.

    ```mlir
    %y = math.log %x : tensor<64xf32>
    tile.store %y, %out[%c0] : tensor<64xf32>, !tile.view<1xf32>
    ```

    becomes, where `%inside` is the part of the tile that the store writes:

    ```mlir
    %y = math.log %x : tensor<64xf32>
    %isNan = arith.cmpf uno, %y, %y : tensor<64xf32>
    %counts = arith.andi %isNan, %inside : tensor<64xi1>
    ...
    %found = tile.any %some : tensor<1xi1>
    scf.if %found {
      ...
      tile.report_element "log"[%index, %bits] of tensor<64xf32> : tensor<1xi32>
    }
    ```
  }];
  let options = [Option<"infinities", "infinities", "bool", "false", "Also report infinities">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
}

def WriteRecords : Pass<"write-records"> {
  let summary = "replaces prints and reports by stores to a buffer that the launch reads";
  let description = [{
    Adds a parameter, the buffer of DebugLayout (artifact.h), and replaces each `tile.print`, `tile.assert` and
    `tile.report_element`. A `tile.assert` becomes a branch that writes a record where its condition is false.
    `tile.next_work` counts the records, so each has its own row of the buffer. A record whose row is outside the buffer
    is dropped, as any store is.

    The module gets the attributes `tile.record_words` and `tile.record_sites`, from which the host reads the records.
    Without the options `print` and `asserts`, prints and assertions are erased. A function without anything to write
    does not change.

    ```mlir
    tile.print "s" %s : f32
    ```

    becomes

    ```mlir
    %counter = tile.slice %records[%c0] : !tile.view<2xi32> -> !tile.view<1xi32>
    %n = tile.next_work %counter : !tile.view<1xi32>
    ...
    tile.store %site, %records[%row, %c0] : tensor<1x1xi32>, !tile.view<2xi32>
    ...
    tile.scatter_add %bits, %records[%rows, %words] : tensor<1xi32>, !tile.view<2xi32>, tensor<1xi32>, tensor<1xi32>
    ```
  }];
  let options = [Option<"print", "print", "bool", "false", "Write what tile.print prints">,
                 Option<"asserts", "asserts", "bool", "false", "Write which tile.assert fails">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

#endif
