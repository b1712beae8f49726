// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=half}' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'convert-tw-to-tk{products=all}' --split-input-file | filecheck %s --check-prefix=ALL
// RUN: tilewright-opt %s -p convert-tw-to-tk --split-input-file | filecheck %s --check-prefix=NONE

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
