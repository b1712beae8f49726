// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | filecheck %s

// What it shares with tw.triton is in tw_invalid_triton.mlir.

// CHECK: tw.update: callee is "put", expected "namespace::name.overload"
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.update "put"(%a) {args = [#tw.arg<1>], inits = array<i64: 0>, strides = ["1"]} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.update: it writes to nothing: tw.aten runs such operators
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.update "my::put"(%a) {args = [#tw.arg<0>], inits = array<i64>, strides = ["1"]} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.update: number of inits is 2, expected 1
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.update "my::put"(%a) {args = [[#tw.arg<1>]], inits = array<i64: 0, 0>, strides = ["1"]} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.update: args and inits refer to [0, 1], expected each of 0 to 2
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.update "my::put"(%a) {args = [#tw.arg<1>], inits = array<i64: 0>, parts = [#tw.part<0, "2", "2", "1">], strides = ["1"]} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.update: a part of result 1 of 1
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.update "my::put"(%a) {args = [#tw.arg<2>], inits = array<i64: 0>, parts = [#tw.part<1, "2", "2", "1">], strides = ["1"]} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.update: offset of a part is "2, 1" with 2 expressions, expected 1
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.update "my::put"(%a) {args = [#tw.arg<2>], inits = array<i64: 0>, parts = [#tw.part<0, "2, 1", "2", "1">], strides = ["1"]} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.update: sizes of a part: unexpected `q` in index expression `q`
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.update "my::put"(%a) {args = [#tw.arg<2>], inits = array<i64: 0>, parts = [#tw.part<0, "2", "q", "1">], strides = ["1"]} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.update: strides of a part is "1" with 1 expressions, expected 2
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.update "my::put"(%a) {args = [#tw.arg<2>], inits = array<i64: 0>, parts = [#tw.part<0, "2", "2, 1", "1">], strides = ["1"]} : (tensor<4xf32>) -> tensor<4xf32>
