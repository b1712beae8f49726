// RUN: tilewright-opt %s -p cse --split-input-file --print-debuginfo | filecheck %s

// CHECK-LABEL: @merges_equal_ops
func.func @merges_equal_ops(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[A:.*]] = tw.add %x, %y : tensor<4xf32> loc("m.py":1:0)
  // CHECK-NEXT: %[[M:.*]] = tw.mul %[[A]], %[[A]]
  // CHECK-NEXT: func.return %[[M]]
  %a = tw.add %x, %y : tensor<4xf32> loc("m.py":1:0)
  %b = tw.add %y, %x : tensor<4xf32> loc("m.py":2:0)
  %c = tw.mul %a, %b : tensor<4xf32>
  func.return %c : tensor<4xf32>
}

// -----

// CHECK-LABEL: @keeps_different_ops
func.func @keeps_different_ops(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<2x3x3xf32>) {
  // CHECK-NEXT: tw.sub %x, %y
  // CHECK-NEXT: tw.sub %y, %x
  // CHECK-NEXT: tw.compare lt
  // CHECK-NEXT: tw.compare le
  // CHECK-NEXT: tw.transpose %z by [1, 0, 2]
  // CHECK-NEXT: tw.transpose %z by [2, 0, 1]
  // CHECK-NEXT: tw.full 1.0{{.*}} : f32 -> tensor<2xf32>
  // CHECK-NEXT: tw.full 1.0{{.*}} : f32 -> tensor<3xf32>
  %a = tw.sub %x, %y : tensor<4xf32>
  %b = tw.sub %y, %x : tensor<4xf32>
  %c = tw.compare lt %x, %y : tensor<4xf32> -> tensor<4xi1>
  %d = tw.compare le %x, %y : tensor<4xf32> -> tensor<4xi1>
  %e = tw.transpose %z by [1, 0, 2] : tensor<2x3x3xf32> -> tensor<3x2x3xf32>
  %f = tw.transpose %z by [2, 0, 1] : tensor<2x3x3xf32> -> tensor<3x2x3xf32>
  %g = tw.full 1.0 : f32 -> tensor<2xf32>
  %h = tw.full 1.0 : f32 -> tensor<3xf32>
  func.return
}

// -----

// CHECK-LABEL: @keeps_effects
func.func @keeps_effects(%x: tensor<4xf32>) -> (tensor<i64>, tensor<i64>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: tw.rng_seed
  // CHECK-NEXT: tw.rng_seed
  // CHECK-NEXT: tw.aten "aten::bernoulli"
  // CHECK-NEXT: tw.aten "aten::bernoulli"
  %a = tw.rng_seed : tensor<i64>
  %b = tw.rng_seed : tensor<i64>
  %c = tw.aten "aten::bernoulli"(%x) {args = [#tw.arg<0>], impure} : (tensor<4xf32>) -> tensor<4xf32>
  %d = tw.aten "aten::bernoulli"(%x) {args = [#tw.arg<0>], impure} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a, %b, %c, %d : tensor<i64>, tensor<i64>, tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @merges_pure_calls
func.func @merges_pure_calls(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[A:.*]] = tw.aten "aten::relu"
  // CHECK-NEXT: func.return %[[A]], %[[A]]
  %c = tw.aten "aten::relu"(%x) {args = [#tw.arg<0>]} : (tensor<4xf32>) -> tensor<4xf32>
  %d = tw.aten "aten::relu"(%x) {args = [#tw.arg<0>]} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %c, %d : tensor<4xf32>, tensor<4xf32>
}
