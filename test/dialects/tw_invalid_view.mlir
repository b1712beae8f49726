// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tw.reshape: result shape [5, 5] has another element count than the source shape [4, 6]
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.reshape %a : tensor<4x6xf32> -> tensor<5x5xf32>

// -----

// CHECK: tw.reshape: result has element type f64, expected f32
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.reshape %a : tensor<4x6xf32> -> tensor<24xf64>

// -----

// CHECK: tw.transpose: perm [0, 0] is not a permutation of rank 2
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.transpose %a by [0, 0] : tensor<4x6xf32> -> tensor<4x4xf32>

// -----

// CHECK: tw.transpose: result shape is [4, 6], expected [6, 4]
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.transpose %a by [1, 0] : tensor<4x6xf32> -> tensor<4x6xf32>

// -----

// CHECK: tw.broadcast: dims [1] has 1 entries, expected 2
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.broadcast %a dims [1] : tensor<4x6xf32> -> tensor<3x4x6xf32>

// -----

// CHECK: tw.broadcast: dims [1, 3] has 3, expected 0 <= axis < 3
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.broadcast %a dims [1, 3] : tensor<4x6xf32> -> tensor<3x4x6xf32>

// -----

// CHECK: tw.broadcast: dims is [2, 1], expected strictly increasing axes
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.broadcast %a dims [2, 1] : tensor<4x6xf32> -> tensor<3x6x4xf32>

// -----

// CHECK: tw.broadcast: source dimension 0 of size 4 cannot become result dimension 0 of size 3, expected size 1 or 3
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.broadcast %a dims [0, 2] : tensor<4x6xf32> -> tensor<3x4x6xf32>

// -----

// CHECK: tw.slice: starts is "0" with 1 expressions, expected 2
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.slice %a starts "0" steps "1, 1" : tensor<4x6xf32> -> tensor<4x6xf32>

// -----

// CHECK: tw.slice: result has rank 1, expected 2
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.slice %a starts "0, 0" steps "1, 1" : tensor<4x6xf32> -> tensor<4xf32>

// -----

// CHECK: tw.slice: step of dimension 1 is 0, expected at least 1
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.slice %a starts "0, 0" steps "1, 0" : tensor<4x6xf32> -> tensor<4x6xf32>

// -----

// CHECK: tw.slice: start of dimension 0 is -1, expected at least 0
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.slice %a starts "-1, 0" steps "1, 1" : tensor<4x6xf32> -> tensor<4x6xf32>

// -----

// CHECK: tw.slice: dimension 1 reads element 6, expected at most 5
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.slice %a starts "0, 2" steps "1, 2" : tensor<4x6xf32> -> tensor<4x3xf32>

// -----

// CHECK: tw.reverse: dims [2] has 2, expected 0 <= axis < 2
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.reverse %a dims [2] : tensor<4x6xf32> -> tensor<4x6xf32>

// -----

// CHECK: tw.reverse: result shape is [6, 4], expected [4, 6]
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.reverse %a dims [1] : tensor<4x6xf32> -> tensor<6x4xf32>

// -----

// CHECK: tw.concat: has 0 operands, expected at least 1
%r = tw.concat dim 0 : () -> tensor<4xf32>

// -----

// CHECK: tw.concat: dim is 2, expected 0 <= dim < 2
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.concat %a dim 2 : (tensor<4x6xf32>) -> tensor<4x6xf32>

// -----

// CHECK: tw.concat: operand 1 has element type f64, expected f32
%a, %b = "test.op"() : () -> (tensor<4x6xf32>, tensor<4x6xf64>)
%r = tw.concat %a, %b dim 0 : (tensor<4x6xf32>, tensor<4x6xf64>) -> tensor<8x6xf32>

// -----

// CHECK: tw.concat: operand 1 without dim is [5], expected [6]
%a, %b = "test.op"() : () -> (tensor<4x6xf32>, tensor<4x5xf32>)
%r = tw.concat %a, %b dim 0 : (tensor<4x6xf32>, tensor<4x5xf32>) -> tensor<8x6xf32>

// -----

// CHECK: tw.concat: result shape is [9, 6], expected [8, 6]
%a, %b = "test.op"() : () -> (tensor<4x6xf32>, tensor<4x6xf32>)
%r = tw.concat %a, %b dim 0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<9x6xf32>

// -----

// CHECK: tw.pad: low has -1, expected at least 0 (use tw.slice to crop)
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.pad %a low "-1, 0" high "0, 0" value 0.0 : f32 : tensor<4x6xf32> -> tensor<3x6xf32>

// -----

// CHECK: tw.pad: value has type f64, expected f32
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.pad %a low "1, 0" high "0, 0" value 0.0 : f64 : tensor<4x6xf32> -> tensor<5x6xf32>

// -----

// CHECK: tw.pad: result shape is [4, 6], expected [5, 6]
%a = "test.op"() : () -> (tensor<4x6xf32>)
%r = tw.pad %a low "1, 0" high "0, 0" value 0.0 : f32 : tensor<4x6xf32> -> tensor<4x6xf32>

// -----

// CHECK: tw.slice: steps is "1, 1" with 2 expressions, expected 1
%a = "test.op"() : () -> tensor<9xf32>
%r = "tw.slice"(%a) <{starts = "0", steps = "1, 1"}> : (tensor<9xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.pad: low is "1, 0" with 2 expressions, expected 1
%a = "test.op"() : () -> tensor<9xf32>
%r = "tw.pad"(%a) <{low = "1, 0", high = "0", value = 0.0 : f32}> : (tensor<9xf32>) -> tensor<10xf32>

// -----

// CHECK: tw.pad: high is "0, 0" with 2 expressions, expected 1
%a = "test.op"() : () -> tensor<9xf32>
%r = "tw.pad"(%a) <{low = "1", high = "0, 0", value = 0.0 : f32}> : (tensor<9xf32>) -> tensor<10xf32>

// -----

// CHECK: tw.window: dims [1] has 1, expected 0 <= axis < 1
%a = "test.op"() : () -> tensor<9xf32>
%r = "tw.window"(%a) <{dims = array<i64: 1>, sizes = array<i64: 3>, strides = array<i64: 1>, dilation = array<i64: 1>}> : (tensor<9xf32>) -> tensor<9x3xf32>

// -----

// CHECK: tw.window: result has element type f64, expected f32
%a = "test.op"() : () -> tensor<9xf32>
%r = "tw.window"(%a) <{dims = array<i64: 0>, sizes = array<i64: 3>, strides = array<i64: 1>, dilation = array<i64: 1>}> : (tensor<9xf32>) -> tensor<7x3xf64>
