// RUN: tilewright-opt %s -p hoist-frozen,dce --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p hoist-frozen --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// CHECK-LABEL: func.func @main
// CHECK-SAME:  %[[D:[a-z0-9]+]]: tensor<4xf32> {tw.derived = 0 : i64}
// CHECK-NEXT:  tw.broadcast %[[D]]
// CHECK-NEXT:  tw.mul
// CHECK-NEXT:  return
// CHECK:       func.func @setup(%v: tensor<4xf32> {tw.argument = 1 : i64}
// CHECK-NEXT:  tw.full
// CHECK-NEXT:  tw.add
// CHECK-NEXT:  %[[R:.*]] = tw.rsqrt %{{.*}} : tensor<4xf32> loc("m.py":5:0)
// CHECK-NEXT:  return %[[R]]
func.func @main(%x: tensor<8x4xf32>, %v: tensor<4xf32> {tw.frozen}) -> tensor<8x4xf32> {
  %e = tw.full 1.0e-5 : f32 -> tensor<4xf32>
  %a = tw.add %v, %e : tensor<4xf32>
  %r = tw.rsqrt %a : tensor<4xf32> loc("m.py":5:0)
  %b = tw.broadcast %r dims [1] : tensor<4xf32> -> tensor<8x4xf32>
  %y = tw.mul %x, %b : tensor<8x4xf32>
  func.return %y : tensor<8x4xf32>
}

// -----

// Views of a parameter stay, and so does what a symbol or an argument has a part in.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:  tw.transpose
// CHECK-NOT:   @setup
func.func @main(%x: tensor<?x4xf32, #tw.shape<"s0, 4">>, %w: tensor<3x4xf32> {tw.frozen}, %s0: index {tw.symbol = "s0"}) -> (tensor<?x3xf32, #tw.shape<"s0, 3">>, tensor<f32>) {
  %t = tw.transpose %w by [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  %m = tw.matmul %x, %t : (tensor<?x4xf32, #tw.shape<"s0, 4">>, tensor<4x3xf32>) -> tensor<?x3xf32, #tw.shape<"s0, 3">>
  %n = tw.full "s0" -> tensor<f32>
  func.return %m, %n : tensor<?x3xf32, #tw.shape<"s0, 3">>, tensor<f32>
}

// -----

// CHECK-LABEL: func.func @other
// CHECK-NEXT:  tw.exp
// CHECK-NOT:   @setup
func.func @other(%v: tensor<4xf32> {tw.frozen}) -> tensor<4xf32> {
  %r = tw.exp %v : tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// -----

// REMARK: tw.exp at {{.*}}: not hoisted: 268435456 elements would be kept for ever
// CHECK-LABEL: func.func @main
// CHECK-NEXT:  tw.broadcast %v
// CHECK-NEXT:  tw.exp
func.func @main(%v: tensor<4096xf32> {tw.frozen}) -> tensor<65536x4096xf32> {
  %b = tw.broadcast %v dims [1] : tensor<4096xf32> -> tensor<65536x4096xf32>
  %r = tw.exp %b : tensor<65536x4096xf32>
  func.return %r : tensor<65536x4096xf32>
}

// -----

// Sizes are known here, but not which rows: a symbol says so.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:  tw.slice %v starts "s0 mod 2, 0"
// CHECK-NEXT:  tw.exp
// CHECK-NOT:   @setup
func.func @main(%v: tensor<3x4xf32> {tw.frozen}, %s0: index {tw.symbol = "s0"}) -> tensor<2x4xf32> {
  %t = tw.slice %v starts "s0 mod 2, 0" steps "1, 1" : tensor<3x4xf32> -> tensor<2x4xf32>
  %r = tw.exp %t : tensor<2x4xf32>
  func.return %r : tensor<2x4xf32>
}

// -----

// A function of the module would not be beside @setup.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:  tw.scan @step
// CHECK-NOT:   @setup
func.func @main(%v: tensor<3x4xf32> {tw.frozen}) -> tensor<3x4xf32> {
  %r = tw.scan @step(%v) carrying 0 over 1 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %r : tensor<3x4xf32>
}
func.func @step(%v: tensor<4xf32>) -> tensor<4xf32> {
  func.return %v : tensor<4xf32>
}
