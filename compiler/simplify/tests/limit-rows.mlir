// RUN: tegula-opt %s --limit-rows --canonicalize --cse --split-input-file | FileCheck %s

module attributes {tile.roles = "load"} {

// Row r sees keys up to row + shift + r. The rows before row x therefore see none from row + shift + x on.
// CHECK-LABEL: @causal
// CHECK-SAME: (%[[ROW:[a-z0-9]*]]: index, %[[SHIFT:[a-z0-9]*]]: index, %[[END:[a-z0-9]*]]: index
// CHECK: %[[FIRST:.*]] = arith.addi
// CHECK: %[[LIMIT:.*]] = sm.row_limit %[[END]] first %[[FIRST]] : index
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[LIMIT]]
func.func @causal(%row: index, %shift: index, %end: index, %s: tensor<64x32xf32>, %v: tensor<32x64xbf16>,
                  %m0: tensor<64xf32>, %l0: tensor<64xf32>, %o0: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %minus_inf = arith.constant dense<0xFF800000> : tensor<64x32xf32>
  %i = tile.iota : tensor<64xi32>
  %j = tile.iota : tensor<32xi32>
  %diagonal = arith.addi %row, %shift : index
  %diagonal32 = arith.index_cast %diagonal : index to i32
  %first_row = tile.broadcast %diagonal32 : i32 -> tensor<64xi32>
  %rows = arith.addi %first_row, %i : tensor<64xi32>
  %row_column = tile.reshape %rows : tensor<64xi32> -> tensor<64x1xi32>
  %b = tile.broadcast %row_column : tensor<64x1xi32> -> tensor<64x32xi32>
  %r:3 = scf.for %key = %c0 to %end step %c32 iter_args(%m = %m0, %l = %l0, %o = %o0)
      -> (tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>) {
    %key32 = arith.index_cast %key : index to i32
    %first_key = tile.broadcast %key32 : i32 -> tensor<32xi32>
    %keys = arith.addi %first_key, %j : tensor<32xi32>
    %key_row = tile.reshape %keys : tensor<32xi32> -> tensor<1x32xi32>
    %a = tile.broadcast %key_row : tensor<1x32xi32> -> tensor<64x32xi32>
    %mask = arith.cmpi sle, %a, %b : tensor<64x32xi32>
    %masked = arith.select %mask, %s, %minus_inf : tensor<64x32xi1>, tensor<64x32xf32>
    %m1, %l1, %o1 = tile.softmax_update %masked, %v, %m, %l, %o
      : tensor<64x32xf32>, tensor<32x64xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
    scf.yield %m1, %l1, %o1 : tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
  }
  return %r#2 : tensor<64x64xf32>
}

// A program that works on several blocks of queries has such a loop inside another.
// CHECK-LABEL: @in_another_loop
// CHECK: scf.for
// CHECK: %[[LIMIT:.*]] = sm.row_limit
// CHECK: scf.for %{{.*}} to %[[LIMIT]]
func.func @in_another_loop(%row: index, %shift: index, %end: index, %s: tensor<64x32xf32>, %v: tensor<32x64xbf16>,
                  %m0: tensor<64xf32>, %l0: tensor<64xf32>, %o0: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %minus_inf = arith.constant dense<0xFF800000> : tensor<64x32xf32>
  %i = tile.iota : tensor<64xi32>
  %j = tile.iota : tensor<32xi32>
  %diagonal = arith.addi %row, %shift : index
  %diagonal32 = arith.index_cast %diagonal : index to i32
  %first_row = tile.broadcast %diagonal32 : i32 -> tensor<64xi32>
  %rows = arith.addi %first_row, %i : tensor<64xi32>
  %row_column = tile.reshape %rows : tensor<64xi32> -> tensor<64x1xi32>
  %b = tile.broadcast %row_column : tensor<64x1xi32> -> tensor<64x32xi32>
  %all = scf.for %n = %c0 to %end step %c32 iter_args(%last = %o0) -> (tensor<64x64xf32>) {
    %r:3 = scf.for %key = %c0 to %end step %c32 iter_args(%m = %m0, %l = %l0, %o = %o0)
        -> (tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>) {
      %key32 = arith.index_cast %key : index to i32
      %first_key = tile.broadcast %key32 : i32 -> tensor<32xi32>
      %keys = arith.addi %first_key, %j : tensor<32xi32>
      %key_row = tile.reshape %keys : tensor<32xi32> -> tensor<1x32xi32>
      %a = tile.broadcast %key_row : tensor<1x32xi32> -> tensor<64x32xi32>
      %mask = arith.cmpi sle, %a, %b : tensor<64x32xi32>
      %masked = arith.select %mask, %s, %minus_inf : tensor<64x32xi1>, tensor<64x32xf32>
      %m1, %l1, %o1 = tile.softmax_update %masked, %v, %m, %l, %o
        : tensor<64x32xf32>, tensor<32x64xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
      scf.yield %m1, %l1, %o1 : tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
    }
    scf.yield %r#2 : tensor<64x64xf32>
  }
  return %all : tensor<64x64xf32>
}

// The mask hides the columns before a diagonal, so the first rows see the last columns.
// CHECK-LABEL: @window
// CHECK-NOT: sm.row_limit
func.func @window(%row: i32, %end: index, %s: tensor<64x32xf32>, %v: tensor<32x64xbf16>, %m0: tensor<64xf32>,
                  %l0: tensor<64xf32>, %o0: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %minus_inf = arith.constant dense<0xFF800000> : tensor<64x32xf32>
  %i = tile.iota : tensor<64xi32>
  %j = tile.iota : tensor<32xi32>
  %first_row = tile.broadcast %row : i32 -> tensor<64xi32>
  %rows = arith.addi %first_row, %i : tensor<64xi32>
  %row_column = tile.reshape %rows : tensor<64xi32> -> tensor<64x1xi32>
  %b = tile.broadcast %row_column : tensor<64x1xi32> -> tensor<64x32xi32>
  %r:3 = scf.for %key = %c0 to %end step %c32 iter_args(%m = %m0, %l = %l0, %o = %o0)
      -> (tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>) {
    %key32 = arith.index_cast %key : index to i32
    %first_key = tile.broadcast %key32 : i32 -> tensor<32xi32>
    %keys = arith.addi %first_key, %j : tensor<32xi32>
    %key_row = tile.reshape %keys : tensor<32xi32> -> tensor<1x32xi32>
    %a = tile.broadcast %key_row : tensor<1x32xi32> -> tensor<64x32xi32>
    %mask = arith.cmpi sge, %a, %b : tensor<64x32xi32>
    %masked = arith.select %mask, %s, %minus_inf : tensor<64x32xi1>, tensor<64x32xf32>
    %m1, %l1, %o1 = tile.softmax_update %masked, %v, %m, %l, %o
      : tensor<64x32xf32>, tensor<32x64xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
    scf.yield %m1, %l1, %o1 : tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
  }
  return %r#2 : tensor<64x64xf32>
}

// An iteration with hidden scores may change anything else that the loop computes.
// CHECK-LABEL: @more_than_a_softmax
// CHECK-NOT: sm.row_limit
func.func @more_than_a_softmax(%diagonal: tensor<64x32xi32>, %count: i32, %end: index, %s: tensor<64x32xf32>,
                               %v: tensor<32x64xbf16>, %m0: tensor<64xf32>, %l0: tensor<64xf32>, %o0: tensor<64x64xf32>)
    -> (tensor<64x64xf32>, i32) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %one = arith.constant 1 : i32
  %minus_inf = arith.constant dense<0xFF800000> : tensor<64x32xf32>
  %i = tile.iota : tensor<64xi32>
  %j = tile.iota : tensor<32xi32>
  %row_column = tile.reshape %i : tensor<64xi32> -> tensor<64x1xi32>
  %b = tile.broadcast %row_column : tensor<64x1xi32> -> tensor<64x32xi32>
  %r:4 = scf.for %key = %c0 to %end step %c32 iter_args(%m = %m0, %l = %l0, %o = %o0, %n = %count)
      -> (tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>, i32) {
    %key32 = arith.index_cast %key : index to i32
    %first_key = tile.broadcast %key32 : i32 -> tensor<32xi32>
    %keys = arith.addi %first_key, %j : tensor<32xi32>
    %key_row = tile.reshape %keys : tensor<32xi32> -> tensor<1x32xi32>
    %a = tile.broadcast %key_row : tensor<1x32xi32> -> tensor<64x32xi32>
    %mask = arith.cmpi sle, %a, %b : tensor<64x32xi32>
    %masked = arith.select %mask, %s, %minus_inf : tensor<64x32xi1>, tensor<64x32xf32>
    %m1, %l1, %o1 = tile.softmax_update %masked, %v, %m, %l, %o
      : tensor<64x32xf32>, tensor<32x64xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
    %n1 = arith.addi %n, %one : i32
    scf.yield %m1, %l1, %o1, %n1 : tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>, i32
  }
  return %r#2, %r#3 : tensor<64x64xf32>, i32
}
}

// -----

// Without roles, all warps of a thread block synchronise in each iteration.
module {
// CHECK-LABEL: @without_roles
// CHECK-NOT: sm.row_limit
func.func @without_roles(%end: index, %s: tensor<64x32xf32>, %v: tensor<32x64xbf16>, %m0: tensor<64xf32>,
                         %l0: tensor<64xf32>, %o0: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %minus_inf = arith.constant dense<0xFF800000> : tensor<64x32xf32>
  %i = tile.iota : tensor<64xi32>
  %j = tile.iota : tensor<32xi32>
  %row_column = tile.reshape %i : tensor<64xi32> -> tensor<64x1xi32>
  %b = tile.broadcast %row_column : tensor<64x1xi32> -> tensor<64x32xi32>
  %r:3 = scf.for %key = %c0 to %end step %c32 iter_args(%m = %m0, %l = %l0, %o = %o0)
      -> (tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>) {
    %key32 = arith.index_cast %key : index to i32
    %first_key = tile.broadcast %key32 : i32 -> tensor<32xi32>
    %keys = arith.addi %first_key, %j : tensor<32xi32>
    %key_row = tile.reshape %keys : tensor<32xi32> -> tensor<1x32xi32>
    %a = tile.broadcast %key_row : tensor<1x32xi32> -> tensor<64x32xi32>
    %mask = arith.cmpi sle, %a, %b : tensor<64x32xi32>
    %masked = arith.select %mask, %s, %minus_inf : tensor<64x32xi1>, tensor<64x32xf32>
    %m1, %l1, %o1 = tile.softmax_update %masked, %v, %m, %l, %o
      : tensor<64x32xf32>, tensor<32x64xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
    scf.yield %m1, %l1, %o1 : tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
  }
  return %r#2 : tensor<64x64xf32>
}
}
