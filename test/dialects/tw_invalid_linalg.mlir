// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tw.matmul: lhs has rank 1, expected at least 2
%a, %b = "test.op"() : () -> (tensor<4xf32>, tensor<4x6xf32>)
%r = tw.matmul %a, %b : (tensor<4xf32>, tensor<4x6xf32>) -> tensor<6xf32>

// -----

// CHECK: tw.matmul: element type is i1, expected number
%a, %b = "test.op"() : () -> (tensor<3x4xi1>, tensor<4x6xi1>)
%r = tw.matmul %a, %b : (tensor<3x4xi1>, tensor<4x6xi1>) -> tensor<3x6xi1>

// -----

// CHECK: tw.matmul: rhs shape without n is [5], expected [4]
%a, %b = "test.op"() : () -> (tensor<3x4xf32>, tensor<5x6xf32>)
%r = tw.matmul %a, %b : (tensor<3x4xf32>, tensor<5x6xf32>) -> tensor<3x6xf32>

// -----

// CHECK: tw.matmul: rhs shape without n is [1, 4], expected [2, 4]
%a, %b = "test.op"() : () -> (tensor<2x3x4xf32>, tensor<1x4x6xf32>)
%r = tw.matmul %a, %b : (tensor<2x3x4xf32>, tensor<1x4x6xf32>) -> tensor<2x3x6xf32>

// -----

// CHECK: tw.matmul: rhs has element type bf16, expected f32
%a, %b = "test.op"() : () -> (tensor<3x4xf32>, tensor<4x6xbf16>)
%r = tw.matmul %a, %b : (tensor<3x4xf32>, tensor<4x6xbf16>) -> tensor<3x6xf32>

// -----

// CHECK: tw.matmul: result has element type i64, expected i8
%a, %b = "test.op"() : () -> (tensor<3x4xi8>, tensor<4x6xi8>)
%r = tw.matmul %a, %b : (tensor<3x4xi8>, tensor<4x6xi8>) -> tensor<3x6xi64>

// -----

// CHECK: tw.matmul: bias has element type i8, expected i32
%a, %b, %c = "test.op"() : () -> (tensor<3x4xi8>, tensor<4x6xi8>, tensor<6xi8>)
%r = tw.matmul %a, %b bias %c : (tensor<3x4xi8>, tensor<4x6xi8>, tensor<6xi8>) -> tensor<3x6xi32>

// -----

// CHECK: tw.matmul: result shape is [6, 3], expected [3, 6]
%a, %b = "test.op"() : () -> (tensor<3x4xf32>, tensor<4x6xf32>)
%r = tw.matmul %a, %b : (tensor<3x4xf32>, tensor<4x6xf32>) -> tensor<6x3xf32>

// -----

// CHECK: tw.matmul: bias shape is [3], expected [6]
%a, %b, %c = "test.op"() : () -> (tensor<3x4xf32>, tensor<4x6xf32>, tensor<3xf32>)
%r = tw.matmul %a, %b bias %c : (tensor<3x4xf32>, tensor<4x6xf32>, tensor<3xf32>) -> tensor<3x6xf32>

// -----

// CHECK: tw.convolution: image has rank 2, expected at least 3
%a, %b = "test.op"() : () -> (tensor<2x3xf32>, tensor<4x3xf32>)
%r = tw.convolution %a, %b strides [] padding [] dilation [] output_padding [] groups 1 : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>

// -----

// CHECK: tw.convolution: weight has rank 2, expected 3
%a, %b = "test.op"() : () -> (tensor<2x3x8xf32>, tensor<4x3xf32>)
%r = tw.convolution %a, %b strides [1] padding [0] dilation [1] output_padding [0] groups 1 : (tensor<2x3x8xf32>, tensor<4x3xf32>) -> tensor<2x4x6xf32>

// -----

// CHECK: tw.convolution: strides is [1, 1], expected 1 entries
%a, %b = "test.op"() : () -> (tensor<2x3x8xf32>, tensor<4x3x3xf32>)
%r = tw.convolution %a, %b strides [1, 1] padding [0] dilation [1] output_padding [0] groups 1 : (tensor<2x3x8xf32>, tensor<4x3x3xf32>) -> tensor<2x4x6xf32>

// -----

// CHECK: tw.convolution: dilation is [0], expected entries of at least 1
%a, %b = "test.op"() : () -> (tensor<2x3x8xf32>, tensor<4x3x3xf32>)
%r = tw.convolution %a, %b strides [1] padding [0] dilation [0] output_padding [0] groups 1 : (tensor<2x3x8xf32>, tensor<4x3x3xf32>) -> tensor<2x4x6xf32>

// -----

// CHECK: tw.convolution: groups is 0, expected at least 1
%a, %b = "test.op"() : () -> (tensor<2x3x8xf32>, tensor<4x3x3xf32>)
%r = tw.convolution %a, %b strides [1] padding [0] dilation [1] output_padding [0] groups 0 : (tensor<2x3x8xf32>, tensor<4x3x3xf32>) -> tensor<2x4x6xf32>

// -----

// CHECK: tw.convolution: the image's channel count is 3, expected 6
%a, %b = "test.op"() : () -> (tensor<2x3x8xf32>, tensor<4x3x3xf32>)
%r = tw.convolution %a, %b strides [1] padding [0] dilation [1] output_padding [0] groups 2 : (tensor<2x3x8xf32>, tensor<4x3x3xf32>) -> tensor<2x4x6xf32>

// -----

// CHECK: tw.convolution: result shape is [2, 4, 7], expected [2, 4, 6]
%a, %b = "test.op"() : () -> (tensor<2x3x8xf32>, tensor<4x3x3xf32>)
%r = tw.convolution %a, %b strides [1] padding [0] dilation [1] output_padding [0] groups 1 : (tensor<2x3x8xf32>, tensor<4x3x3xf32>) -> tensor<2x4x7xf32>

// -----

// CHECK: tw.convolution: bias shape is [3], expected [4]
%a, %b, %c = "test.op"() : () -> (tensor<2x3x8xf32>, tensor<4x3x3xf32>, tensor<3xf32>)
%r = tw.convolution %a, %b bias %c strides [1] padding [0] dilation [1] output_padding [0] groups 1 : (tensor<2x3x8xf32>, tensor<4x3x3xf32>, tensor<3xf32>) -> tensor<2x4x6xf32>

// -----

// CHECK: tw.matmul: result has element type f64, expected f32
%a, %b = "test.op"() : () -> (tensor<3x4xf32>, tensor<4x6xf32>)
%r = "tw.matmul"(%a, %b) : (tensor<3x4xf32>, tensor<4x6xf32>) -> tensor<3x6xf64>

// -----

// CHECK: tw.matmul: bias has element type f64, expected f32
%a, %b, %c = "test.op"() : () -> (tensor<3x4xf32>, tensor<4x6xf32>, tensor<6xf64>)
%r = "tw.matmul"(%a, %b, %c) : (tensor<3x4xf32>, tensor<4x6xf32>, tensor<6xf64>) -> tensor<3x6xf32>

// -----

// CHECK: tw.convolution: element type is i64, expected float
%a, %b = "test.op"() : () -> (tensor<2x3x8xi64>, tensor<4x3x3xi64>)
%r = "tw.convolution"(%a, %b) <{strides = array<i64: 1>, padding = array<i64: 0>, dilation = array<i64: 1>, output_padding = array<i64: 0>, groups = 1 : i64}> : (tensor<2x3x8xi64>, tensor<4x3x3xi64>) -> tensor<2x4x6xi64>

// -----

// CHECK: tw.convolution: weight has element type f64, expected f32
%a, %b = "test.op"() : () -> (tensor<2x3x8xf32>, tensor<4x3x3xf64>)
%r = "tw.convolution"(%a, %b) <{strides = array<i64: 1>, padding = array<i64: 0>, dilation = array<i64: 1>, output_padding = array<i64: 0>, groups = 1 : i64}> : (tensor<2x3x8xf32>, tensor<4x3x3xf64>) -> tensor<2x4x6xf32>

// -----

// CHECK: tw.convolution: bias has element type f64, expected f32
%a, %b, %c = "test.op"() : () -> (tensor<2x3x8xf32>, tensor<4x3x3xf32>, tensor<4xf64>)
%r = "tw.convolution"(%a, %b, %c) <{strides = array<i64: 1>, padding = array<i64: 0>, dilation = array<i64: 1>, output_padding = array<i64: 0>, groups = 1 : i64}> : (tensor<2x3x8xf32>, tensor<4x3x3xf32>, tensor<4xf64>) -> tensor<2x4x6xf32>
