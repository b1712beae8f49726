// RUN: tilewright-opt %s -p select-scatters,dce --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p 'select-scatters{numbers=2},dce' --split-input-file | filecheck %s --check-prefix=FEW
// RUN: tilewright-opt %s -p select-scatters --split-input-file --remarks | filecheck %s --check-prefix=REMARK

// CHECK-LABEL: @compares_positions
// CHECK-DAG: %[[Z:.*]] = tw.full 3.0
// CHECK-DAG: %[[N:.*]] = tw.iota dim 0 start "0" step "1" -> tensor<128xi64>
// CHECK: %[[C:.*]] = tw.gather %[[N]][%i] dims [0] at 0 strict
// CHECK-NEXT: %[[S:.*]] = tw.cast %[[C]] : tensor<8x1xi64> -> tensor<8x1xi32>
// CHECK-NEXT: %[[P:.*]] = tw.iota dim 1 start "0" step "1" -> tensor<8x128xi32>
// CHECK-NEXT: %[[B:.*]] = tw.broadcast %[[S]] dims [0, 1]
// CHECK-NEXT: %[[H:.*]] = tw.compare eq %[[P]], %[[B]]
// CHECK-NEXT: %[[V:.*]] = tw.broadcast %v dims [0, 1]
// CHECK-NEXT: tw.select %[[H]], %[[V]], %[[Z]] {{.*}} loc("m.py":3:0)
func.func @compares_positions(%v: tensor<8x1xf32>, %i: tensor<8x1xi64>) -> tensor<8x128xf32> {
  %zero = tw.full 3.0 : f32 -> tensor<8x128xf32>
  %r = tw.scatter_along %zero, %i, %v dim 1 reduce none : (tensor<8x128xf32>, tensor<8x1xi64>, tensor<8x1xf32>) -> tensor<8x128xf32> loc("m.py":3:0)
  func.return %r : tensor<8x128xf32>
}

// -----

// The other dimension, whose size nobody knows: positions have 64 bits.
// CHECK-LABEL: @adds_to_what_stands_there
// CHECK-DAG: %[[Z:.*]] = tw.full 3.0{{.*}} -> tensor<?x8xf32
// CHECK-DAG: %[[F:.*]] = tw.full 3.0{{.*}} -> tensor<1x8xf32>
// CHECK: %[[A:.*]] = tw.add %[[F]], %v
// CHECK: %[[P:.*]] = tw.iota dim 0 {{.*}} -> tensor<?x8xi64
// CHECK: %[[V:.*]] = tw.broadcast %[[A]] dims [0, 1]
// CHECK-NEXT: tw.select %{{.*}}, %[[V]], %[[Z]]
func.func @adds_to_what_stands_there(%v: tensor<1x8xf32>, %i: tensor<1x8xi64>, %s0: index {tw.symbol = "s0"}) -> tensor<?x8xf32, #tw.shape<"s0, 8">> {
  %three = tw.full 3.0 : f32 -> tensor<?x8xf32, #tw.shape<"s0, 8">>
  %r = tw.scatter_along %three, %i, %v dim 0 reduce add : (tensor<?x8xf32, #tw.shape<"s0, 8">>, tensor<1x8xi64>, tensor<1x8xf32>) -> tensor<?x8xf32, #tw.shape<"s0, 8">>
  func.return %r : tensor<?x8xf32, #tw.shape<"s0, 8">>
}

// -----

// CHECK-LABEL: @leaves_what_is_no_constant
// CHECK-NEXT: tw.scatter_along
// REMARK: tw.scatter_along at {{.*}}: its target is no constant: what stands there would all be copied
func.func @leaves_what_is_no_constant(%t: tensor<8x128xf32>, %v: tensor<8x1xf32>, %i: tensor<8x1xi64>) -> tensor<8x128xf32> {
  %r = tw.scatter_along %t, %i, %v dim 1 reduce none : (tensor<8x128xf32>, tensor<8x1xi64>, tensor<8x1xf32>) -> tensor<8x128xf32>
  func.return %r : tensor<8x128xf32>
}

// -----

// CHECK-LABEL: @leaves_several_of_a_row
// CHECK: tw.scatter_along
// The first of several is overwritten by the second where both are for one place.
// FEW-LABEL: @leaves_several_of_a_row
// FEW: %[[Z:.*]] = tw.full 0.0
// FEW: %[[N:.*]] = tw.iota dim 0 start "0" step "1" -> tensor<128xi64>
// FEW: %[[C:.*]] = tw.gather %[[N]][%i] dims [0] at 0 strict
// FEW: %[[S:.*]] = tw.cast %[[C]] : tensor<8x2xi64> -> tensor<8x2xi32>
// FEW: %[[V:.*]] = tw.slice %v starts "0, 0"
// FEW: tw.slice %[[S]] starts "0, 0"
// FEW: %[[A:.*]] = tw.select %{{.*}}, %{{.*}}, %[[Z]]
// FEW: tw.slice %v starts "0, 1"
// FEW: tw.slice %[[S]] starts "0, 1"
// FEW: tw.select %{{.*}}, %{{.*}}, %[[A]]
// REMARK: tw.scatter_along at {{.*}}: it does not give each row a number, or 1 at most
func.func @leaves_several_of_a_row(%v: tensor<8x2xf32>, %i: tensor<8x2xi64>) -> tensor<8x128xf32> {
  %zero = tw.full 0.0 : f32 -> tensor<8x128xf32>
  %r = tw.scatter_along %zero, %i, %v dim 1 reduce none : (tensor<8x128xf32>, tensor<8x2xi64>, tensor<8x2xf32>) -> tensor<8x128xf32>
  func.return %r : tensor<8x128xf32>
}

// -----

// CHECK-LABEL: @leaves_some_rows
// CHECK: tw.scatter_along
// REMARK: tw.scatter_along at {{.*}}: it leaves rows as they are
func.func @leaves_some_rows(%v: tensor<7x1xf32>, %i: tensor<7x1xi64>) -> tensor<8x128xf32> {
  %zero = tw.full 0.0 : f32 -> tensor<8x128xf32>
  %r = tw.scatter_along %zero, %i, %v dim 1 reduce none : (tensor<8x128xf32>, tensor<7x1xi64>, tensor<7x1xf32>) -> tensor<8x128xf32>
  func.return %r : tensor<8x128xf32>
}

// -----

// CHECK-LABEL: @leaves_extremes
// CHECK: tw.scatter_along
// REMARK: tw.scatter_along at {{.*}}: it combines by max
func.func @leaves_extremes(%v: tensor<8x1xf32>, %i: tensor<8x1xi64>) -> tensor<8x128xf32> {
  %zero = tw.full 0.0 : f32 -> tensor<8x128xf32>
  %r = tw.scatter_along %zero, %i, %v dim 1 reduce max : (tensor<8x128xf32>, tensor<8x1xi64>, tensor<8x1xf32>) -> tensor<8x128xf32>
  func.return %r : tensor<8x128xf32>
}

// -----

// FEW-LABEL: @adds_several_in_turn
// FEW: %[[Z:.*]] = tw.full 3.0
// FEW: %[[A:.*]] = tw.add %[[Z]],
// FEW: %[[B:.*]] = tw.select %{{.*}}, %[[A]], %[[Z]]
// FEW: %[[D:.*]] = tw.add %[[B]],
// FEW: tw.select %{{.*}}, %[[D]], %[[B]]
func.func @adds_several_in_turn(%v: tensor<2x8xf32>, %i: tensor<2x8xi64>) -> tensor<16x8xf32> {
  %three = tw.full 3.0 : f32 -> tensor<16x8xf32>
  %r = tw.scatter_along %three, %i, %v dim 0 reduce add : (tensor<16x8xf32>, tensor<2x8xi64>, tensor<2x8xf32>) -> tensor<16x8xf32>
  func.return %r : tensor<16x8xf32>
}
