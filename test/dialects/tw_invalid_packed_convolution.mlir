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

// -----

// CHECK: tw.pack_filter: result has element type f64, expected f32
%a = "test.op"() : () -> tensor<32x8x3xf32>
%r = "tw.pack_filter"(%a) <{width = 16 : i64}> : (tensor<32x8x3xf32>) -> tensor<2x3x8x16xf64>

// -----

// CHECK: tw.pack_filter: source has rank 2, expected at least 3
%a = "test.op"() : () -> tensor<32x8xf32>
%r = "tw.pack_filter"(%a) <{width = 16 : i64}> : (tensor<32x8xf32>) -> tensor<2x8x16xf32>

// -----

// CHECK: tw.pack_filter: group is 2, expected a divisor of the 9 channels, 2 or more
%a = "test.op"() : () -> tensor<32x9x3xbf16>
%r = "tw.pack_filter"(%a) <{width = 16 : i64, group = 2 : i64}> : (tensor<32x9x3xbf16>) -> tensor<2x3x4x16x2xbf16>

// -----

// CHECK: tw.packed_convolution: element type is i64, expected float
%a, %b = "test.op"() : () -> (tensor<1x9x8xi64>, tensor<2x3x8x16xi64>)
%r = "tw.packed_convolution"(%a, %b) <{strides = array<i64: 1>, dilation = array<i64: 1>, groups = 1 : i64}> : (tensor<1x9x8xi64>, tensor<2x3x8x16xi64>) -> tensor<1x7x32xi64>

// -----

// CHECK: tw.packed_convolution: result has element type f64, expected f32
%a, %b = "test.op"() : () -> (tensor<1x9x8xf32>, tensor<2x3x8x16xf32>)
%r = "tw.packed_convolution"(%a, %b) <{strides = array<i64: 1>, dilation = array<i64: 1>, groups = 1 : i64}> : (tensor<1x9x8xf32>, tensor<2x3x8x16xf32>) -> tensor<1x7x32xf64>

// -----

// CHECK: tw.packed_convolution: image has rank 2, expected at least 3
%a, %b = "test.op"() : () -> (tensor<9x8xf32>, tensor<2x3x8x16xf32>)
%r = "tw.packed_convolution"(%a, %b) <{strides = array<i64: 1>, dilation = array<i64: 1>, groups = 1 : i64}> : (tensor<9x8xf32>, tensor<2x3x8x16xf32>) -> tensor<7x32xf32>

// -----

// CHECK: tw.packed_convolution: packed has rank 3, expected 4, or one more with groups
%a, %b = "test.op"() : () -> (tensor<1x9x8xf32>, tensor<2x3x8xf32>)
%r = "tw.packed_convolution"(%a, %b) <{strides = array<i64: 1>, dilation = array<i64: 1>, groups = 1 : i64}> : (tensor<1x9x8xf32>, tensor<2x3x8xf32>) -> tensor<1x7x32xf32>

// -----

// CHECK: tw.packed_convolution: bias shape is [31], expected [32]
%a, %b, %c = "test.op"() : () -> (tensor<1x9x8xf32>, tensor<2x3x8x16xf32>, tensor<31xf32>)
%r = "tw.packed_convolution"(%a, %b, %c) <{strides = array<i64: 1>, dilation = array<i64: 1>, groups = 1 : i64}> : (tensor<1x9x8xf32>, tensor<2x3x8x16xf32>, tensor<31xf32>) -> tensor<1x7x32xf32>

// -----

// CHECK: tw.packed_convolution: packed has element type f64, expected f32
%a, %b = "test.op"() : () -> (tensor<1x9x8xf32>, tensor<2x3x8x16xf64>)
%r = "tw.packed_convolution"(%a, %b) <{strides = array<i64: 1>, dilation = array<i64: 1>, groups = 1 : i64}> : (tensor<1x9x8xf32>, tensor<2x3x8x16xf64>) -> tensor<1x7x32xf32>

// -----

// CHECK: tw.packed_convolution: bias has element type f64, expected f32
%a, %b, %c = "test.op"() : () -> (tensor<1x9x8xf32>, tensor<2x3x8x16xf32>, tensor<32xf64>)
%r = "tw.packed_convolution"(%a, %b, %c) <{strides = array<i64: 1>, dilation = array<i64: 1>, groups = 1 : i64}> : (tensor<1x9x8xf32>, tensor<2x3x8x16xf32>, tensor<32xf64>) -> tensor<1x7x32xf32>
