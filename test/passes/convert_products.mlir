// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half}' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=all}' --split-input-file | filecheck %s --check-prefix=ALL
// RUN: tilewright-opt %s -p convert-tw-to-tk --split-input-file | filecheck %s --check-prefix=NONE
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=vectors}' --split-input-file | filecheck %s --check-prefix=VECTOR

// The type of the factors is kept: what is fused into the product must not change it.
// CHECK-LABEL: @half
// CHECK: tk.kernel [3, 4, 5, 6] ins(%a, %b, %c
// CHECK: %[[A:.*]] = tk.load %{{.*}}[d0, d1, d3] : tensor<3x4x6xbf16> -> bf16
// CHECK-NEXT: %[[X:.*]] = arith.extf %[[A]]
// CHECK-NEXT: %[[B:.*]] = tk.load %{{.*}}[d0, d3, d2] : tensor<3x6x5xbf16> -> bf16
// CHECK-NEXT: %[[Y:.*]] = arith.extf %[[B]]
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[X]], %[[Y]]
// CHECK-NEXT: %[[S:.*]] = tk.reduce add %[[P]] over [3] {tk.factors = bf16} : f32
// CHECK-NEXT: %[[C:.*]] = tk.load %{{.*}}[d2] : tensor<5xbf16> -> bf16
// CHECK-NEXT: %[[Z:.*]] = arith.extf %[[C]]
// CHECK-NEXT: arith.addf %[[S]], %[[Z]]
// NONE-LABEL: @half
// NONE: tw.matmul
func.func @half(%a: tensor<3x4x6xbf16>, %b: tensor<3x6x5xbf16>, %c: tensor<5xbf16>) -> tensor<3x4x5xbf16> {
  %0 = tw.matmul %a, %b bias %c : (tensor<3x4x6xbf16>, tensor<3x6x5xbf16>, tensor<5xbf16>) -> tensor<3x4x5xbf16>
  func.return %0 : tensor<3x4x5xbf16>
}

// -----

// CHECK-LABEL: @single
// CHECK: tw.matmul
// ALL-LABEL: @single
// ALL: tk.reduce add %{{.*}} over [2] : f32
func.func @single(%a: tensor<4x6xf32>, %b: tensor<6x5xf32>) -> tensor<4x5xf32> {
  %0 = tw.matmul %a, %b : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  func.return %0 : tensor<4x5xf32>
}

// -----

// ALL-LABEL: @double
// ALL: tw.matmul
func.func @double(%a: tensor<4x6xf64>, %b: tensor<6x5xf64>) -> tensor<4x5xf64> {
  %0 = tw.matmul %a, %b : (tensor<4x6xf64>, tensor<6x5xf64>) -> tensor<4x5xf64>
  func.return %0 : tensor<4x5xf64>
}

// -----

// Products of widened halves are exact: tiles take them as halves.
// CHECK-LABEL: @widened
// CHECK: tk.reduce add %{{.*}} over [2] {tk.factors = bf16} : f32
// CHECK: return %{{.*}} : tensor<4x5xf32>
// NONE-LABEL: @widened
// NONE: tw.matmul
func.func @widened(%a: tensor<4x6xbf16>, %b: tensor<5x6xbf16>) -> tensor<4x5xf32> {
  %0 = tw.cast %a : tensor<4x6xbf16> -> tensor<4x6xf32>
  %1 = tw.cast %b : tensor<5x6xbf16> -> tensor<5x6xf32>
  %2 = tw.transpose %1 by [1, 0] : tensor<5x6xf32> -> tensor<6x5xf32>
  %3 = tw.matmul %0, %2 : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  func.return %3 : tensor<4x5xf32>
}

// -----

// One factor is f32, or they are of two half types, or integers.
// CHECK-LABEL: @unlike
// CHECK-COUNT-3: tw.matmul
// ALL-LABEL: @unlike
// ALL-NOT: tk.factors
// ALL-NOT: tw.matmul
// ALL: return
func.func @unlike(%a: tensor<4x6xbf16>, %b: tensor<6x5xf32>, %c: tensor<5x3xf16>, %d: tensor<3x2xi64>) -> tensor<4x2xf32> {
  %0 = tw.cast %a : tensor<4x6xbf16> -> tensor<4x6xf32>
  %1 = tw.cast %c : tensor<5x3xf16> -> tensor<5x3xf32>
  %2 = tw.cast %d : tensor<3x2xi64> -> tensor<3x2xf32>
  %3 = tw.matmul %0, %b : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  %4 = tw.matmul %3, %1 : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  %5 = tw.matmul %4, %2 : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
  func.return %5 : tensor<4x2xf32>
}

// -----

// Products of i8 are sums in i32 of what tiles take as it is; those of i32, or that wrap, have no units.
// CHECK-LABEL: @integers
// CHECK: %[[A:.*]] = tk.load %{{.*}}[d0, d2] : tensor<4x6xi8> -> i8
// CHECK-NEXT: %[[X:.*]] = arith.extsi %[[A]] : i8 to i32
// CHECK: %[[P:.*]] = arith.muli %[[X]], %{{.*}} : i32
// CHECK-NEXT: %[[S:.*]] = tk.reduce add %[[P]] over [2] {tk.factors = i8} : i32
// CHECK: arith.addi %[[S]]
// CHECK: tw.matmul %{{.*}} -> tensor<4x5xi8>
// CHECK: tw.matmul %{{.*}} -> tensor<4x5xi32>
// NONE-LABEL: @integers
// NONE: tw.matmul %{{.*}} -> tensor<4x5xi32>
func.func @integers(%a: tensor<4x6xi8>, %b: tensor<6x5xi8>, %c: tensor<5xi32>)
    -> (tensor<4x5xi32>, tensor<4x5xi8>, tensor<4x5xi32>) {
  %0 = tw.matmul %a, %b bias %c : (tensor<4x6xi8>, tensor<6x5xi8>, tensor<5xi32>) -> tensor<4x5xi32>
  %1 = tw.matmul %a, %b : (tensor<4x6xi8>, tensor<6x5xi8>) -> tensor<4x5xi8>
  %2 = tw.cast %a : tensor<4x6xi8> -> tensor<4x6xi32>
  %3 = tw.cast %b : tensor<6x5xi8> -> tensor<6x5xi32>
  %4 = tw.matmul %2, %3 : (tensor<4x6xi32>, tensor<6x5xi32>) -> tensor<4x5xi32>
  func.return %0, %1, %4 : tensor<4x5xi32>, tensor<4x5xi8>, tensor<4x5xi32>
}

// -----

// f16 holds every 8-bit float, of one kind or two: that is what tiles may take, if nothing narrower.
// CHECK-LABEL: @floats_of_8_bits
// CHECK: %[[A:.*]] = arith.bitcast %{{.*}} : i8 to f8E4M3FN
// CHECK-NEXT: arith.extf %[[A]] : f8E4M3FN to f32
// CHECK: tk.reduce add %{{.*}} over [2] {tk.factors = f16} : f32
// CHECK: tw.matmul %{{.*}} -> tensor<4x5xf32>
func.func @floats_of_8_bits(%a: tensor<4x6xi8>, %b: tensor<6x5xi8>, %c: tensor<6x5xf32>) -> (tensor<4x5xf32>, tensor<4x5xf32>) {
  %0 = tw.decode_float8 %a from "e4m3fn" : tensor<4x6xi8> -> tensor<4x6xf32>
  %1 = tw.decode_float8 %b from "e5m2" : tensor<6x5xi8> -> tensor<6x5xf32>
  %2 = tw.matmul %0, %1 : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  %3 = tw.matmul %0, %c : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  func.return %2, %3 : tensor<4x5xf32>, tensor<4x5xf32>
}

// -----

// A row or a column of f32 or f64, and a matrix that is not large: a sum like others, without an axis for one.
// CHECK-LABEL: @vectors
// CHECK: tk.kernel [3, 5, 6]
// CHECK: tk.kernel [9, 7]
// VECTOR-LABEL: @half
// VECTOR: tw.matmul
// VECTOR-LABEL: @vectors
// VECTOR: tk.kernel [3, 5, 6]
// VECTOR: tk.reduce add %{{.*}} over [2] : f32
// VECTOR-NOT: factors
// VECTOR: tk.kernel [9, 7]
// VECTOR: tk.reduce add %{{.*}} over [1] : f64
// VECTOR-LABEL: @no_vectors
// VECTOR-COUNT-3: tw.matmul
func.func @vectors(%a: tensor<3x1x6xf32>, %b: tensor<3x6x5xf32>, %c: tensor<9x7xf64>, %d: tensor<7x1xf64>) -> (tensor<3x1x5xf32>, tensor<9x1xf64>) {
  %0 = tw.matmul %a, %b : (tensor<3x1x6xf32>, tensor<3x6x5xf32>) -> tensor<3x1x5xf32>
  %1 = tw.matmul %c, %d : (tensor<9x7xf64>, tensor<7x1xf64>) -> tensor<9x1xf64>
  func.return %0, %1 : tensor<3x1x5xf32>, tensor<9x1xf64>
}

// -----

func.func @no_vectors(%a: tensor<2x1xf32>, %b: tensor<1x2xf32>, %c: tensor<1x4096xf32>, %d: tensor<4096x257xf32>, %e: tensor<1x6xbf16>, %f: tensor<6x5xbf16>) -> (tensor<2x2xf32>, tensor<1x257xf32>, tensor<1x5xbf16>) {
  %0 = tw.matmul %a, %b : (tensor<2x1xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
  %1 = tw.matmul %c, %d : (tensor<1x4096xf32>, tensor<4096x257xf32>) -> tensor<1x257xf32>
  %2 = tw.matmul %e, %f : (tensor<1x6xbf16>, tensor<6x5xbf16>) -> tensor<1x5xbf16>
  func.return %0, %1, %2 : tensor<2x2xf32>, tensor<1x257xf32>, tensor<1x5xbf16>
}
