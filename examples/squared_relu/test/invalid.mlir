// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: TW1903
// CHECK: sq.squared_relu: element type is i64, expected float
func.func @integers(%x: tensor<8xi64>) -> tensor<8xi64> {
  %r = sq.squared_relu %x scale 1.0 : f64 : tensor<8xi64>
  func.return %r : tensor<8xi64>
}

// -----

// CHECK: sq.squared_relu: scale is {{.*}}, expected a finite f64
func.func @narrow_scale(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = sq.squared_relu %x scale 1.0 : f32 : tensor<8xf32>
  func.return %r : tensor<8xf32>
}
