// RUN: tilewright-opt %s -p write-slices,dce --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p write-slices --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p write-slices --split-input-file --check-semantics -o /dev/null

// CHECK-LABEL: @writes_what_is_new
// CHECK-NEXT: %[[S:.*]] = tw.slice %x starts "0, 2" steps "1, 1" : tensor<4x9xf32> -> tensor<4x3xf32> loc("m.py":4:0)
// CHECK-NEXT: tw.write %v into %[[S]] : tensor<4x3xf32> loc("m.py":4:0)
// CHECK-NEXT: return
func.func @writes_what_is_new(%x: tensor<4x9xf32>, %v: tensor<4x3xf32>) {
  %a = tw.slice %x starts "0, 0" steps "1, 1" : tensor<4x9xf32> -> tensor<4x2xf32>
  %b = tw.slice %x starts "0, 5" steps "1, 1" : tensor<4x9xf32> -> tensor<4x4xf32>
  %c = tw.concat %a, %v, %b dim 1 : (tensor<4x2xf32>, tensor<4x3xf32>, tensor<4x4xf32>) -> tensor<4x9xf32> loc("m.py":3:0)
  tw.write %c into %x : tensor<4x9xf32> loc("m.py":4:0)
  func.return
}

// -----

// Two slices, of a size that only the run knows.
// CHECK-LABEL: @writes_both
// CHECK: tw.slice %x starts "0, 0" {{.*}} -> tensor<4x2xf32>
// CHECK-NEXT: tw.write %v into
// CHECK-NEXT: tw.slice %x starts "0, s0 + 2" {{.*}} -> tensor<4x1xf32>
// CHECK-NEXT: tw.write %w into
func.func @writes_both(%x: tensor<4x?xf32, #tw.shape<"4, s0 + 3">>, %v: tensor<4x2xf32>, %w: tensor<4x1xf32>, %s0: index {tw.symbol = "s0"}) {
  %a = tw.slice %x starts "0, 2" steps "1, 1" : tensor<4x?xf32, #tw.shape<"4, s0 + 3">> -> tensor<4x?xf32, #tw.shape<"4, s0">>
  %c = tw.concat %v, %a, %w dim 1 : (tensor<4x2xf32>, tensor<4x?xf32, #tw.shape<"4, s0">>, tensor<4x1xf32>) -> tensor<4x?xf32, #tw.shape<"4, s0 + 3">>
  tw.write %c into %x : tensor<4x?xf32, #tw.shape<"4, s0 + 3">>
  func.return
}

// -----

// `x[:, 5] = v`
// CHECK-LABEL: @writes_one_position
// CHECK-NEXT: %[[V:.*]] = tw.broadcast %v dims [0] : tensor<4xf32> -> tensor<4x1xf32>
// CHECK-NEXT: %[[S:.*]] = tw.slice %x starts "0, 5" steps "1, 1" : tensor<4x9xf32> -> tensor<4x1xf32>
// CHECK-NEXT: tw.write %[[V]] into %[[S]]
func.func @writes_one_position(%x: tensor<4x9xf32>, %v: tensor<4xf32>) {
  %n = tw.iota dim 0 start "0" step "1" -> tensor<9xi64>
  %r = tw.reshape %n : tensor<9xi64> -> tensor<1x9xi64>
  %f = tw.full 5 : i64 -> tensor<1x9xi64>
  %e = tw.compare eq %r, %f : tensor<1x9xi64> -> tensor<1x9xi1>
  %h = tw.broadcast %e dims [0, 1] : tensor<1x9xi1> -> tensor<4x9xi1>
  %w = tw.broadcast %v dims [0] : tensor<4xf32> -> tensor<4x9xf32>
  %c = tw.select %h, %w, %x : tensor<4x9xi1>, tensor<4x9xf32>
  tw.write %c into %x : tensor<4x9xf32>
  func.return
}

// -----

// `x[::2] = v`, of a tensor whose columns lie together.
// CHECK-LABEL: @writes_every_other_row
// CHECK: %[[R:.*]] = tw.reshape %x : tensor<6x4xf32> -> tensor<3x2x4xf32>
// CHECK: %[[S:.*]] = tw.slice %[[R]] starts "0, 0, 0" steps "1, 1, 1" : tensor<3x2x4xf32> -> tensor<3x1x4xf32>
// CHECK: tw.write %{{.*}} into %[[S]] : tensor<3x1x4xf32>
func.func @writes_every_other_row(%x: tensor<6x4xf32> {tw.strides = "1, 6"}, %v: tensor<3x4xf32>) {
  %r = tw.reshape %x : tensor<6x4xf32> -> tensor<3x2x4xf32>
  %a = tw.reshape %v : tensor<3x4xf32> -> tensor<3x1x4xf32>
  %b = tw.slice %r starts "0, 1, 0" steps "1, 1, 1" : tensor<3x2x4xf32> -> tensor<3x1x4xf32>
  %c = tw.concat %a, %b dim 1 : (tensor<3x1x4xf32>, tensor<3x1x4xf32>) -> tensor<3x2x4xf32>
  %d = tw.reshape %c : tensor<3x2x4xf32> -> tensor<6x4xf32>
  tw.write %d into %x : tensor<6x4xf32>
  func.return
}

// -----

// Halves that are computed of both halves.
// CHECK-LABEL: @writes_halves
// CHECK: %[[A:.*]] = tw.slice %x starts "0, 0" {{.*}} -> tensor<4x2xf32>
// CHECK: tw.write %{{.*}} into
// CHECK: tw.write %{{.*}} into
// CHECK-NEXT: return
func.func @writes_halves(%x: tensor<4x4xf32>) {
  %a = tw.slice %x starts "0, 0" steps "1, 1" : tensor<4x4xf32> -> tensor<4x2xf32>
  %b = tw.slice %x starts "0, 2" steps "1, 1" : tensor<4x4xf32> -> tensor<4x2xf32>
  %p = tw.add %a, %b : tensor<4x2xf32>
  %q = tw.sub %a, %b : tensor<4x2xf32>
  %c = tw.concat %p, %q dim 1 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  tw.write %c into %x : tensor<4x4xf32>
  func.return
}

// -----

// The sum reads all of it.
// CHECK-LABEL: @keeps_what_is_read
// CHECK: tw.write %{{.*}} into %x : tensor<4x9xf32>
// REMARK: tw.write at {{.*}}: what is written is read as a whole, too
func.func @keeps_what_is_read(%x: tensor<4x9xf32>, %v: tensor<4x3xf32>) -> tensor<4xf32> {
  %b = tw.slice %x starts "0, 3" steps "1, 1" : tensor<4x9xf32> -> tensor<4x6xf32>
  %c = tw.concat %v, %b dim 1 : (tensor<4x3xf32>, tensor<4x6xf32>) -> tensor<4x9xf32>
  %s = tw.sum %c over [1] : tensor<4x9xf32> -> tensor<4xf32>
  tw.write %c into %x : tensor<4x9xf32>
  func.return %s : tensor<4xf32>
}

// -----

// Each moves by one: what is stored first would be read then.
// CHECK-LABEL: @keeps_what_moves
// CHECK: tw.write %{{.*}} into %x : tensor<4x9xf32>
// REMARK: tw.write at {{.*}}: not a few slices of it are assigned
func.func @keeps_what_moves(%x: tensor<4x9xf32>, %v: tensor<4x1xf32>) {
  %b = tw.slice %x starts "0, 1" steps "1, 1" : tensor<4x9xf32> -> tensor<4x8xf32>
  %c = tw.concat %b, %v dim 1 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x9xf32>
  tw.write %c into %x : tensor<4x9xf32>
  func.return
}

// -----

// No strides show the rows of pairs of rows of what lies in columns apart from each other.
// CHECK-LABEL: @keeps_what_is_no_view
// CHECK: tw.write %{{.*}} into %x : tensor<6x4xf32>
// REMARK: tw.write at {{.*}}: not a few slices of it are assigned
func.func @keeps_what_is_no_view(%x: tensor<6x4xf32> {tw.strides = "1, 6"}, %v: tensor<12xf32>) {
  %r = tw.reshape %x : tensor<6x4xf32> -> tensor<24xf32>
  %b = tw.slice %r starts "12" steps "1" : tensor<24xf32> -> tensor<12xf32>
  %c = tw.concat %v, %b dim 0 : (tensor<12xf32>, tensor<12xf32>) -> tensor<24xf32>
  %d = tw.reshape %c : tensor<24xf32> -> tensor<6x4xf32>
  tw.write %d into %x : tensor<6x4xf32>
  func.return
}
