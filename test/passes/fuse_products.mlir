// RUN: tilewright-opt %s -p convert-tw-to-tk,absorb-views,dce,fuse,dce | filecheck %s
// RUN: tilewright-opt %s -p convert-tw-to-tk,absorb-views,dce,fuse --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// What reads a product along an axis as long as its sum does not walk the sum again: tiles would have to be
// kept for all of that. A sum that is no product may be walked again, as a softmax does.

// CHECK-LABEL: @product
// CHECK:       tk.kernel [8, 16, 4]
// CHECK:       tk.kernel [8, 16, 4]
// REMARK:      not fused with the kernel of {{.*}} iteration space is larger
func.func @product(%x: tensor<8x4xf32>, %w: tensor<16x4xf32>, %c: tensor<4xf32>) -> tensor<8x16x4xf32> {
  %y = tk.kernel [8, 16, 4] ins(%x, %w : tensor<8x4xf32>, tensor<16x4xf32>) -> (tensor<8x16xf32>) {
  ^bb0(%0: tensor<8x4xf32>, %1: tensor<16x4xf32>, %2: tensor<8x16xf32>):
    %3 = tk.load %0[d0, d2] : tensor<8x4xf32> -> f32
    %4 = tk.load %1[d1, d2] : tensor<16x4xf32> -> f32
    %5 = arith.mulf %3, %4 : f32
    %6 = tk.reduce add %5 over [2] : f32
    tk.store %6, %2[d0, d1] : f32, tensor<8x16xf32>
  }
  %a = tw.broadcast %y dims [0, 1] : tensor<8x16xf32> -> tensor<8x16x4xf32>
  %b = tw.broadcast %c dims [2] : tensor<4xf32> -> tensor<8x16x4xf32>
  %r = tw.mul %a, %b : tensor<8x16x4xf32>
  func.return %r : tensor<8x16x4xf32>
}

// CHECK-LABEL: @sum
// CHECK:       tk.kernel [8, 4]
// CHECK-NOT:   tk.kernel
func.func @sum(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %e = tw.exp %x : tensor<8x4xf32>
  %s = tw.sum %e over [1] : tensor<8x4xf32> -> tensor<8xf32>
  %b = tw.broadcast %s dims [0] : tensor<8xf32> -> tensor<8x4xf32>
  %r = tw.div %x, %b : tensor<8x4xf32>
  func.return %r : tensor<8x4xf32>
}
