// RUN: tilewright-opt %s -p channels-last,dce --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p 'channels-last{channels-last=false}' --split-input-file | filecheck %s --check-prefix=OFF
// RUN: tilewright-opt %s -p channels-last --split-input-file --remarks -o /dev/null 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p channels-last --split-input-file --verify-locations
// RUN: tilewright-opt %s -p channels-last --split-input-file --check-semantics

// What lies between two convolutions computes on rows of channels; what the caller gives, and gets, stays as it is.
// CHECK-LABEL: @between(
// CHECK-NEXT: %[[R:.*]] = tw.convolution %x, %w {{.*}} {tw.strides = ["400, 1, 80, 16"]} : {{.*}} loc("m.py":1:0)
// CHECK-NEXT: %[[L:.*]] = tw.transpose %[[R]] by [0, 2, 3, 1] : tensor<2x16x5x5xbf16> -> tensor<2x5x5x16xbf16> loc("m.py":1:0)
// CHECK-NEXT: %[[E:.*]] = tw.exp %[[L]] : tensor<2x5x5x16xbf16> loc("m.py":2:0)
// CHECK-NEXT: %[[B:.*]] = tw.broadcast %b dims [3] : tensor<16xbf16> -> tensor<2x5x5x16xbf16>
// CHECK-NEXT: %[[A:.*]] = tw.add %[[E]], %[[B]] : tensor<2x5x5x16xbf16>
// CHECK-NEXT: %[[T:.*]] = tw.transpose %[[A]] by [0, 3, 1, 2]
// CHECK-NEXT: %[[S:.*]] = tw.convolution %[[T]], %v {{.*}} {tw.strides = ["100, 1, 20, 4"]}
// CHECK-NEXT: func.return %[[S]]
// OFF-LABEL: @between(
// OFF-NOT: tw.transpose
// OFF-NOT: tw.strides
func.func @between(%x: tensor<2x8x5x5xbf16>, %w: tensor<16x8x3x3xbf16>, %b: tensor<16xbf16>, %v: tensor<4x16x3x3xbf16>) -> tensor<2x4x5x5xbf16> {
  %r = tw.convolution %x, %w strides [1, 1] padding [1, 1] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<2x8x5x5xbf16>, tensor<16x8x3x3xbf16>) -> tensor<2x16x5x5xbf16> loc("m.py":1:0)
  %e = tw.exp %r : tensor<2x16x5x5xbf16> loc("m.py":2:0)
  %c = tw.broadcast %b dims [1] : tensor<16xbf16> -> tensor<2x16x5x5xbf16>
  %a = tw.add %e, %c : tensor<2x16x5x5xbf16>
  %s = tw.convolution %a, %v strides [1, 1] padding [1, 1] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<2x16x5x5xbf16>, tensor<4x16x3x3xbf16>) -> tensor<2x4x5x5xbf16>
  func.return %s : tensor<2x4x5x5xbf16>
}

// -----

// Statistics of channels are those of columns. What nobody else sees is stored as it is computed, and says so.
// OFF-LABEL: @kept(
// CHECK-LABEL: @kept(
// CHECK-SAME: -> (tensor<80xf32>, tensor<2x80x5x5xf32> {tw.free, tw.strides = "2000, 1, 400, 80", tw.order = array<i64: 0, 2, 3, 1>}, tensor<2x80x5x5xf32> {tw.free, tw.strides = "2000, 1, 400, 80", tw.order = array<i64: 0, 2, 3, 1>}, tensor<80xf32> {tw.free})
// CHECK-NEXT: %[[R:.*]] = tw.convolution
// CHECK-NEXT: %[[L:.*]] = tw.transpose %[[R]] by [0, 2, 3, 1]
// CHECK-NEXT: %[[M:.*]], %[[Q:.*]] = tw.moments %[[L]] over [0, 1, 2] : tensor<2x5x5x80xf32> -> tensor<80xf32>
// CHECK-NEXT: %[[B:.*]] = tw.broadcast %[[M]] dims [3]
// CHECK-NEXT: %[[D:.*]] = tw.sub %[[L]], %[[B]] : tensor<2x5x5x80xf32>
// CHECK-NEXT: %[[T:.*]] = tw.transpose %[[D]] by [0, 3, 1, 2]
// CHECK-NEXT: func.return %[[Q]], %[[T]], %[[R]], %[[M]]
func.func @kept(%x: tensor<2x8x5x5xf32>, %w: tensor<80x8x3x3xf32>) -> (tensor<80xf32>, tensor<2x80x5x5xf32> {tw.free}, tensor<2x80x5x5xf32> {tw.free}, tensor<80xf32> {tw.free}) {
  %r = tw.convolution %x, %w strides [1, 1] padding [1, 1] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<2x8x5x5xf32>, tensor<80x8x3x3xf32>) -> tensor<2x80x5x5xf32>
  %m, %q = tw.moments %r over [0, 2, 3] : tensor<2x80x5x5xf32> -> tensor<80xf32>
  %c = tw.broadcast %m dims [1] : tensor<80xf32> -> tensor<2x80x5x5xf32>
  %d = tw.sub %r, %c : tensor<2x80x5x5xf32>
  func.return %q, %d, %r, %m : tensor<80xf32>, tensor<2x80x5x5xf32>, tensor<2x80x5x5xf32>, tensor<80xf32>
}

// -----

// Arguments that lie so are read so: gradients of a convolution, of a size that is known when it runs.
// CHECK-LABEL: @gradients(
// CHECK-NEXT: %[[L:.*]] = tw.transpose %x by [0, 2, 3, 1]
// CHECK-NEXT: %[[E:.*]] = tw.exp %[[L]] : tensor<?x5x5x8xbf16, #tw.shape<"s0, 5, 5, 8">>
// CHECK-NEXT: %[[T:.*]] = tw.transpose %[[E]] by [0, 3, 1, 2]
// CHECK-NEXT: %[[I:.*]], %[[F:.*]] = tw.aten "aten::convolution_backward"(%g, %[[T]], %w) {tw.strides = ["200, 1, 40, 8", "72, 1, 24, 8"]
// CHECK-NEXT: %[[G:.*]] = tw.transpose %[[I]] by [0, 2, 3, 1]
// CHECK-NEXT: %[[M:.*]] = tw.mul %[[G]], %[[E]]
// CHECK-NEXT: %[[S:.*]] = tw.sum %[[M]] over [1, 2]
// CHECK-NEXT: func.return %[[S]], %[[F]]
func.func @gradients(%g: tensor<?x80x5x5xbf16, #tw.shape<"s0, 80, 5, 5">>, %x: tensor<?x8x5x5xbf16, #tw.shape<"s0, 8, 5, 5">> {tw.strides = "200, 1, 40, 8"}, %w: tensor<80x8x3x3xbf16>, %s0: index {tw.symbol = "s0"}) -> (tensor<?x8xbf16, #tw.shape<"s0, 8">>, tensor<80x8x3x3xbf16>) {
  %e = tw.exp %x : tensor<?x8x5x5xbf16, #tw.shape<"s0, 8, 5, 5">>
  %i, %f = tw.aten "aten::convolution_backward"(%g, %e, %w) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, [0 : i64], [1 : i64, 1 : i64], [1 : i64, 1 : i64], [1 : i64, 1 : i64], false, [0 : i64, 0 : i64], 1 : i64, [true, true, false]], returns = array<i64: 0, 1>} : (tensor<?x80x5x5xbf16, #tw.shape<"s0, 80, 5, 5">>, tensor<?x8x5x5xbf16, #tw.shape<"s0, 8, 5, 5">>, tensor<80x8x3x3xbf16>) -> (tensor<?x8x5x5xbf16, #tw.shape<"s0, 8, 5, 5">>, tensor<80x8x3x3xbf16>)
  %m = tw.mul %i, %e : tensor<?x8x5x5xbf16, #tw.shape<"s0, 8, 5, 5">>
  %s = tw.sum %m over [2, 3] : tensor<?x8x5x5xbf16, #tw.shape<"s0, 8, 5, 5">> -> tensor<?x8xbf16, #tw.shape<"s0, 8">>
  func.return %s, %f : tensor<?x8xbf16, #tw.shape<"s0, 8">>, tensor<80x8x3x3xbf16>
}

// -----

// Volumes, of a caller who wants them so. One channel per group is as good as one group then.
// CHECK-LABEL: @volumes(
// CHECK-NEXT: %[[R:.*]] = tw.convolution %x, %w {{.*}} {tw.strides = ["32, 1, 16, 8, 4"]}
// CHECK-NEXT: %[[L:.*]] = tw.transpose %[[R]] by [0, 2, 3, 4, 1]
// CHECK-NEXT: %[[E:.*]] = tw.exp %[[L]] : tensor<1x2x2x2x4xf32>
// CHECK-NEXT: %[[T:.*]] = tw.transpose %[[E]] by [0, 4, 1, 2, 3]
// CHECK-NEXT: func.return %[[T]]
func.func @volumes(%x: tensor<1x4x2x2x2xf32>, %w: tensor<4x1x3x3x3xf32>) -> (tensor<1x4x2x2x2xf32> {tw.strides = "32, 1, 16, 8, 4"}) {
  %r = tw.convolution %x, %w strides [1, 1, 1] padding [1, 1, 1] dilation [1, 1, 1] output_padding [0, 0, 0] groups 4 : (tensor<1x4x2x2x2xf32>, tensor<4x1x3x3x3xf32>) -> tensor<1x4x2x2x2xf32>
  %e = tw.exp %r : tensor<1x4x2x2x2xf32>
  func.return %e : tensor<1x4x2x2x2xf32>
}

// -----

// Nobody asks for them so, and no matrix unit multiplies the one channel of a group.
// REMARK: tw.convolution at {{.*}}: its image stays as it is: no convolution of the graph multiplies channels with each other
// CHECK-LABEL: @channels_alone(
// CHECK-NOT: tw.strides
// CHECK: func.return
func.func @channels_alone(%x: tensor<1x4x6x6xf32>, %w: tensor<8x1x3x3xf32>) -> tensor<1x8x4x4xf32> {
  %r = tw.convolution %x, %w strides [1, 1] padding [0, 0] dilation [1, 1] output_padding [0, 0] groups 4 : (tensor<1x4x6x6xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x4x4xf32>
  func.return %r : tensor<1x8x4x4xf32>
}

// -----

// Of the work of these two most is in groups.
// REMARK: tw.convolution at {{.*}}: its image stays as it is: most of the work is in groups of several channels
// REMARK: tw.convolution at {{.*}}: its image stays as it is: most of the work is in groups of several channels
// CHECK-LABEL: @groups_of_several(
// CHECK-NOT: tw.strides
// CHECK-NOT: tw.transpose
// CHECK: func.return
func.func @groups_of_several(%x: tensor<2x8x5x5xbf16>, %w: tensor<16x4x3x3xbf16>, %v: tensor<2x16x3x3xbf16>) -> tensor<2x2x5x5xbf16> {
  %r = tw.convolution %x, %w strides [1, 1] padding [1, 1] dilation [1, 1] output_padding [0, 0] groups 2 : (tensor<2x8x5x5xbf16>, tensor<16x4x3x3xbf16>) -> tensor<2x16x5x5xbf16>
  %e = tw.exp %r : tensor<2x16x5x5xbf16>
  %s = tw.convolution %e, %v strides [1, 1] padding [1, 1] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<2x16x5x5xbf16>, tensor<2x16x3x3xbf16>) -> tensor<2x2x5x5xbf16>
  func.return %s : tensor<2x2x5x5xbf16>
}

// -----

// Of these it is not, but for training they stay apart from it altogether.
// CHECK-LABEL: @few_groups(
// CHECK: tw.convolution {{.*}} {tw.strides = ["400, 1, 80, 16"]}
// CHECK: tw.convolution {{.*}} {tw.strides = ["2000, 1, 400, 80"]}
func.func @few_groups(%x: tensor<2x8x5x5xbf16>, %w: tensor<16x4x3x3xbf16>, %v: tensor<80x16x3x3xbf16>) -> tensor<2x80x5x5xbf16> {
  %r = tw.convolution %x, %w strides [1, 1] padding [1, 1] dilation [1, 1] output_padding [0, 0] groups 2 : (tensor<2x8x5x5xbf16>, tensor<16x4x3x3xbf16>) -> tensor<2x16x5x5xbf16>
  %e = tw.exp %r : tensor<2x16x5x5xbf16>
  %s = tw.convolution %e, %v strides [1, 1] padding [1, 1] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<2x16x5x5xbf16>, tensor<80x16x3x3xbf16>) -> tensor<2x80x5x5xbf16>
  func.return %s : tensor<2x80x5x5xbf16>
}

// -----

// REMARK: tw.convolution at {{.*}}: its image stays as it is: a convolution of the graph has groups of several channels
// REMARK: tw.convolution at {{.*}}: its image stays as it is: a convolution of the graph has groups of several channels
// CHECK-LABEL: @few_groups_for_training(
// CHECK-NOT: tw.strides
// CHECK: func.return
func.func @few_groups_for_training(%x: tensor<2x8x5x5xbf16>, %w: tensor<16x4x3x3xbf16>, %v: tensor<80x16x3x3xbf16>) -> (tensor<2x80x5x5xbf16>, tensor<2x16x5x5xbf16> {tw.free}) {
  %r = tw.convolution %x, %w strides [1, 1] padding [1, 1] dilation [1, 1] output_padding [0, 0] groups 2 : (tensor<2x8x5x5xbf16>, tensor<16x4x3x3xbf16>) -> tensor<2x16x5x5xbf16>
  %s = tw.convolution %r, %v strides [1, 1] padding [1, 1] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<2x16x5x5xbf16>, tensor<80x16x3x3xbf16>) -> tensor<2x80x5x5xbf16>
  func.return %s, %r : tensor<2x80x5x5xbf16>, tensor<2x16x5x5xbf16>
}

// -----

// REMARK: tw.convolution at {{.*}}: its image stays as it is: a convolution of the graph has half as many channels behind it
// CHECK-LABEL: @half_as_many(
// CHECK-NOT: tw.strides
// CHECK: func.return
func.func @half_as_many(%x: tensor<2x80x5x5xbf16>, %w: tensor<40x80x3x3xbf16>) -> (tensor<2x40x5x5xbf16> {tw.free}) {
  %r = tw.convolution %x, %w strides [1, 1] padding [1, 1] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<2x80x5x5xbf16>, tensor<40x80x3x3xbf16>) -> tensor<2x40x5x5xbf16>
  func.return %r : tensor<2x40x5x5xbf16>
}

// -----

// REMARK: tw.convolution at {{.*}}: its image stays as it is: all convolutions of the graph have few channels
// CHECK-LABEL: @few_channels(
// CHECK-NOT: tw.strides
// CHECK: func.return
func.func @few_channels(%x: tensor<2x8x5x5xbf16>, %w: tensor<16x8x3x3xbf16>) -> (tensor<2x16x5x5xbf16> {tw.free}) {
  %r = tw.convolution %x, %w strides [1, 1] padding [1, 1] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<2x8x5x5xbf16>, tensor<16x8x3x3xbf16>) -> tensor<2x16x5x5xbf16>
  func.return %r : tensor<2x16x5x5xbf16>
}

// -----

// REMARK: tw.convolution at {{.*}}: its image stays as it is: libraries know one order of f64, and of one dimension
// CHECK-LABEL: @one_order(
// CHECK-NOT: tw.strides
// CHECK: func.return
func.func @one_order(%x: tensor<2x8x5xf32>, %w: tensor<16x8x3xf32>) -> tensor<2x16x5xf32> {
  %r = tw.convolution %x, %w strides [1] padding [1] dilation [1] output_padding [0] groups 1 : (tensor<2x8x5xf32>, tensor<16x8x3xf32>) -> tensor<2x16x5xf32>
  func.return %r : tensor<2x16x5xf32>
}

// -----

// A running sum is of places, in their order: what it reads is turned, by the kernel that makes it.
// REMARK: tw.exp at {{.*}}: not sunk: no fewer transposes would be live
// CHECK-LABEL: @leaves_it(
// CHECK-NEXT: %[[R:.*]] = tw.convolution {{.*}} {tw.strides = ["400, 1, 80, 16"]}
// CHECK-NEXT: %[[E:.*]] = tw.exp %[[R]] : tensor<2x16x5x5xbf16>
// CHECK-NEXT: %[[C:.*]] = tw.cumsum %[[E]] dim 3
// CHECK-NEXT: tw.convolution %[[C]]
func.func @leaves_it(%x: tensor<2x8x5x5xbf16>, %w: tensor<16x8x3x3xbf16>, %v: tensor<4x16x3x3xbf16>) -> tensor<2x4x5x5xbf16> {
  %r = tw.convolution %x, %w strides [1, 1] padding [1, 1] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<2x8x5x5xbf16>, tensor<16x8x3x3xbf16>) -> tensor<2x16x5x5xbf16>
  %e = tw.exp %r : tensor<2x16x5x5xbf16>
  %c = tw.cumsum %e dim 3 : tensor<2x16x5x5xbf16>
  %s = tw.convolution %c, %v strides [1, 1] padding [1, 1] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<2x16x5x5xbf16>, tensor<4x16x3x3xbf16>) -> tensor<2x4x5x5xbf16>
  func.return %s : tensor<2x4x5x5xbf16>
}

// -----

// What an op changes is named as it is.
// CHECK-LABEL: @changed(
// CHECK-NEXT: tw.convolution %x, %w
// CHECK: tw.write %{{.*}} into %x
func.func @changed(%x: tensor<2x8x5x5xf32> {tw.strides = "200, 1, 40, 8"}, %w: tensor<8x8x3x3xf32>) {
  %r = tw.convolution %x, %w strides [1, 1] padding [1, 1] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<2x8x5x5xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x5x5xf32>
  %a = tw.add %r, %x : tensor<2x8x5x5xf32>
  tw.write %a into %x : tensor<2x8x5x5xf32>
  func.return
}
