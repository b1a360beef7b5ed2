module attributes {tile.version = 1 : i64} {
  func.func @branches(%x: !tile.view<1xf32> {tile.name = "x"}, %out: !tile.view<1xf32> {tile.name = "out", tile.written}, %count: i32 {tile.name = "count"}) {
    %0 = arith.constant 0 : i32 loc("dsl/programs.cpp":68:0)
    %1 = arith.cmpi sgt, %count, %0 : i32 loc("dsl/programs.cpp":68:0)
    %2 = arith.constant 0 : index loc("dsl/programs.cpp":65:0)
    %3 = tile.load %x[%2] : !tile.view<1xf32> -> tensor<16xf32> loc("dsl/programs.cpp":65:0)
    %4 = scf.if %1 -> (tensor<16xf32>) {
      %5 = arith.constant dense<2.0> : tensor<16xf32> loc("dsl/programs.cpp":68:0)
      %6 = arith.mulf %3, %5 : tensor<16xf32> loc("dsl/programs.cpp":68:0)
      scf.yield %6 : tensor<16xf32> loc("dsl/programs.cpp":67:0)
    } else {
      %7 = arith.constant -1 : i32 loc("dsl/programs.cpp":70:0)
      %8 = arith.cmpi eq, %count, %7 : i32 loc("dsl/programs.cpp":70:0)
      scf.if %8 {
        tile.store %3, %out[%2] : tensor<16xf32>, !tile.view<1xf32> loc("dsl/programs.cpp":70:0)
      } loc("dsl/programs.cpp":70:0)
      %9 = arith.negf %3 : tensor<16xf32> loc("dsl/programs.cpp":71:0)
      scf.yield %9 : tensor<16xf32> loc("dsl/programs.cpp":67:0)
    } loc("dsl/programs.cpp":67:0)
    %10 = arith.constant 3 : i32 loc("dsl/programs.cpp":73:0)
    %11 = arith.cmpi eq, %count, %10 : i32 loc("dsl/programs.cpp":73:0)
    %12 = arith.constant 1.0 : f32 loc("dsl/programs.cpp":66:0)
    scf.if %11 {
    } else {
      %13 = tile.broadcast %12 : f32 -> tensor<1xf32> loc("dsl/programs.cpp":73:0)
      %14 = arith.constant 16 : index loc("dsl/programs.cpp":73:0)
      tile.store %13, %out[%14] : tensor<1xf32>, !tile.view<1xf32> loc("dsl/programs.cpp":73:0)
    } loc("dsl/programs.cpp":73:0)
    %15 = arith.index_cast %count : i32 to index loc("dsl/programs.cpp":74:0)
    %16 = arith.constant 1 : index loc("dsl/programs.cpp":74:0)
    %17 = scf.for %18 = %2 to %15 step %16 iter_args(%19 = %12) -> (f32) {
      %20 = arith.constant 4 : index loc("dsl/programs.cpp":75:0)
      %21 = arith.cmpi sgt, %18, %20 : index loc("dsl/programs.cpp":75:0)
      %22 = scf.if %21 -> (f32) {
        %23 = arith.addf %19, %12 : f32 loc("dsl/programs.cpp":75:0)
        scf.yield %23 : f32 loc("dsl/programs.cpp":75:0)
      } else {
        scf.yield %19 : f32 loc("dsl/programs.cpp":75:0)
      } loc("dsl/programs.cpp":75:0)
      scf.yield %22 : f32 loc("dsl/programs.cpp":74:0)
    } loc("dsl/programs.cpp":74:0)
    %24 = tile.broadcast %17 : f32 -> tensor<16xf32> loc("dsl/programs.cpp":76:0)
    %25 = arith.mulf %4, %24 : tensor<16xf32> loc("dsl/programs.cpp":76:0)
    %26 = arith.constant 32 : index loc("dsl/programs.cpp":76:0)
    tile.store %25, %out[%26] : tensor<16xf32>, !tile.view<1xf32> loc("dsl/programs.cpp":76:0)
    return loc("dsl/programs.cpp":245:0)
  } loc("dsl/programs.cpp":245:0)
} loc("dsl/programs.cpp":245:0)
