// RUN: tilewright-opt %s -p gather-early --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p gather-early --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// Rows have a maximum each, of which nothing is gathered; what is read elsewhere, too, stays beside it.
// CHECK-LABEL: @takes_one_number_of_a_row
// CHECK-DAG: %[[X:.*]] = tw.gather_along %x, %i dim 1 : (tensor<8x128xf32>, tensor<8x1xi64>) -> tensor<8x1xf32>
// CHECK-DAG: %[[M:.*]] = tw.broadcast %m dims [0] : tensor<8xf32> -> tensor<8x1xf32>
// CHECK-DAG: %[[F:.*]] = tw.full 2.0{{.*}} : f32 -> tensor<8x1xf32>
// CHECK: %[[S:.*]] = tw.sub %[[X]], %[[M]] : tensor<8x1xf32> loc("m.py":2:0)
// CHECK-NEXT: %[[E:.*]] = tw.mul %[[S]], %[[F]] : tensor<8x1xf32> loc("m.py":3:0)
// CHECK-NEXT: return %[[E]], %
func.func @takes_one_number_of_a_row(%x: tensor<8x128xf32>, %m: tensor<8xf32>, %i: tensor<8x1xi64>) -> (tensor<8x1xf32>, tensor<8x128xf32>) {
  %b = tw.broadcast %m dims [0] : tensor<8xf32> -> tensor<8x128xf32>
  %s = tw.sub %x, %b : tensor<8x128xf32> loc("m.py":2:0)
  %two = tw.full 2.0 : f32 -> tensor<8x128xf32>
  %e = tw.mul %s, %two : tensor<8x128xf32> loc("m.py":3:0)
  %r = tw.gather_along %e, %i dim 1 : (tensor<8x128xf32>, tensor<8x1xi64>) -> tensor<8x1xf32> loc("m.py":4:0)
  func.return %r, %s : tensor<8x1xf32>, tensor<8x128xf32>
}

// -----

// A value that is the same along the other dimension is gathered as any other.
// CHECK-LABEL: @gathers_what_varies
// CHECK: %[[B:.*]] = tw.broadcast %w dims [1]
// CHECK-NEXT: %[[G:.*]] = tw.gather_along %[[B]], %i dim 1
// CHECK-NEXT: tw.exp %[[G]] : tensor<8x1xf32>
func.func @gathers_what_varies(%w: tensor<?xf32, #tw.shape<"s0">>, %i: tensor<8x1xi64>, %s0: index {tw.symbol = "s0"}) -> tensor<8x1xf32> {
  %b = tw.broadcast %w dims [1] : tensor<?xf32, #tw.shape<"s0">> -> tensor<8x?xf32, #tw.shape<"8, s0">>
  %e = tw.exp %b : tensor<8x?xf32, #tw.shape<"8, s0">>
  %r = tw.gather_along %e, %i dim 1 : (tensor<8x?xf32, #tw.shape<"8, s0">>, tensor<8x1xi64>) -> tensor<8x1xf32>
  func.return %r : tensor<8x1xf32>
}

// -----

// CHECK-LABEL: @leaves_many
// CHECK: tw.exp %x
// REMARK: tw.gather_along at {{.*}}: it gathers more than one of 4 elements
func.func @leaves_many(%x: tensor<8x128xf32>, %i: tensor<8x33xi64>) -> tensor<8x33xf32> {
  %e = tw.exp %x : tensor<8x128xf32>
  %r = tw.gather_along %e, %i dim 1 : (tensor<8x128xf32>, tensor<8x33xi64>) -> tensor<8x33xf32>
  func.return %r : tensor<8x33xf32>
}

// -----

// CHECK-LABEL: @leaves_some_rows
// CHECK: tw.exp %x
// REMARK: tw.gather_along at {{.*}}: it gathers from a part of the rows
func.func @leaves_some_rows(%x: tensor<8x128xf32>, %i: tensor<7x1xi64>) -> tensor<7x1xf32> {
  %e = tw.exp %x : tensor<8x128xf32>
  %r = tw.gather_along %e, %i dim 1 : (tensor<8x128xf32>, tensor<7x1xi64>) -> tensor<7x1xf32>
  func.return %r : tensor<7x1xf32>
}

// -----

// Nothing would be left to check the index.
// CHECK-LABEL: @keeps_the_check
// CHECK: tw.gather_along
// REMARK: tw.gather_along at {{.*}}: it would take 1 elementwise ops and 0 gathers instead
func.func @keeps_the_check(%m: tensor<8x1xf32>, %i: tensor<8x1xi64>) -> tensor<8x1xf32> {
  %b = tw.broadcast %m dims [0, 1] : tensor<8x1xf32> -> tensor<8x128xf32>
  %e = tw.exp %b : tensor<8x128xf32>
  %r = tw.gather_along %e, %i dim 1 : (tensor<8x128xf32>, tensor<8x1xi64>) -> tensor<8x1xf32>
  func.return %r : tensor<8x1xf32>
}
