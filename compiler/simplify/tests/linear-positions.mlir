// RUN: tegula-opt %s --linear-positions --canonicalize | FileCheck %s

// CHECK-LABEL: @distances
// CHECK-SAME: %[[I:[a-z0-9]*]]: index, %[[J:[a-z0-9]*]]: index
// CHECK: %[[DISTANCE:.*]] = arith.subi %[[I]], %[[J]] : index
// CHECK: %[[INTEGER:.*]] = arith.index_cast %[[DISTANCE]] : index to i32
// CHECK: %[[FIRST:.*]] = arith.sitofp %[[INTEGER]] : i32 to f32
// CHECK: %[[NUMBERS:.*]] = sm.linear %[[FIRST]] [1, -1] : tensor<64x32xf32>
// CHECK: %[[MAGNITUDES:.*]] = math.absf %[[NUMBERS]]
// CHECK: return %[[MAGNITUDES]]
func.func @distances(%i: index, %j: index) -> tensor<64x32xf32> {
  %i32 = arith.index_cast %i : index to i32
  %j32 = arith.index_cast %j : index to i32
  %i0 = tile.broadcast %i32 : i32 -> tensor<64xi32>
  %j0 = tile.broadcast %j32 : i32 -> tensor<32xi32>
  %rows = tile.iota : tensor<64xi32>
  %keys = tile.iota : tensor<32xi32>
  %row = arith.addi %i0, %rows : tensor<64xi32>
  %key = arith.addi %j0, %keys : tensor<32xi32>
  %column = tile.reshape %row : tensor<64xi32> -> tensor<64x1xi32>
  %line = tile.reshape %key : tensor<32xi32> -> tensor<1x32xi32>
  %a = tile.broadcast %column : tensor<64x1xi32> -> tensor<64x32xi32>
  %b = tile.broadcast %line : tensor<1x32xi32> -> tensor<64x32xi32>
  %distance = arith.subi %a, %b : tensor<64x32xi32>
  %magnitude = math.absi %distance : tensor<64x32xi32>
  %0 = arith.sitofp %magnitude : tensor<64x32xi32> to tensor<64x32xf32>
  return %0 : tensor<64x32xf32>
}

// CHECK-LABEL: @other_integers_are_converted
// CHECK: arith.sitofp %{{.*}} : tensor<64xi32> to tensor<64xf32>
func.func @other_integers_are_converted(%x: tensor<64xi32>) -> tensor<64xf32> {
  %0 = arith.sitofp %x : tensor<64xi32> to tensor<64xf32>
  return %0 : tensor<64xf32>
}

// These positions may not fit into 32 bits.
// CHECK-LABEL: @wide_integers_are_converted
// CHECK-NOT: sm.linear
// CHECK: arith.sitofp %{{.*}} : tensor<64xi64> to tensor<64xf32>
func.func @wide_integers_are_converted(%n: i64) -> tensor<64xf32> {
  %rows = tile.iota : tensor<64xi32>
  %wide = arith.extsi %rows : tensor<64xi32> to tensor<64xi64>
  %first = tile.broadcast %n : i64 -> tensor<64xi64>
  %sum = arith.addi %first, %wide : tensor<64xi64>
  %0 = arith.sitofp %sum : tensor<64xi64> to tensor<64xf32>
  return %0 : tensor<64xf32>
}

// The mask of a diagonal compares distances with 0. The first distance is clamped, so that the others do not overflow.

// CHECK-LABEL: @diagonal
// CHECK-SAME: %[[I:[a-z0-9]*]]: index, %[[J:[a-z0-9]*]]: index
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0> : tensor<64x32xi32>
// CHECK-DAG: %[[FAR:.*]] = arith.constant 1073741824 : index
// CHECK-DAG: %[[MINUS_FAR:.*]] = arith.constant -1073741824 : index
// CHECK: %[[DISTANCE:.*]] = arith.subi %[[J]], %[[I]] : index
// CHECK: %[[NOT_FAR:.*]] = arith.minsi %[[DISTANCE]], %[[FAR]]
// CHECK: %[[NEAR:.*]] = arith.maxsi %[[NOT_FAR]], %[[MINUS_FAR]]
// CHECK: %[[FIRST:.*]] = arith.index_cast %[[NEAR]] : index to i32
// CHECK: %[[NUMBERS:.*]] = sm.linear %[[FIRST]] [-1, 1] : tensor<64x32xi32>
// CHECK: arith.cmpi sle, %[[NUMBERS]], %[[ZERO]]
func.func @diagonal(%i: index, %j: index) -> tensor<64x32xi1> {
  %i32 = arith.index_cast %i : index to i32
  %j32 = arith.index_cast %j : index to i32
  %i0 = tile.broadcast %i32 : i32 -> tensor<64xi32>
  %j0 = tile.broadcast %j32 : i32 -> tensor<32xi32>
  %rows = tile.iota : tensor<64xi32>
  %keys = tile.iota : tensor<32xi32>
  %row = arith.addi %i0, %rows : tensor<64xi32>
  %key = arith.addi %j0, %keys : tensor<32xi32>
  %column = tile.reshape %row : tensor<64xi32> -> tensor<64x1xi32>
  %line = tile.reshape %key : tensor<32xi32> -> tensor<1x32xi32>
  %a = tile.broadcast %column : tensor<64x1xi32> -> tensor<64x32xi32>
  %b = tile.broadcast %line : tensor<1x32xi32> -> tensor<64x32xi32>
  %0 = arith.cmpi sge, %a, %b : tensor<64x32xi32>
  return %0 : tensor<64x32xi1>
}

// CHECK-LABEL: @an_end_of_keys_stays
// CHECK-NOT: sm.linear
func.func @an_end_of_keys_stays(%j: i32, %end: i32) -> tensor<32xi1> {
  %j0 = tile.broadcast %j : i32 -> tensor<32xi32>
  %keys = tile.iota : tensor<32xi32>
  %key = arith.addi %j0, %keys : tensor<32xi32>
  %ends = tile.broadcast %end : i32 -> tensor<32xi32>
  %0 = arith.cmpi slt, %key, %ends : tensor<32xi32>
  return %0 : tensor<32xi1>
}

// Consumers do not compute positions for loads, so a compare along one dimension is rewritten, too.
module attributes {tile.roles = "load"} {
// CHECK-LABEL: @an_end_of_keys_for_fed_warps
// CHECK: %[[NUMBERS:.*]] = sm.linear %{{.*}} [1] : tensor<32xi32>
// CHECK: arith.cmpi sle, %[[NUMBERS]], %{{.*}} : tensor<32xi32>
// CHECK-NOT: arith.cmpi
func.func @an_end_of_keys_for_fed_warps(%j: i32, %end: i32) -> tensor<32xi1> {
  %j0 = tile.broadcast %j : i32 -> tensor<32xi32>
  %keys = tile.iota : tensor<32xi32>
  %key = arith.addi %j0, %keys : tensor<32xi32>
  %ends = tile.broadcast %end : i32 -> tensor<32xi32>
  %0 = arith.cmpi slt, %key, %ends : tensor<32xi32>
  return %0 : tensor<32xi1>
}
}

// 32-bit distances would overflow within the tile.

// CHECK-LABEL: @steep
// CHECK-NOT: sm.linear
func.func @steep(%i: index, %j: index) -> tensor<64x32xi1> {
  %factor = arith.constant dense<33554432> : tensor<64x32xindex>
  %i0 = tile.broadcast %i : index -> tensor<64x32xindex>
  %j0 = tile.broadcast %j : index -> tensor<64x32xindex>
  %rows = tile.iota : tensor<64xindex>
  %keys = tile.iota : tensor<32xindex>
  %column = tile.reshape %rows : tensor<64xindex> -> tensor<64x1xindex>
  %line = tile.reshape %keys : tensor<32xindex> -> tensor<1x32xindex>
  %a0 = tile.broadcast %column : tensor<64x1xindex> -> tensor<64x32xindex>
  %b0 = tile.broadcast %line : tensor<1x32xindex> -> tensor<64x32xindex>
  %a1 = arith.addi %a0, %i0 : tensor<64x32xindex>
  %b1 = arith.addi %b0, %j0 : tensor<64x32xindex>
  %a = arith.muli %a1, %factor : tensor<64x32xindex>
  %b = arith.muli %b1, %factor : tensor<64x32xindex>
  %0 = arith.cmpi sge, %a, %b : tensor<64x32xindex>
  return %0 : tensor<64x32xi1>
}

// A tile that begins at a multiple of its size does not cross the end of a period. The first distance is small.

// CHECK-LABEL: @period
// CHECK-SAME: %[[I:[a-z0-9]*]]: index, %[[J:[a-z0-9]*]]: index
// CHECK-DAG: %[[MASK:.*]] = arith.constant 127 : index
// CHECK-DAG: %[[SIZE:.*]] = arith.constant 64 : index
// CHECK: %[[ROW:.*]] = arith.muli %[[I]], %[[SIZE]] : index
// CHECK: %[[FIRST_ROW:.*]] = arith.andi %[[ROW]], %[[MASK]] : index
// CHECK-NOT: arith.minsi
// CHECK-NOT: arith.maxsi
// CHECK: %[[FIRST:.*]] = arith.index_cast %{{.*}} : index to i32
// CHECK: %[[NUMBERS:.*]] = sm.linear %[[FIRST]] [-1, 1] : tensor<64x128xi32>
// CHECK: arith.cmpi sle, %[[NUMBERS]], %{{.*}}
// CHECK-NOT: arith.andi
func.func @period(%i: index, %j: index) -> tensor<64x128xi1> {
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %i64 = arith.muli %i, %c64 : index
  %j128 = arith.muli %j, %c128 : index
  %i32 = arith.index_cast %i64 : index to i32
  %j32 = arith.index_cast %j128 : index to i32
  %i0 = tile.broadcast %i32 : i32 -> tensor<64x1xi32>
  %j0 = tile.broadcast %j32 : i32 -> tensor<1x128xi32>
  %rows = tile.iota : tensor<64xi32>
  %keys = tile.iota : tensor<128xi32>
  %column = tile.reshape %rows : tensor<64xi32> -> tensor<64x1xi32>
  %line = tile.reshape %keys : tensor<128xi32> -> tensor<1x128xi32>
  %row = arith.addi %i0, %column : tensor<64x1xi32>
  %key = arith.addi %j0, %line : tensor<1x128xi32>
  %row_mask = arith.constant dense<127> : tensor<64x1xi32>
  %key_mask = arith.constant dense<127> : tensor<1x128xi32>
  %row_part = arith.andi %row, %row_mask : tensor<64x1xi32>
  %key_part = arith.andi %key, %key_mask : tensor<1x128xi32>
  %a = tile.broadcast %row_part : tensor<64x1xi32> -> tensor<64x128xi32>
  %b = tile.broadcast %key_part : tensor<1x128xi32> -> tensor<64x128xi32>
  %0 = arith.cmpi sge, %a, %b : tensor<64x128xi32>
  return %0 : tensor<64x128xi1>
}

// These tiles may cross the end of a period, or the mask leaves out other bits.

// CHECK-LABEL: @other_periods
// CHECK-NOT: sm.linear
// CHECK-COUNT-3: arith.andi %{{.*}} : tensor<64xi32>
func.func @other_periods(%i: i32) -> (tensor<64xi32>, tensor<64xi32>, tensor<64xi32>) {
  %c32 = arith.constant 32 : i32
  %c64 = arith.constant 64 : i32
  %i32 = arith.muli %i, %c32 : i32
  %i64 = arith.muli %i, %c64 : i32
  %first32 = tile.broadcast %i32 : i32 -> tensor<64xi32>
  %first64 = tile.broadcast %i64 : i32 -> tensor<64xi32>
  %rows = tile.iota : tensor<64xi32>
  %row32 = arith.addi %first32, %rows : tensor<64xi32>
  %row64 = arith.addi %first64, %rows : tensor<64xi32>
  %m31 = arith.constant dense<31> : tensor<64xi32>
  %m127 = arith.constant dense<127> : tensor<64xi32>
  %m126 = arith.constant dense<126> : tensor<64xi32>
  %0 = arith.andi %row32, %m127 : tensor<64xi32>
  %1 = arith.andi %row64, %m31 : tensor<64xi32>
  %2 = arith.andi %row64, %m126 : tensor<64xi32>
  return %0, %1, %2 : tensor<64xi32>, tensor<64xi32>, tensor<64xi32>
}
