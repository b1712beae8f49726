// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tw.attention: query has rank 3, expected 4
%a = "test.op"() : () -> (tensor<2x8x4xf32>)
%r, %s = tw.attention %a, %a, %a scale 1.0 dropout 0.0 : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)

// -----

// CHECK: tw.attention: key shape is [1, 2, 9, 5], expected [1, 2, 9, 4]
%a, %b = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x9x5xf32>)
%r, %s = tw.attention %a, %b, %b scale 1.0 dropout 0.0 : (tensor<1x2x8x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x9x5xf32>) -> (tensor<1x2x8x4xf32>, tensor<1x2x8xf32>)

// -----

// CHECK: tw.attention: value shape is [1, 2, 8, 4], expected [1, 2, 9, 4]
%a, %b = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>)
%r, %s = tw.attention %a, %b, %a scale 1.0 dropout 0.0 : (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x8x4xf32>) -> (tensor<1x2x8x4xf32>, tensor<1x2x8xf32>)

// -----

// CHECK: tw.attention: logsumexp has element type bf16, expected f32
%a = "test.op"() : () -> (tensor<1x2x8x4xbf16>)
%r, %s = tw.attention %a, %a, %a scale 1.0 dropout 0.0 : (tensor<1x2x8x4xbf16>, tensor<1x2x8x4xbf16>, tensor<1x2x8x4xbf16>) -> (tensor<1x2x8x4xbf16>, tensor<1x2x8xbf16>)

// -----

// CHECK: tw.attention: logsumexp shape is [1, 2, 4], expected [1, 2, 8]
%a = "test.op"() : () -> (tensor<1x2x8x4xf32>)
%r, %s = tw.attention %a, %a, %a scale 1.0 dropout 0.0 : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>) -> (tensor<1x2x8x4xf32>, tensor<1x2x4xf32>)

// -----

// CHECK: tw.attention: dropout is 0.1 and there is no seed, expected a seed with dropout alone
%a = "test.op"() : () -> (tensor<1x2x8x4xf32>)
%r, %s = tw.attention %a, %a, %a scale 1.0 dropout 0.1 : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>) -> (tensor<1x2x8x4xf32>, tensor<1x2x8xf32>)

// -----

// CHECK: tw.attention: mask is i32, expected i1 or f32
%a, %b = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<8x8xi32>)
%r, %s = tw.attention %a, %a, %a mask %b scale 1.0 dropout 0.0 : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<8x8xi32>) -> (tensor<1x2x8x4xf32>, tensor<1x2x8xf32>)

// -----

// CHECK: tw.attention: mask has rank 3, expected 2 or 4
%a, %b = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<2x8x8xi1>)
%r, %s = tw.attention %a, %a, %a mask %b scale 1.0 dropout 0.0 : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<2x8x8xi1>) -> (tensor<1x2x8x4xf32>, tensor<1x2x8xf32>)

// -----

// CHECK: tw.attention: mask has size 7, expected 1 or 8
%a, %b = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<8x7xi1>)
%r, %s = tw.attention %a, %a, %a mask %b scale 1.0 dropout 0.0 : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<8x7xi1>) -> (tensor<1x2x8x4xf32>, tensor<1x2x8xf32>)

// -----

// CHECK: tw.attention: element type is i64, expected float
%a, %b, %c = "test.op"() : () -> (tensor<1x2x5x4xi64>, tensor<1x2x5x4xi64>, tensor<1x2x5x4xi64>)
%r:2 = "tw.attention"(%a, %b, %c) <{scale = 1.0 : f64, dropout_p = 0.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> : (tensor<1x2x5x4xi64>, tensor<1x2x5x4xi64>, tensor<1x2x5x4xi64>) -> (tensor<1x2x5x4xi64>, tensor<1x2x5xf32>)

// -----

// CHECK: tw.attention: result is f64, expected f32
%a, %b, %c = "test.op"() : () -> (tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>)
%r:2 = "tw.attention"(%a, %b, %c) <{scale = 1.0 : f64, dropout_p = 0.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> : (tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>) -> (tensor<1x2x5x4xf64>, tensor<1x2x5xf32>)

// -----

// CHECK: tw.attention: result shape is [1, 2, 5, 3], expected [1, 2, 5, 4]
%a, %b, %c = "test.op"() : () -> (tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>)
%r:2 = "tw.attention"(%a, %b, %c) <{scale = 1.0 : f64, dropout_p = 0.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> : (tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>) -> (tensor<1x2x5x3xf32>, tensor<1x2x5xf32>)

// -----

// CHECK: tw.attention: 3 heads of keys do not divide 4 heads of queries
%a, %b = "test.op"() : () -> (tensor<1x4x8x4xf32>, tensor<1x3x8x4xf32>)
%r, %s = tw.attention %a, %b, %b scale 1.0 dropout 0.0 : (tensor<1x4x8x4xf32>, tensor<1x3x8x4xf32>, tensor<1x3x8x4xf32>) -> (tensor<1x4x8x4xf32>, tensor<1x4x8xf32>)

// -----

// CHECK: tw.attention_backward: element type is i64, expected float
%a, %b, %c, %d, %e, %f = "test.op"() : () -> (tensor<1x2x8x4xi64>, tensor<1x2x9x4xi64>, tensor<1x2x9x5xi64>, tensor<1x2x8x5xi64>, tensor<1x2x8x5xi64>, tensor<1x2x8xf32>)
%r:3 = "tw.attention_backward"(%a, %b, %c, %d, %e, %f) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x2x8x4xi64>, tensor<1x2x9x4xi64>, tensor<1x2x9x5xi64>, tensor<1x2x8x5xi64>, tensor<1x2x8x5xi64>, tensor<1x2x8xf32>) -> (tensor<1x2x8x4xi64>, tensor<1x2x9x4xi64>, tensor<1x2x9x5xi64>)

// -----

// CHECK: tw.attention_backward: key has rank 3, expected 4
%a, %b, %c, %d, %e, %f = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>)
%r:3 = "tw.attention_backward"(%a, %b, %c, %d, %e, %f) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x2x8x4xf32>, tensor<2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>) -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>)

// -----

// CHECK: tw.attention_backward: value has element type f64, expected f32
%a, %b, %c, %d, %e, %f = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf64>, tensor<1x2x8x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>)
%r:3 = "tw.attention_backward"(%a, %b, %c, %d, %e, %f) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf64>, tensor<1x2x8x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>) -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>)

// -----

// CHECK: tw.attention_backward: key shape is [1, 2, 9, 3], expected [1, 2, 9, 4]
%a, %b, %c, %d, %e, %f = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x9x3xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>)
%r:3 = "tw.attention_backward"(%a, %b, %c, %d, %e, %f) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x2x8x4xf32>, tensor<1x2x9x3xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>) -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>)

// -----

// CHECK: tw.attention_backward: value shape is [1, 2, 7, 5], expected [1, 2, 9, 5]
%a, %b, %c, %d, %e, %f = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x7x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>)
%r:3 = "tw.attention_backward"(%a, %b, %c, %d, %e, %f) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x7x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>) -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>)

// -----

// CHECK: tw.attention_backward: grad has element type bf16, expected f32
%a, %b, %c, %d, %e, %f = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xbf16>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>)
%r:3 = "tw.attention_backward"(%a, %b, %c, %d, %e, %f) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xbf16>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>) -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>)

// -----

// CHECK: tw.attention_backward: grad shape is [1, 2, 8, 4], expected [1, 2, 8, 5]
%a, %b, %c, %d, %e, %f = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>)
%r:3 = "tw.attention_backward"(%a, %b, %c, %d, %e, %f) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>) -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>)

// -----

// CHECK: tw.attention_backward: logsumexp has element type f64, expected f32
%a, %b, %c, %d, %e, %f = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf64>)
%r:3 = "tw.attention_backward"(%a, %b, %c, %d, %e, %f) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf64>) -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>)

// -----

// CHECK: tw.attention_backward: logsumexp shape is [1, 2, 9], expected [1, 2, 8]
%a, %b, %c, %d, %e, %f = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x9xf32>)
%r:3 = "tw.attention_backward"(%a, %b, %c, %d, %e, %f) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x9xf32>) -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>)

// -----

// CHECK: tw.attention_backward: result has element type bf16, expected f32
%a, %b, %c, %d, %e, %f = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8x5xbf16>, tensor<1x2x8xf32>)
%r:3 = "tw.attention_backward"(%a, %b, %c, %d, %e, %f) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8x5xbf16>, tensor<1x2x8xf32>) -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>)

// -----

// CHECK: tw.attention_backward: result shape is [1, 2, 8, 4], expected [1, 2, 8, 5]
%a, %b, %c, %d, %e, %f = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8xf32>)
%r:3 = "tw.attention_backward"(%a, %b, %c, %d, %e, %f) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8xf32>) -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>)

// -----

// CHECK: tw.attention_backward: query_grad has element type bf16, expected f32
%a, %b, %c, %d, %e, %f = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>)
%r:3 = "tw.attention_backward"(%a, %b, %c, %d, %e, %f) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>) -> (tensor<1x2x8x4xbf16>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>)

// -----

// CHECK: tw.attention_backward: value_grad shape is [1, 2, 9, 4], expected [1, 2, 9, 5]
%a, %b, %c, %d, %e, %f = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>)
%r:3 = "tw.attention_backward"(%a, %b, %c, %d, %e, %f) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>) -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x4xf32>)

// -----

// CHECK: tw.attention_backward: mask has size 7, expected 1 or 9
%a, %b, %c, %d, %e, %f, %g = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>, tensor<8x7xi1>)
%r:3 = "tw.attention_backward"(%a, %b, %c, %d, %e, %f, %g) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0>}> : (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>, tensor<8x7xi1>) -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>)

// -----

// CHECK: tw.attention_query_grad: delta has element type f64, expected f32
%a, %b, %c, %d, %e, %f = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf64>)
%r = "tw.attention_query_grad"(%a, %b, %c, %d, %e, %f) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf64>) -> (tensor<1x2x8x4xf32>)

// -----

// CHECK: tw.attention_query_grad: delta shape is [1, 2, 9], expected [1, 2, 8]
%a, %b, %c, %d, %e, %f = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>, tensor<1x2x9xf32>)
%r = "tw.attention_query_grad"(%a, %b, %c, %d, %e, %f) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>, tensor<1x2x9xf32>) -> (tensor<1x2x8x4xf32>)

// -----

// CHECK: tw.attention_query_grad: query_grad has element type bf16, expected f32
%a, %b, %c, %d, %e, %f = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>)
%r = "tw.attention_query_grad"(%a, %b, %c, %d, %e, %f) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>) -> (tensor<1x2x8x4xbf16>)

// -----

// CHECK: tw.attention_query_grad: query_grad shape is [1, 2, 8, 5], expected [1, 2, 8, 4]
%a, %b, %c, %d, %e, %f = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>)
%r = "tw.attention_query_grad"(%a, %b, %c, %d, %e, %f) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>) -> (tensor<1x2x8x5xf32>)

// -----

// CHECK: tw.attention_query_grad: mask is i32, expected i1 or f32
%a, %b, %c, %d, %e, %f, %g = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<8x9xi32>)
%r = "tw.attention_query_grad"(%a, %b, %c, %d, %e, %f, %g) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0>}> : (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<8x9xi32>) -> (tensor<1x2x8x4xf32>)

// -----

// CHECK: tw.attention_key_grad: grad shape is [1, 2, 8, 4], expected [1, 2, 8, 5]
%a, %b, %c, %d, %e, %f = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>)
%r:2 = "tw.attention_key_grad"(%a, %b, %c, %d, %e, %f) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>) -> (tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>)

// -----

// CHECK: tw.attention_key_grad: delta shape is [1, 2, 9], expected [1, 2, 8]
%a, %b, %c, %d, %e, %f = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>, tensor<1x2x9xf32>)
%r:2 = "tw.attention_key_grad"(%a, %b, %c, %d, %e, %f) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>, tensor<1x2x9xf32>) -> (tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>)

// -----

// CHECK: tw.attention_key_grad: key_grad has element type bf16, expected f32
%a, %b, %c, %d, %e, %f = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>)
%r:2 = "tw.attention_key_grad"(%a, %b, %c, %d, %e, %f) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>) -> (tensor<1x2x9x4xbf16>, tensor<1x2x9x5xf32>)

// -----

// CHECK: tw.attention_key_grad: value_grad has element type bf16, expected f32
%a, %b, %c, %d, %e, %f = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>)
%r:2 = "tw.attention_key_grad"(%a, %b, %c, %d, %e, %f) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>) -> (tensor<1x2x9x4xf32>, tensor<1x2x9x5xbf16>)

// -----

// CHECK: tw.attention_key_grad: key_grad shape is [1, 2, 8, 4], expected [1, 2, 9, 4]
%a, %b, %c, %d, %e, %f = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>)
%r:2 = "tw.attention_key_grad"(%a, %b, %c, %d, %e, %f) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>) -> (tensor<1x2x8x4xf32>, tensor<1x2x9x5xf32>)

// -----

// CHECK: tw.attention_key_grad: 8 heads of gradients do not divide 12 heads of queries
%a, %b, %c, %d, %e, %f = "test.op"() : () -> (tensor<1x12x8x4xf32>, tensor<1x4x9x4xf32>, tensor<1x4x9x5xf32>, tensor<1x12x8x5xf32>, tensor<1x12x8xf32>, tensor<1x12x8xf32>)
%r:2 = "tw.attention_key_grad"(%a, %b, %c, %d, %e, %f) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x12x8x4xf32>, tensor<1x4x9x4xf32>, tensor<1x4x9x5xf32>, tensor<1x12x8x5xf32>, tensor<1x12x8xf32>, tensor<1x12x8xf32>) -> (tensor<1x8x9x4xf32>, tensor<1x8x9x5xf32>)

// -----

// CHECK: tw.attention_key_grad: 4 heads of keys do not divide 6 heads of gradients
%a, %b, %c, %d, %e, %f = "test.op"() : () -> (tensor<1x12x8x4xf32>, tensor<1x4x9x4xf32>, tensor<1x4x9x5xf32>, tensor<1x12x8x5xf32>, tensor<1x12x8xf32>, tensor<1x12x8xf32>)
%r:2 = "tw.attention_key_grad"(%a, %b, %c, %d, %e, %f) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x12x8x4xf32>, tensor<1x4x9x4xf32>, tensor<1x4x9x5xf32>, tensor<1x12x8x5xf32>, tensor<1x12x8xf32>, tensor<1x12x8xf32>) -> (tensor<1x6x9x4xf32>, tensor<1x6x9x5xf32>)

// -----

// CHECK: tw.attention_key_grad: value_grad shape is [1, 12, 9, 5], expected [1, 4, 9, 5]
%a, %b, %c, %d, %e, %f = "test.op"() : () -> (tensor<1x12x8x4xf32>, tensor<1x4x9x4xf32>, tensor<1x4x9x5xf32>, tensor<1x12x8x5xf32>, tensor<1x12x8xf32>, tensor<1x12x8xf32>)
%r:2 = "tw.attention_key_grad"(%a, %b, %c, %d, %e, %f) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x12x8x4xf32>, tensor<1x4x9x4xf32>, tensor<1x4x9x5xf32>, tensor<1x12x8x5xf32>, tensor<1x12x8xf32>, tensor<1x12x8xf32>) -> (tensor<1x4x9x4xf32>, tensor<1x12x9x5xf32>)

// -----

// CHECK: tw.attention_key_grad: key_grad has rank 3, expected 4
%a, %b, %c, %d, %e, %f = "test.op"() : () -> (tensor<1x12x8x4xf32>, tensor<1x4x9x4xf32>, tensor<1x4x9x5xf32>, tensor<1x12x8x5xf32>, tensor<1x12x8xf32>, tensor<1x12x8xf32>)
%r:2 = "tw.attention_key_grad"(%a, %b, %c, %d, %e, %f) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x12x8x4xf32>, tensor<1x4x9x4xf32>, tensor<1x4x9x5xf32>, tensor<1x12x8x5xf32>, tensor<1x12x8xf32>, tensor<1x12x8xf32>) -> (tensor<4x9x4xf32>, tensor<1x4x9x5xf32>)

// -----

// CHECK: tw.attention_key_grad: mask has rank 3, expected 2 or 4
%a, %b, %c, %d, %e, %f, %g = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<2x8x9xi1>)
%r:2 = "tw.attention_key_grad"(%a, %b, %c, %d, %e, %f, %g) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0>}> : (tensor<1x2x8x4xf32>, tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>, tensor<1x2x8x5xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<2x8x9xi1>) -> (tensor<1x2x9x4xf32>, tensor<1x2x9x5xf32>)

// -----

// CHECK: tw.attention: dropout is 1.0, expected at least 0.0 and less than 1.0
%a, %s = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<2xi64>)
%r, %l = tw.attention %a, %a, %a scale 1.0 dropout 1.0 seed %s : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<2xi64>) -> (tensor<1x2x8x4xf32>, tensor<1x2x8xf32>)

// -----

// CHECK: tw.attention: dropout is 0.0 and there is a seed, expected a seed with dropout alone
%a, %s = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<2xi64>)
%r, %l = tw.attention %a, %a, %a scale 1.0 dropout 0.0 seed %s : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<2xi64>) -> (tensor<1x2x8x4xf32>, tensor<1x2x8xf32>)

// -----

// CHECK: tw.attention: seed has element type f32, expected i64
%a, %s = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<2xf32>)
%r, %l = tw.attention %a, %a, %a scale 1.0 dropout 0.1 seed %s : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<2xf32>) -> (tensor<1x2x8x4xf32>, tensor<1x2x8xf32>)

// -----

// CHECK: tw.attention_backward: seed shape is [3], expected [2]
%a, %l, %s = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x8xf32>, tensor<3xi64>)
%r:3 = tw.attention_backward %a, %a, %a, %a, %a, %l scale 1.0 dropout 0.1 seed %s : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8xf32>, tensor<3xi64>) -> (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>)

// -----

// CHECK: tw.attention_query_grad: dropout is -0.5, expected at least 0.0 and less than 1.0
%a, %l, %s = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x8xf32>, tensor<2xi64>)
%r = tw.attention_query_grad %a, %a, %a, %a, %l, %l scale 1.0 dropout -0.5 seed %s : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<2xi64>) -> tensor<1x2x8x4xf32>

// -----

// CHECK: tw.attention_key_grad: dropout is 0.5 and there is no seed, expected a seed with dropout alone
%a, %l = "test.op"() : () -> (tensor<1x2x8x4xf32>, tensor<1x2x8xf32>)
%r:2 = "tw.attention_key_grad"(%a, %a, %a, %a, %l, %l) <{scale = 1.0 : f64, dropout_p = 0.5 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>) -> (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>)
