// RUN: tilewright-opt %s -p dce --split-input-file | filecheck %s

// CHECK-LABEL: @removes_dead_chains
func.func @removes_dead_chains(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: func.return %x
  %a = tw.exp %x : tensor<4xf32>
  %b = tw.neg %a : tensor<4xf32>
  %c = tw.aten "aten::relu"(%b) {args = [#tw.arg<0>]} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %x : tensor<4xf32>
}

// -----

// CHECK-LABEL: @keeps_effects_and_what_they_use
func.func @keeps_effects_and_what_they_use(%x: tensor<4xf32>) {
  // CHECK-NEXT: tw.rng_seed
  // CHECK-NEXT: %[[E:.*]] = tw.exp
  // CHECK-NEXT: tw.write %[[E]] into %x
  // CHECK-NEXT: tw.aten "aten::relu_"
  // CHECK-NEXT: tw.aten "aten::bernoulli"
  %s = tw.rng_seed : tensor<i64>
  %a = tw.exp %x : tensor<4xf32>
  tw.write %a into %x : tensor<4xf32>
  tw.aten "aten::relu_"(%x) {args = [#tw.arg<0>], mutates = array<i64: 0>} : (tensor<4xf32>) -> ()
  %b = tw.aten "aten::bernoulli"(%x) {args = [#tw.arg<0>], impure} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK-LABEL: @keeps_ops_with_one_live_result
func.func @keeps_ops_with_one_live_result(%x: tensor<4x6xf32>) -> tensor<4x5xi64> {
  // CHECK-NEXT: %{{.*}}, %[[I:.*]] = tw.aten "aten::topk"
  %v, %i = tw.aten "aten::topk"(%x) {args = [#tw.arg<0>, 5]} : (tensor<4x6xf32>) -> (tensor<4x5xf32>, tensor<4x5xi64>)
  func.return %i : tensor<4x5xi64>
}
