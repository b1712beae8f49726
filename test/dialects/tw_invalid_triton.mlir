// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tw.triton: 2 arguments for 3 parameters of "f"
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.triton <"f", 4, 3, "def f(x, n, out):\0A    pass"> grid "1, 1, 1" (%a) {args = [#tw.arg<0>, #tw.arg<1>], inits = array<i64: -1>, strides = ["1"]} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.triton: argument `n` is 4 : i16: no operand, number or literal
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.triton <"f", 4, 3, "def f(x, n, out):\0A    pass"> grid "1, 1, 1" (%a) {args = [#tw.arg<0>, 4 : i16, #tw.arg<1>], inits = array<i64: -1>, strides = ["1"]} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.triton: argument `n` is 4.000000e+00 : f64: no operand, number or literal
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.triton <"f", 4, 3, "def f(x, n, out):\0A    pass"> grid "1, 1, 1" (%a) {args = [#tw.arg<0>, 4.0 : f64, #tw.arg<1>], inits = array<i64: -1>, strides = ["1"]} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.triton: argument `n` is unit: no operand, number or literal
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.triton <"f", 4, 3, "def f(x, n, out):\0A    pass"> grid "1, 1, 1" (%a) {args = [#tw.arg<0>, unit, #tw.arg<1>], inits = array<i64: -1>, strides = ["1"]} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.triton: grid is "1, 1" with 2 expressions, expected 3
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.triton <"f", 4, 3, "def f(x, n, out):\0A    pass"> grid "1, 1" (%a) {args = [#tw.arg<0>, 4 : i32, #tw.arg<1>], inits = array<i64: -1>, strides = ["1"]} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.triton: grid: unexpected `q` in index expression `q, 1, 1`
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.triton <"f", 4, 3, "def f(x, n, out):\0A    pass"> grid "q, 1, 1" (%a) {args = [#tw.arg<0>, 4 : i32, #tw.arg<1>], inits = array<i64: -1>, strides = ["1"]} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.triton: it has no result, so that nobody would see it run
%a = "test.op"() : () -> (tensor<4xf32>)
tw.triton <"f", 4, 3, "def f(x, n, out):\0A    pass"> grid "1, 1, 1" (%a) {args = [#tw.arg<0>, 4 : i32, "1"], inits = array<i64>, strides = ["1"]} : (tensor<4xf32>) -> ()

// -----

// CHECK: tw.triton: number of inits is 2, expected 1
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.triton <"f", 4, 3, "def f(x, n, out):\0A    pass"> grid "1, 1, 1" (%a) {args = [#tw.arg<0>, 4 : i32, #tw.arg<1>], inits = array<i64: -1, 0>, strides = ["1"]} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.triton: number of lists of strides is 0, expected 1
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.triton <"f", 4, 3, "def f(x, n, out):\0A    pass"> grid "1, 1, 1" (%a) {args = [#tw.arg<0>, 4 : i32, #tw.arg<1>], inits = array<i64: -1>, strides = []} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.triton: strides is "1, 1" with 2 expressions, expected 1
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.triton <"f", 4, 3, "def f(x, n, out):\0A    pass"> grid "1, 1, 1" (%a) {args = [#tw.arg<0>, 4 : i32, #tw.arg<1>], inits = array<i64: -1>, strides = ["1, 1"]} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.triton: inits has 1, expected -1 or an operand below 1
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.triton <"f", 4, 3, "def f(x, n, out):\0A    pass"> grid "1, 1, 1" (%a) {args = [#tw.arg<0>, 4 : i32, #tw.arg<1>], inits = array<i64: 1>, strides = ["1"]} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.triton: type of a result is tensor<8xf32>, expected tensor<4xf32>
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.triton <"f", 4, 3, "def f(x, n, out):\0A    pass"> grid "1, 1, 1" (%a) {args = [#tw.arg<0>, 4 : i32, #tw.arg<1>], inits = array<i64: 0>, strides = ["1"]} : (tensor<4xf32>) -> tensor<8xf32>

// -----

// CHECK: tw.triton: args and inits refer to [1], expected each of 0 to 1
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.triton <"f", 4, 3, "def f(x, n, out):\0A    pass"> grid "1, 1, 1" (%a) {args = ["0", 4 : i32, #tw.arg<1>], inits = array<i64: -1>, strides = ["1"]} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.jit: the text defines no function "f"
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.triton <"f", 4, 3, "g = 1"> grid "1, 1, 1" (%a) {args = [#tw.arg<0>, 4 : i32, #tw.arg<1>], inits = array<i64: -1>, strides = ["1"]} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.jit: the text is no Python:
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.triton <"f", 4, 3, "def"> grid "1, 1, 1" (%a) {args = [#tw.arg<0>, 4 : i32, #tw.arg<1>], inits = array<i64: -1>, strides = ["1"]} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.triton: 2 arguments for 3 parameters of "f"
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.triton <"f", 4, 3, "def f(x, n, out):\0A    pass"> grid "1, 1, 1" (%a) {args = [#tw.arg<0>, 4 : i32, #tw.arg<1>], candidates = [#tw.config<8, 1, "1, 1, 1", [#tw.arg<0>, #tw.arg<1>]>], inits = array<i64: -1>, strides = ["1"]} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.triton: a candidate has #tw.arg<0> as `out`, expected #tw.arg<1>
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.triton <"f", 4, 3, "def f(x, n, out):\0A    pass"> grid "1, 1, 1" (%a) {args = [#tw.arg<0>, 4 : i32, #tw.arg<1>], candidates = [#tw.config<8, 1, "1, 1, 1", [#tw.arg<0>, 8 : i32, #tw.arg<0>]>], inits = array<i64: -1>, strides = ["1"]} : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: tw.triton: grid of a candidate is "1, 1" with 2 expressions, expected 3
%a = "test.op"() : () -> (tensor<4xf32>)
%r = tw.triton <"f", 4, 3, "def f(x, n, out):\0A    pass"> grid "1, 1, 1" (%a) {args = [#tw.arg<0>, 4 : i32, #tw.arg<1>], candidates = [#tw.config<8, 1, "1, 1", [#tw.arg<0>, 8 : i32, #tw.arg<1>]>], inits = array<i64: -1>, strides = ["1"]} : (tensor<4xf32>) -> tensor<4xf32>
