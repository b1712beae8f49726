// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tw.sum: element type is i1, expected number
%a = "test.op"() : () -> (tensor<4x6xi1>)
%r = tw.sum %a over [0] : tensor<4x6xi1> -> tensor<6xi1>

// -----

// CHECK: tw.any: element type is f32, expected i1
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.any %a over [0] : tensor<4x6xf32> -> tensor<6xf32>

// -----

// CHECK: tw.sum: result has element type f64, expected f32
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.sum %a over [0] : tensor<4x6xf32> -> tensor<6xf64>

// -----

// CHECK: tw.sum: axes [2] has 2, expected 0 <= axis < 2
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.sum %a over [2] : tensor<4x6xf32> -> tensor<6xf32>

// -----

// CHECK: tw.sum: axes is [1, 0], expected strictly increasing axes
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.sum %a over [1, 0] : tensor<4x6xf32> -> tensor<f32>

// -----

// CHECK: tw.prod: result shape is [4], expected [6]
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.prod %a over [0] : tensor<4x6xf32> -> tensor<4xf32>

// -----

// CHECK: tw.max: reduces no elements over [0], expected sizes of at least 1
%a = "test.op"() : () -> (tensor<0x6xf32>)
%r = tw.max %a over [0] : tensor<0x6xf32> -> tensor<6xf32>

// -----

// CHECK: tw.argmax: result has element type f32, expected i64
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.argmax %a dim 0 : tensor<4x6xf32> -> tensor<6xf32>

// -----

// CHECK: tw.argmin: dim is -1, expected 0 <= dim < 2
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.argmin %a dim -1 : tensor<4x6xf32> -> tensor<6xi64>

// -----

// CHECK: tw.argmax: result shape is [6], expected [4]
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.argmax %a dim 1 : tensor<4x6xf32> -> tensor<6xi64>

// -----

// CHECK: tw.argmax: dim 0 has size 0, expected at least 1
%a = "test.op"() : () -> (tensor<0x6xf32>)
%r = tw.argmax %a dim 0 : tensor<0x6xf32> -> tensor<6xi64>

// -----

// CHECK: tw.cumsum: element type is i1, expected number
%a = "test.op"() : () -> (tensor<4x6xi1>)
%r = tw.cumsum %a dim 0 : tensor<4x6xi1>

// -----

// CHECK: tw.cummax: element type is i1, expected number
%a = "test.op"() : () -> (tensor<4x6xi1>)
%r = tw.cummax %a dim 0 : tensor<4x6xi1>

// -----

// CHECK: tw.logcumsumexp: element type is i64, expected float
%a = "test.op"() : () -> (tensor<4x6xi64>)
%r = tw.logcumsumexp %a dim 0 : tensor<4x6xi64>

// -----

// CHECK: tw.linear_scan: element type is i64, expected float
%a = "test.op"() : () -> (tensor<4x6xi64>)
%r = tw.linear_scan %a by %a dim 0 : tensor<4x6xi64>

// -----

// CHECK: tw.linear_scan: dim is -1, expected 0 <= dim < 2
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.linear_scan %a by %a dim -1 : tensor<4x6xf32>

// -----

// CHECK: tw.cumsum: dim is 2, expected 0 <= dim < 2
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.cumsum %a dim 2 : tensor<4x6xf32>

// -----

// CHECK: tw.moments: element type is i32, expected float
%a = "test.op"() : () -> (tensor<4x6xi32>)
%m, %q = tw.moments %a over [1] : tensor<4x6xi32> -> tensor<4xi32>

// -----

// CHECK: tw.moments: result has element type f64, expected f32
%a = "test.op"() : () -> (tensor<4x6xf32>)
%m, %q = tw.moments %a over [1] : tensor<4x6xf32> -> tensor<4xf64>

// -----

// CHECK: tw.moments: axes [2] has 2, expected 0 <= axis < 2
%a = "test.op"() : () -> (tensor<4x6xf32>)
%m, %q = tw.moments %a over [2] : tensor<4x6xf32> -> tensor<4xf32>

// -----

// CHECK: tw.moments: result shape is [6], expected [4]
%a = "test.op"() : () -> (tensor<4x6xf32>)
%m, %q = tw.moments %a over [1] : tensor<4x6xf32> -> tensor<6xf32>
