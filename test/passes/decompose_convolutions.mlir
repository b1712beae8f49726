// RUN: tilewright-opt %s -p 'decompose-convolutions' --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p decompose | filecheck %s --check-prefix=OFF
// RUN: tilewright-opt %s -p 'decompose-convolutions' --remarks -o /dev/null 2>&1 | filecheck %s --check-prefix=REMARK

// Columns are places, and each image has its own, so that nothing divides where the result is stored.
// CHECK-LABEL: @pointwise(
// CHECK-NEXT: %[[F:.*]] = tw.reshape %w : tensor<4x6x1x1xbf16> -> tensor<4x6xbf16> loc("m.py":1:2)
// CHECK-NEXT: %[[E:.*]] = tw.broadcast %[[F]] dims [1, 2]
// CHECK-NEXT: %[[W:.*]] = tw.window %x dims [2, 3] sizes [1, 1] strides [1, 1] dilation [1, 1]
// CHECK-NEXT: %[[P:.*]] = tw.transpose %[[W]] by [0, 1, 4, 5, 2, 3]
// CHECK-NEXT: %[[C:.*]] = tw.reshape %[[P]] : {{.*}} -> tensor<?x6x64xbf16, #tw.shape<"s0, 6, 64">>
// CHECK-NEXT: %[[M:.*]] = tw.matmul %[[E]], %[[C]] {{.*}} loc("m.py":1:2)
// CHECK-NEXT: %[[R:.*]] = tw.reshape %[[M]]
// CHECK-NEXT: %[[B:.*]] = tw.broadcast %b dims [1]
// CHECK-NEXT: tw.add %[[R]], %[[B]]
// OFF-LABEL: @pointwise(
// OFF-NEXT: tw.convolution
func.func @pointwise(%x: tensor<?x6x8x8xbf16, #tw.shape<"s0, 6, 8, 8">>, %w: tensor<4x6x1x1xbf16>, %b: tensor<4xbf16>, %s0: index {tw.symbol = "s0"}) -> tensor<?x4x8x8xbf16, #tw.shape<"s0, 4, 8, 8">> {
  %r = tw.convolution %x, %w bias %b strides [1, 1] padding [0, 0] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<?x6x8x8xbf16, #tw.shape<"s0, 6, 8, 8">>, tensor<4x6x1x1xbf16>, tensor<4xbf16>) -> tensor<?x4x8x8xbf16, #tw.shape<"s0, 4, 8, 8">> loc("m.py":1:2)
  func.return %r : tensor<?x4x8x8xbf16, #tw.shape<"s0, 4, 8, 8">>
}

// What lies between windows, and behind the last one, is not read.
// CHECK-LABEL: @patches(
// CHECK: tw.window %x dims [2, 3] sizes [4, 2] strides [4, 3] dilation [1, 1] : tensor<2x3x9x8xf16> -> tensor<2x3x2x3x4x2xf16>
// CHECK: tw.matmul {{.*}} : (tensor<2x5x24xf16>, tensor<2x24x6xf16>) -> tensor<2x5x6xf16>
func.func @patches(%x: tensor<2x3x9x8xf16>, %w: tensor<5x3x4x2xf16>) -> tensor<2x5x2x3xf16> {
  %r = tw.convolution %x, %w strides [4, 3] padding [0, 0] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<2x3x9x8xf16>, tensor<5x3x4x2xf16>) -> tensor<2x5x2x3xf16>
  func.return %r : tensor<2x5x2x3xf16>
}

// CHECK-LABEL: @pointwise_gradients(
// CHECK: %[[G:.*]] = tw.reshape %g : tensor<2x4x8x8xbf16> -> tensor<2x4x64xbf16>
// CHECK: %[[I:.*]] = tw.matmul {{.*}} : (tensor<2x6x4xbf16>, tensor<2x4x64xbf16>) -> tensor<2x6x64xbf16> loc("m.py":2:2)
// CHECK-NEXT: %[[S:.*]] = tw.reshape %[[I]]
// CHECK-NEXT: %[[T:.*]] = tw.transpose %[[S]] by [0, 1, 4, 2, 5, 3]
// CHECK-NEXT: %[[A:.*]] = tw.reshape %[[T]] {{.*}} -> tensor<2x6x8x8xbf16>
// CHECK: %[[F:.*]] = tw.matmul {{.*}} : (tensor<4x128xbf16>, tensor<128x6xbf16>) -> tensor<4x6xbf16>
// CHECK-NEXT: %[[B:.*]] = tw.reshape %[[F]]
// CHECK-NEXT: %[[C:.*]] = tw.sum %[[G]] over [0, 2]
// CHECK-NEXT: func.return %[[A]], %[[B]], %[[C]]
// OFF-LABEL: @pointwise_gradients(
// OFF-NEXT: tw.aten "aten::convolution_backward"
// OFF-NEXT: func.return
func.func @pointwise_gradients(%g: tensor<2x4x8x8xbf16>, %x: tensor<2x6x8x8xbf16>, %w: tensor<4x6x1x1xbf16>) -> (tensor<2x6x8x8xbf16>, tensor<4x6x1x1xbf16>, tensor<4xbf16>) {
  %i, %f, %b = tw.aten "aten::convolution_backward"(%g, %x, %w) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, [4 : i64], [1 : i64, 1 : i64], [0 : i64, 0 : i64], [1 : i64, 1 : i64], false, [0 : i64, 0 : i64], 1 : i64, [true, true, true]]} : (tensor<2x4x8x8xbf16>, tensor<2x6x8x8xbf16>, tensor<4x6x1x1xbf16>) -> (tensor<2x6x8x8xbf16>, tensor<4x6x1x1xbf16>, tensor<4xbf16>) loc("m.py":2:2)
  func.return %i, %f, %b : tensor<2x6x8x8xbf16>, tensor<4x6x1x1xbf16>, tensor<4xbf16>
}

// An image that is its own filters is one operand.
// CHECK-LABEL: @an_image_as_its_filters(
// CHECK-NOT: convolution_backward
// CHECK-COUNT-2: tw.matmul
func.func @an_image_as_its_filters(%g: tensor<6x6x1x1xbf16>, %x: tensor<6x8x1x1xbf16>) -> (tensor<6x8x1x1xbf16>, tensor<6x8x1x1xbf16>) {
  %i, %f = tw.aten "aten::convolution_backward"(%g, %x) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<1>, unit, [1 : i64, 1 : i64], [0 : i64, 0 : i64], [1 : i64, 1 : i64], false, [0 : i64, 0 : i64], 1 : i64, [true, true, false]], returns = array<i64: 0, 1>} : (tensor<6x6x1x1xbf16>, tensor<6x8x1x1xbf16>) -> (tensor<6x8x1x1xbf16>, tensor<6x8x1x1xbf16>)
  func.return %i, %f : tensor<6x8x1x1xbf16>, tensor<6x8x1x1xbf16>
}

// The gradient of an image would have to be zero beyond the last window; that of filters is a product.
// CHECK-LABEL: @patches_that_leave_a_rest(
// CHECK-NEXT: %[[I:.*]], %[[F:.*]] = tw.aten "aten::convolution_backward"
// CHECK: %[[M:.*]] = tw.matmul {{.*}} : (tensor<5x8xbf16>, tensor<8x12xbf16>) -> tensor<5x12xbf16>
// CHECK-NEXT: %[[H:.*]] = tw.reshape %[[M]]
// CHECK-NEXT: func.return %[[I]], %[[F]], %[[H]]
func.func @patches_that_leave_a_rest(%g: tensor<2x5x2x2xbf16>, %x: tensor<2x3x5x4xbf16>, %w: tensor<5x3x2x2xbf16>) -> (tensor<2x3x5x4xbf16>, tensor<5x3x2x2xbf16>, tensor<5x3x2x2xbf16>) {
  %i, %f = tw.aten "aten::convolution_backward"(%g, %x, %w) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, [0 : i64], [2 : i64], [0 : i64, 0 : i64], [1 : i64, 1 : i64], false, [0 : i64, 0 : i64], 1 : i64, [true, true, false]], returns = array<i64: 0, 1>} : (tensor<2x5x2x2xbf16>, tensor<2x3x5x4xbf16>, tensor<5x3x2x2xbf16>) -> (tensor<2x3x5x4xbf16>, tensor<5x3x2x2xbf16>)
  %h = tw.aten "aten::convolution_backward"(%g, %x, %w) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, [0 : i64], [2 : i64], [0 : i64, 0 : i64], [1 : i64, 1 : i64], false, [0 : i64, 0 : i64], 1 : i64, [false, true, false]], returns = array<i64: 1>} : (tensor<2x5x2x2xbf16>, tensor<2x3x5x4xbf16>, tensor<5x3x2x2xbf16>) -> tensor<5x3x2x2xbf16>
  func.return %i, %f, %h : tensor<2x3x5x4xbf16>, tensor<5x3x2x2xbf16>, tensor<5x3x2x2xbf16>
}

// CHECK-LABEL: @sizes_written_differently(
// CHECK-NEXT: tw.aten "aten::convolution_backward"
// REMARK: tw.aten at loc({{.*}}): not decomposed: its sizes are written differently
func.func @sizes_written_differently(%g: tensor<2x4x?x6xbf16, #tw.shape<"2, 4, s1, 6">>, %x: tensor<2x6x?x12xbf16, #tw.shape<"2, 6, s0, 12">>, %w: tensor<4x6x2x2xbf16>, %s0: index {tw.symbol = "s0"}, %s1: index {tw.symbol = "s1"}) -> tensor<4x6x2x2xbf16> {
  %f = tw.aten "aten::convolution_backward"(%g, %x, %w) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, [0 : i64], [2 : i64, 2 : i64], [0 : i64, 0 : i64], [1 : i64, 1 : i64], false, [0 : i64, 0 : i64], 1 : i64, [false, true, false]], returns = array<i64: 1>} : (tensor<2x4x?x6xbf16, #tw.shape<"2, 4, s1, 6">>, tensor<2x6x?x12xbf16, #tw.shape<"2, 6, s0, 12">>, tensor<4x6x2x2xbf16>) -> tensor<4x6x2x2xbf16>
  func.return %f : tensor<4x6x2x2xbf16>
}

// An odd number of places, f32, one in two elements, padding, groups, windows that overlap, a transposed one.
// CHECK-LABEL: @stays_with_a_library(
// CHECK-COUNT-7: tw.convolution
// CHECK-NOT: tw.matmul
func.func @stays_with_a_library(%x: tensor<2x6x8x8xbf16>, %odd: tensor<2x6x7x7xbf16>, %y: tensor<2x6x8x8xf32>, %w: tensor<4x6x1x1xbf16>, %v: tensor<4x6x1x1xf32>, %t: tensor<4x6x3x3xbf16>, %g: tensor<4x3x1x1xbf16>, %c: tensor<6x4x1x1xbf16>) -> (tensor<2x4x7x7xbf16>, tensor<2x4x8x8xf32>, tensor<2x4x4x4xbf16>, tensor<2x4x10x10xbf16>, tensor<2x4x8x8xbf16>, tensor<2x4x6x6xbf16>, tensor<2x4x8x8xbf16>) {
  %0 = tw.convolution %odd, %w strides [1, 1] padding [0, 0] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<2x6x7x7xbf16>, tensor<4x6x1x1xbf16>) -> tensor<2x4x7x7xbf16>
  %1 = tw.convolution %y, %v strides [1, 1] padding [0, 0] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<2x6x8x8xf32>, tensor<4x6x1x1xf32>) -> tensor<2x4x8x8xf32>
  %2 = tw.convolution %x, %w strides [2, 2] padding [0, 0] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<2x6x8x8xbf16>, tensor<4x6x1x1xbf16>) -> tensor<2x4x4x4xbf16>
  %3 = tw.convolution %x, %w strides [1, 1] padding [1, 1] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<2x6x8x8xbf16>, tensor<4x6x1x1xbf16>) -> tensor<2x4x10x10xbf16>
  %4 = tw.convolution %x, %g strides [1, 1] padding [0, 0] dilation [1, 1] output_padding [0, 0] groups 2 : (tensor<2x6x8x8xbf16>, tensor<4x3x1x1xbf16>) -> tensor<2x4x8x8xbf16>
  %5 = tw.convolution %x, %t strides [1, 1] padding [0, 0] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<2x6x8x8xbf16>, tensor<4x6x3x3xbf16>) -> tensor<2x4x6x6xbf16>
  %6 = tw.convolution %x, %c strides [1, 1] padding [0, 0] dilation [1, 1] transposed output_padding [0, 0] groups 1 : (tensor<2x6x8x8xbf16>, tensor<6x4x1x1xbf16>) -> tensor<2x4x8x8xbf16>
  func.return %0, %1, %2, %3, %4, %5, %6 : tensor<2x4x7x7xbf16>, tensor<2x4x8x8xf32>, tensor<2x4x4x4xbf16>, tensor<2x4x10x10xbf16>, tensor<2x4x8x8xbf16>, tensor<2x4x6x6xbf16>, tensor<2x4x8x8xbf16>
}

// An image with its channels last is rows of pixels, and so is what it becomes: 7 x 7 places, since rows have six channels.
// CHECK-LABEL: @rows_of_pixels(
// CHECK-NEXT: %[[W:.*]] = tw.transpose %w by [0, 2, 3, 1] : tensor<4x6x1x1xbf16> -> tensor<4x1x1x6xbf16>
// CHECK-NEXT: %[[F:.*]] = tw.reshape %[[W]] : tensor<4x1x1x6xbf16> -> tensor<4x6xbf16>
// CHECK-NEXT: %[[V:.*]] = tw.window %p dims [1, 2] sizes [1, 1] strides [1, 1] dilation [1, 1]
// CHECK-NEXT: %[[U:.*]] = tw.transpose %[[V]] by [0, 1, 2, 4, 5, 3]
// CHECK-NEXT: %[[R:.*]] = tw.reshape %[[U]] : {{.*}} -> tensor<98x6xbf16>
// CHECK-NEXT: %[[G:.*]] = tw.transpose %[[F]] by [1, 0]
// CHECK-NEXT: %[[M:.*]] = tw.matmul %[[R]], %[[G]] : (tensor<98x6xbf16>, tensor<6x4xbf16>) -> tensor<98x4xbf16> loc("m.py":5:2)
// CHECK-NEXT: %[[B:.*]] = tw.broadcast %b dims [1]
// CHECK-NEXT: %[[A:.*]] = tw.add %[[M]], %[[B]]
// CHECK-NEXT: %[[S:.*]] = tw.reshape %[[A]] : tensor<98x4xbf16> -> tensor<2x7x7x4xbf16>
// CHECK-NEXT: tw.transpose %[[S]] by [0, 3, 1, 2]
func.func @rows_of_pixels(%p: tensor<2x7x7x6xbf16>, %w: tensor<4x6x1x1xbf16>, %b: tensor<4xbf16>) -> tensor<2x4x7x7xbf16> {
  %x = tw.transpose %p by [0, 3, 1, 2] : tensor<2x7x7x6xbf16> -> tensor<2x6x7x7xbf16>
  %r = tw.convolution %x, %w bias %b strides [1, 1] padding [0, 0] dilation [1, 1] output_padding [0, 0] groups 1 {tw.strides = ["196, 1, 28, 4"]} : (tensor<2x6x7x7xbf16>, tensor<4x6x1x1xbf16>, tensor<4xbf16>) -> tensor<2x4x7x7xbf16> loc("m.py":5:2)
  func.return %r : tensor<2x4x7x7xbf16>
}

// Patches of a photograph have their channels first, as they lie.
// CHECK-LABEL: @patches_to_pixels(
// CHECK: %[[F:.*]] = tw.reshape %w : tensor<6x3x2x4xbf16> -> tensor<6x24xbf16>
// CHECK: tw.window %x dims [2, 3] sizes [2, 4] strides [2, 4] dilation [1, 1] : tensor<2x3x8x8xbf16> -> tensor<2x3x4x2x2x4xbf16>
// CHECK-NEXT: tw.transpose %{{.*}} by [0, 2, 3, 1, 4, 5]
// CHECK: tw.matmul {{.*}} : (tensor<16x24xbf16>, tensor<24x6xbf16>) -> tensor<16x6xbf16>
func.func @patches_to_pixels(%x: tensor<2x3x8x8xbf16>, %w: tensor<6x3x2x4xbf16>) -> tensor<2x6x4x2xbf16> {
  %r = tw.convolution %x, %w strides [2, 4] padding [0, 0] dilation [1, 1] output_padding [0, 0] groups 1 {tw.strides = ["48, 1, 12, 6"]} : (tensor<2x3x8x8xbf16>, tensor<6x3x2x4xbf16>) -> tensor<2x6x4x2xbf16>
  func.return %r : tensor<2x6x4x2xbf16>
}

// CHECK-LABEL: @gradients_of_pixels(
// CHECK: %[[R:.*]] = tw.reshape %{{.*}} : tensor<2x4x2x6xbf16> -> tensor<16x6xbf16>
// CHECK: %[[I:.*]] = tw.matmul %[[R]], {{.*}} : (tensor<16x6xbf16>, tensor<6x32xbf16>) -> tensor<16x32xbf16> loc("m.py":6:2)
// CHECK-NEXT: %[[A:.*]] = tw.reshape %[[I]] : tensor<16x32xbf16> -> tensor<2x4x2x2x4x4xbf16>
// CHECK-NEXT: %[[T:.*]] = tw.transpose %[[A]] by [0, 1, 3, 2, 4, 5] : tensor<2x4x2x2x4x4xbf16> -> tensor<2x4x2x2x4x4xbf16>
// CHECK-NEXT: %[[P:.*]] = tw.reshape %[[T]] : tensor<2x4x2x2x4x4xbf16> -> tensor<2x8x8x4xbf16>
// CHECK-NEXT: %[[X:.*]] = tw.transpose %[[P]] by [0, 3, 1, 2]
// CHECK: %[[M:.*]] = tw.matmul {{.*}} : (tensor<6x16xbf16>, tensor<16x32xbf16>) -> tensor<6x32xbf16>
// CHECK-NEXT: %[[G:.*]] = tw.reshape %[[M]] : tensor<6x32xbf16> -> tensor<6x2x4x4xbf16>
// CHECK-NEXT: %[[F:.*]] = tw.transpose %[[G]] by [0, 3, 1, 2] : tensor<6x2x4x4xbf16> -> tensor<6x4x2x4xbf16>
// CHECK-NEXT: %[[B:.*]] = tw.sum %[[R]] over [0]
// CHECK-NEXT: func.return %[[X]], %[[F]], %[[B]]
func.func @gradients_of_pixels(%q: tensor<2x4x2x6xbf16>, %p: tensor<2x8x8x4xbf16>, %w: tensor<6x4x2x4xbf16>) -> (tensor<2x4x8x8xbf16>, tensor<6x4x2x4xbf16>, tensor<6xbf16>) {
  %g = tw.transpose %q by [0, 3, 1, 2] : tensor<2x4x2x6xbf16> -> tensor<2x6x4x2xbf16>
  %x = tw.transpose %p by [0, 3, 1, 2] : tensor<2x8x8x4xbf16> -> tensor<2x4x8x8xbf16>
  %i, %f, %b = tw.aten "aten::convolution_backward"(%g, %x, %w) {tw.strides = ["256, 1, 32, 4", "32, 1, 16, 4", "1"], args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, [6 : i64], [2 : i64, 4 : i64], [0 : i64, 0 : i64], [1 : i64, 1 : i64], false, [0 : i64, 0 : i64], 1 : i64, [true, true, true]]} : (tensor<2x6x4x2xbf16>, tensor<2x4x8x8xbf16>, tensor<6x4x2x4xbf16>) -> (tensor<2x4x8x8xbf16>, tensor<6x4x2x4xbf16>, tensor<6xbf16>) loc("m.py":6:2)
  func.return %i, %f, %b : tensor<2x4x8x8xbf16>, tensor<6x4x2x4xbf16>, tensor<6xbf16>
}

// Pixels become patches, as gradients of rows do; between others there are places that none is of.
// CHECK-LABEL: @transposed_pixels(
// CHECK: %[[R:.*]] = tw.reshape %{{.*}} : tensor<2x5x7x4xbf16> -> tensor<70x4xbf16>
// CHECK: %[[P:.*]] = tw.matmul %[[R]], {{.*}} : (tensor<70x4xbf16>, tensor<4x24xbf16>) -> tensor<70x24xbf16> loc("m.py":7:2)
// CHECK-NEXT: %[[A:.*]] = tw.reshape %[[P]] : tensor<70x24xbf16> -> tensor<2x5x7x2x2x6xbf16>
// CHECK-NEXT: %[[T:.*]] = tw.transpose %[[A]] by [0, 1, 3, 2, 4, 5]
// CHECK-NEXT: %[[I:.*]] = tw.reshape %[[T]] : {{.*}} -> tensor<2x10x14x6xbf16>
// CHECK-NEXT: %[[X:.*]] = tw.transpose %[[I]] by [0, 3, 1, 2]
// CHECK-NEXT: %[[B:.*]] = tw.broadcast %b dims [1]
// CHECK-NEXT: tw.add %[[X]], %[[B]]
// CHECK: tw.convolution
// CHECK-NOT: tw.matmul
func.func @transposed_pixels(%p: tensor<2x5x7x4xbf16>, %w: tensor<4x6x2x2xbf16>, %b: tensor<6xbf16>) -> (tensor<2x6x10x14xbf16>, tensor<2x6x14x20xbf16>) {
  %x = tw.transpose %p by [0, 3, 1, 2] : tensor<2x5x7x4xbf16> -> tensor<2x4x5x7xbf16>
  %r = tw.convolution %x, %w bias %b strides [2, 2] padding [0, 0] dilation [1, 1] transposed output_padding [0, 0] groups 1 {tw.strides = ["840, 1, 84, 6"]} : (tensor<2x4x5x7xbf16>, tensor<4x6x2x2xbf16>, tensor<6xbf16>) -> tensor<2x6x10x14xbf16> loc("m.py":7:2)
  %s = tw.convolution %x, %w bias %b strides [3, 3] padding [0, 0] dilation [1, 1] transposed output_padding [0, 0] groups 1 {tw.strides = ["1680, 1, 120, 6"]} : (tensor<2x4x5x7xbf16>, tensor<4x6x2x2xbf16>, tensor<6xbf16>) -> tensor<2x6x14x20xbf16>
  func.return %r, %s : tensor<2x6x10x14xbf16>, tensor<2x6x14x20xbf16>
}
// CHECK-LABEL: @gradients_of_transposed(
// CHECK: %[[I:.*]] = tw.matmul {{.*}} : (tensor<70x24xbf16>, tensor<24x4xbf16>) -> tensor<70x4xbf16>
// CHECK: %[[F:.*]] = tw.matmul {{.*}} : (tensor<4x70xbf16>, tensor<70x24xbf16>) -> tensor<4x24xbf16>
// CHECK: tw.sum %{{.*}} over [0, 2, 3] : tensor<2x6x10x14xbf16> -> tensor<6xbf16>
// CHECK-NOT: tw.aten
func.func @gradients_of_transposed(%q: tensor<2x10x14x6xbf16>, %p: tensor<2x5x7x4xbf16>, %w: tensor<4x6x2x2xbf16>) -> (tensor<2x4x5x7xbf16>, tensor<4x6x2x2xbf16>, tensor<6xbf16>) {
  %g = tw.transpose %q by [0, 3, 1, 2] : tensor<2x10x14x6xbf16> -> tensor<2x6x10x14xbf16>
  %x = tw.transpose %p by [0, 3, 1, 2] : tensor<2x5x7x4xbf16> -> tensor<2x4x5x7xbf16>
  %i, %f, %b = tw.aten "aten::convolution_backward"(%g, %x, %w) {tw.strides = ["140, 1, 28, 4", "24, 1, 12, 6", "1"], args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, [6 : i64], [2 : i64, 2 : i64], [0 : i64, 0 : i64], [1 : i64, 1 : i64], true, [0 : i64, 0 : i64], 1 : i64, [true, true, true]]} : (tensor<2x6x10x14xbf16>, tensor<2x4x5x7xbf16>, tensor<4x6x2x2xbf16>) -> (tensor<2x4x5x7xbf16>, tensor<4x6x2x2xbf16>, tensor<6xbf16>)
  func.return %i, %f, %b : tensor<2x4x5x7xbf16>, tensor<4x6x2x2xbf16>, tensor<6xbf16>
}

// An image of one window is a row, wherever its channels lie: of one place, or as large as the filters.
// CHECK-LABEL: @one_place(
// CHECK: %[[F:.*]] = tw.reshape %w : tensor<5x6x1x1xbf16> -> tensor<5x6xbf16>
// CHECK: %[[R:.*]] = tw.reshape %{{.*}} -> tensor<2x6xbf16>
// CHECK: tw.matmul %[[R]], {{.*}} : (tensor<2x6xbf16>, tensor<6x5xbf16>) -> tensor<2x5xbf16>
func.func @one_place(%x: tensor<2x6x1x1xbf16>, %w: tensor<5x6x1x1xbf16>) -> tensor<2x5x1x1xbf16> {
  %r = tw.convolution %x, %w strides [1, 1] padding [0, 0] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<2x6x1x1xbf16>, tensor<5x6x1x1xbf16>) -> tensor<2x5x1x1xbf16>
  func.return %r : tensor<2x5x1x1xbf16>
}
// CHECK-LABEL: @gradients_of_one_window(
// CHECK: tw.matmul {{.*}} : (tensor<2x5xbf16>, tensor<5x72xbf16>) -> tensor<2x72xbf16>
// CHECK: tw.matmul {{.*}} : (tensor<5x2xbf16>, tensor<2x72xbf16>) -> tensor<5x72xbf16>
// CHECK-NOT: tw.aten
func.func @gradients_of_one_window(%g: tensor<2x5x1x1xbf16>, %x: tensor<2x8x3x3xbf16>, %w: tensor<5x8x3x3xbf16>) -> (tensor<2x8x3x3xbf16>, tensor<5x8x3x3xbf16>) {
  %i, %f = tw.aten "aten::convolution_backward"(%g, %x, %w) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, [0 : i64], [1 : i64, 1 : i64], [0 : i64, 0 : i64], [1 : i64, 1 : i64], false, [0 : i64, 0 : i64], 1 : i64, [true, true, false]], returns = array<i64: 0, 1>} : (tensor<2x5x1x1xbf16>, tensor<2x8x3x3xbf16>, tensor<5x8x3x3xbf16>) -> (tensor<2x8x3x3xbf16>, tensor<5x8x3x3xbf16>)
  func.return %i, %f : tensor<2x8x3x3xbf16>, tensor<5x8x3x3xbf16>
}
// An odd number of elements in it, and two windows, of an image that overlap.
// CHECK-LABEL: @no_row_of_one_window(
// CHECK-COUNT-2: tw.convolution
// CHECK-NOT: tw.matmul
func.func @no_row_of_one_window(%x: tensor<2x5x3x3xbf16>, %y: tensor<2x4x3x4xbf16>, %w: tensor<6x5x3x3xbf16>, %v: tensor<6x4x3x3xbf16>) -> (tensor<2x6x1x1xbf16>, tensor<2x6x1x2xbf16>) {
  %0 = tw.convolution %x, %w strides [1, 1] padding [0, 0] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<2x5x3x3xbf16>, tensor<6x5x3x3xbf16>) -> tensor<2x6x1x1xbf16>
  %1 = tw.convolution %y, %v strides [1, 1] padding [0, 0] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<2x4x3x4xbf16>, tensor<6x4x3x3xbf16>) -> tensor<2x6x1x2xbf16>
  func.return %0, %1 : tensor<2x6x1x1xbf16>, tensor<2x6x1x2xbf16>
}

// Rows of an odd number of channels are the library's.
// CHECK-LABEL: @odd_pixels(
// CHECK: tw.convolution
func.func @odd_pixels(%p: tensor<2x8x8x3xbf16>, %w: tensor<4x3x1x1xbf16>) -> tensor<2x4x8x8xbf16> {
  %x = tw.transpose %p by [0, 3, 1, 2] : tensor<2x8x8x3xbf16> -> tensor<2x3x8x8xbf16>
  %r = tw.convolution %x, %w strides [1, 1] padding [0, 0] dilation [1, 1] output_padding [0, 0] groups 1 {tw.strides = ["256, 1, 32, 4"]} : (tensor<2x3x8x8xbf16>, tensor<4x3x1x1xbf16>) -> tensor<2x4x8x8xbf16>
  func.return %r : tensor<2x4x8x8xbf16>
}

// What a library computes has its bias added, and summed up, by itself, in the order that its images have.
// CHECK-LABEL: @bias_of_a_library(
// CHECK-NEXT: %[[C:.*]] = tw.convolution %x, %w strides [1, 1] padding [1, 1] {{.*}} {tw.strides = ["256, 1, 32, 4"]} : {{.*}} loc("m.py":6:2)
// CHECK-NEXT: %[[B:.*]] = tw.broadcast %b dims [1]
// CHECK-NEXT: %[[R:.*]] = tw.add %[[C]], %[[B]]
// CHECK-NEXT: func.return %[[R]]
func.func @bias_of_a_library(%x: tensor<2x6x8x8xbf16>, %w: tensor<4x6x3x3xbf16>, %b: tensor<4xbf16>) -> tensor<2x4x8x8xbf16> {
  %r = tw.convolution %x, %w bias %b strides [1, 1] padding [1, 1] dilation [1, 1] output_padding [0, 0] groups 1 {tw.strides = ["256, 1, 32, 4"]} : (tensor<2x6x8x8xbf16>, tensor<4x6x3x3xbf16>, tensor<4xbf16>) -> tensor<2x4x8x8xbf16> loc("m.py":6:2)
  func.return %r : tensor<2x4x8x8xbf16>
}

// CHECK-LABEL: @bias_gradient_of_a_library(
// CHECK-NEXT: %[[S:.*]] = tw.sum %g over [0, 2, 3] : tensor<2x4x8x8xf32> -> tensor<4xf32> loc("m.py":7:2)
// CHECK-NEXT: %[[I:.*]], %[[F:.*]] = tw.aten "aten::convolution_backward"(%g, %x, %w) {tw.strides = ["384, 1, 48, 6", "54, 1, 18, 6"], {{.*}}[true, true, false]], returns = array<i64: 0, 1>}
// CHECK-NEXT: func.return %[[I]], %[[F]], %[[S]]
func.func @bias_gradient_of_a_library(%g: tensor<2x4x8x8xf32>, %x: tensor<2x6x8x8xf32>, %w: tensor<4x6x3x3xf32>) -> (tensor<2x6x8x8xf32>, tensor<4x6x3x3xf32>, tensor<4xf32>) {
  %i, %f, %b = tw.aten "aten::convolution_backward"(%g, %x, %w) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, [4 : i64], [1 : i64, 1 : i64], [1 : i64, 1 : i64], [1 : i64, 1 : i64], false, [0 : i64, 0 : i64], 1 : i64, [true, true, true]], tw.strides = ["384, 1, 48, 6", "54, 1, 18, 6", "1"]} : (tensor<2x4x8x8xf32>, tensor<2x6x8x8xf32>, tensor<4x6x3x3xf32>) -> (tensor<2x6x8x8xf32>, tensor<4x6x3x3xf32>, tensor<4xf32>) loc("m.py":7:2)
  func.return %i, %f, %b : tensor<2x6x8x8xf32>, tensor<4x6x3x3xf32>, tensor<4xf32>
}

// CHECK-LABEL: @bias_gradient_alone(
// CHECK-NEXT: %[[S:.*]] = tw.sum %g over [0, 2, 3]
// CHECK-NEXT: func.return %[[S]]
func.func @bias_gradient_alone(%g: tensor<2x4x8x8xf32>, %x: tensor<2x6x8x8xf32>, %w: tensor<4x6x3x3xf32>) -> tensor<4xf32> {
  %b = tw.aten "aten::convolution_backward"(%g, %x, %w) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, [4 : i64], [1 : i64, 1 : i64], [1 : i64, 1 : i64], [1 : i64, 1 : i64], false, [0 : i64, 0 : i64], 1 : i64, [false, false, true]], returns = array<i64: 2>} : (tensor<2x4x8x8xf32>, tensor<2x6x8x8xf32>, tensor<4x6x3x3xf32>) -> tensor<4xf32>
  func.return %b : tensor<4xf32>
}

// Channels of a gradient may be written otherwise than those of the filters, and so of the bias.
// CHECK-LABEL: @bias_gradient_of_other_symbols(
// CHECK-NEXT: %[[S:.*]] = tw.sum %g over [0, 2, 3] : {{.*}} -> tensor<?xf32, #tw.shape<"s1*4">> loc("m.py":8:2)
// CHECK-NEXT: %[[R:.*]] = tw.reshape %[[S]] : {{.*}} -> tensor<?xf32, #tw.shape<"s0">>
// CHECK-NEXT: func.return %[[R]]
func.func @bias_gradient_of_other_symbols(%g: tensor<2x?x8x8xf32, #tw.shape<"2, s1*4, 8, 8">>, %x: tensor<2x6x8x8xf32>, %w: tensor<?x6x3x3xf32, #tw.shape<"s0, 6, 3, 3">>, %s0: index {tw.symbol = "s0"}, %s1: index {tw.symbol = "s1"}) -> tensor<?xf32, #tw.shape<"s0">> {
  %b = tw.aten "aten::convolution_backward"(%g, %x, %w) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, [#tw.size<"s0">], [1 : i64, 1 : i64], [1 : i64, 1 : i64], [1 : i64, 1 : i64], false, [0 : i64, 0 : i64], 1 : i64, [false, false, true]], returns = array<i64: 2>} : (tensor<2x?x8x8xf32, #tw.shape<"2, s1*4, 8, 8">>, tensor<2x6x8x8xf32>, tensor<?x6x3x3xf32, #tw.shape<"s0, 6, 3, 3">>) -> tensor<?xf32, #tw.shape<"s0">> loc("m.py":8:2)
  func.return %b : tensor<?xf32, #tw.shape<"s0">>
}

// CHECK-LABEL: @bias_gradient_of_transposed(
// CHECK-DAG: %[[S:.*]] = tw.sum %g over [0, 2, 3] : {{.*}} -> tensor<?xbf16, #tw.shape<"s1*4">>
// CHECK-DAG: %[[R:.*]] = tw.reshape %[[S]] : {{.*}} -> tensor<?xbf16, #tw.shape<"s0">>
// CHECK: func.return %{{.*}}, %[[R]]
func.func @bias_gradient_of_transposed(%g: tensor<2x?x4x4xbf16, #tw.shape<"2, s1*4, 4, 4">>, %x: tensor<2x4x2x2xbf16>, %w: tensor<4x?x2x2xbf16, #tw.shape<"4, s0, 2, 2">>, %s0: index {tw.symbol = "s0"}, %s1: index {tw.symbol = "s1"}) -> (tensor<4x?x2x2xbf16, #tw.shape<"4, s0, 2, 2">>, tensor<?xbf16, #tw.shape<"s0">>) {
  %f, %b = tw.aten "aten::convolution_backward"(%g, %x, %w) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, [#tw.size<"s0">], [2 : i64, 2 : i64], [0 : i64, 0 : i64], [1 : i64, 1 : i64], true, [0 : i64, 0 : i64], 1 : i64, [false, true, true]], returns = array<i64: 1, 2>} : (tensor<2x?x4x4xbf16, #tw.shape<"2, s1*4, 4, 4">>, tensor<2x4x2x2xbf16>, tensor<4x?x2x2xbf16, #tw.shape<"4, s0, 2, 2">>) -> (tensor<4x?x2x2xbf16, #tw.shape<"4, s0, 2, 2">>, tensor<?xbf16, #tw.shape<"s0">>)
  func.return %f, %b : tensor<4x?x2x2xbf16, #tw.shape<"4, s0, 2, 2">>, tensor<?xbf16, #tw.shape<"s0">>
}
