// RUN: tegula compile %s --target cuda --emit ptx | FileCheck %s

// A comparison with a constant is done in f32. The constant is f32, too, because no instruction of PTX converts it.
// CHECK-NOT: cvt.f32.bf16 {{.*}}, {{[0-9]+}};
// CHECK: cvt.f32.bf16 [[X:%r[0-9]+]], %rs
// CHECK-NEXT: setp.gt.f32 {{.*}}, [[X]], 0f3F800000;
module attributes {tile.version = 1 : i64} {
  func.func @above_one(%x: !tile.view<1xbf16>, %y: !tile.view<1xi32> {tile.written}) {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0] : !tile.view<1xbf16> -> tensor<64xbf16>
    %wide = arith.extf %a : tensor<64xbf16> to tensor<64xf32>
    %one = arith.constant dense<1.0> : tensor<64xf32>
    %above = arith.cmpf ogt, %wide, %one : tensor<64xf32>
    %number = arith.extui %above : tensor<64xi1> to tensor<64xi32>
    tile.store %number, %y[%c0] : tensor<64xi32>, !tile.view<1xi32>
    return
  }
}
