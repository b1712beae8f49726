// RUN: tilewright-opt %s -p distribute-weights,dce --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p distribute-weights --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// CHECK-LABEL: @expectation
// CHECK-NEXT: %[[B:.*]] = tw.broadcast %w dims [0, 2] : tensor<8x64xf32> -> tensor<8x32x64xf32> loc("m.py":3:0)
// CHECK-NEXT: %[[M:.*]] = tw.mul %x, %[[B]] : tensor<8x32x64xf32> loc("m.py":3:0)
// CHECK-NEXT: %[[S:.*]] = tw.sum %[[M]] over [1, 2] : tensor<8x32x64xf32> -> tensor<8xf32> loc("m.py":3:0)
// CHECK-NEXT: return %[[S]]
func.func @expectation(%x: tensor<8x32x64xf32>, %w: tensor<8x64xf32>) -> tensor<8xf32> {
  %r = tw.sum %x over [1] : tensor<8x32x64xf32> -> tensor<8x64xf32>
  %m = tw.mul %w, %r : tensor<8x64xf32>
  %s = tw.sum %m over [1] : tensor<8x64xf32> -> tensor<8xf32> loc("m.py":3:0)
  func.return %s : tensor<8xf32>
}

// -----

// CHECK-LABEL: @symbols_and_halves
// CHECK: %[[S:.*]] = tw.sum %{{.*}} over [0, 1] : tensor<?x64xf32, #tw.shape<"s0, 64">> -> tensor<f32>
// CHECK-NEXT: tw.cast %[[S]] : tensor<f32> -> tensor<bf16>
func.func @symbols_and_halves(%x: tensor<?x64xbf16, #tw.shape<"s0, 64">>, %w: tensor<?xbf16, #tw.shape<"s0">>, %s0: index {tw.symbol = "s0"}) -> tensor<bf16> {
  %r = tw.sum %x over [1] : tensor<?x64xbf16, #tw.shape<"s0, 64">> -> tensor<?xbf16, #tw.shape<"s0">>
  %m = tw.mul %r, %w : tensor<?xbf16, #tw.shape<"s0">>
  %s = tw.sum %m over [0] : tensor<?xbf16, #tw.shape<"s0">> -> tensor<bf16>
  func.return %s : tensor<bf16>
}

// -----

// CHECK-LABEL: @others_read_the_sums
// CHECK: tw.sum %x over [2]
// REMARK: others read what is weighed, or the sums
func.func @others_read_the_sums(%x: tensor<8x64x32xf32>, %w: tensor<8x64xf32>) -> (tensor<8xf32>, tensor<8x64xf32>) {
  %r = tw.sum %x over [2] : tensor<8x64x32xf32> -> tensor<8x64xf32>
  %m = tw.mul %r, %w : tensor<8x64xf32>
  %s = tw.sum %m over [1] : tensor<8x64xf32> -> tensor<8xf32>
  func.return %s, %r : tensor<8xf32>, tensor<8x64xf32>
}

// -----

// CHECK-LABEL: @other_reductions
// CHECK: tw.max %x over [2]
// CHECK: tw.sum %y over [2]
func.func @other_reductions(%x: tensor<8x64x32xf32>, %y: tensor<8x64x32xf32>, %w: tensor<8x64xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %r = tw.max %x over [2] : tensor<8x64x32xf32> -> tensor<8x64xf32>
  %m = tw.mul %r, %w : tensor<8x64xf32>
  %s = tw.sum %m over [1] : tensor<8x64xf32> -> tensor<8xf32>
  %q = tw.sum %y over [2] : tensor<8x64x32xf32> -> tensor<8x64xf32>
  %n = tw.mul %q, %w : tensor<8x64xf32>
  %t = tw.max %n over [1] : tensor<8x64xf32> -> tensor<8xf32>
  func.return %s, %t : tensor<8xf32>, tensor<8xf32>
}
