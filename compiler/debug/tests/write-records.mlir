// RUN: tegula-opt --write-records=print --mlir-print-debuginfo --split-input-file %s | FileCheck %s
// RUN: tegula-opt --write-records --split-input-file %s | FileCheck %s --check-prefix=OFF
// RUN: tegula-opt --write-records=asserts --split-input-file %s | FileCheck %s --check-prefix=ASSERT

// CHECK: module attributes {tile.record_sites = [
// CHECK-SAME: {dtype = "bf16", kind = "print", location = "a.cpp:7", loops = ["a.cpp:5"], name = "s", shape = array<i64: 4, 8>}
// CHECK-SAME: {dtype = "index", kind = "print", location = "a.cpp:8", loops = ["a.cpp:5"], name = "i", shape = array<i64>}
// 1 word for the site, 3 for the program instance, 1 for the loop, 32 elements.
// CHECK-SAME: tile.record_words = 37 : i64
// CHECK-LABEL: func.func @in_a_loop
// CHECK-SAME: %[[RECORDS:[a-z0-9]*]]: !tile.view<2xi32> {tile.name = "debug records", tile.written}
// CHECK: scf.for %[[I:[a-z0-9]*]] =
// CHECK: %[[COUNTER:.*]] = tile.slice %[[RECORDS]][%{{.*}}] : !tile.view<2xi32> -> !tile.view<1xi32>
// CHECK: %[[N:.*]] = tile.next_work %[[COUNTER]]
// CHECK: %[[ROW:.*]] = arith.addi %[[N]], %c1_i32
// CHECK: tile.program_id 0
// CHECK: arith.index_cast %[[I]] : index to i32
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : tensor<4x8xbf16> to tensor<4x8xf32>
// CHECK: %[[BITS:.*]] = arith.bitcast %[[WIDE]]
// CHECK: %[[ROWS:.*]] = tile.broadcast %[[ROW]] : i32 -> tensor<4x8xi32>
// CHECK: tile.scatter_add %[[BITS]], %[[RECORDS]][%[[ROWS]], %{{.*}}]
// Elements of 64 bits have two words.
// CHECK: tile.next_work
// CHECK: tile.scatter_add
// CHECK: tile.scatter_add
// CHECK-NOT: tile.print

// OFF-LABEL: func.func @in_a_loop
// OFF-SAME: (%{{[a-z0-9]*}}: !tile.view<2xbf16>)
// OFF-NOT: tile.print
// OFF-NOT: tile.next_work
// OFF: return
func.func @in_a_loop(%x: !tile.view<2xbf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %s = tile.load %x[%i, %c0] : !tile.view<2xbf16> -> tensor<4x8xbf16>
    tile.print "s" %s : tensor<4x8xbf16> loc("a.cpp":7:0)
    tile.print "i" %i : index loc("a.cpp":8:0)
  } loc("a.cpp":5:0)
  return
}

// -----

// An assertion is a branch in which a record is written.
// ASSERT-LABEL: func.func @an_assertion
// ASSERT-SAME: %[[HOLDS:[a-z0-9]*]]: i1
// ASSERT: %[[FAILS:.*]] = arith.xori %[[HOLDS]], %true
// ASSERT: scf.if %[[FAILS]] {
// ASSERT: tile.next_work
// ASSERT: tile.scatter_add
// ASSERT: } {tile.rare}
// ASSERT-NOT: tile.assert
// OFF-LABEL: func.func @an_assertion
// OFF-NEXT: return
func.func @an_assertion(%holds: i1, %page: i32) {
  tile.assert %holds "page" %page : i32
  return
}

// -----

// Reports are written in any case.
// OFF-LABEL: func.func @a_report
// OFF: tile.next_work
// OFF-COUNT-2: tile.scatter_add
// OFF-NOT: tile.report_element
func.func @a_report(%index: tensor<1xi32>, %bits: tensor<1xi32>) {
  tile.report_element "exp" [%index, %bits] of tensor<64x32xf32> : tensor<1xi32>
  return
}
