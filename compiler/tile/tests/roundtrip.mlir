// Every op prints as it was written.
// RUN: tegula-opt %s | FileCheck %s --match-full-lines --strict-whitespace

//      CHECK:module attributes {tile.version = 1 : i64} {
module attributes {tile.version = 1 : i64} {

// CHECK-NEXT:  func.func @where_am_i() -> index {
// CHECK-NEXT:    %0 = tile.program_id 2
// CHECK-NEXT:    %1 = tile.num_programs 2
func.func @where_am_i() -> index {
  %0 = tile.program_id 2
  %1 = tile.num_programs 2
  return %0 : index
}

//      CHECK:  func.func @views(%arg0: !tile.view<4xbf16> {tile.name = "q", tile.written}, %arg1: index, %arg2: !tile.view<1xi32>, %arg3: !tile.view<1xi32>) {
// CHECK-NEXT:    %0 = tile.dim %arg0 3 : !tile.view<4xbf16>
// CHECK-NEXT:    %1 = tile.slice %arg0[%arg1, %0] : !tile.view<4xbf16> -> !tile.view<2xbf16>
// CHECK-NEXT:    %2 = tile.rows %1[%arg1, %0] : !tile.view<2xbf16>
// CHECK-NEXT:    %3 = tile.pages %arg0[%arg2] page 64 : !tile.view<4xbf16>, !tile.view<1xi32> -> !tile.view<3xbf16>
// CHECK-NEXT:    %4 = tile.pages %arg0 page 8 : !tile.view<4xbf16> -> !tile.view<3xbf16>
// CHECK-NEXT:    %5 = tile.pages %1 : !tile.view<2xbf16> -> !tile.view<1xbf16>
// CHECK-NEXT:    %6 = tile.pages %arg0[%arg2] lengths %arg3 page 64 : !tile.view<4xbf16>, !tile.view<1xi32>, !tile.view<1xi32> -> !tile.view<3xbf16>
// CHECK-NEXT:    %7 = tile.slice %arg0[%arg1, %0] axis 1 : !tile.view<4xbf16> -> !tile.view<2xbf16>
func.func @views(%arg0: !tile.view<4xbf16> {tile.name = "q", tile.written}, %arg1: index, %arg2: !tile.view<1xi32>, %arg3: !tile.view<1xi32>) {
  %0 = tile.dim %arg0 3 : !tile.view<4xbf16>
  %1 = tile.slice %arg0[%arg1, %0] : !tile.view<4xbf16> -> !tile.view<2xbf16>
  %2 = tile.rows %1[%arg1, %0] : !tile.view<2xbf16>
  %3 = tile.pages %arg0[%arg2] page 64 : !tile.view<4xbf16>, !tile.view<1xi32> -> !tile.view<3xbf16>
  %4 = tile.pages %arg0 page 8 : !tile.view<4xbf16> -> !tile.view<3xbf16>
  %5 = tile.pages %1 : !tile.view<2xbf16> -> !tile.view<1xbf16>
  %6 = tile.pages %arg0[%arg2] lengths %arg3 page 64 : !tile.view<4xbf16>, !tile.view<1xi32>, !tile.view<1xi32> -> !tile.view<3xbf16>
  %7 = tile.slice %arg0[%arg1, %0] axis 1 : !tile.view<4xbf16> -> !tile.view<2xbf16>
  return
}

//      CHECK:  func.func @boxes(%arg0: !tile.view<2xf32>, %arg1: index) {
// CHECK-NEXT:    %0 = tile.load %arg0[%arg1, %arg1] : !tile.view<2xf32> -> tensor<80x176xf32>
// CHECK-NEXT:    %1 = tile.load %arg0[%arg1, %arg1] {fill = 0xFF800000 : f32} : !tile.view<2xf32> -> tensor<1x7xf32>
// CHECK-NEXT:    tile.store %0, %arg0[%arg1, %arg1] : tensor<80x176xf32>, !tile.view<2xf32>
// CHECK-NEXT:    tile.atomic_add %0, %arg0[%arg1, %arg1] : tensor<80x176xf32>, !tile.view<2xf32>
// CHECK-NEXT:    %2 = arith.cmpf olt, %0, %0 : tensor<80x176xf32>
// CHECK-NEXT:    tile.store %0, %arg0[%arg1, %arg1] where %2 : tensor<80x176xf32>, !tile.view<2xf32>, tensor<80x176xi1>
func.func @boxes(%arg0: !tile.view<2xf32>, %arg1: index) {
  %0 = tile.load %arg0[%arg1, %arg1] : !tile.view<2xf32> -> tensor<80x176xf32>
  %1 = tile.load %arg0[%arg1, %arg1] {fill = 0xFF800000 : f32} : !tile.view<2xf32> -> tensor<1x7xf32>
  tile.store %0, %arg0[%arg1, %arg1] : tensor<80x176xf32>, !tile.view<2xf32>
  tile.atomic_add %0, %arg0[%arg1, %arg1] : tensor<80x176xf32>, !tile.view<2xf32>
  %2 = arith.cmpf olt, %0, %0 : tensor<80x176xf32>
  tile.store %0, %arg0[%arg1, %arg1] where %2 : tensor<80x176xf32>, !tile.view<2xf32>, tensor<80x176xi1>
  return
}

//      CHECK:  func.func @turn(%arg0: tensor<8xf32>, %arg1: !tile.view<1xf32>, %arg2: !tile.view<1xi32>, %arg3: index, %arg4: i32, %arg5: i32) {
// CHECK-NEXT:    tile.atomic_add %arg0, %arg1[%arg3] turn %arg4 of %arg2[%arg3] next %arg5 : tensor<8xf32>, !tile.view<1xf32>, !tile.view<1xi32>
func.func @turn(%arg0: tensor<8xf32>, %arg1: !tile.view<1xf32>, %arg2: !tile.view<1xi32>, %arg3: index, %arg4: i32, %arg5: i32) {
  tile.atomic_add %arg0, %arg1[%arg3] turn %arg4 of %arg2[%arg3] next %arg5 : tensor<8xf32>, !tile.view<1xf32>, !tile.view<1xi32>
  return
}

//      CHECK:  func.func @arrive(%arg0: !tile.view<1xi32>, %arg1: index, %arg2: i32) -> i1 {
// CHECK-NEXT:    %0 = tile.arrive %arg0[%arg1] of %arg2 : !tile.view<1xi32>
func.func @arrive(%arg0: !tile.view<1xi32>, %arg1: index, %arg2: i32) -> i1 {
  %0 = tile.arrive %arg0[%arg1] of %arg2 : !tile.view<1xi32>
  return %0 : i1
}

//      CHECK:  func.func @next_work(%arg0: !tile.view<1xi32> {tile.counter, tile.name = "counter", tile.written}, %arg1: i32) {
// CHECK-NEXT:    %0 = scf.while : () -> i32 {
// CHECK-NEXT:      %1 = tile.next_work %arg0 : !tile.view<1xi32>
func.func @next_work(%arg0: !tile.view<1xi32> {tile.counter, tile.name = "counter", tile.written}, %arg1: i32) {
  scf.while : () -> i32 {
    %n = tile.next_work %arg0 : !tile.view<1xi32>
    %more = arith.cmpi slt, %n, %arg1 : i32
    scf.condition(%more) %n : i32
  } do {
  ^bb0(%n: i32):
    scf.yield
  } attributes {tile.parallel}
  return
}

//      CHECK:  func.func @elements(%arg0: !tile.view<2xf32>, %arg1: tensor<4x8xi32>, %arg2: tensor<4x8xi64>) {
// CHECK-NEXT:    %0 = tile.gather %arg0[%arg1, %arg2] : !tile.view<2xf32>, tensor<4x8xi32>, tensor<4x8xi64> -> tensor<4x8xf32>
// CHECK-NEXT:    tile.scatter %0, %arg0[%arg1, %arg2] : tensor<4x8xf32>, !tile.view<2xf32>, tensor<4x8xi32>, tensor<4x8xi64>
// CHECK-NEXT:    tile.scatter_add %0, %arg0[%arg1, %arg2] : tensor<4x8xf32>, !tile.view<2xf32>, tensor<4x8xi32>, tensor<4x8xi64>
func.func @elements(%arg0: !tile.view<2xf32>, %arg1: tensor<4x8xi32>, %arg2: tensor<4x8xi64>) {
  %0 = tile.gather %arg0[%arg1, %arg2] : !tile.view<2xf32>, tensor<4x8xi32>, tensor<4x8xi64> -> tensor<4x8xf32>
  tile.scatter %0, %arg0[%arg1, %arg2] : tensor<4x8xf32>, !tile.view<2xf32>, tensor<4x8xi32>, tensor<4x8xi64>
  tile.scatter_add %0, %arg0[%arg1, %arg2] : tensor<4x8xf32>, !tile.view<2xf32>, tensor<4x8xi32>, tensor<4x8xi64>
  return
}

//      CHECK:  func.func @one_element(%arg0: !tile.view<2xbf16>, %arg1: index, %arg2: i32) -> bf16 {
// CHECK-NEXT:    %0 = tile.gather %arg0[%arg1, %arg2] : !tile.view<2xbf16>, index, i32 -> bf16
func.func @one_element(%arg0: !tile.view<2xbf16>, %arg1: index, %arg2: i32) -> bf16 {
  %0 = tile.gather %arg0[%arg1, %arg2] : !tile.view<2xbf16>, index, i32 -> bf16
  return %0 : bf16
}

//      CHECK:  func.func @shapes(%arg0: f32) {
// CHECK-NEXT:    %0 = tile.iota : tensor<96xi32>
// CHECK-NEXT:    %1 = tile.broadcast %arg0 : f32 -> tensor<6x1xf32>
// CHECK-NEXT:    %2 = tile.broadcast %1 : tensor<6x1xf32> -> tensor<6x4xf32>
// CHECK-NEXT:    %3 = tile.reshape %2 : tensor<6x4xf32> -> tensor<2x3x4xf32>
// CHECK-NEXT:    %4 = tile.transpose %3 [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
// CHECK-NEXT:    %5 = tile.columns %4 from 1 step 2 : tensor<4x2x3xf32> -> tensor<4x2x1xf32>
// CHECK-NEXT:    %6 = tile.join %5, %4 : tensor<4x2x1xf32>, tensor<4x2x3xf32> -> tensor<4x2x4xf32>
// CHECK-NEXT:    %7 = tile.join %6, %6 {interleave} : tensor<4x2x4xf32>, tensor<4x2x4xf32> -> tensor<4x2x8xf32>
func.func @shapes(%arg0: f32) {
  %0 = tile.iota : tensor<96xi32>
  %1 = tile.broadcast %arg0 : f32 -> tensor<6x1xf32>
  %2 = tile.broadcast %1 : tensor<6x1xf32> -> tensor<6x4xf32>
  %3 = tile.reshape %2 : tensor<6x4xf32> -> tensor<2x3x4xf32>
  %4 = tile.transpose %3 [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  %5 = tile.columns %4 from 1 step 2 : tensor<4x2x3xf32> -> tensor<4x2x1xf32>
  %6 = tile.join %5, %4 : tensor<4x2x1xf32>, tensor<4x2x3xf32> -> tensor<4x2x4xf32>
  %7 = tile.join %6, %6 {interleave} : tensor<4x2x4xf32>, tensor<4x2x4xf32> -> tensor<4x2x8xf32>
  return
}

//      CHECK:  func.func @dots(%arg0: tensor<64x128xbf16>, %arg1: tensor<32x128xbf16>, %arg2: tensor<64x32xf32>) {
// CHECK-NEXT:    %0 = tile.dot %arg0, %arg1 {allow_tf32, transpose_rhs} : tensor<64x128xbf16>, tensor<32x128xbf16> -> tensor<64x32xf32>
// CHECK-NEXT:    %1 = tile.dot %arg2, %arg1 : tensor<64x32xf32>, tensor<32x128xbf16> -> tensor<64x128xf32>
// CHECK-NEXT:    %2 = tile.dot %arg0, %arg1 acc %0 {transpose_rhs} : tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<64x32xf32> -> tensor<64x32xf32>
func.func @dots(%arg0: tensor<64x128xbf16>, %arg1: tensor<32x128xbf16>, %arg2: tensor<64x32xf32>) {
  %0 = tile.dot %arg0, %arg1 {allow_tf32, transpose_rhs} : tensor<64x128xbf16>, tensor<32x128xbf16> -> tensor<64x32xf32>
  %1 = tile.dot %arg2, %arg1 : tensor<64x32xf32>, tensor<32x128xbf16> -> tensor<64x128xf32>
  %2 = tile.dot %arg0, %arg1 acc %0 {transpose_rhs} : tensor<64x128xbf16>, tensor<32x128xbf16>, tensor<64x32xf32> -> tensor<64x32xf32>
  return
}

//      CHECK:  func.func @reductions(%arg0: tensor<64x32xf32>, %arg1: tensor<2x3x4xi32>, %arg2: tensor<64xi1>) {
// CHECK-NEXT:    %0 = tile.reduce max %arg0 axis 1 : tensor<64x32xf32> -> tensor<64xf32>
// CHECK-NEXT:    %1 = tile.reduce add %arg0 axis 0 : tensor<64x32xf32> -> tensor<32xf32>
// CHECK-NEXT:    %2 = tile.reduce min %arg1 axis 1 : tensor<2x3x4xi32> -> tensor<2x4xi32>
// CHECK-NEXT:    %3 = tile.any %arg2 : tensor<64xi1>
func.func @reductions(%arg0: tensor<64x32xf32>, %arg1: tensor<2x3x4xi32>, %arg2: tensor<64xi1>) {
  %0 = tile.reduce max %arg0 axis 1 : tensor<64x32xf32> -> tensor<64xf32>
  %1 = tile.reduce add %arg0 axis 0 : tensor<64x32xf32> -> tensor<32xf32>
  %2 = tile.reduce min %arg1 axis 1 : tensor<2x3x4xi32> -> tensor<2x4xi32>
  %3 = tile.any %arg2 : tensor<64xi1>
  return
}

//      CHECK:  func.func @random(%arg0: i64, %arg1: i64, %arg2: i32, %arg3: tensor<64x32xi32>, %arg4: tensor<64x32xi32>) {
// CHECK-NEXT:    %0 = tile.random %arg0, %arg1, %arg2 at %arg3, %arg4 bits 8 rounds 10 : tensor<64x32xi32>
// CHECK-NEXT:    %1 = tile.random %arg0, %arg1, %arg2 at %arg2, %arg2 bits 32 rounds 7 : i32
func.func @random(%seed: i64, %offset: i64, %stream: i32, %rows: tensor<64x32xi32>, %columns: tensor<64x32xi32>) {
  %0 = tile.random %seed, %offset, %stream at %rows, %columns bits 8 rounds 10 : tensor<64x32xi32>
  %1 = tile.random %seed, %offset, %stream at %stream, %stream bits 32 rounds 7 : i32
  return
}

//      CHECK:  func.func @softmax_with_dropout(%arg0: tensor<64x32xf32>, %arg1: tensor<32x128xbf16>, %arg2: tensor<64xf32>, %arg3: tensor<64x128xf32>, %arg4: tensor<64x32xi1>) {
// CHECK-NEXT:    %new_max, %new_sum, %new_output = tile.softmax_update %arg0, %arg1, %arg2, %arg2, %arg3 keep %arg4 : tensor<64x32xf32>, tensor<32x128xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>, tensor<64x32xi1>
func.func @softmax_with_dropout(%s: tensor<64x32xf32>, %v: tensor<32x128xbf16>, %m: tensor<64xf32>, %o: tensor<64x128xf32>, %keep: tensor<64x32xi1>) {
  %m1, %l1, %o1 = tile.softmax_update %s, %v, %m, %m, %o keep %keep
    : tensor<64x32xf32>, tensor<32x128xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>, tensor<64x32xi1>
  return
}

//      CHECK:  func.func @softmax(%arg0: tensor<64x32xf32>, %arg1: tensor<32x128xbf16>, %arg2: tensor<64xf32>, %arg3: tensor<64x128xf32>) {
// CHECK-NEXT:    %new_max, %new_sum, %new_output = tile.softmax_update %arg0, %arg1, %arg2, %arg2, %arg3 : tensor<64x32xf32>, tensor<32x128xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>
// CHECK-NEXT:    %0 = tile.softmax_output %new_sum, %new_output : tensor<64xf32>, tensor<64x128xf32>
// CHECK-NEXT:    %1 = tile.softmax_lse %new_max, %new_sum : tensor<64xf32>
func.func @softmax(%arg0: tensor<64x32xf32>, %arg1: tensor<32x128xbf16>, %arg2: tensor<64xf32>, %arg3: tensor<64x128xf32>) {
  %m, %l, %o = tile.softmax_update %arg0, %arg1, %arg2, %arg2, %arg3
    : tensor<64x32xf32>, tensor<32x128xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>
  %0 = tile.softmax_output %l, %o : tensor<64xf32>, tensor<64x128xf32>
  %1 = tile.softmax_lse %m, %l : tensor<64xf32>
  return
}

//      CHECK:  func.func @sums_and_reports(%arg0: tensor<64x32xf32>, %arg1: tensor<1xi32>) {
// CHECK-NEXT:    %0 = tile.cumsum %arg0 axis 1 : tensor<64x32xf32>
// CHECK-NEXT:    %1 = tile.cumsum %0 axis 0 {reverse} : tensor<64x32xf32>
// CHECK-NEXT:    tile.print "sums" %1 : tensor<64x32xf32>
// CHECK-NEXT:    tile.report_element "exp"[%arg1, %arg1] of tensor<64x32xf32> : tensor<1xi32>
func.func @sums_and_reports(%arg0: tensor<64x32xf32>, %arg1: tensor<1xi32>) {
  %0 = tile.cumsum %arg0 axis 1 : tensor<64x32xf32>
  %1 = tile.cumsum %0 axis 0 {reverse} : tensor<64x32xf32>
  tile.print "sums" %1 : tensor<64x32xf32>
  tile.report_element "exp"[%arg1, %arg1] of tensor<64x32xf32> : tensor<1xi32>
  return
}

//      CHECK:  func.func @e4m3(%arg0: !tile.view<1xf8E4M3FN>, %arg1: index) {
// CHECK-NEXT:    %0 = tile.load %arg0[%arg1] {fill = -4.480000e+02 : f8E4M3FN} : !tile.view<1xf8E4M3FN> -> tensor<8xf8E4M3FN>
// CHECK-NEXT:    %1 = tile.gather %arg0[%arg1] : !tile.view<1xf8E4M3FN>, index -> f8E4M3FN
// CHECK-NEXT:    %2 = tile.broadcast %1 : f8E4M3FN -> tensor<8xf8E4M3FN>
// CHECK-NEXT:    tile.store %2, %arg0[%arg1] : tensor<8xf8E4M3FN>, !tile.view<1xf8E4M3FN>
func.func @e4m3(%arg0: !tile.view<1xf8E4M3FN>, %arg1: index) {
  %0 = tile.load %arg0[%arg1] {fill = -448.0 : f8E4M3FN} : !tile.view<1xf8E4M3FN> -> tensor<8xf8E4M3FN>
  %1 = tile.gather %arg0[%arg1] : !tile.view<1xf8E4M3FN>, index -> f8E4M3FN
  %2 = tile.broadcast %1 : f8E4M3FN -> tensor<8xf8E4M3FN>
  tile.store %2, %arg0[%arg1] : tensor<8xf8E4M3FN>, !tile.view<1xf8E4M3FN>
  return
}
}
