// RUN: tilewright-opt %s -p convert-tw-to-tk,absorb-views,dce,fuse,dce | filecheck %s

// Trying to join the product splits the axis of 32 columns into panels of 16; the product takes no
// second reduction, so the split is undone, and the whole norm is one kernel over [4, 32].

// CHECK-LABEL: @norm_behind_a_product
// CHECK-NEXT: tk.kernel [4, 2, 16, 8]
// CHECK: tk.reduce add
// CHECK: %{{.*}} = tk.kernel [4, 32] {{.*}} attributes {tk.name = "sum-
// CHECK: tk.reduce add
// CHECK: tk.reduce add
// CHECK: tk.store
// CHECK-NOT: tk.kernel
func.func @norm_behind_a_product(%x: tensor<4x8xf32>, %w: tensor<2x8x16xf32>) -> (tensor<4x32xf32>, tensor<4x32xf32>) {
  %y = tw.packed_matmul %x, %w : (tensor<4x8xf32>, tensor<2x8x16xf32>) -> tensor<4x32xf32>
  %s = tw.sum %y over [1] : tensor<4x32xf32> -> tensor<4xf32>
  %sb = tw.broadcast %s dims [0] : tensor<4xf32> -> tensor<4x32xf32>
  %c = tw.sub %y, %sb : tensor<4x32xf32>
  %q = tw.mul %c, %c : tensor<4x32xf32>
  %v = tw.sum %q over [1] : tensor<4x32xf32> -> tensor<4xf32>
  %vb = tw.broadcast %v dims [0] : tensor<4xf32> -> tensor<4x32xf32>
  %n = tw.div %c, %vb : tensor<4x32xf32>
  func.return %n, %y : tensor<4x32xf32>, tensor<4x32xf32>
}
