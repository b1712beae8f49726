// RUN: not tilewright-opt %s -p bufferize 2>&1 | filecheck %s

// CHECK: TW3201: bufferize has no place for `tw.matmul`
// CHECK-NEXT: where: loc("m.py":3:0)
// CHECK-NEXT: why: ATen multiplies no batches of i8 with a product of i32
// CHECK-NEXT: fix: cast the matrices to i32 first
func.func @main(%x: tensor<2x3x4xi8>, %y: tensor<2x4x5xi8>) -> tensor<2x3x5xi32> {
  %r = tw.matmul %x, %y : (tensor<2x3x4xi8>, tensor<2x4x5xi8>) -> tensor<2x3x5xi32> loc("m.py":3:0)
  func.return %r : tensor<2x3x5xi32>
}
