// RUN: not tilewright-translate %s --to=cpp 2>&1 | filecheck %s

// CHECK: TW2107: cannot write the host code of `tw.full`
// CHECK-NEXT: where: loc("m.py":3:0)
// CHECK-NEXT: why:   it is not an op of the host plan
// CHECK-NEXT: fix:   run the target's whole pipeline
func.func @main(%x: memref<4xf32>) -> memref<4xf32> {
  %0 = tw.full 1.0 : f32 -> tensor<4xf32> loc("m.py":3:0)
  func.return %x : memref<4xf32>
}
