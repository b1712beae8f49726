// RUN: tilewright-opt %s -p turn-filters --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p channels-last,convert-tw-to-tk,turn-filters,absorb-views,dce,fuse --split-input-file | filecheck %s --check-prefix=FUSED
// RUN: tilewright-opt %s -p turn-filters --split-input-file --verify-locations
// RUN: tilewright-opt %s -p turn-filters --split-input-file --check-semantics

// CHECK-LABEL: @filters(
// CHECK-NEXT: %[[K:.*]] = tk.kernel [16, 3, 3, 8] ins(%w : tensor<16x8x3x3xbf16>) -> (tensor<16x3x3x8xbf16>)
// CHECK: tk.load %{{.*}}[d0, d3, d1, d2]
// CHECK: tk.store %{{.*}}, %{{.*}}[d0, d1, d2, d3]
// CHECK: } loc("m.py":1:0)
// CHECK-NEXT: %[[F:.*]] = tw.transpose %[[K]] by [0, 3, 1, 2] : tensor<16x3x3x8xbf16> -> tensor<16x8x3x3xbf16> loc("m.py":1:0)
// CHECK-NEXT: tw.convolution %x, %[[F]]
// FUSED-LABEL: @filters(
func.func @filters(%x: tensor<2x8x5x5xbf16>, %w: tensor<16x8x3x3xbf16>) -> tensor<2x16x5x5xbf16> {
  %r = tw.convolution %x, %w strides [1, 1] padding [1, 1] dilation [1, 1] output_padding [0, 0] groups 1 {tw.strides = ["400, 1, 80, 16"]} : (tensor<2x8x5x5xbf16>, tensor<16x8x3x3xbf16>) -> tensor<2x16x5x5xbf16> loc("m.py":1:0)
  func.return %r : tensor<2x16x5x5xbf16>
}

// -----

// Filters that are cast are cast to where they shall lie.
// FUSED-LABEL: @cast(
// FUSED: %[[K:.*]] = tk.kernel [16, 3, 3, 8] ins(%w : tensor<16x8x3x3xf32>) -> (tensor<16x3x3x8xbf16>)
// FUSED-NOT: tk.kernel
// FUSED: tw.convolution
// CHECK-LABEL: @cast(
func.func @cast(%x: tensor<2x8x5x5xbf16>, %w: tensor<16x8x3x3xf32>) -> tensor<2x16x5x5xbf16> {
  %c = tw.cast %w : tensor<16x8x3x3xf32> -> tensor<16x8x3x3xbf16>
  %r = tw.convolution %x, %c strides [1, 1] padding [1, 1] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<2x8x5x5xbf16>, tensor<16x8x3x3xbf16>) -> tensor<2x16x5x5xbf16>
  func.return %r : tensor<2x16x5x5xbf16>
}

// -----

// So are those of gradients.
// CHECK-LABEL: @gradients(
// CHECK: %[[F:.*]] = tw.transpose %{{.*}} by [0, 3, 1, 2] : tensor<16x3x3x8xbf16> -> tensor<16x8x3x3xbf16>
// CHECK-NEXT: tw.aten "aten::convolution_backward"(%g, %x, %[[F]])
// FUSED-LABEL: @gradients(
func.func @gradients(%g: tensor<2x16x5x5xbf16>, %x: tensor<2x8x5x5xbf16>, %w: tensor<16x8x3x3xbf16>) -> tensor<2x8x5x5xbf16> {
  %i = tw.aten "aten::convolution_backward"(%g, %x, %w) {tw.strides = ["200, 1, 40, 8"], args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, [0 : i64], [1 : i64, 1 : i64], [1 : i64, 1 : i64], [1 : i64, 1 : i64], false, [0 : i64, 0 : i64], 1 : i64, [true, false, false]], returns = array<i64: 0>} : (tensor<2x16x5x5xbf16>, tensor<2x8x5x5xbf16>, tensor<16x8x3x3xbf16>) -> tensor<2x8x5x5xbf16>
  func.return %i : tensor<2x8x5x5xbf16>
}

// -----

// An image that was not turned; filters of one element, of one channel, and such as lie so already.
// CHECK-LABEL: @as_they_are(
// CHECK-NOT: tk.kernel
// CHECK: func.return
// FUSED-LABEL: @as_they_are(
func.func @as_they_are(%x: tensor<2x8x5x5xf32>, %a: tensor<8x8x3x3xf32>, %b: tensor<8x8x1x1xf32>, %c: tensor<8x1x3x3xf32>, %d: tensor<8x8x3x3xf32> {tw.strides = "72, 1, 24, 8"}) -> (tensor<2x8x5x5xf32>, tensor<2x8x5x5xf32>, tensor<2x8x5x5xf32>, tensor<2x8x5x5xf32>) {
  %0 = tw.convolution %x, %a strides [1, 1] padding [1, 1] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<2x8x5x5xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x5x5xf32>
  %1 = tw.convolution %x, %b strides [1, 1] padding [0, 0] dilation [1, 1] output_padding [0, 0] groups 1 {tw.strides = ["200, 1, 40, 8"]} : (tensor<2x8x5x5xf32>, tensor<8x8x1x1xf32>) -> tensor<2x8x5x5xf32>
  %2 = tw.convolution %x, %c strides [1, 1] padding [1, 1] dilation [1, 1] output_padding [0, 0] groups 8 {tw.strides = ["200, 1, 40, 8"]} : (tensor<2x8x5x5xf32>, tensor<8x1x3x3xf32>) -> tensor<2x8x5x5xf32>
  %3 = tw.convolution %x, %d strides [1, 1] padding [1, 1] dilation [1, 1] output_padding [0, 0] groups 1 {tw.strides = ["200, 1, 40, 8"]} : (tensor<2x8x5x5xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x5x5xf32>
  func.return %0, %1, %2, %3 : tensor<2x8x5x5xf32>, tensor<2x8x5x5xf32>, tensor<2x8x5x5xf32>, tensor<2x8x5x5xf32>
}
