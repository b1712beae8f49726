// RUN: not tilewright-translate --to=linalg %s 2>&1 | filecheck %s

// CHECK: TW2401: `tk.scan` cannot be exported to linalg
// CHECK-NEXT: where: loc("model.py":7:2)
// CHECK-NEXT: why:   its result is needed element by element; linalg has no op of this kind
// CHECK-NEXT: fix:   export the part of the graph around it; docs/tutorials/other-mlir.md lists what can be exported
// CHECK-NEXT: ir:    %{{.*}} = tk.scan add
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tw.cumsum %x dim 1 : tensor<4x8xf32> loc("model.py":7:2)
  func.return %0 : tensor<4x8xf32>
}
