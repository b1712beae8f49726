// RUN: tilewright-opt %s | tilewright-opt | filecheck %s
// RUN: tilewright-opt %s --print-op-generic | tilewright-opt | filecheck %s

// CHECK-LABEL: @elementwise
func.func @elementwise(%x: tensor<4x?xf32, #tw.shape<"4, s0">>, %i: tensor<3xi64>, %b: tensor<3xi1>) {
  // CHECK: tw.exp %x : tensor<4x?xf32, #tw.shape<"4, s0">>
  %0 = tw.exp %x : tensor<4x?xf32, #tw.shape<"4, s0">>
  // CHECK-NEXT: tw.add %0, %x : tensor<4x?xf32, #tw.shape<"4, s0">>
  %1 = tw.add %0, %x : tensor<4x?xf32, #tw.shape<"4, s0">>
  // CHECK-NEXT: tw.isnan %x : tensor<4x?xf32, #tw.shape<"4, s0">> -> tensor<4x?xi1, #tw.shape<"4, s0">>
  %2 = tw.isnan %x : tensor<4x?xf32, #tw.shape<"4, s0">> -> tensor<4x?xi1, #tw.shape<"4, s0">>
  // CHECK-NEXT: tw.compare le %0, %1 : tensor<4x?xf32, #tw.shape<"4, s0">> -> tensor<4x?xi1, #tw.shape<"4, s0">>
  %3 = tw.compare le %0, %1 : tensor<4x?xf32, #tw.shape<"4, s0">> -> tensor<4x?xi1, #tw.shape<"4, s0">>
  // CHECK-NEXT: tw.select %3, %0, %1 : tensor<4x?xi1, #tw.shape<"4, s0">>, tensor<4x?xf32, #tw.shape<"4, s0">>
  %4 = tw.select %3, %0, %1 : tensor<4x?xi1, #tw.shape<"4, s0">>, tensor<4x?xf32, #tw.shape<"4, s0">>
  // CHECK-NEXT: tw.cast %i : tensor<3xi64> -> tensor<3xbf16>
  %5 = tw.cast %i : tensor<3xi64> -> tensor<3xbf16>
  // CHECK-NEXT: tw.cast %i rounded : tensor<3xi64> -> tensor<3xf16>
  %c16 = tw.cast %i rounded : tensor<3xi64> -> tensor<3xf16>
  // CHECK-NEXT: tw.and %b, %b : tensor<3xi1>
  %6 = tw.and %b, %b : tensor<3xi1>
  func.return
}

// CHECK-LABEL: @creation
func.func @creation() {
  // CHECK-NEXT: tw.constant dense<[1, 2, 3]> : tensor<3xi64>
  %0 = tw.constant dense<[1, 2, 3]> : tensor<3xi64>
  // CHECK-NEXT: tw.full 1.500000e+00 : f32 -> tensor<?xf32, #tw.shape<"s0">>
  %1 = tw.full 1.5 : f32 -> tensor<?xf32, #tw.shape<"s0">>
  // CHECK-NEXT: tw.full 0xff80 : bf16 -> tensor<bf16>
  %2 = tw.full 0xFF80 : bf16 -> tensor<bf16>
  // CHECK-NEXT: tw.full true -> tensor<2xi1>
  %3 = tw.full true -> tensor<2xi1>
  // CHECK-NEXT: tw.full 255 : ui8 -> tensor<2xui8>
  %4 = tw.full 255 : ui8 -> tensor<2xui8>
  // CHECK-NEXT: tw.full "s0*2" -> tensor<f32>
  %5 = tw.full "s0*2" -> tensor<f32>
  // CHECK-NEXT: tw.iota dim 1 start "s0" step "2" -> tensor<4x8xi64>
  %6 = tw.iota dim 1 start "s0" step "2" -> tensor<4x8xi64>
  // CHECK-NEXT: [[SEED:%.*]] = tw.rng_seed : tensor<i64>
  %7 = tw.rng_seed : tensor<i64>
  // CHECK-NEXT: tw.rng_uniform [[SEED]] offset "s0*4" : tensor<i64> -> tensor<4x8xf32>
  %8 = tw.rng_uniform %7 offset "s0*4" : tensor<i64> -> tensor<4x8xf32>
  // CHECK-NEXT: tw.rng_seed : tensor<2xi64>
  %10 = tw.rng_seed : tensor<2xi64>
  // CHECK-NEXT: tw.rng_normal [[SEED]] offset "0" : tensor<i64> -> tensor<4x8xf32>
  %9 = tw.rng_normal %7 offset "0" : tensor<i64> -> tensor<4x8xf32>
  func.return
}

// CHECK-LABEL: @views
func.func @views(%x: tensor<4x6xf32>, %y: tensor<?x6xf32, #tw.shape<"s0, 6">>) {
  // CHECK-NEXT: tw.reshape %y : tensor<?x6xf32, #tw.shape<"s0, 6">> -> tensor<?xf32, #tw.shape<"s0*6">>
  %0 = tw.reshape %y : tensor<?x6xf32, #tw.shape<"s0, 6">> -> tensor<?xf32, #tw.shape<"s0*6">>
  // CHECK-NEXT: tw.transpose %x by [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
  %1 = tw.transpose %x by [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
  // CHECK-NEXT: tw.broadcast %x dims [1, 2] : tensor<4x6xf32> -> tensor<3x4x6xf32>
  %2 = tw.broadcast %x dims [1, 2] : tensor<4x6xf32> -> tensor<3x4x6xf32>
  // CHECK-NEXT: tw.slice %x starts "0, 1" steps "1, 2" : tensor<4x6xf32> -> tensor<4x3xf32>
  %3 = tw.slice %x starts "0, 1" steps "1, 2" : tensor<4x6xf32> -> tensor<4x3xf32>
  // CHECK-NEXT: tw.reverse %x dims [0] : tensor<4x6xf32> -> tensor<4x6xf32>
  %4 = tw.reverse %x dims [0] : tensor<4x6xf32> -> tensor<4x6xf32>
  // CHECK-NEXT: tw.concat %x, %y dim 0 : (tensor<4x6xf32>, tensor<?x6xf32, #tw.shape<"s0, 6">>) -> tensor<?x6xf32, #tw.shape<"s0 + 4, 6">>
  %5 = tw.concat %x, %y dim 0 : (tensor<4x6xf32>, tensor<?x6xf32, #tw.shape<"s0, 6">>) -> tensor<?x6xf32, #tw.shape<"s0 + 4, 6">>
  // CHECK-NEXT: tw.pad %x low "0, 1" high "2, 0" value 0.000000e+00 : f32 : tensor<4x6xf32> -> tensor<6x7xf32>
  %6 = tw.pad %x low "0, 1" high "2, 0" value 0.0 : f32 : tensor<4x6xf32> -> tensor<6x7xf32>
  func.return
}

// CHECK-LABEL: @reductions
func.func @reductions(%x: tensor<4x6xf32>, %b: tensor<4x6xi1>) {
  // CHECK-NEXT: tw.sum %x over [0, 1] : tensor<4x6xf32> -> tensor<f32>
  %0 = tw.sum %x over [0, 1] : tensor<4x6xf32> -> tensor<f32>
  // CHECK-NEXT: tw.max %x over [1] : tensor<4x6xf32> -> tensor<4xf32>
  %1 = tw.max %x over [1] : tensor<4x6xf32> -> tensor<4xf32>
  // CHECK-NEXT: tw.any %b over [0] : tensor<4x6xi1> -> tensor<6xi1>
  %2 = tw.any %b over [0] : tensor<4x6xi1> -> tensor<6xi1>
  // CHECK-NEXT: tw.argmax %x dim 1 : tensor<4x6xf32> -> tensor<4xi64>
  %3 = tw.argmax %x dim 1 : tensor<4x6xf32> -> tensor<4xi64>
  // CHECK-NEXT: tw.cumsum %x dim 0 : tensor<4x6xf32>
  %4 = tw.cumsum %x dim 0 : tensor<4x6xf32>
  // CHECK-NEXT: tw.cumprod %x dim 1 : tensor<4x6xf32>
  %products = tw.cumprod %x dim 1 : tensor<4x6xf32>
  // CHECK-NEXT: tw.cummax %x dim 0 : tensor<4x6xf32>
  %largest = tw.cummax %x dim 0 : tensor<4x6xf32>
  // CHECK-NEXT: tw.cummin %x dim 1 : tensor<4x6xf32>
  %smallest = tw.cummin %x dim 1 : tensor<4x6xf32>
  // CHECK-NEXT: tw.logcumsumexp %x dim 1 : tensor<4x6xf32>
  %exponentials = tw.logcumsumexp %x dim 1 : tensor<4x6xf32>
  // CHECK-NEXT: tw.linear_scan %x by %x dim 1 : tensor<4x6xf32>
  %states = tw.linear_scan %x by %x dim 1 : tensor<4x6xf32>
  // CHECK-NEXT: tw.sort %x dim 1 : tensor<4x6xf32> -> tensor<4x6xf32>, tensor<4x6xi64>
  %sorted, %from = tw.sort %x dim 1 : tensor<4x6xf32> -> tensor<4x6xf32>, tensor<4x6xi64>
  // CHECK-NEXT: tw.sort %x dim 0 descending : tensor<4x6xf32> -> tensor<2x6xf32>, tensor<2x6xi64>
  %top, %at = tw.sort %x dim 0 descending : tensor<4x6xf32> -> tensor<2x6xf32>, tensor<2x6xi64>
  // CHECK-NEXT: tw.moments %x over [1] : tensor<4x6xf32> -> tensor<4xf32>
  %mean, %squares = tw.moments %x over [1] : tensor<4x6xf32> -> tensor<4xf32>
  func.return
}

// CHECK-LABEL: @indexing
func.func @indexing(%x: tensor<4x6x5xf32>, %i: tensor<3xi64>, %v: tensor<3x6xf32>, %j: tensor<2x6x5xi64>, %w: tensor<2x6x5xf32>) {
  // CHECK-NEXT: tw.gather %x[%i, %i] dims [0, 2] at 0 : (tensor<4x6x5xf32>, tensor<3xi64>, tensor<3xi64>) -> tensor<3x6xf32>
  %0 = tw.gather %x[%i, %i] dims [0, 2] at 0 : (tensor<4x6x5xf32>, tensor<3xi64>, tensor<3xi64>) -> tensor<3x6xf32>
  // CHECK-NEXT: tw.scatter %v into %x[%i, %i] dims [0, 2] at 0 : (tensor<4x6x5xf32>, tensor<3x6xf32>, tensor<3xi64>, tensor<3xi64>) -> tensor<4x6x5xf32>
  %1 = tw.scatter %v into %x[%i, %i] dims [0, 2] at 0 : (tensor<4x6x5xf32>, tensor<3x6xf32>, tensor<3xi64>, tensor<3xi64>) -> tensor<4x6x5xf32>
  // CHECK-NEXT: tw.scatter_add %v into %x[%i, %i] dims [0, 2] at 0 strict :
  %2 = tw.scatter_add %v into %x[%i, %i] dims [0, 2] at 0 strict : (tensor<4x6x5xf32>, tensor<3x6xf32>, tensor<3xi64>, tensor<3xi64>) -> tensor<4x6x5xf32>
  // CHECK-NEXT: tw.gather_along %x, %j dim 0 : (tensor<4x6x5xf32>, tensor<2x6x5xi64>) -> tensor<2x6x5xf32>
  %3 = tw.gather_along %x, %j dim 0 : (tensor<4x6x5xf32>, tensor<2x6x5xi64>) -> tensor<2x6x5xf32>
  // CHECK-NEXT: tw.scatter_along %x, %j, %w dim 0 reduce add : (tensor<4x6x5xf32>, tensor<2x6x5xi64>, tensor<2x6x5xf32>) -> tensor<4x6x5xf32>
  %4 = tw.scatter_along %x, %j, %w dim 0 reduce add : (tensor<4x6x5xf32>, tensor<2x6x5xi64>, tensor<2x6x5xf32>) -> tensor<4x6x5xf32>
  func.return
}

// CHECK-LABEL: @contractions
func.func @contractions(%a: tensor<4x6xf32>, %b: tensor<6x5xf32>, %c: tensor<5xf32>,
                        %x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %t: tensor<3x4x3x3xf32>, %o: tensor<4xf32>,
                        %q: tensor<1x2x7x8xf32>, %k: tensor<1x2x9x8xf32>, %m: tensor<1x1x7x9xi1>, %s: tensor<2xi64>) {
  // CHECK: tw.matmul %a, %b : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  %0 = tw.matmul %a, %b : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  // CHECK-NEXT: %[[I:.*]] = "test.op"
  %i = "test.op"() : () -> tensor<4x6xi8>
  // CHECK-NEXT: %[[BITS:.*]] = tw.bitcast %a : tensor<4x6xf32> -> tensor<4x6xi32>
  // CHECK-NEXT: tw.bitcast %[[BITS]] : tensor<4x6xi32> -> tensor<4x6xf32>
  %bits = tw.bitcast %a : tensor<4x6xf32> -> tensor<4x6xi32>
  %floats = tw.bitcast %bits : tensor<4x6xi32> -> tensor<4x6xf32>
  // CHECK-NEXT: %[[D:.*]] = tw.decode_float8 %[[I]] from "e4m3fn" : tensor<4x6xi8> -> tensor<4x6xf32>
  %d = tw.decode_float8 %i from "e4m3fn" : tensor<4x6xi8> -> tensor<4x6xf32>
  // CHECK-NEXT: tw.encode_float8 %[[D]] to "e5m2" : tensor<4x6xf32> -> tensor<4x6xi8>
  %e = tw.encode_float8 %d to "e5m2" : tensor<4x6xf32> -> tensor<4x6xi8>
  // CHECK-NEXT: tw.encode_float8 %[[D]] to "e4m3fn" clamped : tensor<4x6xf32> -> tensor<4x6xi8>
  %f = tw.encode_float8 %d to "e4m3fn" clamped : tensor<4x6xf32> -> tensor<4x6xi8>
  // CHECK-NEXT: %[[J:.*]] = tw.transpose %[[I]]
  %j = tw.transpose %i by [1, 0] : tensor<4x6xi8> -> tensor<6x4xi8>
  // CHECK-NEXT: tw.matmul %[[I]], %[[J]] : (tensor<4x6xi8>, tensor<6x4xi8>) -> tensor<4x4xi32>
  %ij = tw.matmul %i, %j : (tensor<4x6xi8>, tensor<6x4xi8>) -> tensor<4x4xi32>
  // CHECK-NEXT: tw.matmul %a, %b bias %c : (tensor<4x6xf32>, tensor<6x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  %1 = tw.matmul %a, %b bias %c : (tensor<4x6xf32>, tensor<6x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  // CHECK-NEXT: tw.convolution %x, %w bias %o strides [2, 2] padding [1, 1] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<2x4x4x4xf32>
  %2 = tw.convolution %x, %w bias %o strides [2, 2] padding [1, 1] dilation [1, 1] output_padding [0, 0] groups 1 : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<2x4x4x4xf32>
  // CHECK-NEXT: tw.convolution %x, %t strides [2, 2] padding [1, 1] dilation [1, 1] transposed output_padding [1, 1] groups 1 : (tensor<2x3x8x8xf32>, tensor<3x4x3x3xf32>) -> tensor<2x4x16x16xf32>
  %3 = tw.convolution %x, %t strides [2, 2] padding [1, 1] dilation [1, 1] transposed output_padding [1, 1] groups 1 : (tensor<2x3x8x8xf32>, tensor<3x4x3x3xf32>) -> tensor<2x4x16x16xf32>
  // CHECK-NEXT: tw.attention %q, %k, %k mask %m scale 3.500000e-01 dropout 0.000000e+00 : (tensor<1x2x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x1x7x9xi1>) -> (tensor<1x2x7x8xf32>, tensor<1x2x7xf32>)
  %4, %5 = tw.attention %q, %k, %k mask %m scale 0.35 dropout 0.0 : (tensor<1x2x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x1x7x9xi1>) -> (tensor<1x2x7x8xf32>, tensor<1x2x7xf32>)
  // CHECK-NEXT: tw.attention %q, %k, %k causal scale
  %6, %7 = tw.attention %q, %k, %k causal scale 0.35 dropout 0.0 : (tensor<1x2x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>) -> (tensor<1x2x7x8xf32>, tensor<1x2x7xf32>)
  // CHECK-NEXT: tw.attention_backward %q, %k, %k, %q, %{{.*}}, %{{.*}} mask %m causal scale 3.500000e-01 : (tensor<1x2x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x7x8xf32>, tensor<1x2x7x8xf32>, tensor<1x2x7xf32>, tensor<1x1x7x9xi1>) -> (tensor<1x2x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>)
  %8, %9, %10 = tw.attention_backward %q, %k, %k, %q, %6, %7 mask %m causal scale 0.35 : (tensor<1x2x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x7x8xf32>, tensor<1x2x7x8xf32>, tensor<1x2x7xf32>, tensor<1x1x7x9xi1>) -> (tensor<1x2x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>)
  // CHECK-NEXT: tw.attention_query_grad %q, %k, %k, %q, %{{.*}}, %{{.*}} causal scale 3.500000e-01 : (tensor<1x2x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x7x8xf32>, tensor<1x2x7xf32>, tensor<1x2x7xf32>) -> tensor<1x2x7x8xf32>
  %11 = tw.attention_query_grad %q, %k, %k, %q, %7, %7 causal scale 0.35 : (tensor<1x2x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x7x8xf32>, tensor<1x2x7xf32>, tensor<1x2x7xf32>) -> tensor<1x2x7x8xf32>
  // CHECK-NEXT: tw.attention_key_grad %q, %k, %k, %q, %{{.*}}, %{{.*}} mask %m scale 3.500000e-01 : (tensor<1x2x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x7x8xf32>, tensor<1x2x7xf32>, tensor<1x2x7xf32>, tensor<1x1x7x9xi1>) -> (tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>)
  %12, %13 = tw.attention_key_grad %q, %k, %k, %q, %7, %7 mask %m scale 0.35 : (tensor<1x2x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x7x8xf32>, tensor<1x2x7xf32>, tensor<1x2x7xf32>, tensor<1x1x7x9xi1>) -> (tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>)
  // CHECK-NEXT: tw.attention %q, %k, %k mask %m scale 3.500000e-01 dropout 1.000000e-01 seed %s : (tensor<1x2x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x1x7x9xi1>, tensor<2xi64>) -> (tensor<1x2x7x8xf32>, tensor<1x2x7xf32>)
  %14, %15 = tw.attention %q, %k, %k mask %m scale 0.35 dropout 0.1 seed %s : (tensor<1x2x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x1x7x9xi1>, tensor<2xi64>) -> (tensor<1x2x7x8xf32>, tensor<1x2x7xf32>)
  // CHECK-NEXT: tw.attention_backward %q, %k, %k, %q, %{{.*}}, %{{.*}} mask %m scale 3.500000e-01 dropout 1.000000e-01 seed %s : (tensor<1x2x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x7x8xf32>, tensor<1x2x7x8xf32>, tensor<1x2x7xf32>, tensor<1x1x7x9xi1>, tensor<2xi64>) -> (tensor<1x2x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>)
  %16, %17, %18 = tw.attention_backward %q, %k, %k, %q, %6, %7 mask %m scale 0.35 dropout 0.1 seed %s : (tensor<1x2x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x7x8xf32>, tensor<1x2x7x8xf32>, tensor<1x2x7xf32>, tensor<1x1x7x9xi1>, tensor<2xi64>) -> (tensor<1x2x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>)
  // CHECK-NEXT: tw.attention_query_grad %q, %k, %k, %q, %{{.*}}, %{{.*}} scale 3.500000e-01 dropout 1.000000e-01 seed %s : (tensor<1x2x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x7x8xf32>, tensor<1x2x7xf32>, tensor<1x2x7xf32>, tensor<2xi64>) -> tensor<1x2x7x8xf32>
  %19 = tw.attention_query_grad %q, %k, %k, %q, %7, %7 scale 0.35 dropout 0.1 seed %s : (tensor<1x2x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x7x8xf32>, tensor<1x2x7xf32>, tensor<1x2x7xf32>, tensor<2xi64>) -> tensor<1x2x7x8xf32>
  // CHECK-NEXT: tw.attention_key_grad %q, %k, %k, %q, %{{.*}}, %{{.*}} causal scale 3.500000e-01 dropout 1.000000e-01 seed %s : (tensor<1x2x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x7x8xf32>, tensor<1x2x7xf32>, tensor<1x2x7xf32>, tensor<2xi64>) -> (tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>)
  %20, %21 = tw.attention_key_grad %q, %k, %k, %q, %7, %7 causal scale 0.35 dropout 0.1 seed %s : (tensor<1x2x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x7x8xf32>, tensor<1x2x7xf32>, tensor<1x2x7xf32>, tensor<2xi64>) -> (tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>)
  func.return
}

// CHECK-LABEL: @calls
func.func @calls(%x: tensor<4x6xf32>) {
  // CHECK-NEXT: tw.aten "aten::topk"(%x) {args = [#tw.arg<0>, 5 : i64, #tw.size<"s0*2">, true, unit, f32, 1.000000e+00 : f64, "mean", [1 : i64]]} : (tensor<4x6xf32>) -> (tensor<4x5xf32>, tensor<4x5xi64>)
  %0, %1 = tw.aten "aten::topk"(%x) {args = [#tw.arg<0>, 5, #tw.size<"s0*2">, true, unit, f32, 1.0, "mean", [1]]} : (tensor<4x6xf32>) -> (tensor<4x5xf32>, tensor<4x5xi64>)
  // CHECK-NEXT: tw.aten "aten::relu_"(%x) {args = [#tw.arg<0>], mutates = array<i64: 0>} : (tensor<4x6xf32>) -> ()
  tw.aten "aten::relu_"(%x) {args = [#tw.arg<0>], mutates = array<i64: 0>} : (tensor<4x6xf32>) -> ()
  // CHECK-NEXT: tw.aten "aten::item"(%x) {args = [#tw.arg<0>], impure} : (tensor<4x6xf32>) -> index
  %2 = tw.aten "aten::item"(%x) {args = [#tw.arg<0>], impure} : (tensor<4x6xf32>) -> index
  // CHECK-NEXT: tw.aten "my::op"(%x, %x) {args = [#tw.arg<0>, #tw.arg<1>], operand_strides = ["1, 4", ""]} : (tensor<4x6xf32>, tensor<4x6xf32>) -> ()
  tw.aten "my::op"(%x, %x) {args = [#tw.arg<0>, #tw.arg<1>], operand_strides = ["1, 4", ""]} : (tensor<4x6xf32>, tensor<4x6xf32>) -> ()
  // CHECK-NEXT: tw.write %x into %x : tensor<4x6xf32>
  tw.write %x into %x : tensor<4x6xf32>
  // CHECK-NEXT: %[[T:.*]] = tw.transpose %x by [1, 0]
  // CHECK-NEXT: %[[S:.*]] = tw.slice %[[T]] starts "2, 0" steps "2, 1"
  // CHECK-NEXT: tw.write %[[S]] into %[[S]] : tensor<2x4xf32>
  %tx = tw.transpose %x by [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
  %sx = tw.slice %tx starts "2, 0" steps "2, 1" : tensor<6x4xf32> -> tensor<2x4xf32>
  tw.write %sx into %sx : tensor<2x4xf32>
  // CHECK-NEXT: tw.update "my::put"(%x) {args = [#tw.arg<2>, "name", [#tw.arg<0>, unit]], impure, inits = array<i64: 0>, parts = [#tw.part<0, "6", "2, 6", "6, 1">], strides = ["6, 1"]} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %u = tw.update "my::put"(%x) {args = [#tw.arg<2>, "name", [#tw.arg<0>, unit]], impure, inits = array<i64: 0>, parts = [#tw.part<0, "6", "2, 6", "6, 1">], strides = ["6, 1"]} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK-NEXT: tw.triton <"f", 8, 2, "def f(x, n, out, B):\0A    pass\0A"> grid "s0, 2, 1"(%x) {args = [#tw.arg<0>, #tw.size<"s0*4">, #tw.arg<1>, "16"], candidates = [#tw.config<4, 3, "s0, 1, 1", [#tw.arg<0>, #tw.size<"s0*4">, #tw.arg<1>, "32"]>], inits = array<i64: 0>, strides = ["6, 1"]} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = tw.triton <"f", 8, 2, "def f(x, n, out, B):\0A    pass\0A"> grid "s0, 2, 1" (%x) {args = [#tw.arg<0>, #tw.size<"s0*4">, #tw.arg<1>, "16"], candidates = [#tw.config<4, 3, "s0, 1, 1", [#tw.arg<0>, #tw.size<"s0*4">, #tw.arg<1>, "32"]>], inits = array<i64: 0>, strides = ["6, 1"]} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  func.return
}
