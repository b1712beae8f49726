// RUN: not tilewright-translate %s --to=cpp 2>&1 | filecheck %s
// RUN: not tilewright-translate %s --to=triton 2>&1 | filecheck %s --check-prefix=TRITON
// RUN: tilewright-opt %s --pipeline=cpu | tilewright-translate --to=cpp | filecheck %s --check-prefix=CPP

// The first op that does not belong is told, not the function around it; it has its line of this file.
// CHECK: TW2107: cannot write the host code of `tw.transpose`
// CHECK-NEXT: where: loc("{{.*}}host_tensors.mlir":13:8)
// TRITON: TW2201: gpu_triton cannot lower `tw.transpose`
// TRITON-NEXT: where: loc("{{.*}}host_tensors.mlir":13:8)

// CPP-NOT: // <stdin>:
func.func @main(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %0 = tw.transpose %x by [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  func.return %0 : tensor<8x4xf32>
}
