// RUN: tilewright-opt %s -p slice-gathers,dce --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p slice-gathers --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p slice-gathers --split-input-file --check-semantics

// CHECK-LABEL: @looks_up_positions
// CHECK-NEXT: %[[S:.*]] = tw.slice %t starts "2, 0" steps "1, 1" : tensor<9x4xf32> -> tensor<6x4xf32> loc("m.py":3:0)
// CHECK-NEXT: tw.broadcast %[[S]] dims [1, 2] : tensor<6x4xf32> -> tensor<3x6x4xf32> loc("m.py":3:0)
func.func @looks_up_positions(%t: tensor<9x4xf32>) -> tensor<3x6x4xf32> {
  %n = tw.iota dim 0 start "0" step "1" -> tensor<6xi64>
  %two = tw.full 2 : i64 -> tensor<6xi64>
  %m = tw.add %n, %two : tensor<6xi64>
  %i = tw.broadcast %m dims [1] : tensor<6xi64> -> tensor<3x6xi64>
  %r = tw.gather %t[%i] dims [0] at 0 : (tensor<9x4xf32>, tensor<3x6xi64>) -> tensor<3x6x4xf32> loc("m.py":3:0)
  func.return %r : tensor<3x6x4xf32>
}

// -----

// CHECK-LABEL: @adds_up_what_comes_to_one_place
// CHECK: %[[S:.*]] = tw.sum %v over [0] : tensor<3x6x4xf32> -> tensor<6x4xf32>
// CHECK-NEXT: %[[R:.*]] = tw.reshape %[[S]]
// CHECK-NEXT: %[[Z:.*]] = tw.full 0.0{{.*}} -> tensor<6x4xf32>
// CHECK-NEXT: %[[A:.*]] = tw.add %[[Z]], %[[R]]
// CHECK: tw.pad %[[A]] low "0, 0" high "3, 0"
func.func @adds_up_what_comes_to_one_place(%v: tensor<3x6x4xf32>) -> tensor<9x4xf32> {
  %zero = tw.full 0.0 : f32 -> tensor<9x4xf32>
  %i = tw.iota dim 1 start "0" step "1" -> tensor<3x6xi64>
  %r = tw.scatter_add %v into %zero[%i] dims [0] at 0 : (tensor<9x4xf32>, tensor<3x6x4xf32>, tensor<3x6xi64>) -> tensor<9x4xf32>
  func.return %r : tensor<9x4xf32>
}

// -----

// All of a target, whatever stands there, of a size that nobody knows.
// CHECK-LABEL: @adds_to_all
// CHECK: %[[V:.*]] = tw.reshape %v
// CHECK-NEXT: tw.add %t, %[[V]]
func.func @adds_to_all(%t: tensor<4x?xf32, #tw.shape<"4, s0">>, %v: tensor<4x1x?xf32, #tw.shape<"4, 1, s0">>, %s0: index {tw.symbol = "s0"}) -> tensor<4x?xf32, #tw.shape<"4, s0">> {
  %n = tw.iota dim 0 start "0" step "1" -> tensor<?xi64, #tw.shape<"s0">>
  %i = tw.reshape %n : tensor<?xi64, #tw.shape<"s0">> -> tensor<1x?xi64, #tw.shape<"1, s0">>
  %r = tw.scatter_add %v into %t[%i] dims [1] at 1 : (tensor<4x?xf32, #tw.shape<"4, s0">>, tensor<4x1x?xf32, #tw.shape<"4, 1, s0">>, tensor<1x?xi64, #tw.shape<"1, s0">>) -> tensor<4x?xf32, #tw.shape<"4, s0">>
  func.return %r : tensor<4x?xf32, #tw.shape<"4, s0">>
}

// -----

// CHECK-LABEL: @replaces_a_part_of_a_constant
// CHECK: %[[V:.*]] = tw.reshape %v
// CHECK: tw.pad %[[V]] low "1, 0" high "2, 0" value 7.0
func.func @replaces_a_part_of_a_constant(%v: tensor<6x4xf32>) -> tensor<9x4xf32> {
  %seven = tw.full 7.0 : f32 -> tensor<9x4xf32>
  %i = tw.iota dim 0 start "1" step "1" -> tensor<6xi64>
  %r = tw.scatter %v into %seven[%i] dims [0] at 0 : (tensor<9x4xf32>, tensor<6x4xf32>, tensor<6xi64>) -> tensor<9x4xf32>
  func.return %r : tensor<9x4xf32>
}

// -----

// CHECK-LABEL: @leaves_a_part_of_another_target
// CHECK: tw.scatter %v
// REMARK: tw.scatter at {{.*}}: its target is no constant, and it writes to a part of it
func.func @leaves_a_part_of_another_target(%t: tensor<9x4xf32>, %v: tensor<6x4xf32>) -> tensor<9x4xf32> {
  %i = tw.iota dim 0 start "1" step "1" -> tensor<6xi64>
  %r = tw.scatter %v into %t[%i] dims [0] at 0 : (tensor<9x4xf32>, tensor<6x4xf32>, tensor<6xi64>) -> tensor<9x4xf32>
  func.return %r : tensor<9x4xf32>
}

// -----

// CHECK-LABEL: @leaves_several_values_for_one_place
// CHECK: tw.scatter %v
// REMARK: tw.scatter at {{.*}}: several values are written to one place
func.func @leaves_several_values_for_one_place(%v: tensor<2x9xf32>) -> tensor<9xf32> {
  %zero = tw.full 0.0 : f32 -> tensor<9xf32>
  %i = tw.iota dim 1 start "0" step "1" -> tensor<2x9xi64>
  %r = tw.scatter %v into %zero[%i] dims [0] at 0 : (tensor<9xf32>, tensor<2x9xf32>, tensor<2x9xi64>) -> tensor<9xf32>
  func.return %r : tensor<9xf32>
}

// -----

// CHECK-LABEL: @leaves_what_may_be_out_of_range
// CHECK: tw.gather
// REMARK: tw.gather at {{.*}}: some of its positions may be out of range
func.func @leaves_what_may_be_out_of_range(%t: tensor<?x4xf32, #tw.shape<"s0, 4">>, %s0: index {tw.symbol = "s0"}) -> tensor<6x4xf32> {
  %i = tw.iota dim 0 start "0" step "1" -> tensor<6xi64>
  %r = tw.gather %t[%i] dims [0] at 0 : (tensor<?x4xf32, #tw.shape<"s0, 4">>, tensor<6xi64>) -> tensor<6x4xf32>
  func.return %r : tensor<6x4xf32>
}

// -----

// CHECK-LABEL: @reads_every_other
// CHECK: %[[S:.*]] = tw.slice %t starts "1, 0" steps "2, 1" : tensor<9x4xf32> -> tensor<4x4xf32>
func.func @reads_every_other(%t: tensor<9x4xf32>) -> tensor<4x4xf32> {
  %i = tw.iota dim 0 start "1" step "2" -> tensor<4xi64>
  %r = tw.gather %t[%i] dims [0] at 0 : (tensor<9x4xf32>, tensor<4xi64>) -> tensor<4x4xf32>
  func.return %r : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: @turns_around
// CHECK: %[[S:.*]] = tw.slice %t starts "1, 0" steps "1, 1" : tensor<4x5xf32> -> tensor<3x5xf32>
// CHECK: tw.reverse %[[S]] dims [0]
func.func @turns_around(%t: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %i = tw.iota dim 0 start "-1" step "-1" -> tensor<3xi64>
  %r = tw.gather %t[%i] dims [0] at 0 : (tensor<4x5xf32>, tensor<3xi64>) -> tensor<3x5xf32>
  func.return %r : tensor<3x5xf32>
}

// -----

// The positions of a cross product, (i + 1) % 3: of what is read, and of gradients.
// CHECK-LABEL: @reads_in_turns
// CHECK-DAG: %[[A:.*]] = tw.slice %t starts "0, 1" steps "1, 1" : tensor<8x3xf32> -> tensor<8x2xf32>
// CHECK-DAG: %[[B:.*]] = tw.slice %t starts "0, 0" steps "1, 1" : tensor<8x3xf32> -> tensor<8x1xf32>
// CHECK:     tw.concat %[[A]], %[[B]] dim 1
// CHECK-DAG: %[[C:.*]] = tw.slice %{{.*}} starts "0, 2" steps "1, 1" : tensor<8x3xf32> -> tensor<8x1xf32>
// CHECK-DAG: %[[D:.*]] = tw.slice %{{.*}} starts "0, 0" steps "1, 1" : tensor<8x3xf32> -> tensor<8x2xf32>
// CHECK:     %[[S:.*]] = tw.concat %[[C]], %[[D]] dim 1
// CHECK:     tw.add %t, %[[S]]
func.func @reads_in_turns(%t: tensor<8x3xf32>, %v: tensor<8x3xf32>) -> (tensor<8x3xf32>, tensor<8x3xf32>) {
  %n = tw.iota dim 0 start "0" step "1" -> tensor<3xi64>
  %one = tw.full 1 : i64 -> tensor<3xi64>
  %m = tw.add %n, %one : tensor<3xi64>
  %three = tw.full 3 : i64 -> tensor<3xi64>
  %i = tw.remainder %m, %three : tensor<3xi64>
  %r = tw.gather %t[%i] dims [1] at 1 strict : (tensor<8x3xf32>, tensor<3xi64>) -> tensor<8x3xf32>
  %s = tw.scatter_add %v into %t[%i] dims [1] at 1 : (tensor<8x3xf32>, tensor<8x3xf32>, tensor<3xi64>) -> tensor<8x3xf32>
  func.return %r, %s : tensor<8x3xf32>, tensor<8x3xf32>
}

// -----

// Values for every third place, the sum of two each: between them stands what leaves even -0.0 as it is.
// CHECK-LABEL: @adds_to_every_third
// CHECK:     %[[V:.*]] = tw.sum %v over [0] : tensor<2x2xf32> -> tensor<2xf32>
// CHECK:     %[[N:.*]] = tw.full -0.0{{.*}} : f32 -> tensor<2xf32>
// CHECK:     tw.concat %{{.*}}, %[[N]], %{{.*}}, %{{.*}} dim 0 : (tensor<1xf32>, tensor<2xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<5xf32>
func.func @adds_to_every_third(%t: tensor<5xf32>, %v: tensor<2x2xf32>) -> tensor<5xf32> {
  %n = tw.iota dim 0 start "0" step "3" -> tensor<2xi64>
  %i = tw.broadcast %n dims [1] : tensor<2xi64> -> tensor<2x2xi64>
  %s = tw.scatter_add %v into %t[%i] dims [0] at 0 : (tensor<5xf32>, tensor<2x2xf32>, tensor<2x2xi64>) -> tensor<5xf32>
  func.return %s : tensor<5xf32>
}

// -----

// CHECK-LABEL: @leaves_what_is_no_few_slices
// CHECK: tw.gather
// REMARK: tw.gather at {{.*}}: its positions are more than 4 slices
// CHECK: tw.scatter_add
// REMARK: tw.scatter_add at {{.*}}: its positions are more than 4 slices
func.func @leaves_what_is_no_few_slices(%t: tensor<97x4xf32>, %v: tensor<9x4xf32>) -> (tensor<9x4xf32>, tensor<97x4xf32>) {
  %n = tw.iota dim 0 start "0" step "1" -> tensor<9xi64>
  %i = tw.mul %n, %n : tensor<9xi64>
  %r = tw.gather %t[%i] dims [0] at 0 : (tensor<97x4xf32>, tensor<9xi64>) -> tensor<9x4xf32>
  %s = tw.scatter_add %v into %t[%i] dims [0] at 0 : (tensor<97x4xf32>, tensor<9x4xf32>, tensor<9xi64>) -> tensor<97x4xf32>
  func.return %r, %s : tensor<9x4xf32>, tensor<97x4xf32>
}

// -----

// CHECK-LABEL: @leaves_positions_that_are_read_twice
// CHECK: tw.gather
// REMARK: tw.gather at {{.*}}: some of its positions are one
func.func @leaves_positions_that_are_read_twice(%t: tensor<9x4xf32>) -> tensor<4x4xf32> {
  %n = tw.iota dim 0 start "0" step "1" -> tensor<4xi64>
  %two = tw.full 2 : i64 -> tensor<4xi64>
  %i = tw.remainder %n, %two : tensor<4xi64>
  %r = tw.gather %t[%i] dims [0] at 0 : (tensor<9x4xf32>, tensor<4xi64>) -> tensor<4x4xf32>
  func.return %r : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: @leaves_what_is_out_of_range
// CHECK: tw.gather
// REMARK: tw.gather at {{.*}}: some of its positions are out of range
func.func @leaves_what_is_out_of_range(%t: tensor<5x4xf32>) -> tensor<4x4xf32> {
  %i = tw.iota dim 0 start "0" step "2" -> tensor<4xi64>
  %r = tw.gather %t[%i] dims [0] at 0 : (tensor<5x4xf32>, tensor<4xi64>) -> tensor<4x4xf32>
  func.return %r : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: @leaves_other_positions
// CHECK: tw.gather
// REMARK: tw.gather at {{.*}}: its positions are not counted one by one
func.func @leaves_other_positions(%t: tensor<9x4xf32>, %i: tensor<4xi64>) -> tensor<4x4xf32> {
  %r = tw.gather %t[%i] dims [0] at 0 : (tensor<9x4xf32>, tensor<4xi64>) -> tensor<4x4xf32>
  func.return %r : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: @leaves_another_order_of_dimensions
// CHECK: tw.gather
// REMARK: tw.gather at {{.*}}: its dimensions would be in another order
func.func @leaves_another_order_of_dimensions(%t: tensor<4x9xf32>) -> tensor<6x4xf32> {
  %i = tw.iota dim 0 start "0" step "1" -> tensor<6xi64>
  %r = tw.gather %t[%i] dims [1] at 0 : (tensor<4x9xf32>, tensor<6xi64>) -> tensor<6x4xf32>
  func.return %r : tensor<6x4xf32>
}

// -----

// A number that a symbol gives.
// CHECK-LABEL: @leaves_positions_of_a_symbol
// CHECK: tw.gather
func.func @leaves_positions_of_a_symbol(%t: tensor<?x4xf32, #tw.shape<"s0, 4">>, %u: tensor<9x4xf32>, %s0: index {tw.symbol = "s0"}) -> tensor<4x4xf32> {
  %n = tw.iota dim 0 start "0" step "1" -> tensor<4xi64>
  %k = tw.full "s0" -> tensor<4xi64>
  %i = tw.remainder %k, %n : tensor<4xi64>
  %r = tw.gather %u[%i] dims [0] at 0 : (tensor<9x4xf32>, tensor<4xi64>) -> tensor<4x4xf32>
  func.return %r : tensor<4x4xf32>
}

// -----

// An image of twice the height and three times the width of a part: positions are rounded down.
// CHECK-LABEL: @repeats
// CHECK: %[[S:.*]] = tw.slice %t starts "0, 1, 0, 0" steps "1, 1, 1, 1" : tensor<2x5x7x3xf32> -> tensor<2x4x7x3xf32>
// CHECK: %[[B:.*]] = tw.broadcast %[[S]] dims [0, 1, 3, 5] : tensor<2x4x7x3xf32> -> tensor<2x4x2x7x3x3xf32>
// CHECK: tw.reshape %[[B]] : tensor<2x4x2x7x3x3xf32> -> tensor<2x8x21x3xf32>
// CHECK-NOT: tw.gather
// CHECK: return
func.func @repeats(%t: tensor<2x5x7x3xf32>) -> tensor<2x8x21x3xf32> {
  %h = tw.iota dim 0 start "2" step "1" -> tensor<8xf32>
  %half = tw.full 0.5 : f32 -> tensor<8xf32>
  %hh = tw.mul %h, %half : tensor<8xf32>
  %hi = tw.cast %hh : tensor<8xf32> -> tensor<8xi64>
  %hc = tw.reshape %hi : tensor<8xi64> -> tensor<8x1xi64>
  %w = tw.iota dim 0 start "0" step "1" -> tensor<21xi64>
  %three = tw.full 3 : i64 -> tensor<21xi64>
  %wi = tw.floor_div %w, %three : tensor<21xi64>
  %i = tw.broadcast %hc dims [0, 1] : tensor<8x1xi64> -> tensor<8x21xi64>
  %j = tw.broadcast %wi dims [1] : tensor<21xi64> -> tensor<8x21xi64>
  %r = tw.gather %t[%i, %j] dims [1, 2] at 1 : (tensor<2x5x7x3xf32>, tensor<8x21xi64>, tensor<8x21xi64>) -> tensor<2x8x21x3xf32>
  func.return %r : tensor<2x8x21x3xf32>
}

// -----

// Each row three times, for each of two: negative positions count from the end.
// CHECK-LABEL: @repeats_for_others
// CHECK: %[[S:.*]] = tw.slice %t starts "3, 0" steps "1, 1" : tensor<5x3xf32> -> tensor<2x3xf32>
// CHECK: %[[B:.*]] = tw.broadcast %[[S]] dims [0, 2] : tensor<2x3xf32> -> tensor<2x3x3xf32>
// CHECK: %[[R:.*]] = tw.reshape %[[B]] : tensor<2x3x3xf32> -> tensor<6x3xf32>
// CHECK: tw.broadcast %[[R]] dims [1, 2] : tensor<6x3xf32> -> tensor<2x6x3xf32>
func.func @repeats_for_others(%t: tensor<5x3xf32>) -> tensor<2x6x3xf32> {
  %n = tw.iota dim 1 start "-6" step "1" -> tensor<2x6xi64>
  %three = tw.full 3 : i64 -> tensor<2x6xi64>
  %i = tw.floor_div %n, %three : tensor<2x6xi64>
  %r = tw.gather %t[%i] dims [0] at 0 : (tensor<5x3xf32>, tensor<2x6xi64>) -> tensor<2x6x3xf32>
  func.return %r : tensor<2x6x3xf32>
}

// -----

// Positions beyond the end are an error, along a diagonal elements of a row and a column, and turned they are
// no rows that are repeated.
// CHECK-LABEL: @leaves_what_is_not_repeated
// CHECK-COUNT-3: tw.gather
func.func @leaves_what_is_not_repeated(%t: tensor<5x9xf32>) -> (tensor<12x9xf32>, tensor<10xf32>, tensor<6x10xf32>) {
  %n = tw.iota dim 0 start "0" step "1" -> tensor<12xi64>
  %two = tw.full 2 : i64 -> tensor<12xi64>
  %i = tw.floor_div %n, %two : tensor<12xi64>
  %r = tw.gather %t[%i] dims [0] at 0 : (tensor<5x9xf32>, tensor<12xi64>) -> tensor<12x9xf32>
  %m = tw.iota dim 0 start "0" step "1" -> tensor<10xi64>
  %pair = tw.full 2 : i64 -> tensor<10xi64>
  %j = tw.floor_div %m, %pair : tensor<10xi64>
  %d = tw.gather %t[%j, %j] dims [0, 1] at 0 : (tensor<5x9xf32>, tensor<10xi64>, tensor<10xi64>) -> tensor<10xf32>
  %rows = tw.broadcast %j dims [1] : tensor<10xi64> -> tensor<6x10xi64>
  %o = tw.iota dim 0 start "0" step "1" -> tensor<6xi64>
  %both = tw.full 2 : i64 -> tensor<6xi64>
  %k = tw.floor_div %o, %both : tensor<6xi64>
  %c = tw.reshape %k : tensor<6xi64> -> tensor<6x1xi64>
  %columns = tw.broadcast %c dims [0, 1] : tensor<6x1xi64> -> tensor<6x10xi64>
  %x = tw.gather %t[%rows, %columns] dims [0, 1] at 0 : (tensor<5x9xf32>, tensor<6x10xi64>, tensor<6x10xi64>) -> tensor<6x10xf32>
  func.return %r, %d, %x : tensor<12x9xf32>, tensor<10xf32>, tensor<6x10xf32>
}

// -----

// Steps of two that only meet the ends are computed: slices would be one for each end and one between.
// CHECK-LABEL: @up_to_the_ends
// CHECK-DAG: %[[I:.*]] = tw.iota dim 0 start "0" step "1" -> tensor<5xi64>
// CHECK: %[[M:.*]] = tw.mul %[[I]], %{{.*}} : tensor<5xi64>
// CHECK: %[[A:.*]] = tw.add %[[M]], %{{.*}} : tensor<5xi64>
// CHECK: %[[H:.*]] = tw.minimum %[[A]], %{{.*}} : tensor<5xi64>
// CHECK: %[[L:.*]] = tw.maximum %[[H]], %{{.*}} : tensor<5xi64>
// CHECK: tw.gather %x[%[[L]]] dims [1] at 1 strict : (tensor<3x8xf32>, tensor<5xi64>) -> tensor<3x5xf32>
// CHECK-NOT: tw.slice
func.func @up_to_the_ends(%x: tensor<3x8xf32>) -> tensor<3x5xf32> {
  %i = tw.constant dense<[0, 1, 3, 5, 6]> : tensor<5xi64>
  %g = tw.gather %x[%i] dims [1] at 1 : (tensor<3x8xf32>, tensor<5xi64>) -> tensor<3x5xf32>
  func.return %g : tensor<3x5xf32>
}

// -----

// Backwards, too; what is computed so already stays as it is.
// CHECK-LABEL: @down_to_the_ends
// CHECK: tw.maximum
// CHECK: tw.gather
// CHECK-NOT: tw.gather
// REMARK: its positions are counted in steps up to a limit
func.func @down_to_the_ends(%x: tensor<8x3xf32>) -> tensor<5x3xf32> {
  %i = tw.constant dense<[7, 6, 4, 2, 1]> : tensor<5xi64>
  %g = tw.gather %x[%i] dims [0] at 0 : (tensor<8x3xf32>, tensor<5xi64>) -> tensor<5x3xf32>
  func.return %g : tensor<5x3xf32>
}
