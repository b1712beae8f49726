// RUN: tilewright-opt %s -p 'call-scaled-products{bf16_dot=true}' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'call-scaled-products{bf16_dot=true}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p 'call-scaled-products{bf16_dot=true}' --split-input-file --check-semantics -o /dev/null
// RUN: tilewright-opt %s -p call-scaled-products --split-input-file | filecheck %s --check-prefix=NODOT

// NODOT-NOT: tw.aten

// CHECK-LABEL: @factors_of_both
// CHECK-NEXT: %[[Q:.*]] = tw.aten "aten::addmm"(%z, %x, %y)
// CHECK-SAME: {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, -5.000000e-01 : f64, 2.000000e+00 : f64]}
// CHECK-NEXT: return %[[Q]]
func.func @factors_of_both(%x: tensor<6x4xbf16>, %y: tensor<4x5xbf16>, %z: tensor<6x5xbf16>) -> tensor<6x5xbf16> {
  %l = tw.cast %x : tensor<6x4xbf16> -> tensor<6x4xf32>
  %r = tw.cast %y : tensor<4x5xbf16> -> tensor<4x5xf32>
  %m = tw.matmul %l, %r : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  %a = tw.full 2.0 : f32 -> tensor<6x5xf32>
  %s = tw.mul %m, %a : tensor<6x5xf32>
  %c = tw.cast %z : tensor<6x5xbf16> -> tensor<6x5xf32>
  %b = tw.full -0.5 : f32 -> tensor<6x5xf32>
  %d = tw.mul %b, %c : tensor<6x5xf32>
  %t = tw.add %d, %s : tensor<6x5xf32>
  %q = tw.cast %t : tensor<6x5xf32> -> tensor<6x5xbf16>
  func.return %q : tensor<6x5xbf16>
}

// -----

// The addend is scaled, then repeated in two steps; it stands behind.
// CHECK-LABEL: @batches
// CHECK-NEXT: %[[V:.*]] = tw.broadcast %z dims [0] : tensor<6xbf16> -> tensor<6x5xbf16>
// CHECK-NEXT: %[[W:.*]] = tw.broadcast %[[V]] dims [1, 2] : tensor<6x5xbf16> -> tensor<2x6x5xbf16>
// CHECK-NEXT: tw.aten "aten::baddbmm"(%[[W]], %x, %y)
// CHECK-SAME: 3.000000e+00 : f64, 1.000000e+00 : f64]
func.func @batches(%x: tensor<2x6x4xbf16>, %y: tensor<2x4x5xbf16>, %z: tensor<6xbf16>) -> tensor<2x6x5xbf16> {
  %l = tw.cast %x : tensor<2x6x4xbf16> -> tensor<2x6x4xf32>
  %r = tw.cast %y : tensor<2x4x5xbf16> -> tensor<2x4x5xf32>
  %m = tw.matmul %l, %r : (tensor<2x6x4xf32>, tensor<2x4x5xf32>) -> tensor<2x6x5xf32>
  %c = tw.cast %z : tensor<6xbf16> -> tensor<6xf32>
  %b = tw.full 3.0 : f32 -> tensor<6xf32>
  %d = tw.mul %c, %b : tensor<6xf32>
  %v = tw.broadcast %d dims [0] : tensor<6xf32> -> tensor<6x5xf32>
  %w = tw.broadcast %v dims [1, 2] : tensor<6x5xf32> -> tensor<2x6x5xf32>
  %t = tw.add %m, %w : tensor<2x6x5xf32>
  %q = tw.cast %t : tensor<2x6x5xf32> -> tensor<2x6x5xbf16>
  func.return %q : tensor<2x6x5xbf16>
}

// -----

// CHECK-LABEL: @keeps_what_others_read
// CHECK: tw.matmul
// REMARK: tw.cast at {{.*}}: others read the product, or the sum, before it is rounded
func.func @keeps_what_others_read(%x: tensor<6x4xbf16>, %y: tensor<4x5xbf16>, %z: tensor<6x5xbf16>) -> (tensor<6x5xbf16>, tensor<6x5xf32>) {
  %l = tw.cast %x : tensor<6x4xbf16> -> tensor<6x4xf32>
  %r = tw.cast %y : tensor<4x5xbf16> -> tensor<4x5xf32>
  %m = tw.matmul %l, %r : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  %c = tw.cast %z : tensor<6x5xbf16> -> tensor<6x5xf32>
  %t = tw.add %c, %m : tensor<6x5xf32>
  %q = tw.cast %t : tensor<6x5xf32> -> tensor<6x5xbf16>
  func.return %q, %m : tensor<6x5xbf16>, tensor<6x5xf32>
}

// -----

// CHECK-LABEL: @keeps_batches_of_batches
// CHECK: tw.matmul
// REMARK: tw.cast at {{.*}}: the library adds to products under at most one batch dimension
func.func @keeps_batches_of_batches(%x: tensor<2x3x6x4xbf16>, %y: tensor<2x3x4x5xbf16>, %z: tensor<2x3x6x5xbf16>) -> tensor<2x3x6x5xbf16> {
  %l = tw.cast %x : tensor<2x3x6x4xbf16> -> tensor<2x3x6x4xf32>
  %r = tw.cast %y : tensor<2x3x4x5xbf16> -> tensor<2x3x4x5xf32>
  %m = tw.matmul %l, %r : (tensor<2x3x6x4xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x6x5xf32>
  %c = tw.cast %z : tensor<2x3x6x5xbf16> -> tensor<2x3x6x5xf32>
  %t = tw.add %c, %m : tensor<2x3x6x5xf32>
  %q = tw.cast %t : tensor<2x3x6x5xf32> -> tensor<2x3x6x5xbf16>
  func.return %q : tensor<2x3x6x5xbf16>
}

// -----

// An addend of f32, one with two factors, a factor that is none of bf16, a product with a row, a result of f16.
// CHECK-LABEL: @keeps_others
// CHECK-NOT: tw.aten
func.func @keeps_others(%x: tensor<6x4xbf16>, %y: tensor<4x5xbf16>, %z: tensor<6x5xbf16>, %u: tensor<6x5xf32>, %v: tensor<6x4xf32>, %w: tensor<5xf32>) -> (tensor<6x5xbf16>, tensor<6x5xbf16>, tensor<6x5xbf16>, tensor<6x5xbf16>, tensor<6x5xf16>) {
  %l = tw.cast %x : tensor<6x4xbf16> -> tensor<6x4xf32>
  %r = tw.cast %y : tensor<4x5xbf16> -> tensor<4x5xf32>
  %c = tw.cast %z : tensor<6x5xbf16> -> tensor<6x5xf32>
  %m0 = tw.matmul %l, %r : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  %t0 = tw.add %u, %m0 : tensor<6x5xf32>
  %q0 = tw.cast %t0 : tensor<6x5xf32> -> tensor<6x5xbf16>
  %m1 = tw.matmul %l, %r : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  %a = tw.full 3.0 : f32 -> tensor<6x5xf32>
  %d = tw.mul %c, %a : tensor<6x5xf32>
  %e = tw.mul %d, %a : tensor<6x5xf32>
  %t1 = tw.add %e, %m1 : tensor<6x5xf32>
  %q1 = tw.cast %t1 : tensor<6x5xf32> -> tensor<6x5xbf16>
  %m2 = tw.matmul %v, %r : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  %t2 = tw.add %c, %m2 : tensor<6x5xf32>
  %q2 = tw.cast %t2 : tensor<6x5xf32> -> tensor<6x5xbf16>
  %m3 = tw.matmul %l, %r bias %w : (tensor<6x4xf32>, tensor<4x5xf32>, tensor<5xf32>) -> tensor<6x5xf32>
  %t3 = tw.add %c, %m3 : tensor<6x5xf32>
  %q3 = tw.cast %t3 : tensor<6x5xf32> -> tensor<6x5xbf16>
  %m4 = tw.matmul %l, %r : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  %t4 = tw.add %c, %m4 : tensor<6x5xf32>
  %q4 = tw.cast %t4 : tensor<6x5xf32> -> tensor<6x5xf16>
  func.return %q0, %q1, %q2, %q3, %q4 : tensor<6x5xbf16>, tensor<6x5xbf16>, tensor<6x5xbf16>, tensor<6x5xbf16>, tensor<6x5xf16>
}

// -----

// CHECK-LABEL: @keeps_a_factor_of_zero
// CHECK: tw.matmul
// REMARK: tw.cast at {{.*}}: the library does not read what it multiplies by 0, which may be NaN
func.func @keeps_a_factor_of_zero(%x: tensor<6x4xbf16>, %y: tensor<4x5xbf16>, %z: tensor<6x5xbf16>) -> tensor<6x5xbf16> {
  %l = tw.cast %x : tensor<6x4xbf16> -> tensor<6x4xf32>
  %r = tw.cast %y : tensor<4x5xbf16> -> tensor<4x5xf32>
  %m = tw.matmul %l, %r : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  %c = tw.cast %z : tensor<6x5xbf16> -> tensor<6x5xf32>
  %b = tw.full 0.0 : f32 -> tensor<6x5xf32>
  %d = tw.mul %c, %b : tensor<6x5xf32>
  %t = tw.add %d, %m : tensor<6x5xf32>
  %q = tw.cast %t : tensor<6x5xf32> -> tensor<6x5xbf16>
  func.return %q : tensor<6x5xbf16>
}
