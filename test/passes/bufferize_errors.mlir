// RUN: not tilewright-opt %s -p bufferize 2>&1 | filecheck %s

// CHECK: TW3201: bufferize has no place for `tw.exp`
// CHECK-NEXT: where: loc("m.py":3:0)
// CHECK-NEXT: why: it is neither a kernel, a view nor a library call
// CHECK-NEXT: fix: run convert-tw-to-tk first
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = tw.exp %x : tensor<4xf32> loc("m.py":3:0)
  func.return %r : tensor<4xf32>
}
