// REQUIRES: upstream
// RUN: tilewright-opt %s -p verify-upstream --split-input-file --verify-diagnostics | filecheck %s
// RUN: tilewright-opt %s --verify-upstream --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @accepts_our_ops
func.func @accepts_our_ops(%x: tensor<4xf32>) -> tensor<4xi1> {
  %0 = tw.exp %x : tensor<4xf32>
  %1 = tw.compare lt %0, %x : tensor<4xf32> -> tensor<4xi1>
  func.return %1 : tensor<4xi1>
}

// -----

// xDSL accepts a public declaration, upstream does not.
// CHECK: TW3909: upstream MLIR rejects the module (parse and verify)
// CHECK: symbol declaration cannot have public visibility
func.func @declared() -> f32
