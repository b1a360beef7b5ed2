// RUN: tegula-opt --approximate-math %s | FileCheck %s

// CHECK-LABEL: func @no_call_of_libm_is_left
// CHECK-NOT: math.{{tanh|log2}}
// CHECK: return
func.func @no_call_of_libm_is_left(%x: vector<8xf32>) -> vector<8xf32> {
  %a = math.tanh %x : vector<8xf32>
  %b = math.log2 %a : vector<8xf32>
  return %b : vector<8xf32>
}
