// RUN: tilewright-opt %s -p align-reductions --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p align-reductions --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p align-reductions --split-input-file --check-semantics

// CHECK-LABEL: @by_way_of_columns
// CHECK:      %[[P:.*]] = tw.mul %g, %x
// CHECK-NEXT: %[[C:.*]] = tw.sum %[[P]] over [0] : tensor<512x128xf32> -> tensor<128xf32> loc("m.py":3:0)
// CHECK-NEXT: %[[S:.*]] = tw.sum %[[C]] over [0] : tensor<128xf32> -> tensor<f32> loc("m.py":3:0)
// CHECK-NEXT: %[[B:.*]] = tw.sum %g over [0] : tensor<512x128xf32> -> tensor<128xf32>
// CHECK-NEXT: return %[[S]], %[[B]]
func.func @by_way_of_columns(%g: tensor<512x128xf32>, %x: tensor<512x128xf32>) -> (tensor<f32>, tensor<128xf32>) {
  %p = tw.mul %g, %x : tensor<512x128xf32>
  %s = tw.sum %p over [0, 1] : tensor<512x128xf32> -> tensor<f32> loc("m.py":3:0)
  %b = tw.sum %g over [0] : tensor<512x128xf32> -> tensor<128xf32>
  func.return %s, %b : tensor<f32>, tensor<128xf32>
}

// -----

// What makes rows of what is reduced, as the moments of a norm do, says which axes, too; extremes need not be of a kind.

// CHECK-LABEL: @by_way_of_rows
// CHECK:      %[[R:.*]] = tw.max %x over [1] : tensor<512x128xf32> -> tensor<512xf32>
// CHECK-NEXT: tw.max %[[R]] over [0] : tensor<512xf32> -> tensor<f32>
func.func @by_way_of_rows(%x: tensor<512x128xf32>) -> (tensor<f32>, tensor<512xf32>, tensor<512xf32>) {
  %e = tw.exp %x : tensor<512x128xf32>
  %s = tw.max %x over [0, 1] : tensor<512x128xf32> -> tensor<f32>
  %m, %n = tw.moments %e over [1] : tensor<512x128xf32> -> tensor<512xf32>
  func.return %s, %m, %n : tensor<f32>, tensor<512xf32>, tensor<512xf32>
}

// -----

// Sums of halves are rounded once. Elements are in one order through views that keep it.

// CHECK-LABEL: @as_the_other_sees_it
// CHECK:      %[[V:.*]] = tw.reshape %g : tensor<4x1x128x128xbf16> -> tensor<512x128xbf16>
// CHECK-NEXT: %[[W:.*]] = tw.cast %[[V]] : tensor<512x128xbf16> -> tensor<512x128xf32>
// CHECK-NEXT: %[[C:.*]] = tw.sum %[[W]] over [0] : tensor<512x128xf32> -> tensor<128xf32>
// CHECK-NEXT: %[[S:.*]] = tw.sum %[[C]] over [0] : tensor<128xf32> -> tensor<f32>
// CHECK-NEXT: %[[H:.*]] = tw.cast %[[S]] : tensor<f32> -> tensor<bf16>
// CHECK-NEXT: tw.reshape %[[H]] : tensor<bf16> -> tensor<1xbf16>
func.func @as_the_other_sees_it(%g: tensor<4x1x128x128xbf16>) -> (tensor<1xbf16>, tensor<128xbf16>) {
  %p = tw.reshape %g : tensor<4x1x128x128xbf16> -> tensor<4x128x128xbf16>
  %s = tw.sum %g over [0, 2, 3] : tensor<4x1x128x128xbf16> -> tensor<1xbf16>
  %v = tw.reshape %p : tensor<4x128x128xbf16> -> tensor<512x128xbf16>
  %b = tw.sum %v over [0] : tensor<512x128xbf16> -> tensor<128xbf16>
  func.return %s, %b : tensor<1xbf16>, tensor<128xbf16>
}

// -----

// Numbers of batches are no sum of everything, nor is one that is beside a few, or that a transpose parts from it.

// CHECK-LABEL: @keeps_others
// CHECK:      tw.sum %x over [1, 2]
// CHECK-NEXT: tw.sum %x over [1]
// CHECK-NEXT: tw.sum %y over [0, 1]
// CHECK-NEXT: tw.sum %y over [1]
// CHECK-NEXT: tw.sum %z over [0, 1]
// CHECK-NEXT: tw.transpose
// CHECK-NEXT: tw.sum %{{.*}} over [0]
// CHECK-NEXT: tw.sum %w over [0, 1]
// CHECK-NEXT: tw.sum %w over [0]
// REMARK: tw.sum at {{.*}}: nothing near it reduces some of its axes
// REMARK: tw.sum at {{.*}}: nothing near it reduces some of its axes
func.func @keeps_others(%x: tensor<2x512x128xf32>, %y: tensor<8192x8xf32>, %z: tensor<512x128xf32>, %w: tensor<128x128xf32>)
    -> (tensor<2xf32>, tensor<2x128xf32>, tensor<f32>, tensor<8192xf32>, tensor<f32>, tensor<512xf32>, tensor<f32>, tensor<128xf32>) {
  %0 = tw.sum %x over [1, 2] : tensor<2x512x128xf32> -> tensor<2xf32>
  %1 = tw.sum %x over [1] : tensor<2x512x128xf32> -> tensor<2x128xf32>
  %2 = tw.sum %y over [0, 1] : tensor<8192x8xf32> -> tensor<f32>
  %3 = tw.sum %y over [1] : tensor<8192x8xf32> -> tensor<8192xf32>
  %4 = tw.sum %z over [0, 1] : tensor<512x128xf32> -> tensor<f32>
  %t = tw.transpose %z by [1, 0] : tensor<512x128xf32> -> tensor<128x512xf32>
  %5 = tw.sum %t over [0] : tensor<128x512xf32> -> tensor<512xf32>
  %6 = tw.sum %w over [0, 1] : tensor<128x128xf32> -> tensor<f32>
  %7 = tw.sum %w over [0] : tensor<128x128xf32> -> tensor<128xf32>
  func.return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<2xf32>, tensor<2x128xf32>, tensor<f32>, tensor<8192xf32>, tensor<f32>, tensor<512xf32>, tensor<f32>, tensor<128xf32>
}

// -----

// CHECK-LABEL: @symbolic
// CHECK: tw.sum %x over [0, 1]
// REMARK: tw.sum at {{.*}}: how much it reduces depends on a symbol
func.func @symbolic(%x: tensor<?x128xf32, #tw.shape<"s0, 128">>, %s0: index {tw.symbol = "s0"}) -> (tensor<f32>, tensor<128xf32>) {
  %0 = tw.sum %x over [0, 1] : tensor<?x128xf32, #tw.shape<"s0, 128">> -> tensor<f32>
  %1 = tw.sum %x over [0] : tensor<?x128xf32, #tw.shape<"s0, 128">> -> tensor<128xf32>
  func.return %0, %1 : tensor<f32>, tensor<128xf32>
}
