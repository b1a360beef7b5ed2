// RUN: tegula-opt %s --lower-to-threads --cse --split-input-file | FileCheck %s

#acc = #sm.layout<registers = [1:2:1, 0:2:8, 1:16:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// Each column of accumulators becomes a word of 16 elements. Both numbers are at most 0 if the larger one is.
// CHECK-LABEL: func.func @two_limits
// CHECK: %[[LARGER:.*]] = arith.maxsi %[[KEY:.*]], %[[DISTANCE:.*]] : i32
// CHECK: %[[LOW:.*]] = arith.minsi %[[LARGER]], %c8_i32{{.*}} : i32
// CHECK: %[[EXCESS:.*]] = arith.subi %c8_i32{{.*}}, %[[LOW]] : i32
// CHECK: %[[COUNT:.*]] = arith.shrui %[[EXCESS]], %c3_i32{{.*}} : i32
// CHECK: %[[WORD:.*]] = llvm.call_intrinsic "llvm.nvvm.bmsk.clamp"(%c0_i32{{.*}}, %[[COUNT]]) : (i32, i32) -> i32
// The next column:
// CHECK: arith.minsi %[[LARGER]], %c7_i32{{.*}} : i32
// The row 8 further down has the same keys, and is 8 further from the diagonal. The sum does not overflow.
// CHECK: %[[LEAST:.*]] = arith.maxsi %[[DISTANCE]], %c-2147483640_i32{{.*}} : i32
// CHECK: %[[MOVED:.*]] = arith.addi %[[LEAST]], %c-8_i32{{.*}} : i32
// CHECK: %[[NEXT:.*]] = arith.maxsi %[[KEY]], %[[MOVED]] : i32
// CHECK: arith.minsi %[[NEXT]], %c8_i32{{.*}} : i32
// CHECK: %[[BIT0:.*]] = arith.andi %[[WORD]], %c1_i32{{.*}} : i32
// CHECK: %[[IS0:.*]] = arith.cmpi ne, %[[BIT0]], %c0_i32
// CHECK: arith.select %[[IS0]], %{{.*}}, %{{.*}} : f32
// CHECK: %[[BIT1:.*]] = arith.andi %[[WORD]], %c2_i32{{.*}} : i32
// CHECK: %[[IS1:.*]] = arith.cmpi ne, %[[BIT1]], %c0_i32
// CHECK: arith.select %[[IS1]], %{{.*}}, %{{.*}} : f32
func.func @two_limits(%x: f32, %first: i32, %end: i32, %y: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0> : tensor<64x128xi32, #acc>
  %hidden = arith.constant dense<0xFF800000> : tensor<64x128xf32, #acc>
  %key = sm.linear %end [0, 1] : tensor<64x128xi32, #acc>
  %inside = arith.cmpi sle, %key, %zero : tensor<64x128xi32, #acc>
  %distance = sm.linear %first [-1, 1] : tensor<64x128xi32, #acc>
  %below = arith.cmpi sle, %distance, %zero : tensor<64x128xi32, #acc>
  %mask = arith.andi %inside, %below : tensor<64x128xi1, #acc>
  %s = sm.linear %x [1, 1] : tensor<64x128xf32, #acc>
  %r = arith.select %mask, %s, %hidden : tensor<64x128xi1, #acc>, tensor<64x128xf32, #acc>
  tile.store %r, %y[%c0, %c0] : tensor<64x128xf32, #acc>, !tile.view<2xf32>
  return
}

// -----

#acc = #sm.layout<registers = [1:2:1, 0:2:8, 1:16:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// Numbers that fall are at most 0 from some element on. A scalar is a word of equal bits.
// CHECK-LABEL: func.func @falling_numbers
// CHECK: %[[ALL:.*]] = arith.extsi %{{.*}} : i1 to i32
// CHECK: %[[BELOW:.*]] = llvm.call_intrinsic "llvm.nvvm.bmsk.clamp"
// CHECK: %[[MORE:.*]] = arith.maxsi %{{.*}}, %c0_i32{{.*}} : i32
// CHECK: %[[EXCESS:.*]] = arith.addi %[[MORE]], %c7_i32{{.*}} : i32
// CHECK: %[[COUNT:.*]] = arith.shrui %[[EXCESS]], %c3_i32{{.*}} : i32
// CHECK: %[[ABOVE:.*]] = llvm.call_intrinsic "llvm.nvvm.bmsk.clamp"(%c0_i32{{.*}}, %[[COUNT]]) : (i32, i32) -> i32
// CHECK: %[[FROM:.*]] = arith.xori %[[ABOVE]], %c-1_i32{{.*}} : i32
// CHECK: %[[BAND:.*]] = arith.andi %[[BELOW]], %[[FROM]] : i32
// CHECK: %[[WORD:.*]] = arith.ori %[[ALL]], %[[BAND]] : i32
// CHECK: arith.andi %[[WORD]], %c1_i32
func.func @falling_numbers(%x: f32, %first: i32, %second: i32, %seen: i1, %y: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0> : tensor<64x128xi32, #acc>
  %hidden = arith.constant dense<0xFF800000> : tensor<64x128xf32, #acc>
  %low = sm.linear %first [-1, 1] : tensor<64x128xi32, #acc>
  %below = arith.cmpi sle, %low, %zero : tensor<64x128xi32, #acc>
  %high = sm.linear %second [1, -1] : tensor<64x128xi32, #acc>
  %above = arith.cmpi sle, %high, %zero : tensor<64x128xi32, #acc>
  %band = arith.andi %below, %above : tensor<64x128xi1, #acc>
  %all = tile.broadcast %seen : i1 -> tensor<64x128xi1, #acc>
  %mask = arith.ori %all, %band : tensor<64x128xi1, #acc>
  %s = sm.linear %x [1, 1] : tensor<64x128xf32, #acc>
  %r = arith.select %mask, %s, %hidden : tensor<64x128xi1, #acc>, tensor<64x128xf32, #acc>
  tile.store %r, %y[%c0, %c0] : tensor<64x128xf32, #acc>, !tile.view<2xf32>
  return
}

// -----

#acc = #sm.layout<registers = [1:2:1, 0:2:8, 1:16:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// One limit takes 32 compares for the whole tile, because rows share them. Words would save little.
// CHECK-LABEL: func.func @one_limit
// CHECK-NOT: bmsk
func.func @one_limit(%x: f32, %end: i32, %y: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0> : tensor<64x128xi32, #acc>
  %hidden = arith.constant dense<0xFF800000> : tensor<64x128xf32, #acc>
  %key = sm.linear %end [0, 1] : tensor<64x128xi32, #acc>
  %mask = arith.cmpi sle, %key, %zero : tensor<64x128xi32, #acc>
  %s = sm.linear %x [1, 1] : tensor<64x128xf32, #acc>
  %r = arith.select %mask, %s, %hidden : tensor<64x128xi1, #acc>, tensor<64x128xf32, #acc>
  tile.store %r, %y[%c0, %c0] : tensor<64x128xf32, #acc>, !tile.view<2xf32>
  return
}

// -----

#acc = #sm.layout<registers = [1:2:1, 0:2:8, 1:16:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// A part of the condition takes an instruction for each element, so the other part stays with it.
// CHECK-LABEL: func.func @other_conditions
// CHECK-NOT: bmsk
func.func @other_conditions(%x: f32, %first: i32, %end: i32, %y: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0> : tensor<64x128xi32, #acc>
  %hidden = arith.constant dense<0xFF800000> : tensor<64x128xf32, #acc>
  %key = sm.linear %end [0, 1] : tensor<64x128xi32, #acc>
  %inside = arith.cmpi sle, %key, %zero : tensor<64x128xi32, #acc>
  %distance = sm.linear %first [-1, 1] : tensor<64x128xi32, #acc>
  %below = arith.cmpi sle, %distance, %zero : tensor<64x128xi32, #acc>
  %s = sm.linear %x [1, 1] : tensor<64x128xf32, #acc>
  %large = arith.cmpf ogt, %s, %hidden : tensor<64x128xf32, #acc>
  %both = arith.andi %inside, %below : tensor<64x128xi1, #acc>
  %mask = arith.andi %both, %large : tensor<64x128xi1, #acc>
  %r = arith.select %mask, %s, %hidden : tensor<64x128xi1, #acc>, tensor<64x128xf32, #acc>
  tile.store %r, %y[%c0, %c0] : tensor<64x128xf32, #acc>, !tile.view<2xf32>
  return
}

// -----

#acc = #sm.layout<registers = [1:2:1, 0:2:8, 1:16:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// Elements 24 apart would take a division.
// CHECK-LABEL: func.func @other_distances
// CHECK-NOT: bmsk
func.func @other_distances(%x: f32, %first: i32, %end: i32, %y: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0> : tensor<64x128xi32, #acc>
  %hidden = arith.constant dense<0xFF800000> : tensor<64x128xf32, #acc>
  %key = sm.linear %end [0, 1] : tensor<64x128xi32, #acc>
  %inside = arith.cmpi sle, %key, %zero : tensor<64x128xi32, #acc>
  %distance = sm.linear %first [-1, 3] : tensor<64x128xi32, #acc>
  %below = arith.cmpi sle, %distance, %zero : tensor<64x128xi32, #acc>
  %mask = arith.andi %inside, %below : tensor<64x128xi1, #acc>
  %s = sm.linear %x [1, 1] : tensor<64x128xf32, #acc>
  %r = arith.select %mask, %s, %hidden : tensor<64x128xi1, #acc>, tensor<64x128xf32, #acc>
  tile.store %r, %y[%c0, %c0] : tensor<64x128xf32, #acc>, !tile.view<2xf32>
  return
}

// -----

#acc = #sm.layout<registers = [1:2:1, 0:2:8, 1:10:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// Two elements of ten would take another byte.
// CHECK-LABEL: func.func @parts_of_bytes
// CHECK-NOT: bmsk
func.func @parts_of_bytes(%x: f32, %first: i32, %end: i32, %y: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0> : tensor<64x80xi32, #acc>
  %hidden = arith.constant dense<0xFF800000> : tensor<64x80xf32, #acc>
  %key = sm.linear %end [0, 1] : tensor<64x80xi32, #acc>
  %inside = arith.cmpi sle, %key, %zero : tensor<64x80xi32, #acc>
  %distance = sm.linear %first [-1, 1] : tensor<64x80xi32, #acc>
  %below = arith.cmpi sle, %distance, %zero : tensor<64x80xi32, #acc>
  %mask = arith.andi %inside, %below : tensor<64x80xi1, #acc>
  %s = sm.linear %x [1, 1] : tensor<64x80xf32, #acc>
  %r = arith.select %mask, %s, %hidden : tensor<64x80xi1, #acc>, tensor<64x80xf32, #acc>
  tile.store %r, %y[%c0, %c0] : tensor<64x80xf32, #acc>, !tile.view<2xf32>
  return
}
