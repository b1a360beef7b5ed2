// RUN: tegula-opt --print-channels --verify-diagnostics --split-input-file %s

!tile = !sm.shared<64x64xbf16, 128>
!two = !sm.channel<2, !tile>
!one = !sm.channel<1, !tile>
!work = !sm.channel<2>

// TMA arrives once for a tile. Each warp that reads with its lanes releases a slot, otherwise each warpgroup. A vector of
// the same iteration may be freed with the tile. Both roles read the work index.
func.func @loaded(%x: !tile.view<2xbf16>, %m: !tile.view<1xf32>, %r: !sm.shared<2x64x64xbf16, 128>,
    %s: !sm.shared<2x64xf32, 0>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  // expected-remark @+1 {{filled by load, read by compute; 2 slots of 8192 bytes; full after 1 arrival; empty after 8 arrivals}}
  %k = sm.channel %r from load to [compute] : !two
  // expected-remark @+1 {{filled by load, read by compute; 2 slots of 8192 bytes; full after 1 arrival; empty after 2 arrivals}}
  %v = sm.channel %r from load to [compute] : !two
  // expected-remark @+1 {{filled by load, read by compute; 2 slots of 256 bytes; full after 1 arrival; never released}}
  %l = sm.channel %s from load to [compute] : !sm.channel<2, !sm.shared<64xf32, 0>>
  // expected-remark @+1 {{filled by draw, read by compute and load; 2 slots of work indices; full after 1 arrival; empty after 9 arrivals}}
  %work = sm.channel from draw to [compute, load] : !work
  sm.roles {
    compute warps 8 registers 232 {
      sm.release %work[%zero] per_warp : !work
      sm.release %k[%zero] per_warp : !two
      sm.release %v[%zero] : !two
    }
    load warps 1 registers 40 {
      sm.release %work[%zero] per_warp : !work
    }
    draw warps 1 registers 40 {
    }
  }
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>
!one = !sm.channel<1, !tile>

// Each warp of a role that stores tiles arrives.
func.func @transposed(%x: tensor<64x64xbf16, #c>, %r: !sm.shared<1x64x64xbf16, 128>, %q: !sm.shared<1x64x64xbf16, 128>) {
  %zero = arith.constant 0 : i32
  // expected-remark @+1 {{filled by load, read by transpose; 1 slot of 8192 bytes; full after 1 arrival; empty after 4 arrivals}}
  %k = sm.channel %r from load to [transpose] : !one
  // expected-remark @+1 {{filled by transpose, read by compute; 1 slot of 8192 bytes; full after 4 arrivals; empty after 2 arrivals}}
  %t = sm.channel %q from transpose to [compute] : !one
  sm.roles {
    compute warps 8 registers 208 {
      sm.release %t[%zero] : !one
    }
    transpose warps 4 registers 40 {
      sm.release %k[%zero] per_warp : !one
      sm.producer_store %x, %t[%zero] phase %zero : tensor<64x64xbf16, #c>, !one
    }
    load warps 1 registers 40 {
    }
  }
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16, 1:2:64]>
#s = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:8:16]>
!three = !sm.channel<3, !sm.shared<64x128xbf16, 128>>
!sum = !sm.channel<1, !sm.shared<64x64xf32, 128>>

// Warpgroups exchange a tile, each at an mbarrier of its own. Named barriers hand a sum to the role that adds.
func.func @stored(%x: tensor<64x128xbf16, #c>, %y: tensor<64x64xf32, #s>, %r: !sm.shared<3x64x128xbf16, 128>,
    %q: !sm.shared<1x64x64xf32, 128>) {
  %zero = arith.constant 0 : i32
  // expected-remark @+1 {{filled by compute, read by compute; 3 slots of 16384 bytes; full after 4 arrivals at each of 2 mbarriers; never released}}
  %d = sm.channel %r from compute to [compute] per_warpgroup : !three
  // expected-remark @+1 {{filled by compute, read by add; 1 slot of 16384 bytes; handed over by named barriers}}
  %to = sm.channel %q from compute to [add] by_barriers words 0 : !sum
  sm.roles {
    compute warps 8 registers 232 {
      sm.producer_store %x, %d[%zero] phase %zero : tensor<64x128xbf16, #c>, !three
      sm.producer_store %y, %to[%zero] phase %zero : tensor<64x64xf32, #s>, !sum
      sm.close %to : !sum
    }
    add warps 1 registers 40 {
      sm.release %to[%zero] per_warp : !sum
      %open = sm.next %to : !sum
    }
  }
  return
}

// -----

!a = !sm.shared<64x64xbf16, 128>
!b = !sm.shared<64x128xbf16, 128>
!ring = !sm.channel<2, !a, !b>

// The loads of all parts of a slot make one arrival.
func.func @parts(%v: !tile.view<2xbf16>, %i: index, %as: !sm.shared<2x64x64xbf16, 128>, %bs: !sm.shared<2x64x128xbf16, 128>) {
  %zero = arith.constant 0 : i32
  // expected-remark @+1 {{filled by load, read by compute; 2 slots of 8192 and 16384 bytes; full after 1 arrival; empty after 1 arrival}}
  %ab = sm.channel %as, %bs from load to [compute] : !ring
  sm.roles {
    compute warps 4 registers 232 {
      sm.release %ab[%zero] : !ring
    }
    load warps 1 registers 40 {
      sm.producer_load %v[%i, %i] [64, 64], %ab[%zero] phase %zero : !tile.view<2xbf16>, !ring
      sm.producer_load %v[%i, %i] [64, 128], %ab[%zero] phase %zero part 1 : !tile.view<2xbf16>, !ring
    }
  }
  return
}
