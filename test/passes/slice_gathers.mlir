// RUN: tilewright-opt %s -p slice-gathers,dce --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p slice-gathers --split-input-file --remarks | filecheck %s --check-prefix=REMARK
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

// CHECK-LABEL: @leaves_other_positions
// CHECK: tw.gather
// REMARK: tw.gather at {{.*}}: its positions are not counted one by one
func.func @leaves_other_positions(%t: tensor<9x4xf32>) -> tensor<4x4xf32> {
  %i = tw.iota dim 0 start "0" step "2" -> tensor<4xi64>
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
