// RUN: tilewright-opt %s -p draw-together --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p draw-together --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p draw-together --split-input-file --check-semantics -o /dev/null

// CHECK-LABEL: @one_call_draws_all_in_order
func.func @one_call_draws_all_in_order(%x: tensor<4xf32>) -> (tensor<2xi64>, tensor<i64>, tensor<4xf32>) {
  // CHECK-NEXT: %[[S:.*]] = tw.rng_seed : tensor<3xi64>
  // CHECK-NEXT: %[[A:.*]] = tw.slice %[[S]] starts "0" steps "1" : tensor<3xi64> -> tensor<2xi64>
  // CHECK-NEXT: %[[E:.*]] = tw.exp %x
  // CHECK-NEXT: %[[C:.*]] = tw.slice %[[S]] starts "2" steps "1" : tensor<3xi64> -> tensor<1xi64>
  // CHECK-NEXT: %[[B:.*]] = tw.reshape %[[C]] : tensor<1xi64> -> tensor<i64>
  // CHECK-NEXT: return %[[A]], %[[B]], %[[E]]
  %a = tw.rng_seed : tensor<2xi64>
  %e = tw.exp %x : tensor<4xf32>
  %b = tw.rng_seed : tensor<i64>
  func.return %a, %b, %e : tensor<2xi64>, tensor<i64>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @one_stays
// CHECK-NEXT: tw.rng_seed : tensor<i64>
// CHECK-NEXT: return
func.func @one_stays() -> tensor<i64> {
  %a = tw.rng_seed : tensor<i64>
  func.return %a : tensor<i64>
}

// -----

// What stands between may draw numbers, too: nothing says that this one does not.
// CHECK-LABEL: @apart_around_effects
// CHECK-NEXT: tw.rng_seed : tensor<i64>
// CHECK-NEXT: tw.aten
// CHECK-NEXT: tw.rng_seed : tensor<i64>
// REMARK: tw.aten at {{.*}}: seeds before it are drawn apart from those behind it: it has effects
func.func @apart_around_effects(%x: tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>, tensor<i64>) {
  %a = tw.rng_seed : tensor<i64>
  %m = tw.aten "aten::relu"(%x) {args = [#tw.arg<0>], impure} : (tensor<4xf32>) -> tensor<4xf32>
  %b = tw.rng_seed : tensor<i64>
  func.return %a, %m, %b : tensor<i64>, tensor<4xf32>, tensor<i64>
}
