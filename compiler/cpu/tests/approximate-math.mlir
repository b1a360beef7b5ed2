// RUN: tegula-opt --approximate-math %s | FileCheck %s

// CHECK-LABEL: func @no_call_of_libm_is_left
// CHECK-NOT: math.{{tanh|log2}}
// CHECK: return
func.func @no_call_of_libm_is_left(%x: vector<8xf32>) -> vector<8xf32> {
  %a = math.tanh %x : vector<8xf32>
  %b = math.log2 %a : vector<8xf32>
  return %b : vector<8xf32>
}

// CHECK-LABEL: func @functions_of_all_targets
// CHECK-NOT: math.{{erf|sin|cos|powf}}
// CHECK-COUNT-4: math.fma {{.*}} : vector<8xf32>
// CHECK-NOT: math.{{erf|sin|cos|powf}}
// CHECK: return
func.func @functions_of_all_targets(%x: vector<8xf32>, %y: f32) -> (vector<8xf32>, f32) {
  %a = math.erf %x : vector<8xf32>
  %b = math.sin %a : vector<8xf32>
  %c = math.powf %b, %x : vector<8xf32>
  %d = math.cos %y : f32
  return %c, %d : vector<8xf32>, f32
}
