// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: TW1901: cannot read {{.*}}opt_invalid.mlir
// CHECK-NEXT: why: {{.*}}opt_invalid.mlir:7:{{[0-9]+}}
// CHECK: Operation arith.addg is not registered
func.func @unknown_op(%x: f32) -> f32 {
  %0 = arith.addg %x, %x : f32
  func.return %0 : f32
}

// -----

// CHECK: TW3905: operand 1 of `test.op` does not dominate this use
// CHECK-NEXT: where: loc("m.py":2:0)
// CHECK-NEXT: why:
// CHECK-NEXT: fix:
// CHECK-NEXT: ir: %{{.*}} = "test.op"
func.func @uses_before_definition(%x: f32) {
  %0 = "test.op"(%x, %1) : (f32, f32) -> f32 loc("m.py":2:0)
  %1 = "test.op"(%x) : (f32) -> f32
  func.return
}

// -----

// CHECK: TW1903: {{.*}}opt_invalid.mlir does not verify
// CHECK-NEXT: where: loc("{{.*}}opt_invalid.mlir":32:3)
// CHECK-NEXT: why: Expected arguments to have the same types as the function output types
// CHECK-NEXT: fix: correct this op; `docs/ops.md` lists every op with its rules
// CHECK-NEXT: ir: func.return %x : f32
func.func @returns_wrong_type(%x: f32) -> f64 {
  func.return %x : f32
}

// -----

// CHECK: TW1903: {{.*}}opt_invalid.mlir does not verify
// CHECK-NEXT: where: loc("my.py":3:0)
// CHECK-NEXT: why: tw.transpose: perm [0, 0] is not a permutation of rank 2
// CHECK-NEXT: fix:
// CHECK-NEXT: ir: %{{.*}} = tw.transpose %x by [0, 0]
func.func @names_the_line_of_the_model(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tw.transpose %x by [0, 0] : tensor<4x8xf32> -> tensor<4x8xf32> loc("my.py":3:0)
  func.return %0 : tensor<4x8xf32>
}

// -----

// The chunk after an error is still processed.
// CHECK: func.func @good
func.func @good() {
  func.return
}
