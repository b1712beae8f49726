// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tw.pack_filter: width is 12, expected a divisor of the 32 outputs
%w = "test.op"() : () -> tensor<32x8x3xf32>
%r = tw.pack_filter %w width 12 : tensor<32x8x3xf32> -> tensor<2x3x8x12xf32>

// -----

// CHECK: tw.pack_filter: result shape is [2, 8, 3, 16], expected [2, 3, 8, 16]
%w = "test.op"() : () -> tensor<32x8x3xf32>
%r = tw.pack_filter %w width 16 : tensor<32x8x3xf32> -> tensor<2x8x3x16xf32>

// -----

// CHECK: tw.packed_convolution: the image's channel count is 4, expected 8
%x, %w = "test.op"() : () -> (tensor<1x9x4xf32>, tensor<2x3x8x16xf32>)
%r = tw.packed_convolution %x, %w strides [1] dilation [1] groups 1 : (tensor<1x9x4xf32>, tensor<2x3x8x16xf32>) -> tensor<1x7x32xf32>

// -----

// CHECK: tw.packed_convolution: groups is 2, expected a divisor of the 1 panels
%x, %w = "test.op"() : () -> (tensor<1x9x16xf32>, tensor<1x3x8x32xf32>)
%r = tw.packed_convolution %x, %w strides [1] dilation [1] groups 2 : (tensor<1x9x16xf32>, tensor<1x3x8x32xf32>) -> tensor<1x7x32xf32>

// -----

// CHECK: tw.packed_convolution: result shape is [1, 9, 32], expected [1, 7, 32]
%x, %w = "test.op"() : () -> (tensor<1x9x8xf32>, tensor<2x3x8x16xf32>)
%r = tw.packed_convolution %x, %w strides [1] dilation [1] groups 1 : (tensor<1x9x8xf32>, tensor<2x3x8x16xf32>) -> tensor<1x9x32xf32>

// -----

// CHECK: tw.packed_convolution: strides is [1, 1], expected 1 entries of at least 1
%x, %w = "test.op"() : () -> (tensor<1x9x8xf32>, tensor<2x3x8x16xf32>)
%r = tw.packed_convolution %x, %w strides [1, 1] dilation [1] groups 1 : (tensor<1x9x8xf32>, tensor<2x3x8x16xf32>) -> tensor<1x7x32xf32>

// -----

// CHECK: tw.window: dimension 1 of size 4 holds no window of 5
%x = "test.op"() : () -> tensor<2x4xf32>
%r = tw.window %x dims [1] sizes [3] strides [1] dilation [2] : tensor<2x4xf32> -> tensor<2x0x3xf32>

// -----

// CHECK: tw.window: sizes is [3, 3], expected 1 entries of at least 1
%x = "test.op"() : () -> tensor<2x4xf32>
%r = tw.window %x dims [1] sizes [3, 3] strides [1] dilation [1] : tensor<2x4xf32> -> tensor<2x2x3xf32>

// -----

// CHECK: tw.window: result shape is [2, 3, 3], expected [2, 2, 3]
%x = "test.op"() : () -> tensor<2x4xf32>
%r = tw.window %x dims [1] sizes [3] strides [1] dilation [1] : tensor<2x4xf32> -> tensor<2x3x3xf32>
