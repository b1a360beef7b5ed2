// RUN: tegula-opt %s --verify-diagnostics

func.func @one_step_for_two_dimensions(%first: f32) -> tensor<64x32xf32> {
  // expected-error @+1 {{has 1 steps for a tile of rank 2}}
  %x = sm.linear %first [1] : tensor<64x32xf32>
  return %x : tensor<64x32xf32>
}
