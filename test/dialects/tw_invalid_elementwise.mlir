// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: attribute tensor<4xf32> expected from variable 'T', but got tensor<3xf32>
%a, %b = "test.op"() : () -> (tensor<4xf32>, tensor<3xf32>)
%r = "tw.add"(%a, %b) : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.exp: element type is i64, expected float
%a = "test.op"() : () -> (tensor<4xi64>)
%r = tw.exp %a : tensor<4xi64>

// -----

// CHECK: tw.neg: element type is i1, expected number
%a = "test.op"() : () -> (tensor<4xi1>)
%r = tw.neg %a : tensor<4xi1>

// -----

// CHECK: tw.logical_not: element type is i64, expected i1
%a = "test.op"() : () -> (tensor<4xi64>)
%r = tw.logical_not %a : tensor<4xi64>

// -----

// CHECK: tw.bitwise_not: element type is f32, expected integer or i1
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.bitwise_not %a : tensor<4xf32>

// -----

// CHECK: tw.add: element type is i1, expected number
%a, %b = "test.op"() : () -> (tensor<4xi1>, tensor<4xi1>)
%r = tw.add %a, %b : tensor<4xi1>

// -----

// CHECK: tw.div: element type is i64, expected float
%a, %b = "test.op"() : () -> (tensor<4xi64>, tensor<4xi64>)
%r = tw.div %a, %b : tensor<4xi64>

// -----

// CHECK: tw.and: element type is f32, expected integer or i1
%a, %b = "test.op"() : () -> (tensor<4xf32>, tensor<4xf32>)
%r = tw.and %a, %b : tensor<4xf32>

// -----

// CHECK: tw.shift_left: element type is i1, expected integer
%a, %b = "test.op"() : () -> (tensor<4xi1>, tensor<4xi1>)
%r = tw.shift_left %a, %b : tensor<4xi1>

// -----

// CHECK: tw.isnan: element type is i64, expected float
%a = "test.op"() : () -> (tensor<4xi64>)
%r = tw.isnan %a : tensor<4xi64> -> tensor<4xi1>

// -----

// CHECK: tw.isnan: result has element type f32, expected i1
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.isnan %a : tensor<4xf32> -> tensor<4xf32>

// -----

// CHECK: tw.isinf: result shape is [3], expected [4]
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.isinf %a : tensor<4xf32> -> tensor<3xi1>

// -----

// CHECK: tw.compare: result has element type f32, expected i1
%a, %b = "test.op"() : () -> (tensor<4xf32>, tensor<4xf32>)
%r = tw.compare lt %a, %b : tensor<4xf32> -> tensor<4xf32>

// -----

// CHECK: tw.compare: result shape is [5], expected [4]
%a, %b = "test.op"() : () -> (tensor<4xf32>, tensor<4xf32>)
%r = tw.compare lt %a, %b : tensor<4xf32> -> tensor<5xi1>

// -----

// CHECK: tw.select: condition has element type f32, expected i1
%a, %b = "test.op"() : () -> (tensor<4xf32>, tensor<4xf32>)
%r = tw.select %a, %a, %b : tensor<4xf32>, tensor<4xf32>

// -----

// CHECK: tw.select: condition shape is [1], expected [4]
%a, %b = "test.op"() : () -> (tensor<1xi1>, tensor<4xf32>)
%r = tw.select %a, %b, %b : tensor<1xi1>, tensor<4xf32>

// -----

// CHECK: tw.cast: rounded to f32, expected bf16 or f16
%a = "test.op"() : () -> tensor<4xf64>
%r = tw.cast %a rounded : tensor<4xf64> -> tensor<4xf32>

// -----

// CHECK: tw.cast: result shape is [1], expected [4]
%a = "test.op"() : () -> (tensor<4xi1>)
%r = tw.cast %a : tensor<4xi1> -> tensor<1xf32>

// -----

// CHECK: tensor<4xcomplex<f32>>: element type is not one of
%a = "test.op"() : () -> (tensor<4xcomplex<f32>>)
%r = tw.cast %a : tensor<4xcomplex<f32>> -> tensor<4xf32>

// -----

// CHECK: tensor<?xf32> has a size without an expression, add #tw.shape<"...">
%a = "test.op"() : () -> (tensor<?xf32>)
%r = tw.exp %a : tensor<?xf32>

// -----

// CHECK: 2 size expressions for rank 1
%a = "test.op"() : () -> (tensor<?xf32, #tw.shape<"s0, 3">>)
%r = tw.exp %a : tensor<?xf32, #tw.shape<"s0, 3">>

// -----

// CHECK: size -4 is negative
%a = "test.op"() : () -> (tensor<?x3xf32, #tw.shape<"s0, -4">>)
%r = tw.exp %a : tensor<?x3xf32, #tw.shape<"s0, -4">>

// -----

// CHECK: size 3 has the expression 4
%a = "test.op"() : () -> (tensor<?x3xf32, #tw.shape<"s0, 4">>)
%r = tw.exp %a : tensor<?x3xf32, #tw.shape<"s0, 4">>
