// RUN: tilewright-opt %s -p scatter-onto-addends --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p scatter-onto-addends --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// Whichever side the scatter stands on.
// CHECK-LABEL: @takes_the_other_addend
// CHECK-NEXT: %[[R:.*]] = tw.scatter_add %v into %x[%i] dims [0] at 0 {{.*}} loc("m.py":3:0)
// CHECK-NEXT: %[[S:.*]] = tw.scatter_along %[[R]], %j, %w dim 1 reduce add
// CHECK-NEXT: return %[[S]]
func.func @takes_the_other_addend(%x: tensor<9x4xf32>, %v: tensor<6x4xf32>, %i: tensor<6xi64>, %w: tensor<9x2xf32>, %j: tensor<9x2xi64>) -> tensor<9x4xf32> {
  %zero = tw.full 0.0 : f32 -> tensor<9x4xf32>
  %s = tw.scatter_add %v into %zero[%i] dims [0] at 0 : (tensor<9x4xf32>, tensor<6x4xf32>, tensor<6xi64>) -> tensor<9x4xf32> loc("m.py":3:0)
  %r = tw.add %x, %s : tensor<9x4xf32>
  %t = tw.scatter_along %zero, %j, %w dim 1 reduce add : (tensor<9x4xf32>, tensor<9x2xi64>, tensor<9x2xf32>) -> tensor<9x4xf32>
  %u = tw.add %t, %r : tensor<9x4xf32>
  func.return %u : tensor<9x4xf32>
}

// -----

// Gradients of a table that is looked up twice: one scatter goes on where the other has ended.
// CHECK-LABEL: @two_scatters
// CHECK: %[[T:.*]] = tw.scatter_add %w into %zero[%j]
// CHECK-NEXT: %[[R:.*]] = tw.scatter_add %v into %[[T]][%i]
// CHECK-NEXT: return %[[R]]
func.func @two_scatters(%v: tensor<6x4xi32>, %i: tensor<6xi64>, %w: tensor<5x4xi32>, %j: tensor<5xi64>) -> tensor<9x4xi32> {
  %zero = tw.full 0 : i32 -> tensor<9x4xi32>
  %s = tw.scatter_add %v into %zero[%i] dims [0] at 0 : (tensor<9x4xi32>, tensor<6x4xi32>, tensor<6xi64>) -> tensor<9x4xi32>
  %t = tw.scatter_add %w into %zero[%j] dims [0] at 0 : (tensor<9x4xi32>, tensor<5x4xi32>, tensor<5xi64>) -> tensor<9x4xi32>
  %r = tw.add %t, %s : tensor<9x4xi32>
  func.return %r : tensor<9x4xi32>
}

// -----

// CHECK-LABEL: @keeps_halves
// CHECK: tw.add
// REMARK: tw.add at {{.*}}: halves are rounded after each addition: the order of a sum matters
func.func @keeps_halves(%x: tensor<9x4xbf16>, %v: tensor<6x4xbf16>, %i: tensor<6xi64>) -> tensor<9x4xbf16> {
  %zero = tw.full 0.0 : bf16 -> tensor<9x4xbf16>
  %s = tw.scatter_add %v into %zero[%i] dims [0] at 0 : (tensor<9x4xbf16>, tensor<6x4xbf16>, tensor<6xi64>) -> tensor<9x4xbf16>
  %r = tw.add %x, %s : tensor<9x4xbf16>
  func.return %r : tensor<9x4xbf16>
}

// -----

// CHECK-LABEL: @keeps_halves_along
// CHECK: tw.add
// REMARK: tw.add at {{.*}}: halves are rounded after each addition: the order of a sum matters
func.func @keeps_halves_along(%x: tensor<9x4xf16>, %v: tensor<9x2xf16>, %i: tensor<9x2xi64>) -> tensor<9x4xf16> {
  %zero = tw.full 0.0 : f16 -> tensor<9x4xf16>
  %s = tw.scatter_along %zero, %i, %v dim 1 reduce add : (tensor<9x4xf16>, tensor<9x2xi64>, tensor<9x2xf16>) -> tensor<9x4xf16>
  %r = tw.add %x, %s : tensor<9x4xf16>
  func.return %r : tensor<9x4xf16>
}

// -----

// CHECK-LABEL: @keeps_shared_scatter
// CHECK: tw.add
// REMARK: tw.add at {{.*}}: what was scattered to zeros has other users
func.func @keeps_shared_scatter(%x: tensor<9x4xf32>, %v: tensor<6x4xf32>, %i: tensor<6xi64>) -> (tensor<9x4xf32>, tensor<9x4xf32>) {
  %zero = tw.full 0.0 : f32 -> tensor<9x4xf32>
  %s = tw.scatter_add %v into %zero[%i] dims [0] at 0 : (tensor<9x4xf32>, tensor<6x4xf32>, tensor<6xi64>) -> tensor<9x4xf32>
  %r = tw.add %x, %s : tensor<9x4xf32>
  func.return %r, %s : tensor<9x4xf32>, tensor<9x4xf32>
}

// -----

// A target that holds something, and what replaces elements instead of adding to them.
// CHECK-LABEL: @keeps_other_scatters
// CHECK: tw.add
// CHECK: tw.add
func.func @keeps_other_scatters(%x: tensor<9x4xf32>, %v: tensor<6x4xf32>, %i: tensor<6xi64>, %w: tensor<9x2xf32>, %j: tensor<9x2xi64>) -> tensor<9x4xf32> {
  %zero = tw.full 0.0 : f32 -> tensor<9x4xf32>
  %one = tw.full 1.0 : f32 -> tensor<9x4xf32>
  %s = tw.scatter_add %v into %one[%i] dims [0] at 0 : (tensor<9x4xf32>, tensor<6x4xf32>, tensor<6xi64>) -> tensor<9x4xf32>
  %r = tw.add %x, %s : tensor<9x4xf32>
  %t = tw.scatter_along %zero, %j, %w dim 1 reduce none : (tensor<9x4xf32>, tensor<9x2xi64>, tensor<9x2xf32>) -> tensor<9x4xf32>
  %u = tw.add %t, %r : tensor<9x4xf32>
  func.return %u : tensor<9x4xf32>
}
