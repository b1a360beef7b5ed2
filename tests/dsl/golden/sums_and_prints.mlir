module attributes {tile.version = 1 : i64} {
  func.func @sums_and_prints(%x: !tile.view<2xf32> {tile.name = "x"}, %dx: !tile.view<2xf32> {tile.name = "dx", tile.written}, %count: i32 {tile.name = "count"}) {
    %0 = arith.constant 0 : index loc("dsl/programs.cpp":137:0)
    %1 = tile.load %x[%0, %0] : !tile.view<2xf32> -> tensor<4x8xf32> loc("dsl/programs.cpp":137:0)
    tile.print "s" %1 : tensor<4x8xf32> loc("dsl/programs.cpp":138:0)
    %2 = arith.index_cast %count : i32 to index loc("dsl/programs.cpp":139:0)
    %3 = arith.constant 1 : index loc("dsl/programs.cpp":139:0)
    scf.for %4 = %0 to %2 step %3 {
      %5 = arith.constant 2 : index loc("dsl/programs.cpp":140:0)
      %6 = arith.cmpi eq, %4, %5 : index loc("dsl/programs.cpp":140:0)
      scf.if %6 {
        tile.print "the third" %4 : index loc("dsl/programs.cpp":140:0)
      } loc("dsl/programs.cpp":140:0)
    } loc("dsl/programs.cpp":139:0)
    %7 = arith.mulf %1, %1 : tensor<4x8xf32> loc("dsl/programs.cpp":141:0)
    %8 = tile.cumsum %7 axis 1 : tensor<4x8xf32> loc("dsl/programs.cpp":141:0)
    %9 = tile.cumsum %8 axis 0 {reverse} : tensor<4x8xf32> loc("dsl/programs.cpp":142:0)
    %10 = tile.cumsum %9 axis 1 {reverse} : tensor<4x8xf32> loc("dsl/programs.cpp":141:0)
    %11 = arith.mulf %10, %1 : tensor<4x8xf32> loc("dsl/programs.cpp":141:0)
    %12 = arith.addf %11, %11 : tensor<4x8xf32> loc("dsl/programs.cpp":141:0)
    tile.store %12, %dx[%0, %0] : tensor<4x8xf32>, !tile.view<2xf32> loc("dsl/programs.cpp":142:0)
    return loc("dsl/programs.cpp":272:0)
  } loc("dsl/programs.cpp":272:0)
} loc("dsl/programs.cpp":272:0)
