// RUN: tilewright-opt %s -p sink-transposes,simplify-views,dce --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p sink-transposes --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// CHECK-LABEL: @transposes_cancel_across_a_chain
// CHECK-NEXT: %[[E:.*]] = tw.exp %x : tensor<2x3x4xf32> loc("m.py":3:0)
// CHECK-NEXT: %[[B:.*]] = tw.broadcast %b dims [2] : tensor<4xf32> -> tensor<2x3x4xf32>
// CHECK-NEXT: %[[A:.*]] = tw.add %[[E]], %[[B]] : tensor<2x3x4xf32>
// CHECK-NEXT: %[[F:.*]] = tw.full 0.000000e+00 : f32 -> tensor<2x3x4xf32>
// CHECK-NEXT: %[[M:.*]] = tw.maximum %[[A]], %[[F]]
// CHECK-NEXT: return %[[M]]
func.func @transposes_cancel_across_a_chain(%x: tensor<2x3x4xf32>, %b: tensor<4xf32>) -> tensor<2x3x4xf32> {
  %t = tw.transpose %x by [0, 2, 1] : tensor<2x3x4xf32> -> tensor<2x4x3xf32>
  %e = tw.exp %t : tensor<2x4x3xf32> loc("m.py":3:0)
  %c = tw.broadcast %b dims [1] : tensor<4xf32> -> tensor<2x4x3xf32>
  %a = tw.add %e, %c : tensor<2x4x3xf32>
  %z = tw.full 0.0 : f32 -> tensor<2x4x3xf32>
  %m = tw.maximum %a, %z : tensor<2x4x3xf32>
  %u = tw.transpose %m by [0, 2, 1] : tensor<2x4x3xf32> -> tensor<2x3x4xf32>
  func.return %u : tensor<2x3x4xf32>
}

// -----

// CHECK-LABEL: @two_transposes_become_one
// CHECK-NEXT: %[[A:.*]] = tw.add %x, %y : tensor<3x4xf32>
// CHECK-NEXT: %[[T:.*]] = tw.transpose %[[A]] by [1, 0]
// CHECK-NEXT: return %[[T]]
func.func @two_transposes_become_one(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> tensor<4x3xf32> {
  %t = tw.transpose %x by [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  %u = tw.transpose %y by [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  %a = tw.add %t, %u : tensor<4x3xf32>
  func.return %a : tensor<4x3xf32>
}

// -----

// What is repeated is repeated as it lies, between others and behind them.
// CHECK-LABEL: @repeated(
// CHECK-NEXT: %[[M:.*]] = tw.max %x over [3] : tensor<2x5x4x3xf32> -> tensor<2x5x4xf32>
// CHECK-NEXT: %[[B:.*]] = tw.broadcast %[[M]] dims [0, 1, 2] : tensor<2x5x4xf32> -> tensor<2x5x4x3xf32>
// CHECK-NEXT: %[[S:.*]] = tw.sub %x, %[[B]]
// CHECK-NEXT: %[[R:.*]] = tw.broadcast %[[M]] dims [1, 2, 4] : tensor<2x5x4xf32> -> tensor<7x2x5x6x4xf32>
// CHECK-NEXT: %[[T:.*]] = tw.transpose %[[R]] by [0, 1, 4, 3, 2] : tensor<7x2x5x6x4xf32> -> tensor<7x2x4x6x5xf32>
// CHECK-NEXT: return %[[S]], %[[T]]
func.func @repeated(%x: tensor<2x5x4x3xf32>) -> (tensor<2x5x4x3xf32>, tensor<7x2x4x6x5xf32>) {
  %t = tw.transpose %x by [0, 2, 1, 3] : tensor<2x5x4x3xf32> -> tensor<2x4x5x3xf32>
  %m = tw.max %t over [3] : tensor<2x4x5x3xf32> -> tensor<2x4x5xf32>
  %b = tw.broadcast %m dims [0, 1, 2] : tensor<2x4x5xf32> -> tensor<2x4x5x3xf32>
  %s = tw.sub %t, %b : tensor<2x4x5x3xf32>
  %u = tw.transpose %s by [0, 2, 1, 3] : tensor<2x4x5x3xf32> -> tensor<2x5x4x3xf32>
  %r = tw.broadcast %m dims [1, 2, 4] : tensor<2x4x5xf32> -> tensor<7x2x4x6x5xf32>
  func.return %u, %r : tensor<2x5x4x3xf32>, tensor<7x2x4x6x5xf32>
}

// -----

// Statistics of two results are one op.
// CHECK-LABEL: @moments_swallow_transposes
// CHECK-NEXT: %[[M:.*]], %[[Q:.*]] = tw.moments %x over [1] : tensor<2x5x4xf32> -> tensor<2x4xf32>
// CHECK-NEXT: return %[[M]], %[[Q]]
func.func @moments_swallow_transposes(%x: tensor<2x5x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %t = tw.transpose %x by [0, 2, 1] : tensor<2x5x4xf32> -> tensor<2x4x5xf32>
  %m, %q = tw.moments %t over [2] : tensor<2x4x5xf32> -> tensor<2x4xf32>
  func.return %m, %q : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// CHECK-LABEL: @both_moments_are_turned_back
// CHECK-NEXT: %[[M:.*]], %[[Q:.*]] = tw.moments %x over [2] : tensor<2x4x5xf32> -> tensor<2x4xf32>
// CHECK-NEXT: %[[T:.*]] = tw.transpose %[[M]] by [1, 0]
// CHECK-NEXT: %[[A:.*]] = tw.add %[[M]], %[[Q]]
func.func @both_moments_are_turned_back(%x: tensor<2x4x5xf32>) -> (tensor<4x2xf32>, tensor<2x4xf32>) {
  %t = tw.transpose %x by [1, 0, 2] : tensor<2x4x5xf32> -> tensor<4x2x5xf32>
  %m, %q = tw.moments %t over [2] : tensor<4x2x5xf32> -> tensor<4x2xf32>
  %a = tw.add %m, %q : tensor<4x2xf32>
  %u = tw.transpose %a by [1, 0] : tensor<4x2xf32> -> tensor<2x4xf32>
  func.return %m, %u : tensor<4x2xf32>, tensor<2x4xf32>
}

// -----

// CHECK-LABEL: @reductions_swallow_transposes
// CHECK-NEXT: %[[R:.*]] = tw.sum %x over [1, 2] : tensor<2x5x6x4xf32> -> tensor<2x4xf32>
// CHECK-NEXT: return %[[R]]
func.func @reductions_swallow_transposes(%x: tensor<2x5x6x4xf32>) -> tensor<2x4xf32> {
  %t = tw.transpose %x by [0, 3, 1, 2] : tensor<2x5x6x4xf32> -> tensor<2x4x5x6xf32>
  %r = tw.sum %t over [2, 3] : tensor<2x4x5x6xf32> -> tensor<2x4xf32>
  func.return %r : tensor<2x4xf32>
}

// -----

// CHECK-LABEL: @pads_windows_slices_and_concats_follow
// CHECK-NEXT: %[[P:.*]] = tw.pad %x low "0, 2, 1, 0" high "0, 0, 3, 0" value 0xff800000 : f32 : tensor<2x5x6x4xf32>
// CHECK-NEXT: %[[W:.*]] = tw.window %[[P]] dims [1, 2] sizes [3, 2] strides [1, 2] dilation [1, 1]
// CHECK-NEXT: %[[M:.*]] = tw.max %[[W]] over [4, 5] : tensor<2x5x5x4x3x2xf32> -> tensor<2x5x5x4xf32>
// CHECK-NEXT: %[[C:.*]] = tw.concat %[[M]], %y dim 3 : {{.*}} -> tensor<2x5x5x7xf32>
// CHECK-NEXT: %[[S:.*]] = tw.slice %[[C]] starts "0, 1, 0, 2" steps "1, 1, 1, 1" : tensor<2x5x5x7xf32> -> tensor<2x4x5x5xf32>
// CHECK-NEXT: return %[[S]]
func.func @pads_windows_slices_and_concats_follow(%x: tensor<2x5x6x4xf32>, %y: tensor<2x5x5x3xf32>) -> tensor<2x4x5x5xf32> {
  %t = tw.transpose %x by [0, 3, 1, 2] : tensor<2x5x6x4xf32> -> tensor<2x4x5x6xf32>
  %p = tw.pad %t low "0, 0, 2, 1" high "0, 0, 0, 3" value 0xff800000 : f32 : tensor<2x4x5x6xf32> -> tensor<2x4x7x10xf32>
  %w = tw.window %p dims [2, 3] sizes [3, 2] strides [1, 2] dilation [1, 1] : tensor<2x4x7x10xf32> -> tensor<2x4x5x5x3x2xf32>
  %m = tw.max %w over [4, 5] : tensor<2x4x5x5x3x2xf32> -> tensor<2x4x5x5xf32>
  %u = tw.transpose %y by [0, 3, 1, 2] : tensor<2x5x5x3xf32> -> tensor<2x3x5x5xf32>
  %c = tw.concat %m, %u dim 1 : (tensor<2x4x5x5xf32>, tensor<2x3x5x5xf32>) -> tensor<2x7x5x5xf32>
  %s = tw.slice %c starts "0, 2, 1, 0" steps "1, 1, 1, 1" : tensor<2x7x5x5xf32> -> tensor<2x5x4x5xf32>
  %b = tw.transpose %s by [0, 2, 3, 1] : tensor<2x5x4x5xf32> -> tensor<2x4x5x5xf32>
  func.return %b : tensor<2x4x5x5xf32>
}

// -----

// CHECK-LABEL: @keeps_what_gains_nothing
// CHECK-NEXT: %[[T:.*]] = tw.transpose %x by [1, 0]
// CHECK-NEXT: tw.exp %[[T]]
// REMARK:     tw.exp at {{.*}}: not sunk: no fewer transposes would be live
func.func @keeps_what_gains_nothing(%x: tensor<3x4xf32>) -> tensor<4x3xf32> {
  %t = tw.transpose %x by [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  %e = tw.exp %t : tensor<4x3xf32>
  func.return %e : tensor<4x3xf32>
}

// -----

// CHECK-LABEL: @keeps_what_would_transpose_more
// CHECK:      tw.add %{{.*}}, %y : tensor<4x3xf32>
// REMARK:     tw.add at {{.*}}: not sunk: no fewer transposes would be live
func.func @keeps_what_would_transpose_more(%x: tensor<3x4xf32>, %y: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %t = tw.transpose %x by [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  %a = tw.add %t, %y : tensor<4x3xf32>
  func.return %a : tensor<4x3xf32>
}

// -----

// CHECK-LABEL: @keeps_operands_in_different_orders
// CHECK:      tw.add %{{.*}}, %{{.*}} : tensor<2x3x4xf32>
// REMARK:     tw.add at {{.*}}: not sunk: operands are transposed differently
func.func @keeps_operands_in_different_orders(%x: tensor<2x4x3xf32>, %y: tensor<3x2x4xf32>) -> tensor<2x3x4xf32> {
  %t = tw.transpose %x by [0, 2, 1] : tensor<2x4x3xf32> -> tensor<2x3x4xf32>
  %u = tw.transpose %y by [1, 0, 2] : tensor<3x2x4xf32> -> tensor<2x3x4xf32>
  %a = tw.add %t, %u : tensor<2x3x4xf32>
  func.return %a : tensor<2x3x4xf32>
}

// -----

// As in a group norm: channels are split, the plane becomes one dimension.
// CHECK-LABEL: @reshapes_follow
// CHECK-NEXT: %[[S:.*]] = tw.reshape %x : tensor<2x5x7x6xf32> -> tensor<2x35x3x2xf32> loc("m.py":4:0)
// CHECK-NEXT: %[[R:.*]] = tw.sum %[[S]] over [1, 3] : tensor<2x35x3x2xf32> -> tensor<2x3xf32>
// CHECK-NEXT: return %[[R]]
func.func @reshapes_follow(%x: tensor<2x5x7x6xf32>) -> tensor<2x3xf32> {
  %t = tw.transpose %x by [0, 3, 1, 2] : tensor<2x5x7x6xf32> -> tensor<2x6x5x7xf32>
  %s = tw.reshape %t : tensor<2x6x5x7xf32> -> tensor<2x3x2x35xf32> loc("m.py":4:0)
  %r = tw.sum %s over [2, 3] : tensor<2x3x2x35xf32> -> tensor<2x3xf32>
  func.return %r : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: @reshapes_of_one_image_follow
// CHECK:      tw.reshape %x : tensor<1x5x7x6xf32> -> tensor<35x1x3x2xf32>
// CHECK-NOT:  tw.transpose
func.func @reshapes_of_one_image_follow(%x: tensor<1x5x7x6xf32>) -> tensor<1x3xf32> {
  %t = tw.transpose %x by [0, 3, 1, 2] : tensor<1x5x7x6xf32> -> tensor<1x6x5x7xf32>
  %s = tw.reshape %t : tensor<1x6x5x7xf32> -> tensor<1x3x2x35xf32>
  %r = tw.sum %s over [2, 3] : tensor<1x3x2x35xf32> -> tensor<1x3xf32>
  func.return %r : tensor<1x3xf32>
}

// -----

// CHECK-LABEL: @keeps_reshapes_across_what_is_transposed
// CHECK-NEXT: tw.transpose
// CHECK-NEXT: tw.reshape
// REMARK:     tw.reshape at {{.*}}: not sunk: it merges or splits across what is transposed
func.func @keeps_reshapes_across_what_is_transposed(%x: tensor<5x7x6xf32>) -> tensor<7xf32> {
  %t = tw.transpose %x by [2, 0, 1] : tensor<5x7x6xf32> -> tensor<6x5x7xf32>
  %s = tw.reshape %t : tensor<6x5x7xf32> -> tensor<30x7xf32>
  %r = tw.sum %s over [0] : tensor<30x7xf32> -> tensor<7xf32>
  func.return %r : tensor<7xf32>
}

// -----

// As in an upsampling; the indices stay as they are.
// CHECK-LABEL: @gathers_follow
// CHECK-NEXT: %[[G:.*]] = tw.gather %x[%i, %j] dims [1, 2] at 1 strict : (tensor<2x5x7x6xf32>, tensor<3x4xi64>, tensor<3x4xi64>) -> tensor<2x3x4x6xf32>
// CHECK-NEXT: return %[[G]]
func.func @gathers_follow(%x: tensor<2x5x7x6xf32>, %i: tensor<3x4xi64>, %j: tensor<3x4xi64>) -> tensor<2x3x4x6xf32> {
  %t = tw.transpose %x by [0, 3, 1, 2] : tensor<2x5x7x6xf32> -> tensor<2x6x5x7xf32>
  %g = tw.gather %t[%i, %j] dims [2, 3] at 2 strict : (tensor<2x6x5x7xf32>, tensor<3x4xi64>, tensor<3x4xi64>) -> tensor<2x6x3x4xf32>
  %u = tw.transpose %g by [0, 2, 3, 1] : tensor<2x6x3x4xf32> -> tensor<2x3x4x6xf32>
  func.return %u : tensor<2x3x4x6xf32>
}

// -----

// CHECK-LABEL: @gathers_put_their_indices_elsewhere
// CHECK-NEXT: %[[G:.*]] = tw.gather %x[%i] dims [2] at 2 : (tensor<5x7x6xf32>, tensor<3x4xi64>) -> tensor<5x7x3x4xf32>
// CHECK-NEXT: %[[S:.*]] = tw.sum %[[G]] over [0, 1] : tensor<5x7x3x4xf32> -> tensor<3x4xf32>
// CHECK-NEXT: return %[[S]]
func.func @gathers_put_their_indices_elsewhere(%x: tensor<5x7x6xf32>, %i: tensor<3x4xi64>) -> tensor<3x4xf32> {
  %t = tw.transpose %x by [1, 2, 0] : tensor<5x7x6xf32> -> tensor<7x6x5xf32>
  %g = tw.gather %t[%i] dims [1] at 0 : (tensor<7x6x5xf32>, tensor<3x4xi64>) -> tensor<3x4x7x5xf32>
  %r = tw.sum %g over [2, 3] : tensor<3x4x7x5xf32> -> tensor<3x4xf32>
  func.return %r : tensor<3x4xf32>
}
