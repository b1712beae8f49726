// RUN: tilewright-opt %s -p fuse-squared-relu,dce --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p fuse-squared-relu --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// CHECK-LABEL: @fuses
// CHECK-NEXT: %[[R:.*]] = sq.squared_relu %x scale 1.000000e+00 : f64 : tensor<8xf32> loc("m.py":3:0)
// CHECK-NEXT: return %[[R]]
func.func @fuses(%x: tensor<8xf32>) -> tensor<8xf32> {
  %zero = tw.full 0.0 : f32 -> tensor<8xf32>
  %relu = tw.maximum %x, %zero : tensor<8xf32> loc("m.py":2:0)
  %r = tw.mul %relu, %relu : tensor<8xf32> loc("m.py":3:0)
  func.return %r : tensor<8xf32>
}

// -----

// CHECK-LABEL: @either_order
// CHECK-NEXT: sq.squared_relu %x
func.func @either_order(%x: tensor<8xbf16>) -> tensor<8xbf16> {
  %zero = tw.full -0.0 : bf16 -> tensor<8xbf16>
  %relu = tw.maximum %zero, %x : tensor<8xbf16>
  %r = tw.mul %relu, %relu : tensor<8xbf16>
  func.return %r : tensor<8xbf16>
}

// -----

// CHECK-LABEL: @keeps_other_bounds
// CHECK-NOT: sq.squared_relu
// REMARK: tw.mul at {{.*}}: its operand is no maximum with 0
func.func @keeps_other_bounds(%x: tensor<8xf32>) -> tensor<8xf32> {
  %one = tw.full 1.0 : f32 -> tensor<8xf32>
  %max = tw.maximum %x, %one : tensor<8xf32>
  %r = tw.mul %max, %max : tensor<8xf32>
  func.return %r : tensor<8xf32>
}

// -----

// CHECK-LABEL: @keeps_shared_relu
// CHECK-NOT: sq.squared_relu
// REMARK: tw.mul at {{.*}}: the ReLU has other users
func.func @keeps_shared_relu(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %zero = tw.full 0.0 : f32 -> tensor<8xf32>
  %relu = tw.maximum %x, %zero : tensor<8xf32>
  %r = tw.mul %relu, %relu : tensor<8xf32>
  func.return %r, %relu : tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: @keeps_integers
// CHECK-NOT: sq.squared_relu
// REMARK: tw.mul at {{.*}}: its elements are no floats
func.func @keeps_integers(%x: tensor<8xi64>) -> tensor<8xi64> {
  %zero = tw.full 0 : i64 -> tensor<8xi64>
  %relu = tw.maximum %x, %zero : tensor<8xi64>
  %r = tw.mul %relu, %relu : tensor<8xi64>
  func.return %r : tensor<8xi64>
}

// -----

// CHECK-LABEL: @keeps_products_of_two
// CHECK-NOT: sq.squared_relu
func.func @keeps_products_of_two(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %zero = tw.full 0.0 : f32 -> tensor<8xf32>
  %relu = tw.maximum %x, %zero : tensor<8xf32>
  %r = tw.mul %relu, %y : tensor<8xf32>
  func.return %r : tensor<8xf32>
}
