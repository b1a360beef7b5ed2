// RUN: tegula-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{1 slots of 64 rows and 64 columns; legal are 128 rows, and multiples of 32 columns up to 256}}
func.func @accumulators_of_half_the_lanes(%sums: !sm.tensor_memory<1, 64, 64>) {
  return
}

// -----

func.func @operand_of_floats(%a: !sm.shared<128x32xf32, 128>, %i: i32, %b: i1, %sums: !sm.tensor_memory<1, 128, 128>) {
  // expected-error @+1 {{its operands must both be bf16 or f16 in panels of 128 bytes}}
  sm.tcgen05 %a, %a depth 32 into %sums[%i] accumulates %b {transpose_rhs}
    : !sm.shared<128x32xf32, 128>, !sm.shared<128x32xf32, 128>, !sm.tensor_memory<1, 128, 128>
  return
}

// -----

func.func @operand_with_too_few_columns(%a: !sm.shared<128x64xbf16, 128>, %i: i32, %b: i1,
                                        %sums: !sm.tensor_memory<1, 128, 128>) {
  // expected-error @+1 {{has operands that are smaller than its accumulators of 128 x 128 and its depth of 64}}
  sm.tcgen05 %a, %a depth 64 into %sums[%i] accumulates %b
    : !sm.shared<128x64xbf16, 128>, !sm.shared<128x64xbf16, 128>, !sm.tensor_memory<1, 128, 128>
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>

func.func @read_as_of_wgmma(%i: i32, %b: i1, %sums: !sm.tensor_memory<1, 128, 64>) {
  // expected-error @+1 {{a lane must hold columns of its row}}
  %c = sm.tensor_read %sums[%i] written %b : !sm.tensor_memory<1, 128, 64> -> tensor<128x64xf32, #c>
  return
}

// -----

func.func @lane_of_a_warpgroup(%a: !sm.shared<128x64xbf16, 128>, %i: i32, %b: i1) {
  %sums = sm.tensor_alloc : !sm.tensor_memory<1, 128, 128>
  // expected-error @+1 {{gives the role 'compute' 4 warps; a lane of one warp starts its MMAs}}
  sm.roles {
    compute warps 4 registers 232 {
      sm.tcgen05 %a, %a depth 64 into %sums[%i] accumulates %b {transpose_rhs}
        : !sm.shared<128x64xbf16, 128>, !sm.shared<128x64xbf16, 128>, !sm.tensor_memory<1, 128, 128>
    }
  }
  return
}

// -----

func.func @slot_that_products_still_read(%y: !tile.view<2xbf16>, %i: i32, %b: i1) {
  %ring = sm.alloc : !sm.shared<1x128x64xbf16, 128>
  %sums = sm.tensor_alloc : !sm.tensor_memory<1, 128, 128>
  %c = sm.channel %ring from load to [mma] : !sm.channel<1, !sm.shared<128x64xbf16, 128>>
  sm.roles {
    load warps 1 registers 24 {
    }
    mma warps 1 registers 24 {
      %a = sm.consumer_wait %c[%i] phase %i : !sm.channel<1, !sm.shared<128x64xbf16, 128>>
      // expected-note @+1 {{the MMA is here}}
      sm.tcgen05 %a, %a depth 64 into %sums[%i] accumulates %b {transpose_rhs}
        : !sm.shared<128x64xbf16, 128>, !sm.shared<128x64xbf16, 128>, !sm.tensor_memory<1, 128, 128>
      // expected-error @+1 {{releases a slot that an MMA in flight still reads}}
      sm.release %c[%i] per_warp : !sm.channel<1, !sm.shared<128x64xbf16, 128>>
    }
  }
  return
}

// -----

func.func @products_of_no_lane(%i: i32) {
  %c = sm.channel from load to [compute] : !sm.channel<1>
  sm.roles {
    compute warps 4 registers 232 {
      // expected-error @+1 {{waits for products in the role 'compute', in which no lane starts one}}
      sm.release %c[%i] per_warp after_products : !sm.channel<1>
    }
    load warps 1 registers 24 {
    }
  }
  return
}

// -----

func.func @signal_with_tiles(%i: i32) {
  %ring = sm.alloc : !sm.shared<1x128x64xbf16, 128>
  %c = sm.channel %ring from load to [compute] : !sm.channel<1, !sm.shared<128x64xbf16, 128>>
  sm.roles {
    compute warps 4 registers 232 {
      // expected-error @+1 {{needs a channel without tiles}}
      sm.wait_full %c[%i] phase %i : !sm.channel<1, !sm.shared<128x64xbf16, 128>>
    }
    load warps 1 registers 24 {
    }
  }
  return
}
