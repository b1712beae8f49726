// RUN: tilewright-opt %s -p 'decompose{scans=3}' --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p decompose --split-input-file | filecheck %s --check-prefix=STAY

// CHECK-LABEL: @few_steps
// CHECK: %[[A:.*]] = tw.slice %x starts "0, 0"{{.*}} -> tensor<8x1xf32>
// CHECK: %[[B:.*]] = tw.slice %x starts "0, 1"
// CHECK: %[[AB:.*]] = tw.mul %[[A]], %[[B]] : tensor<8x1xf32> loc("m.py":3:0)
// CHECK: %[[C:.*]] = tw.slice %x starts "0, 2"
// CHECK: %[[ABC:.*]] = tw.mul %[[AB]], %[[C]]
// CHECK: tw.concat %[[A]], %[[AB]], %[[ABC]] dim 1
// STAY-LABEL: @few_steps
// STAY: tw.cumprod
func.func @few_steps(%x: tensor<8x3xf32>) -> tensor<8x3xf32> {
  %r = tw.cumprod %x dim 1 : tensor<8x3xf32> loc("m.py":3:0)
  func.return %r : tensor<8x3xf32>
}

// -----

// Halves are rounded once for each result.
// CHECK-LABEL: @halves
// CHECK: %[[A:.*]] = tw.cast %{{.*}} : tensor<1x8xbf16> -> tensor<1x8xf32>
// CHECK: %[[S:.*]] = tw.add %[[A]], %{{.*}} : tensor<1x8xf32>
// CHECK: tw.cast %[[A]] : tensor<1x8xf32> -> tensor<1x8xbf16>
// CHECK: tw.cast %[[S]] : tensor<1x8xf32> -> tensor<1x8xbf16>
// CHECK: tw.concat {{.*}} dim 0
func.func @halves(%x: tensor<2x8xbf16>) -> tensor<2x8xbf16> {
  %r = tw.cumsum %x dim 0 : tensor<2x8xbf16>
  func.return %r : tensor<2x8xbf16>
}

// -----

// The first factor has nothing to scale.
// CHECK-LABEL: @recurrence
// CHECK: %[[H:.*]] = tw.slice %x starts "0, 0"
// CHECK: %[[X:.*]] = tw.slice %x starts "0, 1"
// CHECK: %[[F:.*]] = tw.slice %f starts "0, 1"
// CHECK: %[[M:.*]] = tw.mul %[[H]], %[[F]]
// CHECK: %[[N:.*]] = tw.add %[[M]], %[[X]]
// CHECK: tw.concat %[[H]], %[[N]] dim 1
// CHECK-NOT: tw.linear_scan
func.func @recurrence(%x: tensor<8x2xf32>, %f: tensor<8x2xf32>) -> tensor<8x2xf32> {
  %r = tw.linear_scan %x by %f dim 1 : tensor<8x2xf32>
  func.return %r : tensor<8x2xf32>
}

// -----

// Longer ones stay, those whose length only the run knows, and what no op of elements combines.
// CHECK-LABEL: @others_stay
// CHECK-NEXT: tw.cummax
// CHECK-NEXT: tw.cumsum
// CHECK-NEXT: tw.logcumsumexp
// CHECK-NEXT: return
func.func @others_stay(%x: tensor<8x4xf32>, %y: tensor<?x3xf32, #tw.shape<"s0, 3">>, %s0: index {tw.symbol = "s0"}) -> (tensor<8x4xf32>, tensor<?x3xf32, #tw.shape<"s0, 3">>, tensor<?x3xf32, #tw.shape<"s0, 3">>) {
  %a = tw.cummax %x dim 1 : tensor<8x4xf32>
  %b = tw.cumsum %y dim 0 : tensor<?x3xf32, #tw.shape<"s0, 3">>
  %c = tw.logcumsumexp %y dim 1 : tensor<?x3xf32, #tw.shape<"s0, 3">>
  func.return %a, %b, %c : tensor<8x4xf32>, tensor<?x3xf32, #tw.shape<"s0, 3">>, tensor<?x3xf32, #tw.shape<"s0, 3">>
}
