// RUN: tilewright-opt %s -p simplify-views --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p simplify-views --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// CHECK-LABEL: @composes_chains
func.func @composes_chains(%x: tensor<2x3x4xf32>) -> (tensor<4x6xf32>, tensor<4x3x2xf32>, tensor<2x1x1xf32>, tensor<2x3x4xf32>) {
  // CHECK-NEXT: %[[R:.*]] = tw.reshape %x : tensor<2x3x4xf32> -> tensor<4x6xf32>
  // CHECK-NEXT: %[[T:.*]] = tw.transpose %x by [2, 1, 0]
  // CHECK-NEXT: %[[S:.*]] = tw.slice %x starts "0, 1, 3" steps "1, 1, 2" : tensor<2x3x4xf32> -> tensor<2x1x1xf32>
  // CHECK-NEXT: func.return %[[R]], %[[T]], %[[S]], %x
  %0 = tw.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf32>
  %1 = tw.reshape %0 : tensor<6x4xf32> -> tensor<4x6xf32>
  %2 = tw.transpose %x by [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %3 = tw.transpose %2 by [1, 0, 2] : tensor<3x4x2xf32> -> tensor<4x3x2xf32>
  %4 = tw.slice %x starts "0, 1, 1" steps "1, 1, 2" : tensor<2x3x4xf32> -> tensor<2x2x2xf32>
  %5 = tw.slice %4 starts "0, 0, 1" steps "1, 1, 1" : tensor<2x2x2xf32> -> tensor<2x1x1xf32>
  %6 = tw.reverse %x dims [0, 1] : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  %7 = tw.reverse %6 dims [0, 1] : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  func.return %1, %3, %5, %7 : tensor<4x6xf32>, tensor<4x3x2xf32>, tensor<2x1x1xf32>, tensor<2x3x4xf32>
}

// -----

// CHECK-LABEL: @broadcasts_straight
func.func @broadcasts_straight(%x: tensor<8xf32>) -> (tensor<8x5xf32>, tensor<2x3x8xf32>, tensor<6x8xf32>, tensor<8x3x2xf32>) {
  // CHECK-NEXT: %[[A:.*]] = tw.broadcast %x dims [0] : tensor<8xf32> -> tensor<8x5xf32>
  // CHECK-NEXT: %[[B:.*]] = tw.broadcast %x dims [2] : tensor<8xf32> -> tensor<2x3x8xf32>
  // CHECK-NEXT: %[[C:.*]] = tw.broadcast %x dims [1] : tensor<8xf32> -> tensor<6x8xf32>
  // CHECK-NEXT: %[[D:.*]] = tw.broadcast %x dims [0] : tensor<8xf32> -> tensor<8x3x2xf32>
  // CHECK-NEXT: func.return %[[A]], %[[B]], %[[C]], %[[D]]
  %0 = tw.reshape %x : tensor<8xf32> -> tensor<8x1xf32>
  %1 = tw.broadcast %0 dims [0, 1] : tensor<8x1xf32> -> tensor<8x5xf32>
  %2 = tw.broadcast %x dims [1] : tensor<8xf32> -> tensor<3x8xf32>
  %3 = tw.broadcast %2 dims [1, 2] : tensor<3x8xf32> -> tensor<2x3x8xf32>
  %4 = tw.reshape %3 : tensor<2x3x8xf32> -> tensor<6x8xf32>
  %5 = tw.transpose %3 by [2, 1, 0] : tensor<2x3x8xf32> -> tensor<8x3x2xf32>
  func.return %1, %3, %4, %5 : tensor<8x5xf32>, tensor<2x3x8xf32>, tensor<6x8xf32>, tensor<8x3x2xf32>
}

// -----

// CHECK-LABEL: @keeps_split_broadcast
// CHECK-NEXT: tw.broadcast
// CHECK-NEXT: tw.reshape
func.func @keeps_split_broadcast(%x: tensor<8xf32>) -> tensor<3x2x4xf32> {
  %0 = tw.broadcast %x dims [1] : tensor<8xf32> -> tensor<3x8xf32>
  %1 = tw.reshape %0 : tensor<3x8xf32> -> tensor<3x2x4xf32>
  func.return %1 : tensor<3x2x4xf32>
}

// -----

// CHECK-LABEL: @ones_move_by_reshape
func.func @ones_move_by_reshape(%x: tensor<1x3x1x4xf32>) -> tensor<3x1x1x4xf32> {
  // CHECK-NEXT: tw.reshape %x : tensor<1x3x1x4xf32> -> tensor<3x1x1x4xf32>
  // CHECK-NEXT: func.return
  %0 = tw.transpose %x by [1, 0, 2, 3] : tensor<1x3x1x4xf32> -> tensor<3x1x1x4xf32>
  func.return %0 : tensor<3x1x1x4xf32>
}

// -----

// CHECK-LABEL: @slices_one_part
func.func @slices_one_part(%x: tensor<4x?xf32, #tw.shape<"4, s0">>, %y: tensor<4x3xf32>, %z: tensor<4x0xf32>) -> (tensor<4x2xf32>, tensor<4x3xf32>) {
  // CHECK-NEXT: %[[S:.*]] = tw.slice %y starts "0, 1" steps "1, 1" : tensor<4x3xf32> -> tensor<4x2xf32>
  // CHECK-NEXT: func.return %[[S]], %y
  %0 = tw.concat %x, %y dim 1 : (tensor<4x?xf32, #tw.shape<"4, s0">>, tensor<4x3xf32>) -> tensor<4x?xf32, #tw.shape<"4, s0 + 3">>
  %1 = tw.slice %0 starts "0, s0 + 1" steps "1, 1" : tensor<4x?xf32, #tw.shape<"4, s0 + 3">> -> tensor<4x2xf32>
  %2 = tw.concat %z, %y dim 1 : (tensor<4x0xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return %1, %2 : tensor<4x2xf32>, tensor<4x3xf32>
}

// -----

// CHECK-LABEL: @keeps_slice_across_parts
// CHECK-NEXT: tw.concat
// CHECK-NEXT: tw.slice
func.func @keeps_slice_across_parts(%x: tensor<4x2xf32>, %y: tensor<4x3xf32>) -> tensor<4x2xf32> {
  %0 = tw.concat %x, %y dim 1 : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<4x5xf32>
  %1 = tw.slice %0 starts "0, 1" steps "1, 1" : tensor<4x5xf32> -> tensor<4x2xf32>
  func.return %1 : tensor<4x2xf32>
}

// -----

// Columns 1, 5 and 9 of what has x and y in turns, and of three tensors in turns.
// CHECK-LABEL: @slices_one_of_what_is_interleaved
func.func @slices_one_of_what_is_interleaved(%x: tensor<4x5x1xf32>, %y: tensor<4x5x1xf32>, %z: tensor<4x5x1xf32>) -> (tensor<4x2xf32>, tensor<4x5xf32>) {
  // CHECK-NEXT: %[[S:.*]] = tw.slice %y starts "0, 0, 0" steps "1, 2, 1" : tensor<4x5x1xf32> -> tensor<4x2x1xf32>
  // CHECK-NEXT: %[[A:.*]] = tw.reshape %[[S]] : tensor<4x2x1xf32> -> tensor<4x2xf32>
  // CHECK-NEXT: %[[B:.*]] = tw.reshape %z : tensor<4x5x1xf32> -> tensor<4x5xf32>
  // CHECK-NEXT: func.return %[[A]], %[[B]]
  %0 = tw.concat %x, %y dim 2 : (tensor<4x5x1xf32>, tensor<4x5x1xf32>) -> tensor<4x5x2xf32>
  %1 = tw.reshape %0 : tensor<4x5x2xf32> -> tensor<4x10xf32>
  %2 = tw.slice %1 starts "0, 1" steps "1, 4" : tensor<4x10xf32> -> tensor<4x2xf32>
  %3 = tw.concat %x, %y, %z dim 2 : (tensor<4x5x1xf32>, tensor<4x5x1xf32>, tensor<4x5x1xf32>) -> tensor<4x5x3xf32>
  %4 = tw.reshape %3 : tensor<4x5x3xf32> -> tensor<4x15xf32>
  %5 = tw.slice %4 starts "0, 2" steps "1, 3" : tensor<4x15xf32> -> tensor<4x5xf32>
  func.return %2, %5 : tensor<4x2xf32>, tensor<4x5xf32>
}

// -----

// Steps that meet both, and rows that are joined in another way.
// CHECK-LABEL: @keeps_slices_of_what_is_joined
// CHECK-COUNT-2: tw.slice {{.*}} tensor<4x10xf32>
func.func @keeps_slices_of_what_is_joined(%x: tensor<4x5x1xf32>, %y: tensor<4x5x1xf32>, %v: tensor<2x10xf32>) -> (tensor<4x3xf32>, tensor<4x5xf32>, tensor<20xf32>) {
  %0 = tw.concat %x, %y dim 2 : (tensor<4x5x1xf32>, tensor<4x5x1xf32>) -> tensor<4x5x2xf32>
  %1 = tw.reshape %0 : tensor<4x5x2xf32> -> tensor<4x10xf32>
  %2 = tw.slice %1 starts "0, 1" steps "1, 3" : tensor<4x10xf32> -> tensor<4x3xf32>
  %3 = tw.concat %v, %v dim 1 : (tensor<2x10xf32>, tensor<2x10xf32>) -> tensor<2x20xf32>
  %4 = tw.reshape %3 : tensor<2x20xf32> -> tensor<4x10xf32>
  %5 = tw.slice %4 starts "0, 0" steps "1, 2" : tensor<4x10xf32> -> tensor<4x5xf32>
  %6 = tw.reshape %0 : tensor<4x5x2xf32> -> tensor<40xf32>
  %7 = tw.slice %6 starts "1" steps "2" : tensor<40xf32> -> tensor<20xf32>
  func.return %2, %5, %7 : tensor<4x3xf32>, tensor<4x5xf32>, tensor<20xf32>
}

// -----

// CHECK-LABEL: @cancels_reshapes_across_elementwise
func.func @cancels_reshapes_across_elementwise(%x: tensor<2x?x8xf32, #tw.shape<"2, s0, 8">>, %b: tensor<8xf32>) -> tensor<2x?x8xf32, #tw.shape<"2, s0, 8">> {
  // CHECK-NEXT: %[[B:.*]] = tw.broadcast %b dims [2] : tensor<8xf32> -> tensor<2x?x8xf32, #tw.shape<"2, s0, 8">>
  // CHECK-NEXT: %[[A:.*]] = tw.add %x, %[[B]] : tensor<2x?x8xf32, #tw.shape<"2, s0, 8">> loc("m.py":1:0)
  // CHECK-NEXT: %[[S:.*]] = tw.sigmoid %[[A]] : {{.*}} loc("m.py":2:0)
  // CHECK-NEXT: %[[M:.*]] = tw.mul %[[A]], %[[S]]
  // CHECK-NEXT: %[[F:.*]] = tw.full 3.0{{.*}} : f32 -> tensor<2x?x8xf32, #tw.shape<"2, s0, 8">>
  // CHECK-NEXT: %[[P:.*]] = tw.pow %[[M]], %[[F]]
  // CHECK-NEXT: func.return %[[P]]
  %r = tw.reshape %x : tensor<2x?x8xf32, #tw.shape<"2, s0, 8">> -> tensor<?x8xf32, #tw.shape<"s0*2, 8">>
  %f = tw.full 3.0 : f32 -> tensor<?x8xf32, #tw.shape<"s0*2, 8">>
  %bb = tw.broadcast %b dims [1] : tensor<8xf32> -> tensor<?x8xf32, #tw.shape<"s0*2, 8">>
  %a = tw.add %r, %bb : tensor<?x8xf32, #tw.shape<"s0*2, 8">> loc("m.py":1:0)
  %s = tw.sigmoid %a : tensor<?x8xf32, #tw.shape<"s0*2, 8">> loc("m.py":2:0)
  %m = tw.mul %a, %s : tensor<?x8xf32, #tw.shape<"s0*2, 8">> loc("m.py":3:0)
  %p = tw.pow %m, %f : tensor<?x8xf32, #tw.shape<"s0*2, 8">> loc("m.py":4:0)
  %o = tw.reshape %p : tensor<?x8xf32, #tw.shape<"s0*2, 8">> -> tensor<2x?x8xf32, #tw.shape<"2, s0, 8">>
  func.return %o : tensor<2x?x8xf32, #tw.shape<"2, s0, 8">>
}

// -----

// CHECK-LABEL: @keeps_shared_elementwise
// REMARK: tw.reshape at {{.*}}: an elementwise op before it has other users
func.func @keeps_shared_elementwise(%x: tensor<2x4xf32>) -> (tensor<8xf32>, tensor<2x4xf32>) {
  // CHECK-NEXT: tw.reshape
  // CHECK-NEXT: tw.exp
  // CHECK-NEXT: tw.reshape
  %r = tw.reshape %x : tensor<2x4xf32> -> tensor<8xf32>
  %e = tw.exp %r : tensor<8xf32>
  %o = tw.reshape %e : tensor<8xf32> -> tensor<2x4xf32>
  func.return %e, %o : tensor<8xf32>, tensor<2x4xf32>
}

// -----

// CHECK-LABEL: @keeps_reshape_that_would_multiply
// REMARK: tw.reshape at {{.*}}: an operand of the elementwise ops would need a new reshape
func.func @keeps_reshape_that_would_multiply(%x: tensor<2x4xf32>, %y: tensor<8xf32>) -> tensor<2x4xf32> {
  // CHECK-NEXT: tw.reshape
  // CHECK-NEXT: tw.add
  // CHECK-NEXT: tw.reshape
  %r = tw.reshape %x : tensor<2x4xf32> -> tensor<8xf32>
  %e = tw.add %r, %y : tensor<8xf32>
  %o = tw.reshape %e : tensor<8xf32> -> tensor<2x4xf32>
  func.return %o : tensor<2x4xf32>
}

// -----

// CHECK-LABEL: @keeps_reshape_that_cancels_nothing
// REMARK: tw.reshape at {{.*}}: no operand of the elementwise ops is a reshape from the same shape
func.func @keeps_reshape_that_cancels_nothing(%x: tensor<4xf32>) -> tensor<2x4xf32> {
  // CHECK: tw.exp {{.*}} : tensor<8xf32>
  %b = tw.full 1.0 : f32 -> tensor<8xf32>
  %e = tw.exp %b : tensor<8xf32>
  %o = tw.reshape %e : tensor<8xf32> -> tensor<2x4xf32>
  func.return %o : tensor<2x4xf32>
}

// -----

// CHECK-LABEL: @reverses_cancel
// CHECK-NEXT:  %[[R:.*]] = tw.reverse %x dims [0, 2]
// CHECK-NEXT:  return %[[R]], %x
func.func @reverses_cancel(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>) {
  %a = tw.reverse %x dims [0, 1] : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  %b = tw.reverse %a dims [1, 2] : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  %c = tw.reverse %a dims [0, 1] : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  func.return %b, %c : tensor<2x3x4xf32>, tensor<2x3x4xf32>
}
