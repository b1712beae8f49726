// RUN: not tilewright-opt %s -p bufferize 2>&1 | filecheck %s

// CHECK: TW3201: bufferize has no place for `tw.attention`
// CHECK-NEXT: where: loc("m.py":3:0)
// CHECK-NEXT: why: no library drops the weights that its seed says
// CHECK-NEXT: fix: compile it for GPUs, whose kernels do
func.func @main(%q: tensor<1x2x5x4xf32>, %s: tensor<2xi64>) -> tensor<1x2x5x4xf32> {
  %o, %l = tw.attention %q, %q, %q scale 0.5 dropout 0.25 seed %s
    : (tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<2xi64>)
      -> (tensor<1x2x5x4xf32>, tensor<1x2x5xf32>) loc("m.py":3:0)
  func.return %o : tensor<1x2x5x4xf32>
}
