// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tw.bitcast: reads f32 as i64, expected f32 and i32, or f64 and i64
%a = "test.op"() : () -> tensor<4xf32>
%r = tw.bitcast %a : tensor<4xf32> -> tensor<4xi64>

// -----

// CHECK: tw.bitcast: reads bf16 as i16, expected f32 and i32, or f64 and i64
%a = "test.op"() : () -> tensor<4xbf16>
%r = tw.bitcast %a : tensor<4xbf16> -> tensor<4xi16>

// -----

// CHECK: tw.bitcast: result shape is [5], expected [4]
%a = "test.op"() : () -> tensor<4xi64>
%r = tw.bitcast %a : tensor<4xi64> -> tensor<5xf64>
