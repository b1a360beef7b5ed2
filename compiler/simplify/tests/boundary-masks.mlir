// RUN: tegula-opt %s --boundary-masks --canonicalize --cse | FileCheck %s

// The last key of the tile is compared with the first row, both shifted by a run-time value. The mask is computed only
// in the other branch.

// CHECK-LABEL: @causal
// CHECK-SAME: (%[[ROW:.*]]: index, %[[KEY:.*]]: index, %[[SHIFT:.*]]: i32, %[[S:.*]]: tensor<64x32xf32>)
// CHECK-DAG: %[[LAST_KEY:.*]] = arith.constant -31 : index
// CHECK-NOT: tensor<{{.*}}xi32>
// CHECK-DAG: %[[SHIFT_INDEX:.*]] = arith.index_cast %[[SHIFT]] : i32 to index
// CHECK-DAG: %[[ROW_LIMIT:.*]] = arith.addi %[[ROW]], %[[LAST_KEY]] : index
// CHECK: %[[LIMIT:.*]] = arith.addi %[[ROW_LIMIT]], %[[SHIFT_INDEX]] : index
// CHECK: %[[INSIDE:.*]] = arith.cmpi sle, %[[KEY]], %[[LIMIT]] : index
// CHECK-NEXT: %[[RESULT:.*]] = scf.if %[[INSIDE]] -> (tensor<64x32xf32>) {
// CHECK-NEXT: scf.yield %[[S]]
// CHECK-NEXT: } else {
// CHECK: %[[MASK:.*]] = arith.cmpi sle
// CHECK-NEXT: %[[MASKED:.*]] = arith.select %[[MASK]], %[[S]]
// CHECK-NEXT: scf.yield %[[MASKED]]
// CHECK-NEXT: } {tile.fast_path}
// CHECK: return %[[RESULT]]
func.func @causal(%row: index, %key: index, %shift: i32, %s: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %minus_inf = arith.constant dense<0xFF800000> : tensor<64x32xf32>
  %key32 = arith.index_cast %key : index to i32
  %first_key = tile.broadcast %key32 : i32 -> tensor<32xi32>
  %j = tile.iota : tensor<32xi32>
  %keys = arith.addi %first_key, %j : tensor<32xi32>
  %key_row = tile.reshape %keys : tensor<32xi32> -> tensor<1x32xi32>
  %row32 = arith.index_cast %row : index to i32
  %first_row = tile.broadcast %row32 : i32 -> tensor<64xi32>
  %i = tile.iota : tensor<64xi32>
  %rows = arith.addi %first_row, %i : tensor<64xi32>
  %row_column = tile.reshape %rows : tensor<64xi32> -> tensor<64x1xi32>
  %shifts = tile.broadcast %shift : i32 -> tensor<64x1xi32>
  %diagonal = arith.addi %row_column, %shifts : tensor<64x1xi32>
  %a = tile.broadcast %key_row : tensor<1x32xi32> -> tensor<64x32xi32>
  %b = tile.broadcast %diagonal : tensor<64x1xi32> -> tensor<64x32xi32>
  %mask = arith.cmpi sle, %a, %b : tensor<64x32xi32>
  %0 = arith.select %mask, %s, %minus_inf : tensor<64x32xi1>, tensor<64x32xf32>
  return %0 : tensor<64x32xf32>
}

// Two selects have a bound on keys alone. One condition serves both.

// CHECK-LABEL: @end_of_keys_twice
// CHECK-SAME: (%[[KEY:.*]]: i32, %[[END:.*]]: index, %[[S:.*]]: tensor<16x16xf32>, %[[P:.*]]: tensor<16x16xf32>)
// CHECK-DAG: %[[MINUS_16:.*]] = arith.constant -16 : index
// CHECK: %[[LIMIT:.*]] = arith.addi %[[END]], %[[MINUS_16]] : index
// CHECK: %[[INSIDE:.*]] = arith.cmpi sle, %{{.*}}, %[[LIMIT]] : index
// CHECK: scf.if %[[INSIDE]]
// CHECK-NEXT: scf.yield %[[S]]
// CHECK: math.exp2
// CHECK-NOT: arith.cmpi
// CHECK: scf.if %[[INSIDE]]
// CHECK-NEXT: scf.yield %[[P]]
func.func @end_of_keys_twice(%key: i32, %end: index, %s: tensor<16x16xf32>, %p: tensor<16x16xf32>)
    -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %minus_inf = arith.constant dense<0xFF800000> : tensor<16x16xf32>
  %first = tile.broadcast %key : i32 -> tensor<1x16xi32>
  %j = tile.iota : tensor<16xi32>
  %j_row = tile.reshape %j : tensor<16xi32> -> tensor<1x16xi32>
  %keys = arith.addi %first, %j_row : tensor<1x16xi32>
  %end32 = arith.index_cast %end : index to i32
  %ends = tile.broadcast %end32 : i32 -> tensor<1x16xi32>
  %mask_row = arith.cmpi slt, %keys, %ends : tensor<1x16xi32>
  %mask = tile.broadcast %mask_row : tensor<1x16xi1> -> tensor<16x16xi1>
  %0 = arith.select %mask, %s, %minus_inf : tensor<16x16xi1>, tensor<16x16xf32>
  %1 = math.exp2 %0 : tensor<16x16xf32>
  %2 = arith.select %mask, %p, %1 : tensor<16x16xi1>, tensor<16x16xf32>
  return %1, %2 : tensor<16x16xf32>, tensor<16x16xf32>
}

// Keys are between row - 9 and row + 4, and at most row. The last bound implies row + 4. The two remaining limits are
// rarely crossed by the same tile, so each has its own branch.

// CHECK-LABEL: @window
// CHECK-SAME: (%[[ROW:.*]]: index, %[[KEY:.*]]: index,
// CHECK-DAG: %[[MINUS_15:.*]] = arith.constant -15 : index
// CHECK-DAG: %[[MINUS_6:.*]] = arith.constant -6 : index
// CHECK: %[[LEFT_LIMIT:.*]] = arith.addi %[[KEY]], %[[MINUS_6]] : index
// CHECK: %[[LEFT:.*]] = arith.cmpi sle, %[[ROW]], %[[LEFT_LIMIT]] : index
// CHECK: %[[RIGHT_LIMIT:.*]] = arith.addi %[[ROW]], %[[MINUS_15]] : index
// CHECK: %[[RIGHT:.*]] = arith.cmpi sle, %[[KEY]], %[[RIGHT_LIMIT]] : index
// CHECK: %[[INSIDE:.*]] = arith.andi %[[LEFT]], %[[RIGHT]] : i1
// CHECK-NEXT: scf.if %[[INSIDE]]
// CHECK-NEXT: scf.yield %[[S:.*]] : tensor
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[FROM_LEFT:.*]] = scf.if %[[LEFT]]
// CHECK-NEXT: scf.yield %[[S]]
// CHECK-COUNT-1: arith.cmpi
// CHECK-NOT: arith.cmpi
// CHECK: %[[FROM_BOTH:.*]] = scf.if %[[RIGHT]]
// CHECK-NEXT: scf.yield %[[FROM_LEFT]]
// CHECK-COUNT-2: arith.cmpi
// CHECK-NOT: arith.cmpi
// CHECK: arith.select %{{.*}}, %[[FROM_LEFT]]
// CHECK: scf.yield %[[FROM_BOTH]]
func.func @window(%row: index, %key: index, %s: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %minus_inf = arith.constant dense<0xFF800000> : tensor<16x16xf32>
  %left = arith.constant dense<9> : tensor<16x16xindex>
  %right = arith.constant dense<4> : tensor<16x16xindex>
  %iota = tile.iota : tensor<16xindex>
  %j = tile.reshape %iota : tensor<16xindex> -> tensor<1x16xindex>
  %js = tile.broadcast %j : tensor<1x16xindex> -> tensor<16x16xindex>
  %first_key = tile.broadcast %key : index -> tensor<16x16xindex>
  %keys = arith.addi %js, %first_key : tensor<16x16xindex>
  %i = tile.reshape %iota : tensor<16xindex> -> tensor<16x1xindex>
  %is = tile.broadcast %i : tensor<16x1xindex> -> tensor<16x16xindex>
  %first_row = tile.broadcast %row : index -> tensor<16x16xindex>
  %rows = arith.addi %is, %first_row : tensor<16x16xindex>
  %begin = arith.subi %rows, %left : tensor<16x16xindex>
  %end = arith.addi %rows, %right : tensor<16x16xindex>
  %after = arith.cmpi sge, %keys, %begin : tensor<16x16xindex>
  %before = arith.cmpi sle, %keys, %end : tensor<16x16xindex>
  %causal = arith.cmpi sge, %rows, %keys : tensor<16x16xindex>
  %both = arith.andi %after, %before : tensor<16x16xi1>
  %mask = arith.andi %both, %causal : tensor<16x16xi1>
  %0 = arith.select %mask, %s, %minus_inf : tensor<16x16xi1>, tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}

// A window narrower than the tile contains no whole tile.

// CHECK-LABEL: @narrow_window
// CHECK-NOT: scf.if
func.func @narrow_window(%row: index, %s: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %minus_inf = arith.constant dense<0xFF800000> : tensor<16x16xf32>
  %width = arith.constant dense<9> : tensor<16x16xindex>
  %iota = tile.iota : tensor<16xindex>
  %j = tile.reshape %iota : tensor<16xindex> -> tensor<1x16xindex>
  %js = tile.broadcast %j : tensor<1x16xindex> -> tensor<16x16xindex>
  %first = tile.broadcast %row : index -> tensor<16x16xindex>
  %keys = arith.addi %js, %first : tensor<16x16xindex>
  %i = tile.reshape %iota : tensor<16xindex> -> tensor<16x1xindex>
  %is = tile.broadcast %i : tensor<16x1xindex> -> tensor<16x16xindex>
  %rows = arith.addi %is, %first : tensor<16x16xindex>
  %end = arith.addi %rows, %width : tensor<16x16xindex>
  %mask = arith.cmpi sle, %keys, %end : tensor<16x16xindex>
  %0 = arith.select %mask, %s, %minus_inf : tensor<16x16xi1>, tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}

// Documents are read from memory. Their compare stays on both sides. The compare with the end of the keys is on one.

// CHECK-LABEL: @documents
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %{{.*}} : tensor<16x16xi32>
// CHECK-NOT: arith.cmpi slt
// CHECK: scf.if
// CHECK-NEXT: %[[INSIDE:.*]] = arith.select %[[SAME]], %[[S:[^ ,]*]],
// CHECK-NEXT: scf.yield %[[INSIDE]]
// CHECK: else
// CHECK: %[[OF_DOCUMENT:.*]] = arith.select %[[SAME]], %[[S]],
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt
// CHECK: %[[EXIST:.*]] = tile.broadcast
// CHECK: arith.select %[[EXIST]], %[[OF_DOCUMENT]],
func.func @documents(%query_document: tensor<16x16xi32>, %key_document: tensor<16x16xi32>, %key: i32, %end: i32,
                     %s: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %minus_inf = arith.constant dense<0xFF800000> : tensor<16x16xf32>
  %first = tile.broadcast %key : i32 -> tensor<16xi32>
  %j = tile.iota : tensor<16xi32>
  %keys = arith.addi %first, %j : tensor<16xi32>
  %ends = tile.broadcast %end : i32 -> tensor<16xi32>
  %in_range = arith.cmpi slt, %keys, %ends : tensor<16xi32>
  %row = tile.reshape %in_range : tensor<16xi1> -> tensor<1x16xi1>
  %in_ranges = tile.broadcast %row : tensor<1x16xi1> -> tensor<16x16xi1>
  %same = arith.cmpi eq, %query_document, %key_document : tensor<16x16xi32>
  %mask = arith.andi %same, %in_ranges : tensor<16x16xi1>
  %0 = arith.select %mask, %s, %minus_inf : tensor<16x16xi1>, tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}

// One scalar decides for the whole tile. If it is true, no bounds of rows are read and nothing is compared. It has its
// own branch at the end of the keys, too. Where it is false, the scalar is not tested again.

// CHECK-LABEL: @range
// CHECK-SAME: (%[[BOUNDS:.*]]: !tile.view<1xi32>, %[[WHOLE:.*]]: i1, %[[S:.*]]: tensor<16x16xf32>,
// CHECK-NOT: tile.gather
// CHECK: %[[BEFORE_END:.*]] = arith.cmpi sle
// CHECK: %[[INSIDE:.*]] = arith.andi %[[BEFORE_END]], %[[WHOLE]] : i1
// CHECK-NEXT: scf.if %[[INSIDE]]
// CHECK-NEXT: scf.yield %[[S]]
// CHECK: else
// CHECK-NEXT: %[[EXISTING:.*]] = scf.if %[[BEFORE_END]]
// CHECK: scf.if %[[WHOLE]]
// CHECK-NEXT: scf.yield %[[EXISTING]]
// CHECK: else
// CHECK: %[[OF_ROWS:.*]] = tile.gather %[[BOUNDS]]
// CHECK: arith.cmpi slt, %{{.*}} : tensor<16x16xi32>
// CHECK-NEXT: arith.select
// CHECK-NEXT: scf.yield
// That side is wrong if the scalar is true, so the branch is no fast path.
// CHECK-NEXT: }{{$}}
// CHECK-NEXT: scf.yield
// CHECK-NEXT: } {tile.fast_path}
func.func @range(%bounds: !tile.view<1xi32>, %whole: i1, %s: tensor<16x16xf32>, %row: i32, %key: i32, %end: i32)
    -> tensor<16x16xf32> {
  %minus_inf = arith.constant dense<0xFF800000> : tensor<16x16xf32>
  %i = tile.iota : tensor<16xi32>
  %first_row = tile.broadcast %row : i32 -> tensor<16xi32>
  %rows = arith.addi %first_row, %i : tensor<16xi32>
  %row_ends = tile.gather %bounds[%rows] : !tile.view<1xi32>, tensor<16xi32> -> tensor<16xi32>
  %row_ends_column = tile.reshape %row_ends : tensor<16xi32> -> tensor<16x1xi32>
  %first_key = tile.broadcast %key : i32 -> tensor<16xi32>
  %keys = arith.addi %first_key, %i : tensor<16xi32>
  %keys_row = tile.reshape %keys : tensor<16xi32> -> tensor<1x16xi32>
  %a = tile.broadcast %keys_row : tensor<1x16xi32> -> tensor<16x16xi32>
  %b = tile.broadcast %row_ends_column : tensor<16x1xi32> -> tensor<16x16xi32>
  %before_row_end = arith.cmpi slt, %a, %b : tensor<16x16xi32>
  %all = tile.broadcast %whole : i1 -> tensor<16x16xi1>
  %in_range = arith.ori %all, %before_row_end : tensor<16x16xi1>
  %ends = tile.broadcast %end : i32 -> tensor<16x16xi32>
  %exists = arith.cmpi slt, %a, %ends : tensor<16x16xi32>
  %mask = arith.andi %exists, %in_range : tensor<16x16xi1>
  %0 = arith.select %mask, %s, %minus_inf : tensor<16x16xi1>, tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}

// A tensor that the program writes is read at the original place.

// CHECK-LABEL: @range_from_a_tensor_that_is_written
// CHECK: tile.gather
// CHECK: scf.if
// CHECK: else
// CHECK-NOT: tile.gather
// CHECK: tile.store
func.func @range_from_a_tensor_that_is_written(%ids: !tile.view<2xi32> {tile.written}, %whole: i1,
    %s: tensor<16x16xf32>, %i: tensor<16x16xi32>) -> tensor<16x16xf32> {
  %minus_inf = arith.constant dense<0xFF800000> : tensor<16x16xf32>
  %c0 = arith.constant 0 : index
  %read = tile.gather %ids[%i, %i] : !tile.view<2xi32>, tensor<16x16xi32>, tensor<16x16xi32> -> tensor<16x16xi32>
  %same = arith.cmpi eq, %read, %i : tensor<16x16xi32>
  %all = tile.broadcast %whole : i1 -> tensor<16x16xi1>
  %mask = arith.ori %same, %all : tensor<16x16xi1>
  %0 = arith.select %mask, %s, %minus_inf : tensor<16x16xi1>, tensor<16x16xf32>
  tile.store %i, %ids[%c0, %c0] : tensor<16x16xi32>, !tile.view<2xi32>
  return %0 : tensor<16x16xf32>
}

// An `or` of tiles may be true although neither operand is true everywhere.

// CHECK-LABEL: @prefix
// CHECK-NOT: scf.if
func.func @prefix(%key: i32, %prefix: i32, %end: i32, %s: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %minus_inf = arith.constant dense<0xFF800000> : tensor<16x16xf32>
  %first = tile.broadcast %key : i32 -> tensor<1x16xi32>
  %j = tile.iota : tensor<16xi32>
  %j_row = tile.reshape %j : tensor<16xi32> -> tensor<1x16xi32>
  %keys = arith.addi %first, %j_row : tensor<1x16xi32>
  %prefixes = tile.broadcast %prefix : i32 -> tensor<1x16xi32>
  %ends = tile.broadcast %end : i32 -> tensor<1x16xi32>
  %a = arith.cmpi slt, %keys, %ends : tensor<1x16xi32>
  %b = arith.cmpi slt, %keys, %prefixes : tensor<1x16xi32>
  %either = arith.ori %a, %b : tensor<1x16xi1>
  %mask = tile.broadcast %either : tensor<1x16xi1> -> tensor<16x16xi1>
  %0 = arith.select %mask, %s, %minus_inf : tensor<16x16xi1>, tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}

// The smallest element decides: 10 * 3 - 2 * 15 at the end of a falling dimension.

// CHECK-LABEL: @factors
// CHECK-DAG: %[[THREE:.*]] = arith.constant 3 : index
// CHECK-DAG: %[[MINUS_30:.*]] = arith.constant -30 : index
// CHECK: %[[TRIPLE:.*]] = arith.muli %arg0, %[[THREE]] : index
// CHECK: %[[LIMIT:.*]] = arith.addi %[[TRIPLE]], %[[MINUS_30]] : index
// CHECK: arith.cmpi sle, %arg1, %[[LIMIT]] : index
func.func @factors(%x: index, %bound: index, %s: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %minus_inf = arith.constant dense<0xFF800000> : tensor<16x16xf32>
  %two = arith.constant dense<2> : tensor<16xindex>
  %three = arith.constant dense<3> : tensor<16xindex>
  %iota = tile.iota : tensor<16xindex>
  %xs = tile.broadcast %x : index -> tensor<16xindex>
  %rising = arith.muli %xs, %three : tensor<16xindex>
  %step = arith.muli %two, %iota : tensor<16xindex>
  %falling = arith.subi %rising, %step : tensor<16xindex>
  %bounds = tile.broadcast %bound : index -> tensor<16xindex>
  %compare = arith.cmpi sge, %falling, %bounds : tensor<16xindex>
  %column = tile.reshape %compare : tensor<16xi1> -> tensor<16x1xi1>
  %mask = tile.broadcast %column : tensor<16x1xi1> -> tensor<16x16xi1>
  %0 = arith.select %mask, %s, %minus_inf : tensor<16x16xi1>, tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}

// CHECK-LABEL: @a_small_tile_stays
// CHECK-NOT: scf.if
func.func @a_small_tile_stays(%bound: i32, %s: tensor<128xf32>) -> tensor<128xf32> {
  %minus_inf = arith.constant dense<0xFF800000> : tensor<128xf32>
  %i = tile.iota : tensor<128xi32>
  %bounds = tile.broadcast %bound : i32 -> tensor<128xi32>
  %mask = arith.cmpi slt, %i, %bounds : tensor<128xi32>
  %0 = arith.select %mask, %s, %minus_inf : tensor<128xi1>, tensor<128xf32>
  return %0 : tensor<128xf32>
}

// CHECK-LABEL: @other_predicates_stay
// CHECK-NOT: scf.if
func.func @other_predicates_stay(%bound: i32, %s: tensor<256xf32>) -> tensor<256xf32> {
  %minus_inf = arith.constant dense<0xFF800000> : tensor<256xf32>
  %i = tile.iota : tensor<256xi32>
  %bounds = tile.broadcast %bound : i32 -> tensor<256xi32>
  %below = arith.cmpi ult, %i, %bounds : tensor<256xi32>
  %not = arith.cmpi ne, %i, %bounds : tensor<256xi32>
  %mask = arith.andi %below, %not : tensor<256xi1>
  %0 = arith.select %mask, %s, %minus_inf : tensor<256xi1>, tensor<256xf32>
  return %0 : tensor<256xf32>
}
