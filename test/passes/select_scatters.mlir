// RUN: tilewright-opt %s -p select-scatters,dce --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p 'select-scatters{numbers=2},dce' --split-input-file | filecheck %s --check-prefix=FEW
// RUN: tilewright-opt %s -p select-scatters --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

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

// -----

// Rows may be counted; a position of a row that is counted from the end is so no more.

// CHECK-LABEL: @counted_rows
// CHECK: %[[Z:.*]] = tw.full 3.0
// CHECK: %[[O:.*]] = tw.full 0 : i64 -> tensor<8xi64>
// CHECK: %[[L:.*]] = tw.compare lt %i, %[[O]]
// CHECK: %[[E:.*]] = tw.full 128 : i64 -> tensor<8xi64>
// CHECK: %[[A:.*]] = tw.add %i, %[[E]]
// CHECK: %[[I:.*]] = tw.select %[[L]], %[[A]], %i
// CHECK: %[[V:.*]] = tw.reshape %v : tensor<8xf32> -> tensor<8x1xf32>
// CHECK: %[[P:.*]] = tw.broadcast %[[I]] dims [0] : tensor<8xi64> -> tensor<8x1xi64>
// CHECK: tw.gather %{{.*}}[%[[P]]] dims [0] at 0 strict
// CHECK: %[[B:.*]] = tw.broadcast %[[V]] dims [0, 1] : tensor<8x1xf32> -> tensor<8x128xf32>
// CHECK: tw.select %{{.*}}, %[[B]], %[[Z]] {{.*}} loc("m.py":3:0)
func.func @counted_rows(%v: tensor<8xf32>, %i: tensor<8xi64>) -> tensor<8x128xf32> {
  %three = tw.full 3.0 : f32 -> tensor<8x128xf32>
  %n = tw.iota dim 0 start "0" step "1" -> tensor<8xi64>
  %r = tw.scatter %v into %three[%n, %i] dims [0, 1] at 0 : (tensor<8x128xf32>, tensor<8xf32>, tensor<8xi64>, tensor<8xi64>) -> tensor<8x128xf32> loc("m.py":3:0)
  func.return %r : tensor<8x128xf32>
}

// -----

// Between other dimensions; of two dimensions, and the first one; two numbers in each row; as many rows as a symbol.

// CHECK-LABEL: @rows_between
// CHECK: tw.reshape %v : tensor<5x8x3xf32> -> tensor<5x8x1x3xf32>
// CHECK: tw.broadcast %i dims [1] : tensor<8xi64> -> tensor<5x8x1x3xi64>
// CHECK: tw.add
// CHECK: %[[R:.*]] = tw.select
// CHECK: tw.broadcast %j dims [0, 1] : tensor<8x6xi64> -> tensor<8x6x1xi64>
// CHECK: %[[S:.*]] = tw.select
// CHECK: tw.broadcast %i dims [1] : tensor<8xi64> -> tensor<1x8xi64>
// CHECK: %[[T:.*]] = tw.select
// CHECK: return %[[R]], %[[S]], %[[T]]
// FEW-LABEL: @rows_between
func.func @rows_between(%v: tensor<5x8x3xf32>, %i: tensor<8xi64>, %w: tensor<8x6xf32>, %j: tensor<8x6xi64>, %u: tensor<8xf32>) -> (tensor<5x8x128x3xf32>, tensor<8x6x128xf32>, tensor<9x8xf32>) {
  %z = tw.full 0.0 : f32 -> tensor<5x8x128x3xf32>
  %n = tw.iota dim 0 start "0" step "1" -> tensor<8xi64>
  %r = tw.scatter_add %v into %z[%n, %i] dims [1, 2] at 1 strict : (tensor<5x8x128x3xf32>, tensor<5x8x3xf32>, tensor<8xi64>, tensor<8xi64>) -> tensor<5x8x128x3xf32>
  %y = tw.full 0.0 : f32 -> tensor<8x6x128xf32>
  %b = tw.broadcast %n dims [0] : tensor<8xi64> -> tensor<8x6xi64>
  %m = tw.iota dim 1 start "0" step "1" -> tensor<8x6xi64>
  %s = tw.scatter %w into %y[%b, %m, %j] dims [0, 1, 2] at 0 strict : (tensor<8x6x128xf32>, tensor<8x6xf32>, tensor<8x6xi64>, tensor<8x6xi64>, tensor<8x6xi64>) -> tensor<8x6x128xf32>
  %x = tw.full 0.0 : f32 -> tensor<9x8xf32>
  %t = tw.scatter %u into %x[%i, %n] dims [0, 1] at 0 strict : (tensor<9x8xf32>, tensor<8xf32>, tensor<8xi64>, tensor<8xi64>) -> tensor<9x8xf32>
  func.return %r, %s, %t : tensor<5x8x128x3xf32>, tensor<8x6x128xf32>, tensor<9x8xf32>
}

// -----

// CHECK-LABEL: @several_of_a_counted_row
// CHECK: tw.scatter_add
// FEW-LABEL: @several_of_a_counted_row
// FEW: tw.broadcast %i dims [0, 1] : tensor<?x2xi64, #tw.shape<"s0, 2">> -> tensor<?x2x3xi64
// FEW: tw.slice %v starts "0, 0, 0"
// FEW: tw.slice %v starts "0, 1, 0"
// FEW-NOT: tw.scatter
func.func @several_of_a_counted_row(%v: tensor<?x2x3xf32, #tw.shape<"s0, 2, 3">>, %i: tensor<?x2xi64, #tw.shape<"s0, 2">>, %s0: index {tw.symbol = "s0"}) -> tensor<?x128x3xf32, #tw.shape<"s0, 128, 3">> {
  %z = tw.full 0.0 : f32 -> tensor<?x128x3xf32, #tw.shape<"s0, 128, 3">>
  %n = tw.iota dim 0 start "0" step "1" -> tensor<?x2xi64, #tw.shape<"s0, 2">>
  %r = tw.scatter_add %v into %z[%n, %i] dims [0, 1] at 0 strict : (tensor<?x128x3xf32, #tw.shape<"s0, 128, 3">>, tensor<?x2x3xf32, #tw.shape<"s0, 2, 3">>, tensor<?x2xi64, #tw.shape<"s0, 2">>, tensor<?x2xi64, #tw.shape<"s0, 2">>) -> tensor<?x128x3xf32, #tw.shape<"s0, 128, 3">>
  func.return %r : tensor<?x128x3xf32, #tw.shape<"s0, 128, 3">>
}

// -----

// Left are some of the rows, counted twice or from another start, none that is counted, two positions, values in
// another order, and what is added to no constant.

// FEW-LABEL: @leaves_other_rows
// CHECK-LABEL: @leaves_other_rows
// CHECK-NOT: {{tw.select|tw.scatter_along}}
// CHECK: return
// REMARK: tw.scatter at {{.*}}: it does not give each counted row a number, or 1 at most
// REMARK: its target is no constant
func.func @leaves_other_rows(%v: tensor<8xf32>, %i: tensor<8xi64>, %t: tensor<8x128xf32>, %w: tensor<3x8xf32>, %k: tensor<1x3xi64>, %x: tensor<1x3x128xf32>) -> (tensor<9x128xf32>, tensor<8x8x9xf32>, tensor<8x128xf32>, tensor<8x9x9xf32>, tensor<8x128x3xf32>, tensor<8x128xf32>, tensor<8x128xf32>, tensor<9x128xf32>) {
  %n = tw.iota dim 0 start "0" step "1" -> tensor<8xi64>
  %one = tw.iota dim 0 start "1" step "1" -> tensor<8xi64>
  %a = tw.full 0.0 : f32 -> tensor<9x128xf32>
  %b = tw.full 0.0 : f32 -> tensor<8x8x9xf32>
  %c = tw.full 0.0 : f32 -> tensor<8x128xf32>
  %d = tw.full 0.0 : f32 -> tensor<8x9x9xf32>
  %e = tw.full 0.0 : f32 -> tensor<8x128x3xf32>
  %0 = tw.scatter %v into %a[%n, %i] dims [0, 1] at 0 strict : (tensor<9x128xf32>, tensor<8xf32>, tensor<8xi64>, tensor<8xi64>) -> tensor<9x128xf32>
  %1 = tw.scatter %v into %b[%n, %n, %i] dims [0, 1, 2] at 0 strict : (tensor<8x8x9xf32>, tensor<8xf32>, tensor<8xi64>, tensor<8xi64>, tensor<8xi64>) -> tensor<8x8x9xf32>
  %2 = tw.scatter %v into %c[%i, %i] dims [0, 1] at 0 strict : (tensor<8x128xf32>, tensor<8xf32>, tensor<8xi64>, tensor<8xi64>) -> tensor<8x128xf32>
  %3 = tw.scatter %v into %d[%n, %i, %i] dims [0, 1, 2] at 0 strict : (tensor<8x9x9xf32>, tensor<8xf32>, tensor<8xi64>, tensor<8xi64>, tensor<8xi64>) -> tensor<8x9x9xf32>
  %4 = tw.scatter %w into %e[%n, %i] dims [0, 1] at 1 strict : (tensor<8x128x3xf32>, tensor<3x8xf32>, tensor<8xi64>, tensor<8xi64>) -> tensor<8x128x3xf32>
  %5 = tw.scatter_add %v into %t[%n, %i] dims [0, 1] at 0 strict : (tensor<8x128xf32>, tensor<8xf32>, tensor<8xi64>, tensor<8xi64>) -> tensor<8x128xf32>
  %6 = tw.scatter %v into %c[%one, %i] dims [0, 1] at 0 strict : (tensor<8x128xf32>, tensor<8xf32>, tensor<8xi64>, tensor<8xi64>) -> tensor<8x128xf32>
  %7 = tw.scatter %x into %a[%k] dims [0] at 0 strict : (tensor<9x128xf32>, tensor<1x3x128xf32>, tensor<1x3xi64>) -> tensor<9x128xf32>
  func.return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<9x128xf32>, tensor<8x8x9xf32>, tensor<8x128xf32>, tensor<8x9x9xf32>, tensor<8x128x3xf32>, tensor<8x128xf32>, tensor<8x128xf32>, tensor<9x128xf32>
}

// -----

// One position without rows.

// CHECK-LABEL: @one_of_all
// CHECK: tw.broadcast %i dims [0] : tensor<1xi64> -> tensor<1x4xi64>
// CHECK: tw.select
// CHECK-NOT: tw.scatter
// FEW-LABEL: @one_of_all
func.func @one_of_all(%v: tensor<1x4xf32>, %i: tensor<1xi64>) -> tensor<9x4xf32> {
  %z = tw.full 0.0 : f32 -> tensor<9x4xf32>
  %r = tw.scatter %v into %z[%i] dims [0] at 0 strict : (tensor<9x4xf32>, tensor<1x4xf32>, tensor<1xi64>) -> tensor<9x4xf32>
  func.return %r : tensor<9x4xf32>
}
