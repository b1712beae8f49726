// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tw.full: result has element type f64, expected f32
%r = tw.full 1.0 : f32 -> tensor<4xf64>

// -----

// CHECK: tw.full: value: unexpected `q` in index expression `q`
%r = tw.full "q" -> tensor<4xf64>

// -----

// CHECK: tw.full: value is "1, 2" with 2 expressions, expected 1
%r = tw.full "1, 2" -> tensor<4xf64>

// -----

// CHECK: tw.full: value is "d0", expected symbols s0, s1, ... only
%r = tw.full "d0" -> tensor<4xf64>

// -----

// CHECK: tw.constant: the type of the elements is tensor<2xi64>, expected tensor<3xi64>
%r = "tw.constant"() <{value = dense<[1, 2]> : tensor<2xi64>}> : () -> tensor<3xi64>

// -----

// CHECK: tw.iota: dim is 1, expected 0 <= dim < 1
%r = tw.iota dim 1 start "0" step "1" -> tensor<4xi64>

// -----

// CHECK: tw.iota: element type is i1, expected number
%r = tw.iota dim 0 start "0" step "1" -> tensor<4xi1>

// -----

// CHECK: tw.iota: step is "" with 0 expressions, expected 1
%r = tw.iota dim 0 start "0" step "" -> tensor<4xi64>

// -----

// CHECK: tw.rng_seed: result has element type i32, expected i64
%r = tw.rng_seed : tensor<i32>

// -----

// CHECK: tw.rng_seed: result is tensor<1x2xi64>, expected a known number of i64 in a row, or one
%r = tw.rng_seed : tensor<1x2xi64>

// -----

// CHECK: tw.rng_uniform: seed has element type i32, expected i64
%a = "test.op"() : () -> (tensor<i32>)
%r = tw.rng_uniform %a offset "0" : tensor<i32> -> tensor<4xf32>

// -----

// CHECK: tw.rng_uniform: seed has rank 1, expected 0
%a = "test.op"() : () -> (tensor<2xi64>)
%r = tw.rng_uniform %a offset "0" : tensor<2xi64> -> tensor<4xf32>

// -----

// CHECK: tw.rng_normal: result has element type f64, expected f32
%a = "test.op"() : () -> (tensor<i64>)
%r = tw.rng_normal %a offset "0" : tensor<i64> -> tensor<4xf64>

// -----

// CHECK: tw.rng_uniform: offset is "i0", expected symbols
%a = "test.op"() : () -> (tensor<i64>)
%r = tw.rng_uniform %a offset "i0" : tensor<i64> -> tensor<4xf32>

// -----

// CHECK: tw.iota: start is "0, 1" with 2 expressions, expected 1
%r = tw.iota dim 0 start "0, 1" step "1" -> tensor<4xi64>

// -----

// CHECK: tw.constant: has infinite or NaN elements, expected finite ones (dense text misreads them)
%r = tw.constant dense<"0x0000807F0000803F"> : tensor<2xf32>

// -----

// CHECK: tw.shape: "2*s0" is not canonical, write "s0*2"
%r = "test.op"() : () -> tensor<?xf32, #tw.shape<"2*s0">>

// -----

// CHECK: tw.shape: unexpected `` in index expression `s0 +`
%r = "test.op"() : () -> tensor<?xf32, #tw.shape<"s0 +">>
