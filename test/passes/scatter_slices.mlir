// RUN: tilewright-opt %s -p scatter-slices,dce --split-input-file --print-debuginfo | filecheck %s

// CHECK-LABEL: @scatters_what_is_new
// CHECK-NEXT: %[[I:.*]] = tw.iota dim 0 start "2" step "1" -> tensor<3xi64>
// CHECK-NEXT: %[[C:.*]] = tw.scatter %v into %x[%[[I]]] dims [1] at 1 strict {{.*}} loc("m.py":3:0)
// CHECK-NEXT: tw.write %[[C]] into %x
func.func @scatters_what_is_new(%x: tensor<4x9xf32>, %v: tensor<4x3xf32>) {
  %a = tw.slice %x starts "0, 0" steps "1, 1" : tensor<4x9xf32> -> tensor<4x2xf32>
  %b = tw.slice %x starts "0, 5" steps "1, 1" : tensor<4x9xf32> -> tensor<4x4xf32>
  %c = tw.concat %a, %v, %b dim 1 : (tensor<4x2xf32>, tensor<4x3xf32>, tensor<4x4xf32>) -> tensor<4x9xf32> loc("m.py":3:0)
  tw.write %c into %x : tensor<4x9xf32>
  func.return
}

// -----

// A slice of a slice, the first of which is read after it: that is read of what was scattered.
// CHECK-LABEL: @scatters_once
// CHECK-DAG: %[[I:.*]] = tw.iota dim 0 start "1" step "1" -> tensor<3xi64>
// CHECK-DAG: %[[R:.*]] = tw.broadcast %[[I]] dims [0] : tensor<3xi64> -> tensor<3x2xi64>
// CHECK-DAG: %[[J:.*]] = tw.iota dim 0 start "s0" step "1" -> tensor<2xi64>
// CHECK-DAG: %[[S:.*]] = tw.broadcast %[[J]] dims [1] : tensor<2xi64> -> tensor<3x2xi64>
// CHECK: %[[C:.*]] = tw.scatter %v into %x[%[[R]], %[[S]]] dims [0, 1] at 0 strict
// CHECK-NEXT: %[[P:.*]] = tw.slice %[[C]] starts "1, 0" steps "1, 1" : tensor<4x?xf32, #tw.shape<"4, s0 + 4">> -> tensor<3x?xf32, #tw.shape<"3, s0 + 4">>
// CHECK-NEXT: %[[E:.*]] = tw.exp %[[P]]
// CHECK-NEXT: tw.write %[[C]] into %x
// CHECK-NEXT: return %[[E]]
func.func @scatters_once(%x: tensor<4x?xf32, #tw.shape<"4, s0 + 4">>, %v: tensor<3x2xf32>, %s0: index {tw.symbol = "s0"}) -> tensor<3x?xf32, #tw.shape<"3, s0 + 4">> {
  %a = tw.slice %x starts "1, 0" steps "1, 1" : tensor<4x?xf32, #tw.shape<"4, s0 + 4">> -> tensor<3x?xf32, #tw.shape<"3, s0">>
  %b = tw.slice %x starts "1, s0 + 2" steps "1, 1" : tensor<4x?xf32, #tw.shape<"4, s0 + 4">> -> tensor<3x2xf32>
  %c = tw.concat %a, %v, %b dim 1 : (tensor<3x?xf32, #tw.shape<"3, s0">>, tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x?xf32, #tw.shape<"3, s0 + 4">>
  %f = tw.slice %x starts "0, 0" steps "1, 1" : tensor<4x?xf32, #tw.shape<"4, s0 + 4">> -> tensor<1x?xf32, #tw.shape<"1, s0 + 4">>
  %d = tw.concat %f, %c dim 0 : (tensor<1x?xf32, #tw.shape<"1, s0 + 4">>, tensor<3x?xf32, #tw.shape<"3, s0 + 4">>) -> tensor<4x?xf32, #tw.shape<"4, s0 + 4">>
  %e = tw.exp %c : tensor<3x?xf32, #tw.shape<"3, s0 + 4">>
  tw.write %d into %x : tensor<4x?xf32, #tw.shape<"4, s0 + 4">>
  func.return %e : tensor<3x?xf32, #tw.shape<"3, s0 + 4">>
}

// -----

// What `x[:, 5] = v` is decomposed to.
// CHECK-LABEL: @scatters_one_position
// CHECK-NEXT: %[[V:.*]] = tw.broadcast %v dims [0] : tensor<4xf32> -> tensor<4x1xf32>
// CHECK-NEXT: %[[I:.*]] = tw.iota dim 0 start "5" step "1" -> tensor<1xi64>
// CHECK-NEXT: %[[C:.*]] = tw.scatter %[[V]] into %x[%[[I]]] dims [1] at 1 strict
// CHECK-NEXT: tw.write %[[C]] into %x
func.func @scatters_one_position(%x: tensor<4x9xf32>, %v: tensor<4xf32>) {
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

// CHECK-LABEL: @scatters_one_number
// CHECK-NEXT: %[[V:.*]] = tw.full 2.0{{.*}} -> tensor<1xf32>
// CHECK: tw.scatter %[[V]] into %x
func.func @scatters_one_number(%x: tensor<9xf32>) {
  %n = tw.iota dim 0 start "0" step "1" -> tensor<9xi64>
  %f = tw.full 5 : i64 -> tensor<9xi64>
  %e = tw.compare eq %n, %f : tensor<9xi64> -> tensor<9xi1>
  %w = tw.full 2.0 : f32 -> tensor<9xf32>
  %c = tw.select %e, %w, %x : tensor<9xi1>, tensor<9xf32>
  tw.write %c into %x : tensor<9xf32>
  func.return
}

// -----

// What is written varies along the dimension; a position that there is not; two conditions.
// CHECK-LABEL: @leaves_other_selects
// CHECK-NOT: tw.scatter
func.func @leaves_other_selects(%x: tensor<9xf32>, %y: tensor<9xf32>, %z: tensor<9xf32>, %v: tensor<9xf32>) {
  %n = tw.iota dim 0 start "0" step "1" -> tensor<9xi64>
  %five = tw.full 5 : i64 -> tensor<9xi64>
  %nine = tw.full 9 : i64 -> tensor<9xi64>
  %w = tw.full 2.0 : f32 -> tensor<9xf32>
  %a = tw.compare eq %n, %five : tensor<9xi64> -> tensor<9xi1>
  %b = tw.compare eq %n, %nine : tensor<9xi64> -> tensor<9xi1>
  %c = tw.compare lt %n, %five : tensor<9xi64> -> tensor<9xi1>
  %0 = tw.select %a, %v, %x : tensor<9xi1>, tensor<9xf32>
  %1 = tw.select %b, %w, %y : tensor<9xi1>, tensor<9xf32>
  %2 = tw.select %c, %w, %z : tensor<9xi1>, tensor<9xf32>
  tw.write %0 into %x : tensor<9xf32>
  tw.write %1 into %y : tensor<9xf32>
  tw.write %2 into %z : tensor<9xf32>
  func.return
}

// -----

// Another argument's rest, a rest from elsewhere, and two pieces of which neither stood there.
// CHECK-LABEL: @leaves_other_concats
// CHECK-NOT: tw.scatter
func.func @leaves_other_concats(%x: tensor<9xf32>, %y: tensor<9xf32>, %z: tensor<9xf32>, %v: tensor<2xf32>) {
  %a = tw.slice %y starts "2" steps "1" : tensor<9xf32> -> tensor<7xf32>
  %0 = tw.concat %v, %a dim 0 : (tensor<2xf32>, tensor<7xf32>) -> tensor<9xf32>
  %b = tw.slice %y starts "0" steps "1" : tensor<9xf32> -> tensor<7xf32>
  %1 = tw.concat %v, %b dim 0 : (tensor<2xf32>, tensor<7xf32>) -> tensor<9xf32>
  %c = tw.slice %z starts "2" steps "1" : tensor<9xf32> -> tensor<7xf32>
  %2 = tw.concat %c, %v dim 0 : (tensor<7xf32>, tensor<2xf32>) -> tensor<9xf32>
  tw.write %0 into %x : tensor<9xf32>
  tw.write %1 into %y : tensor<9xf32>
  tw.write %2 into %z : tensor<9xf32>
  func.return
}

// -----

// Two, the second of which was assigned to what the first one made.
// CHECK-LABEL: @scatters_two
// CHECK: %[[I:.*]] = tw.iota dim 0 start "1" step "1" -> tensor<1xi64>
// CHECK: %[[A:.*]] = tw.scatter %v into %x[%[[I]]] dims [0] at 0 strict
// CHECK: %[[J:.*]] = tw.iota dim 0 start "5" step "1" -> tensor<2xi64>
// CHECK: %[[B:.*]] = tw.scatter %w into %[[A]][%[[J]]] dims [0] at 0 strict
// CHECK-NEXT: tw.write %[[B]] into %x
func.func @scatters_two(%x: tensor<9x4xf32>, %v: tensor<1x4xf32>, %w: tensor<2x4xf32>) {
  %a = tw.slice %x starts "0, 0" steps "1, 1" : tensor<9x4xf32> -> tensor<1x4xf32>
  %b = tw.slice %x starts "2, 0" steps "1, 1" : tensor<9x4xf32> -> tensor<7x4xf32>
  %c = tw.concat %a, %v, %b dim 0 : (tensor<1x4xf32>, tensor<1x4xf32>, tensor<7x4xf32>) -> tensor<9x4xf32>
  %d = tw.slice %c starts "0, 0" steps "1, 1" : tensor<9x4xf32> -> tensor<5x4xf32>
  %e = tw.slice %x starts "7, 0" steps "1, 1" : tensor<9x4xf32> -> tensor<2x4xf32>
  %f = tw.concat %d, %w, %e dim 0 : (tensor<5x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<9x4xf32>
  tw.write %f into %x : tensor<9x4xf32>
  func.return
}

// -----

// Where what was assigned is what stood there again, nothing is scattered; nor where others read what the first one made.
// CHECK-LABEL: @leaves_what_is_restored
// CHECK-NOT: tw.scatter
func.func @leaves_what_is_restored(%x: tensor<9x4xf32>, %y: tensor<9x4xf32>, %v: tensor<1x4xf32>, %w: tensor<2x4xf32>) -> tensor<9x4xf32> {
  %a = tw.slice %x starts "0, 0" steps "1, 1" : tensor<9x4xf32> -> tensor<1x4xf32>
  %b = tw.slice %x starts "2, 0" steps "1, 1" : tensor<9x4xf32> -> tensor<7x4xf32>
  %c = tw.concat %a, %v, %b dim 0 : (tensor<1x4xf32>, tensor<1x4xf32>, tensor<7x4xf32>) -> tensor<9x4xf32>
  %d = tw.slice %c starts "5, 0" steps "1, 1" : tensor<9x4xf32> -> tensor<4x4xf32>
  %e = tw.slice %x starts "0, 0" steps "1, 1" : tensor<9x4xf32> -> tensor<3x4xf32>
  %f = tw.concat %e, %w, %d dim 0 : (tensor<3x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<9x4xf32>
  tw.write %f into %x : tensor<9x4xf32>
  %g = tw.slice %y starts "0, 0" steps "1, 1" : tensor<9x4xf32> -> tensor<1x4xf32>
  %h = tw.slice %y starts "2, 0" steps "1, 1" : tensor<9x4xf32> -> tensor<7x4xf32>
  %i = tw.concat %g, %v, %h dim 0 : (tensor<1x4xf32>, tensor<1x4xf32>, tensor<7x4xf32>) -> tensor<9x4xf32>
  %j = tw.slice %i starts "0, 0" steps "1, 1" : tensor<9x4xf32> -> tensor<5x4xf32>
  %k = tw.slice %i starts "7, 0" steps "1, 1" : tensor<9x4xf32> -> tensor<2x4xf32>
  %l = tw.concat %j, %w, %k dim 0 : (tensor<5x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<9x4xf32>
  tw.write %l into %y : tensor<9x4xf32>
  func.return %i : tensor<9x4xf32>
}
