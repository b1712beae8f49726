// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tw.gather: has 1 index tensors for dims [0, 1], expected one for each
%a, %b = "test.op"() : () -> (tensor<4x6xf32>, tensor<3xi64>)
%r = tw.gather %a[%b] dims [0, 1] at 0 : (tensor<4x6xf32>, tensor<3xi64>) -> tensor<3xf32>

// -----

// CHECK: tw.gather: dims [2] has 2, expected 0 <= axis < 2
%a, %b = "test.op"() : () -> (tensor<4x6xf32>, tensor<3xi64>)
%r = tw.gather %a[%b] dims [2] at 0 : (tensor<4x6xf32>, tensor<3xi64>) -> tensor<3x6xf32>

// -----

// CHECK: tw.gather: at is 2, expected 0 <= at <= 1
%a, %b = "test.op"() : () -> (tensor<4x6xf32>, tensor<3xi64>)
%r = tw.gather %a[%b] dims [0] at 2 : (tensor<4x6xf32>, tensor<3xi64>) -> tensor<3x6xf32>

// -----

// CHECK: tw.gather: index 0 has element type i32, expected i64
%a, %b = "test.op"() : () -> (tensor<4x6xf32>, tensor<3xi32>)
%r = tw.gather %a[%b] dims [0] at 0 : (tensor<4x6xf32>, tensor<3xi32>) -> tensor<3x6xf32>

// -----

// CHECK: tw.gather: index 1 shape is [2], expected [3]
%a, %b, %c = "test.op"() : () -> (tensor<4x6xf32>, tensor<3xi64>, tensor<2xi64>)
%r = tw.gather %a[%b, %c] dims [0, 1] at 0 : (tensor<4x6xf32>, tensor<3xi64>, tensor<2xi64>) -> tensor<3xf32>

// -----

// CHECK: tw.gather: result shape is [6, 3], expected [3, 6]
%a, %b = "test.op"() : () -> (tensor<4x6xf32>, tensor<3xi64>)
%r = tw.gather %a[%b] dims [0] at 0 : (tensor<4x6xf32>, tensor<3xi64>) -> tensor<6x3xf32>

// -----

// CHECK: tw.scatter: values shape is [3, 5], expected [3, 6]
%a, %b, %c = "test.op"() : () -> (tensor<4x6xf32>, tensor<3xi64>, tensor<3x5xf32>)
%r = tw.scatter %c into %a[%b] dims [0] at 0 : (tensor<4x6xf32>, tensor<3x5xf32>, tensor<3xi64>) -> tensor<4x6xf32>

// -----

// CHECK: tw.scatter: values has element type f64, expected f32
%a, %b, %c = "test.op"() : () -> (tensor<4x6xf32>, tensor<3xi64>, tensor<3x6xf64>)
%r = tw.scatter %c into %a[%b] dims [0] at 0 : (tensor<4x6xf32>, tensor<3x6xf64>, tensor<3xi64>) -> tensor<4x6xf32>

// -----

// CHECK: tw.scatter: result shape is [3, 6], expected [4, 6]
%a, %b, %c = "test.op"() : () -> (tensor<4x6xf32>, tensor<3xi64>, tensor<3x6xf32>)
%r = tw.scatter %c into %a[%b] dims [0] at 0 : (tensor<4x6xf32>, tensor<3x6xf32>, tensor<3xi64>) -> tensor<3x6xf32>

// -----

// CHECK: tw.scatter_add: element type is i1, expected number
%a, %b, %c = "test.op"() : () -> (tensor<4x6xi1>, tensor<3xi64>, tensor<3x6xi1>)
%r = tw.scatter_add %c into %a[%b] dims [0] at 0 : (tensor<4x6xi1>, tensor<3x6xi1>, tensor<3xi64>) -> tensor<4x6xi1>

// -----

// CHECK: tw.gather_along: index has rank 1, expected 2
%a, %b = "test.op"() : () -> (tensor<4x6xf32>, tensor<3xi64>)
%r = tw.gather_along %a, %b dim 0 : (tensor<4x6xf32>, tensor<3xi64>) -> tensor<3xf32>

// -----

// CHECK: tw.gather_along: index has size 7 in dimension 1, expected at most 6
%a, %b = "test.op"() : () -> (tensor<4x6xf32>, tensor<3x7xi64>)
%r = tw.gather_along %a, %b dim 0 : (tensor<4x6xf32>, tensor<3x7xi64>) -> tensor<3x7xf32>

// -----

// CHECK: tw.gather_along: dim is 2, expected 0 <= dim < 2
%a, %b = "test.op"() : () -> (tensor<4x6xf32>, tensor<3x6xi64>)
%r = tw.gather_along %a, %b dim 2 : (tensor<4x6xf32>, tensor<3x6xi64>) -> tensor<3x6xf32>

// -----

// CHECK: tw.gather_along: result shape is [4, 6], expected [3, 6]
%a, %b = "test.op"() : () -> (tensor<4x6xf32>, tensor<3x6xi64>)
%r = tw.gather_along %a, %b dim 0 : (tensor<4x6xf32>, tensor<3x6xi64>) -> tensor<4x6xf32>

// -----

// CHECK: tw.scatter_along: values shape is [2, 6], expected [3, 6]
%a, %b, %c = "test.op"() : () -> (tensor<4x6xf32>, tensor<3x6xi64>, tensor<2x6xf32>)
%r = tw.scatter_along %a, %b, %c dim 0 reduce none : (tensor<4x6xf32>, tensor<3x6xi64>, tensor<2x6xf32>) -> tensor<4x6xf32>

// -----

// CHECK: tw.scatter_along: element type is i1, expected number
%a, %b, %c = "test.op"() : () -> (tensor<4x6xi1>, tensor<3x6xi64>, tensor<3x6xi1>)
%r = tw.scatter_along %a, %b, %c dim 0 reduce add : (tensor<4x6xi1>, tensor<3x6xi64>, tensor<3x6xi1>) -> tensor<4x6xi1>

// -----

// CHECK: tw.gather: result has element type f64, expected f32
%a, %b = "test.op"() : () -> (tensor<9x8xf32>, tensor<4xi64>)
%r = "tw.gather"(%a, %b) <{dims = array<i64: 0>, at = 0 : i64}> : (tensor<9x8xf32>, tensor<4xi64>) -> tensor<4x8xf64>

// -----

// CHECK: tw.gather_along: index has element type i32, expected i64
%a, %b = "test.op"() : () -> (tensor<9x8xf32>, tensor<4x8xi32>)
%r = "tw.gather_along"(%a, %b) <{dim = 0 : i64}> : (tensor<9x8xf32>, tensor<4x8xi32>) -> tensor<4x8xf32>

// -----

// CHECK: tw.gather_along: result has element type f64, expected f32
%a, %b = "test.op"() : () -> (tensor<9x8xf32>, tensor<4x8xi64>)
%r = "tw.gather_along"(%a, %b) <{dim = 0 : i64}> : (tensor<9x8xf32>, tensor<4x8xi64>) -> tensor<4x8xf64>

// -----

// CHECK: tw.scatter_along: values has element type f64, expected f32
%a, %b, %c = "test.op"() : () -> (tensor<9x8xf32>, tensor<4x8xi64>, tensor<4x8xf64>)
%r = "tw.scatter_along"(%a, %b, %c) <{dim = 0 : i64, combine = #tw.combine none}> : (tensor<9x8xf32>, tensor<4x8xi64>, tensor<4x8xf64>) -> tensor<9x8xf32>

// -----

// CHECK: tw.scatter_along: result has element type f64, expected f32
%a, %b, %c = "test.op"() : () -> (tensor<9x8xf32>, tensor<4x8xi64>, tensor<4x8xf32>)
%r = "tw.scatter_along"(%a, %b, %c) <{dim = 0 : i64, combine = #tw.combine none}> : (tensor<9x8xf32>, tensor<4x8xi64>, tensor<4x8xf32>) -> tensor<9x8xf64>

// -----

// CHECK: tw.scatter_along: result shape is [9, 7], expected [9, 8]
%a, %b, %c = "test.op"() : () -> (tensor<9x8xf32>, tensor<4x8xi64>, tensor<4x8xf32>)
%r = "tw.scatter_along"(%a, %b, %c) <{dim = 0 : i64, combine = #tw.combine none}> : (tensor<9x8xf32>, tensor<4x8xi64>, tensor<4x8xf32>) -> tensor<9x7xf32>

// -----

// CHECK: tw.sort: dim is 2, expected 0 <= dim < 2
%a = "test.op"() : () -> (tensor<4x6xf32>)
%v, %i = tw.sort %a dim 2 : tensor<4x6xf32> -> tensor<4x6xf32>, tensor<4x6xi64>

// -----

// CHECK: tw.sort: values has element type f64, expected f32
%a = "test.op"() : () -> (tensor<4x6xf32>)
%v, %i = tw.sort %a dim 1 : tensor<4x6xf32> -> tensor<4x6xf64>, tensor<4x6xi64>

// -----

// CHECK: tw.sort: indices has element type i32, expected i64
%a = "test.op"() : () -> (tensor<4x6xf32>)
%v, %i = tw.sort %a dim 1 : tensor<4x6xf32> -> tensor<4x6xf32>, tensor<4x6xi32>

// -----

// CHECK: tw.sort: indices shape is [4, 5], expected [4, 6]
%a = "test.op"() : () -> (tensor<4x6xf32>)
%v, %i = tw.sort %a dim 1 : tensor<4x6xf32> -> tensor<4x6xf32>, tensor<4x5xi64>

// -----

// CHECK: tw.sort: values shape is [3, 6], expected [4, 6]
%a = "test.op"() : () -> (tensor<4x6xf32>)
%v, %i = tw.sort %a dim 1 : tensor<4x6xf32> -> tensor<3x6xf32>, tensor<3x6xi64>

// -----

// CHECK: tw.sort: values shape is [6], expected [4, 6]
%a = "test.op"() : () -> (tensor<4x6xf32>)
%v, %i = tw.sort %a dim 1 : tensor<4x6xf32> -> tensor<6xf32>, tensor<6xi64>

// -----

// CHECK: tw.sort: takes 7 of 6 elements
%a = "test.op"() : () -> (tensor<4x6xf32>)
%v, %i = tw.sort %a dim 1 : tensor<4x6xf32> -> tensor<4x7xf32>, tensor<4x7xi64>
