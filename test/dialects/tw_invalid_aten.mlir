// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tw.aten: callee is "relu", expected "namespace::name.overload"
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.aten "relu"(%a) {args = [#tw.arg<0>]} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.aten: args refer to operands [], expected each of 0 to 0
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.aten "aten::relu"(%a) {args = []} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.aten: args refer to operands [1], expected each of 0 to 0
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.aten "aten::relu"(%a) {args = [[#tw.arg<1>]]} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.aten: mutates has 1, expected an operand number below 1
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.aten "aten::relu_"(%a) {args = [#tw.arg<0>], mutates = array<i64: 1>} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.size: unexpected `q` in index expression `q`
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.aten "aten::relu"(%a) {args = [#tw.arg<0>, #tw.size<"q">]} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.write: target is neither a function argument nor a part of one
%a, %b = "test.op"() : () -> (tensor<4xf32>, tensor<4xf32>)
tw.write %a into %b : tensor<4xf32>

// -----

// CHECK: tw.aten: returns is [0, 1], expected 1 entries
%x = "test.op"() : () -> tensor<4xf32>
%r = "tw.aten"(%x) <{callee = "aten::relu", args = [#tw.arg<0>], returns = array<i64: 0, 1>}> : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.aten: operand_strides has 2 entries, expected one for each operand
%x = "test.op"() : () -> tensor<4x6xf32>
%r = tw.aten "my::op"(%x) {args = [#tw.arg<0>], operand_strides = ["6, 1", ""]} : (tensor<4x6xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.aten: operand_strides is "1" with 1 expressions, expected 2
%x = "test.op"() : () -> tensor<4x6xf32>
%r = tw.aten "my::op"(%x) {args = [#tw.arg<0>], operand_strides = ["1"]} : (tensor<4x6xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.aten: operand_strides: unexpected `q` in index expression `q, 1`
%x = "test.op"() : () -> tensor<4x6xf32>
%r = tw.aten "my::op"(%x) {args = [#tw.arg<0>], operand_strides = ["q, 1"]} : (tensor<4x6xf32>) -> tensor<4xf32>
