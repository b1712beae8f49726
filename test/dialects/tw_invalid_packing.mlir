// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tw.pack: source has rank 3, expected 2
%a = "test.op"() : () -> tensor<6x4x2xf32>
%r = "tw.pack"(%a) <{width = 2 : i64}> : (tensor<6x4x2xf32>) -> tensor<2x6x2xf32>

// -----

// CHECK: tw.pack: result has element type f64, expected f32
%a = "test.op"() : () -> tensor<6x4xf32>
%r = "tw.pack"(%a) <{width = 2 : i64}> : (tensor<6x4xf32>) -> tensor<2x6x2xf64>

// -----

// CHECK: tw.pack: result shape is [2, 2, 6], expected [2, 6, 2]
%a = "test.op"() : () -> tensor<6x4xf32>
%r = "tw.pack"(%a) <{width = 2 : i64}> : (tensor<6x4xf32>) -> tensor<2x2x6xf32>

// -----

// CHECK: tw.pack: width is 3, expected a divisor of the 4 columns
%a = "test.op"() : () -> tensor<6x4xf32>
%r = "tw.pack"(%a) <{width = 3 : i64}> : (tensor<6x4xf32>) -> tensor<2x6x3xf32>

// -----

// CHECK: tw.pack: group is 4, expected a divisor of the 6 rows, 2 or more
%a = "test.op"() : () -> tensor<6x4xf32>
%r = "tw.pack"(%a) <{width = 2 : i64, group = 4 : i64}> : (tensor<6x4xf32>) -> tensor<2x1x2x4xf32>

// -----

// CHECK: tw.packed_matmul: element type is i64, expected float
%a, %b = "test.op"() : () -> (tensor<3x6xi64>, tensor<2x6x2xi64>)
%r = "tw.packed_matmul"(%a, %b) : (tensor<3x6xi64>, tensor<2x6x2xi64>) -> tensor<3x4xi64>

// -----

// CHECK: tw.packed_matmul: lhs has rank 3, expected 2
%a, %b = "test.op"() : () -> (tensor<3x6x1xf32>, tensor<2x6x2xf32>)
%r = "tw.packed_matmul"(%a, %b) : (tensor<3x6x1xf32>, tensor<2x6x2xf32>) -> tensor<3x4xf32>

// -----

// CHECK: tw.packed_matmul: packed shape is [2, 5, 2], expected [2, 6, 2]
%a, %b = "test.op"() : () -> (tensor<3x6xf32>, tensor<2x5x2xf32>)
%r = "tw.packed_matmul"(%a, %b) : (tensor<3x6xf32>, tensor<2x5x2xf32>) -> tensor<3x4xf32>

// -----

// CHECK: tw.packed_matmul: result has element type f64, expected f32
%a, %b = "test.op"() : () -> (tensor<3x6xf32>, tensor<2x6x2xf32>)
%r = "tw.packed_matmul"(%a, %b) : (tensor<3x6xf32>, tensor<2x6x2xf32>) -> tensor<3x4xf64>

// -----

// CHECK: tw.packed_matmul: result shape is [3, 5], expected [3, 4]
%a, %b = "test.op"() : () -> (tensor<3x6xf32>, tensor<2x6x2xf32>)
%r = "tw.packed_matmul"(%a, %b) : (tensor<3x6xf32>, tensor<2x6x2xf32>) -> tensor<3x5xf32>

// -----

// CHECK: tw.packed_matmul: packed has rank 2, expected 3, or 4 with groups
%a, %b = "test.op"() : () -> (tensor<3x6xf32>, tensor<12x2xf32>)
%r = "tw.packed_matmul"(%a, %b) : (tensor<3x6xf32>, tensor<12x2xf32>) -> tensor<3x4xf32>

// -----

// CHECK: tw.packed_matmul: groups of 4 do not divide the 6 columns of lhs
%a, %b = "test.op"() : () -> (tensor<3x6xf32>, tensor<2x1x2x4xf32>)
%r = "tw.packed_matmul"(%a, %b) : (tensor<3x6xf32>, tensor<2x1x2x4xf32>) -> tensor<3x4xf32>

// -----

// CHECK: tw.packed_matmul: packed has element type f64, expected f32
%a, %b = "test.op"() : () -> (tensor<3x6xf32>, tensor<2x6x2xf64>)
%r = "tw.packed_matmul"(%a, %b) : (tensor<3x6xf32>, tensor<2x6x2xf64>) -> tensor<3x4xf32>

// -----

// CHECK: tw.packed_matmul: bias has element type f64, expected f32
%a, %b, %c = "test.op"() : () -> (tensor<3x6xf32>, tensor<2x6x2xf32>, tensor<4xf64>)
%r = "tw.packed_matmul"(%a, %b, %c) : (tensor<3x6xf32>, tensor<2x6x2xf32>, tensor<4xf64>) -> tensor<3x4xf32>

// -----

// CHECK: tw.packed_matmul: bias shape is [5], expected [4]
%a, %b, %c = "test.op"() : () -> (tensor<3x6xf32>, tensor<2x6x2xf32>, tensor<5xf32>)
%r = "tw.packed_matmul"(%a, %b, %c) : (tensor<3x6xf32>, tensor<2x6x2xf32>, tensor<5xf32>) -> tensor<3x4xf32>
