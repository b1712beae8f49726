// RUN: tilewright-opt %s -p copy-together --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p copy-together --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p copy-together --split-input-file --check-semantics -o /dev/null

// Parts of rows, and heads of which the strides are no view: one launch.
// CHECK-LABEL: @parts_of_a_product
func.func @parts_of_a_product(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>) -> (tensor<8x3xf32>, tensor<8x3xf32>) {
  // CHECK: %[[M:.*]] = tw.matmul
  // CHECK: %[[Q:.*]], %[[K:.*]] = tk.kernel [8, 3] ins(%[[M]] : tensor<8x6xf32>)
  // CHECK: %[[A:.*]] = tk.load %{{.*}}[d0, d1]
  // CHECK-NEXT: tk.store %[[A]], %{{.*}}[d0, d1]
  // CHECK-NEXT: %[[B:.*]] = tk.load %{{.*}}[d0, d1 + 3]
  // CHECK-NEXT: tk.store %[[B]], %{{.*}}[d0, d1]
  // CHECK: return %[[Q]], %[[K]]
  %m = tw.matmul %x, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %q = tw.slice %m starts "0, 0" steps "1, 1" : tensor<8x6xf32> -> tensor<8x3xf32>
  %k = tw.slice %m starts "0, 3" steps "1, 1" : tensor<8x6xf32> -> tensor<8x3xf32>
  func.return %q, %k : tensor<8x3xf32>, tensor<8x3xf32>
}

// -----

// CHECK-LABEL: @repeated_heads
// CHECK: %[[R:.*]], %[[S:.*]] = tk.kernel [2, 3, 2]
// CHECK-NOT: tw.reshape
// CHECK: return %[[R]], %[[S]]
func.func @repeated_heads(%x: tensor<2x2xf32>, %y: tensor<2x2xf32>) -> (tensor<6x2xf32>, tensor<6x2xf32>) {
  %a = tw.broadcast %x dims [0, 2] : tensor<2x2xf32> -> tensor<2x3x2xf32>
  %r = tw.reshape %a : tensor<2x3x2xf32> -> tensor<6x2xf32>
  %b = tw.broadcast %y dims [0, 2] : tensor<2x2xf32> -> tensor<2x3x2xf32>
  %s = tw.reshape %b : tensor<2x3x2xf32> -> tensor<6x2xf32>
  func.return %r, %s : tensor<6x2xf32>, tensor<6x2xf32>
}

// -----

// CHECK-LABEL: @keeps_one
// CHECK-NOT: tk.kernel
// REMARK: func.return at {{.*}}: a result is copied alone: no other of its sizes is
func.func @keeps_one(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>) -> tensor<8x3xf32> {
  %m = tw.matmul %x, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %q = tw.slice %m starts "0, 0" steps "1, 1" : tensor<8x6xf32> -> tensor<8x3xf32>
  func.return %q : tensor<8x3xf32>
}

// -----

// Views with the strides that results have, and what a kernel stores, are not copied; what a reshape copies for a
// product, too, is copied there.
// CHECK-LABEL: @keeps_views_and_what_others_read
// CHECK-COUNT-1: tk.kernel
// CHECK-NOT: tk.kernel
func.func @keeps_views_and_what_others_read(%x: tensor<4x6xf32>, %y: tensor<2x3xf32>, %w: tensor<6x6xf32>) -> (tensor<2x6xf32>, tensor<2x6xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x6xf32>, tensor<6x6xf32>) {
  %p = tw.matmul %x, %w : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %a = tw.slice %p starts "0, 0" steps "1, 1" : tensor<4x6xf32> -> tensor<2x6xf32>
  %b = tw.slice %p starts "2, 0" steps "1, 1" : tensor<4x6xf32> -> tensor<2x6xf32>
  %e, %f = tk.kernel [2, 3] ins(%y : tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  ^bb0(%i: tensor<2x3xf32>, %o: tensor<2x3xf32>, %u: tensor<2x3xf32>):
    %0 = tk.load %i[d0, d1] : tensor<2x3xf32> -> f32
    tk.store %0, %o[d0, d1] : f32, tensor<2x3xf32>
    %1 = arith.addf %0, %0 : f32
    tk.store %1, %u[d0, d1] : f32, tensor<2x3xf32>
  }
  %c = tw.transpose %e by [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %d = tw.transpose %f by [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %g = tw.reshape %p : tensor<4x6xf32> -> tensor<4x2x3xf32>
  %h = tw.transpose %g by [2, 0, 1] : tensor<4x2x3xf32> -> tensor<3x4x2xf32>
  %r = tw.reshape %h : tensor<3x4x2xf32> -> tensor<6x4xf32>
  %j = tw.transpose %g by [1, 2, 0] : tensor<4x2x3xf32> -> tensor<2x3x4xf32>
  %k = tw.transpose %j by [1, 0, 2] : tensor<2x3x4xf32> -> tensor<3x2x4xf32>
  %s = tw.reshape %k : tensor<3x2x4xf32> -> tensor<6x4xf32>
  %m = tw.matmul %r, %x : (tensor<6x4xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
  %n = tw.matmul %s, %x : (tensor<6x4xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
  func.return %a, %b, %c, %d, %r, %s, %m, %n : tensor<2x6xf32>, tensor<2x6xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x6xf32>, tensor<6x6xf32>
}

// -----

// What a library returns as it is wanted is not copied.
// CHECK-LABEL: @as_the_library_has_it(
// CHECK-NOT: tk.kernel
// CHECK: func.return
func.func @as_the_library_has_it(%x: tensor<2x4x2x3xf32>, %w: tensor<4x4x1x1xf32>, %v: tensor<4x4x1x1xf32>) -> (tensor<2x4x2x3xf32> {tw.strides = "24, 1, 12, 4"}, tensor<2x4x2x3xf32> {tw.strides = "24, 1, 12, 4"}) {
  %r = tw.convolution %x, %w strides [1, 1] padding [0, 0] dilation [1, 1] output_padding [0, 0] groups 1 {tw.strides = ["24, 1, 12, 4"]} : (tensor<2x4x2x3xf32>, tensor<4x4x1x1xf32>) -> tensor<2x4x2x3xf32>
  %s = tw.convolution %x, %v strides [1, 1] padding [0, 0] dilation [1, 1] output_padding [0, 0] groups 1 {tw.strides = ["24, 1, 12, 4"]} : (tensor<2x4x2x3xf32>, tensor<4x4x1x1xf32>) -> tensor<2x4x2x3xf32>
  func.return %r, %s : tensor<2x4x2x3xf32>, tensor<2x4x2x3xf32>
}
