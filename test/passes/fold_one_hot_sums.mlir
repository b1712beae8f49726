// RUN: tilewright-opt %s -p fold-one-hot-sums,canonicalize,dce --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p fold-one-hot-sums --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p fold-one-hot-sums --split-input-file --verify-locations
// RUN: tilewright-opt %s -p fold-one-hot-sums --split-input-file --check-semantics

// CHECK-LABEL: @chosen_by_any_number
// CHECK-DAG: %[[L:.*]] = tw.compare ge %i, %{{.*}} : tensor<8x1xi64> -> tensor<8x1xi1>
// CHECK-DAG: %[[U:.*]] = tw.compare lt %i, %{{.*}} : tensor<8x1xi64> -> tensor<8x1xi1>
// CHECK:     %[[W:.*]] = tw.and %[[L]], %[[U]]
// CHECK:     %[[S:.*]] = tw.select %[[W]], %v, %{{.*}} : tensor<8x1xi1>, tensor<8x1xf32> loc("m.py":3:0)
// CHECK:     tw.reshape %[[S]] : tensor<8x1xf32> -> tensor<8xf32>
// CHECK-NOT: tw.sum
func.func @chosen_by_any_number(%i: tensor<8x1xi64>, %v: tensor<8x1xf32>) -> tensor<8xf32> {
  %zero = tw.full 0.0 : f32 -> tensor<8x128xf32>
  %n = tw.iota dim 1 start "0" step "1" -> tensor<8x128xi64>
  %j = tw.broadcast %i dims [0, 1] : tensor<8x1xi64> -> tensor<8x128xi64>
  %h = tw.compare eq %n, %j : tensor<8x128xi64> -> tensor<8x128xi1>
  %b = tw.broadcast %v dims [0, 1] : tensor<8x1xf32> -> tensor<8x128xf32>
  %c = tw.select %h, %b, %zero : tensor<8x128xi1>, tensor<8x128xf32>
  %s = tw.sum %c over [1] : tensor<8x128xf32> -> tensor<8xf32> loc("m.py":3:0)
  func.return %s : tensor<8xf32>
}

// -----

// What was gathered of positions is one of them. Zeros that are weighted may be no zeros: one of them is kept.

// CHECK-LABEL: @weighted
// CHECK:     %[[A:.*]] = tw.neg %w : tensor<8x1xf32>
// CHECK:     %[[O:.*]] = tw.mul %{{.*}}, %w : tensor<8x1xf32>
// CHECK:     %[[R:.*]] = tw.mul %[[O]], %{{.*}} : tensor<8x1xf32>
// CHECK:     %[[S:.*]] = tw.add %[[A]], %[[R]] : tensor<8x1xf32>
// CHECK-NOT: tw.compare
// CHECK:     tw.reshape %[[S]]
func.func @weighted(%i: tensor<8x1xi64>, %w: tensor<8x1xf32>) -> tensor<8xf32> {
  %count = tw.iota dim 0 start "0" step "1" -> tensor<6xi64>
  %g = tw.gather %count[%i] dims [0] at 0 strict : (tensor<6xi64>, tensor<8x1xi64>) -> tensor<8x1xi64>
  %t = tw.cast %g : tensor<8x1xi64> -> tensor<8x1xi32>
  %n = tw.iota dim 1 start "0" step "1" -> tensor<8x6xi32>
  %j = tw.broadcast %t dims [0, 1] : tensor<8x1xi32> -> tensor<8x6xi32>
  %h = tw.compare eq %n, %j : tensor<8x6xi32> -> tensor<8x6xi1>
  %one = tw.full -1.0 : f32 -> tensor<8x6xf32>
  %zero = tw.full 0.0 : f32 -> tensor<8x6xf32>
  %c = tw.select %h, %one, %zero : tensor<8x6xi1>, tensor<8x6xf32>
  %b = tw.broadcast %w dims [0, 1] : tensor<8x1xf32> -> tensor<8x6xf32>
  %m = tw.mul %c, %b : tensor<8x6xf32>
  %s = tw.sum %m over [1] : tensor<8x6xf32> -> tensor<8xf32>
  func.return %s : tensor<8xf32>
}

// -----

// Positions along the first dimension, numbers cast from bits; the others are summed as before.

// CHECK-LABEL: @other_dimensions_too
// CHECK:     tw.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<1x8xi1>, tensor<1x8xi64>
// CHECK:     tw.sum %{{.*}} over [0] : tensor<8xi64> -> tensor<i64>
func.func @other_dimensions_too(%i: tensor<8xi64>) -> tensor<i64> {
  %n = tw.iota dim 0 start "0" step "1" -> tensor<6xi64>
  %p = tw.broadcast %n dims [0] : tensor<6xi64> -> tensor<6x8xi64>
  %j = tw.broadcast %i dims [1] : tensor<8xi64> -> tensor<6x8xi64>
  %h = tw.compare eq %j, %p : tensor<6x8xi64> -> tensor<6x8xi1>
  %c = tw.cast %h : tensor<6x8xi1> -> tensor<6x8xi64>
  %s = tw.sum %c over [0, 1] : tensor<6x8xi64> -> tensor<i64>
  func.return %s : tensor<i64>
}

// -----

// CHECK-LABEL: @unknown_length
// CHECK: tw.sum
// REMARK: tw.sum at {{.*}}: nobody knows how many elements its one-hot rows have
func.func @unknown_length(%i: tensor<8x1xi64>, %s0: index {tw.symbol = "s0"}) -> tensor<8xi64> {
  %n = tw.iota dim 1 start "0" step "1" -> tensor<8x?xi64, #tw.shape<"8, s0">>
  %j = tw.broadcast %i dims [0, 1] : tensor<8x1xi64> -> tensor<8x?xi64, #tw.shape<"8, s0">>
  %h = tw.compare eq %n, %j : tensor<8x?xi64, #tw.shape<"8, s0">> -> tensor<8x?xi1, #tw.shape<"8, s0">>
  %c = tw.cast %h : tensor<8x?xi1, #tw.shape<"8, s0">> -> tensor<8x?xi64, #tw.shape<"8, s0">>
  %s = tw.sum %c over [1] : tensor<8x?xi64, #tw.shape<"8, s0">> -> tensor<8xi64>
  func.return %s : tensor<8xi64>
}

// -----

// CHECK-LABEL: @several_positions
// CHECK: tw.sum
// REMARK: tw.sum at {{.*}}: elements of its rows are chosen by several positions
func.func @several_positions(%i: tensor<8x1xi64>, %k: tensor<8x1xi64>) -> tensor<8xi64> {
  %n = tw.iota dim 1 start "0" step "1" -> tensor<8x6xi64>
  %j = tw.broadcast %i dims [0, 1] : tensor<8x1xi64> -> tensor<8x6xi64>
  %l = tw.broadcast %k dims [0, 1] : tensor<8x1xi64> -> tensor<8x6xi64>
  %h = tw.compare eq %n, %j : tensor<8x6xi64> -> tensor<8x6xi1>
  %g = tw.compare eq %n, %l : tensor<8x6xi64> -> tensor<8x6xi1>
  %o = tw.or %h, %g : tensor<8x6xi1>
  %c = tw.cast %o : tensor<8x6xi1> -> tensor<8x6xi64>
  %s = tw.sum %c over [1] : tensor<8x6xi64> -> tensor<8xi64>
  func.return %s : tensor<8xi64>
}

// -----

// Zeros times what is no number are no numbers.

// CHECK-LABEL: @others_differ
// CHECK: tw.sum
// REMARK: tw.sum at {{.*}}: not only the chosen element of its rows differs
func.func @others_differ(%i: tensor<8x1xi64>, %x: tensor<8x6xf32>) -> tensor<8xf32> {
  %n = tw.iota dim 1 start "0" step "1" -> tensor<8x6xi64>
  %j = tw.broadcast %i dims [0, 1] : tensor<8x1xi64> -> tensor<8x6xi64>
  %h = tw.compare eq %n, %j : tensor<8x6xi64> -> tensor<8x6xi1>
  %c = tw.cast %h : tensor<8x6xi1> -> tensor<8x6xf32>
  %m = tw.mul %c, %x : tensor<8x6xf32>
  %s = tw.sum %m over [1] : tensor<8x6xf32> -> tensor<8xf32>
  func.return %s : tensor<8xf32>
}

// -----

// CHECK-LABEL: @rows_of_halves
// CHECK: tw.sum
// REMARK: tw.sum at {{.*}}: sums of one-hot rows would be rounded to halves
func.func @rows_of_halves(%i: tensor<8x1xi64>) -> tensor<bf16> {
  %n = tw.iota dim 1 start "0" step "1" -> tensor<8x6xi64>
  %j = tw.broadcast %i dims [0, 1] : tensor<8x1xi64> -> tensor<8x6xi64>
  %h = tw.compare eq %n, %j : tensor<8x6xi64> -> tensor<8x6xi1>
  %c = tw.cast %h : tensor<8x6xi1> -> tensor<8x6xbf16>
  %s = tw.sum %c over [0, 1] : tensor<8x6xbf16> -> tensor<bf16>
  func.return %s : tensor<bf16>
}

// -----

// CHECK-LABEL: @bytes
// CHECK: tw.sum
// REMARK: tw.sum at {{.*}}: its integers may be too narrow for how many elements there are
func.func @bytes(%i: tensor<8x1xi64>) -> tensor<8xi8> {
  %n = tw.iota dim 1 start "0" step "1" -> tensor<8x6xi64>
  %j = tw.broadcast %i dims [0, 1] : tensor<8x1xi64> -> tensor<8x6xi64>
  %h = tw.compare eq %n, %j : tensor<8x6xi64> -> tensor<8x6xi1>
  %c = tw.cast %h : tensor<8x6xi1> -> tensor<8x6xi8>
  %s = tw.sum %c over [1] : tensor<8x6xi8> -> tensor<8xi8>
  func.return %s : tensor<8xi8>
}

// -----

// Positions that count from 1 are no positions, and to be less is not to be equal.

// CHECK-LABEL: @no_one_hot_rows
// CHECK-COUNT-2: tw.sum
func.func @no_one_hot_rows(%i: tensor<8x1xi64>) -> (tensor<8xi64>, tensor<8xi64>) {
  %n = tw.iota dim 1 start "1" step "1" -> tensor<8x6xi64>
  %p = tw.iota dim 1 start "0" step "1" -> tensor<8x6xi64>
  %j = tw.broadcast %i dims [0, 1] : tensor<8x1xi64> -> tensor<8x6xi64>
  %h = tw.compare eq %n, %j : tensor<8x6xi64> -> tensor<8x6xi1>
  %l = tw.compare lt %p, %j : tensor<8x6xi64> -> tensor<8x6xi1>
  %c = tw.cast %h : tensor<8x6xi1> -> tensor<8x6xi64>
  %d = tw.cast %l : tensor<8x6xi1> -> tensor<8x6xi64>
  %s = tw.sum %c over [1] : tensor<8x6xi64> -> tensor<8xi64>
  %t = tw.sum %d over [1] : tensor<8x6xi64> -> tensor<8xi64>
  func.return %s, %t : tensor<8xi64>, tensor<8xi64>
}
