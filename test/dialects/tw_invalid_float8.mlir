// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tw.decode_float8: kind is one of e4m3fn, e4m3fnuz, e5m2, e5m2fnuz, got e8m0fnu
%a = "test.op"() : () -> tensor<4xi8>
%r = tw.decode_float8 %a from "e8m0fnu" : tensor<4xi8> -> tensor<4xf32>

// -----

// CHECK: tw.decode_float8: operand has element type ui8, expected i8
%a = "test.op"() : () -> tensor<4xui8>
%r = tw.decode_float8 %a from "e5m2" : tensor<4xui8> -> tensor<4xf32>

// -----

// CHECK: tw.decode_float8: result has element type bf16, expected f32
%a = "test.op"() : () -> tensor<4xi8>
%r = tw.decode_float8 %a from "e5m2" : tensor<4xi8> -> tensor<4xbf16>

// -----

// CHECK: tw.decode_float8: result shape is [5], expected [4]
%a = "test.op"() : () -> tensor<4xi8>
%r = tw.decode_float8 %a from "e5m2" : tensor<4xi8> -> tensor<5xf32>

// -----

// CHECK: f8E4M3FN>: element type is not one of
%a = "test.op"() : () -> tensor<4xf8E4M3FN>
%r = tw.neg %a : tensor<4xf8E4M3FN>

// -----

// CHECK: tw.encode_float8: kind is one of e4m3fn, e4m3fnuz, e5m2, e5m2fnuz, got e8m0fnu
%a = "test.op"() : () -> tensor<4xf32>
%r = tw.encode_float8 %a to "e8m0fnu" : tensor<4xf32> -> tensor<4xi8>

// -----

// CHECK: tw.encode_float8: operand has element type f64, expected f32 or a half
%a = "test.op"() : () -> tensor<4xf64>
%r = tw.encode_float8 %a to "e5m2" : tensor<4xf64> -> tensor<4xi8>

// -----

// CHECK: tw.encode_float8: operand has element type i32, expected f32 or a half
%a = "test.op"() : () -> tensor<4xi32>
%r = tw.encode_float8 %a to "e5m2" : tensor<4xi32> -> tensor<4xi8>

// -----

// CHECK: tw.encode_float8: result has element type ui8, expected i8
%a = "test.op"() : () -> tensor<4xbf16>
%r = tw.encode_float8 %a to "e5m2" : tensor<4xbf16> -> tensor<4xui8>

// -----

// CHECK: tw.encode_float8: result shape is [5], expected [4]
%a = "test.op"() : () -> tensor<4xbf16>
%r = tw.encode_float8 %a to "e5m2" : tensor<4xbf16> -> tensor<5xi8>
