// RUN: tilewright-opt %s -p convert-tw-to-tk | filecheck %s
// RUN: tilewright-opt %s --pipeline=cpu | filecheck %s --check-prefix=FUSED

// CHECK-LABEL: @scaled
// CHECK: %[[X:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK: %[[K:.*]] = arith.maximumf %[[X]], %{{.*}} : f32
// CHECK: %[[S:.*]] = arith.mulf %[[K]], %[[K]] : f32
// CHECK: %[[R:.*]] = arith.mulf %[[S]], %{{.*}} : f32
// CHECK: arith.truncf %[[R]] : f32 to bf16

// One kernel with the sum.
// FUSED: th.launch @squared_relu_sum
// FUSED-NOT: th.launch
// FUSED: tk.func @squared_relu_sum
// FUSED-NOT: tk.func
func.func @scaled(%x: tensor<8x64xbf16>) -> tensor<8xbf16> {
  %r = sq.squared_relu %x scale 0.5 : f64 : tensor<8x64xbf16>
  %s = tw.sum %r over [1] : tensor<8x64xbf16> -> tensor<8xbf16>
  func.return %s : tensor<8xbf16>
}
