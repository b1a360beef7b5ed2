module attributes {tile.version = 1 : i64} {
  func.func @dynamic_loop(%x: !tile.view<1xf32> {tile.name = "x"}, %out: !tile.view<1xf32> {tile.name = "out", tile.written}, %counter: !tile.view<1xi32> {tile.name = "counter", tile.written, tile.counter}, %count: i32 {tile.name = "count"}) {
    %0 = arith.constant 16 : i32 loc("dsl/programs.cpp":128:0)
    %1 = arith.ceildivsi %count, %0 : i32 loc("dsl/programs.cpp":128:0)
    %2 = arith.index_cast %1 : i32 to index loc("dsl/programs.cpp":128:0)
    %3 = arith.index_cast %2 : index to i32 loc("dsl/programs.cpp":128:0)
    %4 = arith.constant 0 : index loc("dsl/programs.cpp":127:0)
    %5 = tile.load %x[%4] : !tile.view<1xf32> -> tensor<16xf32> loc("dsl/programs.cpp":127:0)
    %6 = math.exp %5 : tensor<16xf32> loc("dsl/programs.cpp":127:0)
    scf.while : () -> i32 {
      %7 = tile.next_work %counter : !tile.view<1xi32> loc("dsl/programs.cpp":128:0)
      %8 = arith.cmpi slt, %7, %3 : i32 loc("dsl/programs.cpp":128:0)
      scf.condition(%8) %7 : i32 loc("dsl/programs.cpp":128:0)
    } do {
    ^bb0(%9: i32):
      %10 = arith.index_cast %9 : i32 to index loc("dsl/programs.cpp":130:0)
      %11 = arith.constant 1 : index loc("dsl/programs.cpp":130:0)
      %12 = arith.muli %9, %0 : i32 loc("dsl/programs.cpp":129:0)
      %13 = arith.index_cast %12 : i32 to index loc("dsl/programs.cpp":129:0)
      %14 = tile.load %x[%13] : !tile.view<1xf32> -> tensor<16xf32> loc("dsl/programs.cpp":129:0)
      %15 = scf.for %16 = %4 to %10 step %11 iter_args(%17 = %14) -> (tensor<16xf32>) {
        %18 = arith.constant 16 : index loc("dsl/programs.cpp":131:0)
        %19 = arith.muli %16, %18 : index loc("dsl/programs.cpp":131:0)
        %20 = tile.load %x[%19] : !tile.view<1xf32> -> tensor<16xf32> loc("dsl/programs.cpp":131:0)
        %21 = arith.addf %17, %20 : tensor<16xf32> loc("dsl/programs.cpp":131:0)
        scf.yield %21 : tensor<16xf32> loc("dsl/programs.cpp":130:0)
      } loc("dsl/programs.cpp":130:0)
      %22 = arith.mulf %15, %6 : tensor<16xf32> loc("dsl/programs.cpp":132:0)
      tile.store %22, %out[%13] : tensor<16xf32>, !tile.view<1xf32> loc("dsl/programs.cpp":132:0)
      scf.yield loc("dsl/programs.cpp":128:0)
    } attributes {tile.parallel} loc("dsl/programs.cpp":128:0)
    return loc("dsl/programs.cpp":267:0)
  } loc("dsl/programs.cpp":267:0)
} loc("dsl/programs.cpp":267:0)
