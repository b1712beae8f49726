// RUN: tilewright-opt %s -p join-pieces --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p join-pieces --split-input-file --verify-locations
// RUN: tilewright-opt %s -p join-pieces --split-input-file --check-semantics
// RUN: tilewright-opt %s -p join-pieces --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// Gradients of three slices: of zeros behind, on both sides, and in front.

// CHECK-LABEL: @slices
// CHECK-NEXT: %[[R:.*]] = tw.concat %q, %k, %v dim 1
// CHECK-NEXT: tw.matmul %[[R]], %w
// CHECK-NEXT: tw.sum %[[R]] over [0]
// CHECK-NEXT: return
func.func @slices(%q: tensor<4x2xf32>, %k: tensor<4x2xf32>, %v: tensor<4x3xf32>, %w: tensor<7x5xf32>) -> (tensor<4x5xf32>, tensor<7xf32>) {
  %z = tw.full 0.0 : f32 -> tensor<4x5xf32>
  %y = tw.full 0.0 : f32 -> tensor<4x4xf32>
  %a = tw.concat %q, %z dim 1 : (tensor<4x2xf32>, tensor<4x5xf32>) -> tensor<4x7xf32>
  %b = tw.pad %k low "0, 2" high "0, 3" value 0.0 : f32 : tensor<4x2xf32> -> tensor<4x7xf32>
  %c = tw.concat %y, %v dim 1 : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x7xf32>
  %d = tw.add %c, %a : tensor<4x7xf32>
  %r = tw.add %d, %b : tensor<4x7xf32>
  %m = tw.matmul %r, %w : (tensor<4x7xf32>, tensor<7x5xf32>) -> tensor<4x5xf32>
  %s = tw.sum %r over [0] : tensor<4x7xf32> -> tensor<7xf32>
  func.return %m, %s : tensor<4x5xf32>, tensor<7xf32>
}

// -----

// Rows selected by their position; nobody has the second one.

// CHECK-LABEL: @rows
// CHECK-DAG: %[[A:.*]] = tw.reshape %a : tensor<4x5xf32> -> tensor<1x4x5xf32>
// CHECK-DAG: %[[B:.*]] = tw.reshape %b : tensor<4x5xf32> -> tensor<1x4x5xf32>
// CHECK-DAG: %[[Z:.*]] = tw.full 0.000000e+00 : f32 -> tensor<1x4x5xf32>
// CHECK: tw.concat %[[A]], %[[Z]], %[[B]] dim 0
// CHECK-NOT: tw.select
func.func @rows(%a: tensor<4x5xf32>, %b: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %z = tw.full 0.0 : f32 -> tensor<3x4x5xf32>
  %i = tw.iota dim 0 start "0" step "1" -> tensor<3xi64>
  %j = tw.reshape %i : tensor<3xi64> -> tensor<3x1x1xi64>
  %first = tw.full 0 : i64 -> tensor<3x1x1xi64>
  %last = tw.full 2 : i64 -> tensor<3x1x1xi64>
  %f = tw.compare eq %j, %first : tensor<3x1x1xi64> -> tensor<3x1x1xi1>
  %l = tw.compare eq %j, %last : tensor<3x1x1xi64> -> tensor<3x1x1xi1>
  %ff = tw.broadcast %f dims [0, 1, 2] : tensor<3x1x1xi1> -> tensor<3x4x5xi1>
  %ll = tw.broadcast %l dims [0, 1, 2] : tensor<3x1x1xi1> -> tensor<3x4x5xi1>
  %aa = tw.broadcast %a dims [1, 2] : tensor<4x5xf32> -> tensor<3x4x5xf32>
  %bb = tw.broadcast %b dims [1, 2] : tensor<4x5xf32> -> tensor<3x4x5xf32>
  %x = tw.select %ff, %aa, %z : tensor<3x4x5xi1>, tensor<3x4x5xf32>
  %y = tw.select %ll, %bb, %z : tensor<3x4x5xi1>, tensor<3x4x5xf32>
  %r = tw.add %x, %y : tensor<3x4x5xf32>
  %s = tw.sum %r over [1] : tensor<3x4x5xf32> -> tensor<3x5xf32>
  func.return %s : tensor<3x5xf32>
}

// -----

// What is used twice has two gradients, which are added there. Integers have one zero, which everybody may see.

// CHECK-LABEL: @twice
// CHECK-NEXT: %[[S:.*]] = tw.add %a, %c : tensor<2x3xi32>
// CHECK-NEXT: %[[R:.*]] = tw.concat %[[S]], %b dim 1
// CHECK-NEXT: return %[[R]]
func.func @twice(%a: tensor<2x3xi32>, %b: tensor<2x1xi32>, %c: tensor<2x3xi32>) -> tensor<2x4xi32> {
  %0 = tw.pad %a low "0, 0" high "0, 1" value 0 : i32 : tensor<2x3xi32> -> tensor<2x4xi32>
  %1 = tw.pad %b low "0, 3" high "0, 0" value 0 : i32 : tensor<2x1xi32> -> tensor<2x4xi32>
  %2 = tw.pad %c low "0, 0" high "0, 1" value 0 : i32 : tensor<2x3xi32> -> tensor<2x4xi32>
  %3 = tw.add %0, %1 : tensor<2x4xi32>
  %4 = tw.add %3, %2 : tensor<2x4xi32>
  func.return %4 : tensor<2x4xi32>
}

// -----

// Sizes may be symbols where pieces end at the same place.

// CHECK-LABEL: @symbols
// CHECK: tw.concat %a, %b dim 0
// CHECK-NOT: tw.add
func.func @symbols(%a: tensor<?xf32, #tw.shape<"s0">>, %b: tensor<3xf32>, %s0: index {tw.symbol = "s0"}) -> tensor<f32> {
  %0 = tw.pad %a low "0" high "3" value 0.0 : f32 : tensor<?xf32, #tw.shape<"s0">> -> tensor<?xf32, #tw.shape<"s0 + 3">>
  %1 = tw.pad %b low "s0" high "0" value 0.0 : f32 : tensor<3xf32> -> tensor<?xf32, #tw.shape<"s0 + 3">>
  %2 = tw.add %0, %1 : tensor<?xf32, #tw.shape<"s0 + 3">>
  %3 = tw.sum %2 over [0] : tensor<?xf32, #tw.shape<"s0 + 3">> -> tensor<f32>
  func.return %3 : tensor<f32>
}

// -----

// Which of the two comes first is not known.

// REMARK: its pieces overlap, or may do so
// CHECK-LABEL: @others
// CHECK: tw.add
func.func @others(%a: tensor<?xf32, #tw.shape<"s0">>, %b: tensor<?xf32, #tw.shape<"s1">>, %s0: index {tw.symbol = "s0"}, %s1: index {tw.symbol = "s1"}) -> tensor<f32> {
  %0 = tw.pad %a low "0" high "s1 + 3" value 0.0 : f32 : tensor<?xf32, #tw.shape<"s0">> -> tensor<?xf32, #tw.shape<"s0 + s1 + 3">>
  %1 = tw.pad %b low "3" high "s0" value 0.0 : f32 : tensor<?xf32, #tw.shape<"s1">> -> tensor<?xf32, #tw.shape<"s0 + s1 + 3">>
  %2 = tw.add %0, %1 : tensor<?xf32, #tw.shape<"s0 + s1 + 3">>
  %3 = tw.sum %2 over [0] : tensor<?xf32, #tw.shape<"s0 + s1 + 3">> -> tensor<f32>
  func.return %3 : tensor<f32>
}

// -----

// REMARK: its pieces overlap, or may do so
// CHECK-LABEL: @overlap
// CHECK: tw.add
func.func @overlap(%a: tensor<4xf32>, %b: tensor<3xf32>) -> tensor<f32> {
  %0 = tw.pad %a low "0" high "2" value 0.0 : f32 : tensor<4xf32> -> tensor<6xf32>
  %1 = tw.pad %b low "3" high "0" value 0.0 : f32 : tensor<3xf32> -> tensor<6xf32>
  %2 = tw.add %0, %1 : tensor<6xf32>
  %3 = tw.sum %2 over [0] : tensor<6xf32> -> tensor<f32>
  func.return %3 : tensor<f32>
}

// -----

// REMARK: its pieces lie along different dimensions
// CHECK-LABEL: @across
// CHECK: tw.add
func.func @across(%a: tensor<2x5xf32>, %b: tensor<3x4xf32>) -> tensor<5xf32> {
  %0 = tw.pad %a low "0, 0" high "1, 0" value 0.0 : f32 : tensor<2x5xf32> -> tensor<3x5xf32>
  %1 = tw.pad %b low "0, 1" high "0, 0" value 0.0 : f32 : tensor<3x4xf32> -> tensor<3x5xf32>
  %2 = tw.add %0, %1 : tensor<3x5xf32>
  %3 = tw.sum %2 over [0] : tensor<3x5xf32> -> tensor<5xf32>
  func.return %3 : tensor<5xf32>
}

// -----

// A piece may be -0.0, of which the sum is 0.0: who returns it shows that, and who divides by it.

// REMARK: `func.return` may see the signs of zeros
// CHECK-LABEL: @returned
// CHECK: tw.add
func.func @returned(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<5xf32> {
  %0 = tw.pad %a low "0" high "3" value 0.0 : f32 : tensor<2xf32> -> tensor<5xf32>
  %1 = tw.pad %b low "2" high "0" value 0.0 : f32 : tensor<3xf32> -> tensor<5xf32>
  %2 = tw.add %0, %1 : tensor<5xf32>
  %3 = tw.neg %2 : tensor<5xf32>
  func.return %3 : tensor<5xf32>
}

// -----

// REMARK: `tw.div` may see the signs of zeros
// CHECK-LABEL: @divides
// CHECK: tw.add
func.func @divides(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<f32> {
  %0 = tw.pad %a low "0" high "3" value 0.0 : f32 : tensor<2xf32> -> tensor<5xf32>
  %1 = tw.pad %b low "2" high "0" value 0.0 : f32 : tensor<3xf32> -> tensor<5xf32>
  %2 = tw.add %0, %1 : tensor<5xf32>
  %3 = tw.div %2, %2 : tensor<5xf32>
  %4 = tw.sum %3 over [0] : tensor<5xf32> -> tensor<f32>
  func.return %4 : tensor<f32>
}

// -----

// Between the pieces are ones; whole tensors are added as they are.

// CHECK-LABEL: @no_zeros
// CHECK: tw.add
// CHECK: tw.add
func.func @no_zeros(%a: tensor<2xf32>, %b: tensor<3xf32>) -> (tensor<f32>, tensor<f32>) {
  %0 = tw.pad %a low "0" high "3" value 1.0 : f32 : tensor<2xf32> -> tensor<5xf32>
  %1 = tw.pad %b low "2" high "0" value 0.0 : f32 : tensor<3xf32> -> tensor<5xf32>
  %2 = tw.add %0, %1 : tensor<5xf32>
  %3 = tw.sum %2 over [0] : tensor<5xf32> -> tensor<f32>
  %4 = tw.concat %a, %b dim 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  %5 = tw.add %4, %4 : tensor<5xf32>
  %6 = tw.sum %5 over [0] : tensor<5xf32> -> tensor<f32>
  func.return %3, %6 : tensor<f32>, tensor<f32>
}
