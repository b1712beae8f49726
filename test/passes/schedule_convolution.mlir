// Convolutions are matrix products whose rows are places in the image; depthwise ones share their columns.
// RUN: tilewright-opt %s -p convert-tw-to-tk --split-input-file | filecheck %s --check-prefix=KERNEL
// RUN: tilewright-opt %s -p convert-tw-to-tk,bufferize,coalesce-axes,schedule-cpu --split-input-file | filecheck %s

// KERNEL-LABEL: @three_by_three
// KERNEL:       tk.kernel [1, 14, 14, 1, 2, 48, 3, 3, 32]
// KERNEL:         tk.load %{{.*}}[d0, d1 + d6, d2 + d7, d3*32 + d8]
// KERNEL:         tk.load %{{.*}}[d3*2 + d4, d6, d7, d8, d5]
// KERNEL:         tk.reduce add %{{.*}} over [6, 7, 8]
// The columns of the kernel and the channels are one axis; 7 divides the row.
// CHECK:        tk.func @{{.*}} [14, 14, 2, 48, 3, 96]
// CHECK-SAME:   tk.tile = array<i64: 1, 7, 3, 3, 16>
func.func @three_by_three(%x: tensor<1x16x16x32xf32>, %w: tensor<2x3x3x32x48xf32>) -> tensor<1x14x14x96xf32> {
  %r = tw.packed_convolution %x, %w strides [1, 1] dilation [1, 1] groups 1 : (tensor<1x16x16x32xf32>, tensor<2x3x3x32x48xf32>) -> tensor<1x14x14x96xf32>
  func.return %r : tensor<1x14x14x96xf32>
}

// -----

// KERNEL-LABEL: @one_by_one_is_a_matrix_product
// CHECK:        tk.func @{{.*}} [112, 2, 48, 32]
// CHECK-SAME:   tk.tile = array<i64: 0, 8, 2, 3, 16>
func.func @one_by_one_is_a_matrix_product(%x: tensor<2x7x8x32xf32>, %w: tensor<2x1x1x32x48xf32>) -> tensor<2x7x8x96xf32> {
  %r = tw.packed_convolution %x, %w strides [1, 1] dilation [1, 1] groups 1 : (tensor<2x7x8x32xf32>, tensor<2x1x1x32x48xf32>) -> tensor<2x7x8x96xf32>
  func.return %r : tensor<2x7x8x96xf32>
}

// -----

// The image takes as many registers as the sums.
// KERNEL-LABEL: @depthwise
// CHECK:        tk.func @{{.*}} [8, 8, 96, 7, 7]
// CHECK-SAME:   tk.tile = array<i64: 1, 4, 2, 3, 16>
func.func @depthwise(%x: tensor<1x14x14x96xf32>, %w: tensor<1x7x7x1x96xf32>) -> tensor<1x8x8x96xf32> {
  %r = tw.packed_convolution %x, %w strides [1, 1] dilation [1, 1] groups 96 : (tensor<1x14x14x96xf32>, tensor<1x7x7x1x96xf32>) -> tensor<1x8x8x96xf32>
  func.return %r : tensor<1x8x8x96xf32>
}

// -----

// Neighbours 4 KiB apart share a cache set: 14 rows would evict each other.
// KERNEL-LABEL: @strided
// CHECK:        tk.func @{{.*}} [14, 14, 32, 512]
// CHECK-SAME:   tk.tile = array<i64: 1, 7, 2, 2, 16>
func.func @strided(%x: tensor<1x28x28x512xf32>, %w: tensor<1x1x1x512x32xf32>) -> tensor<1x14x14x32xf32> {
  %r = tw.packed_convolution %x, %w strides [2, 2] dilation [1, 1] groups 1 : (tensor<1x28x28x512xf32>, tensor<1x1x1x512x32xf32>) -> tensor<1x14x14x32xf32>
  func.return %r : tensor<1x14x14x32xf32>
}

// -----

// Pairs of bf16: the innermost reduced axis is that of `tk.dot`.
// KERNEL-LABEL: @pairs
// KERNEL:       tk.kernel [1, 7, 1, 1, 32, 3, 4, 2]
// KERNEL:         tk.load %{{.*}}[d0, d1 + d5, d2*8 + d6*2 + d7]
// KERNEL:         tk.load %{{.*}}[d2 + d3, d5, d6, d4, d7]
// CHECK:        tk.func @{{.*}} [7, 32, 12, 2]
// CHECK-SAME:   tk.tile = array<i64: 0, 7, 1, 2, 16, 3>
func.func @pairs(%x: tensor<1x9x8xbf16>, %w: tensor<1x3x4x32x2xbf16>) -> tensor<1x7x32xbf16> {
  %r = tw.packed_convolution %x, %w strides [1] dilation [1] groups 1 : (tensor<1x9x8xbf16>, tensor<1x3x4x32x2xbf16>) -> tensor<1x7x32xbf16>
  func.return %r : tensor<1x7x32xbf16>
}
