// RUN: tilewright-opt %s -p fold-biases --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p fold-biases --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p fold-biases --split-input-file --check-semantics -o /dev/null

// CHECK-LABEL: @row_behind_a_reshape
func.func @row_behind_a_reshape(%x: tensor<6x4xf32>, %w: tensor<4x5xf32>, %v: tensor<5xf32>) -> tensor<2x3x5xf32> {
  // CHECK-NEXT: %[[M:.*]] = tw.matmul %x, %w bias %v
  // CHECK-NEXT: %[[R:.*]] = tw.reshape %[[M]] : tensor<6x5xf32> -> tensor<2x3x5xf32>
  // CHECK-NEXT: return %[[R]]
  %m = tw.matmul %x, %w : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  %s = tw.reshape %m : tensor<6x5xf32> -> tensor<2x3x5xf32>
  %b = tw.broadcast %v dims [2] : tensor<5xf32> -> tensor<2x3x5xf32>
  %r = tw.add %s, %b : tensor<2x3x5xf32>
  func.return %r : tensor<2x3x5xf32>
}

// -----

// CHECK-LABEL: @row_in_front
// CHECK-NEXT: %[[M:.*]] = tw.matmul %x, %w bias %v
// CHECK-NEXT: return %[[M]]
func.func @row_in_front(%x: tensor<6x4xf32>, %w: tensor<4x5xf32>, %v: tensor<5xf32>) -> tensor<6x5xf32> {
  %m = tw.matmul %x, %w : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  %b = tw.broadcast %v dims [1] : tensor<5xf32> -> tensor<6x5xf32>
  %r = tw.add %b, %m : tensor<6x5xf32>
  func.return %r : tensor<6x5xf32>
}

// -----

// A column is none; nor is a row of what the reshape made of several columns.
// CHECK-LABEL: @keeps_other_addends
// CHECK-NEXT: tw.matmul %x, %w :
func.func @keeps_other_addends(%x: tensor<6x4xf32>, %w: tensor<4x6xf32>, %v: tensor<6xf32>, %u: tensor<3xf32>) -> (tensor<6x6xf32>, tensor<6x2x3xf32>) {
  %m = tw.matmul %x, %w : (tensor<6x4xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
  %b = tw.broadcast %v dims [0] : tensor<6xf32> -> tensor<6x6xf32>
  %r = tw.add %m, %b : tensor<6x6xf32>
  %n = tw.matmul %x, %w : (tensor<6x4xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
  %s = tw.reshape %n : tensor<6x6xf32> -> tensor<6x2x3xf32>
  %c = tw.broadcast %u dims [2] : tensor<3xf32> -> tensor<6x2x3xf32>
  // CHECK: tw.add
  // CHECK: tw.add
  %q = tw.add %s, %c : tensor<6x2x3xf32>
  func.return %r, %q : tensor<6x6xf32>, tensor<6x2x3xf32>
}

// -----

// CHECK-LABEL: @keeps_what_others_read
// CHECK-NEXT: tw.matmul %x, %w :
// REMARK: tw.add at {{.*}}: the product has a bias, or others read it without this row
func.func @keeps_what_others_read(%x: tensor<6x4xf32>, %w: tensor<4x5xf32>, %v: tensor<5xf32>) -> (tensor<6x5xf32>, tensor<6x5xf32>) {
  %m = tw.matmul %x, %w : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  %b = tw.broadcast %v dims [1] : tensor<5xf32> -> tensor<6x5xf32>
  %r = tw.add %m, %b : tensor<6x5xf32>
  func.return %m, %r : tensor<6x5xf32>, tensor<6x5xf32>
}

// -----

// CHECK-LABEL: @keeps_halves
// CHECK-NEXT: tw.matmul %x, %w :
// REMARK: tw.add at {{.*}}: halves are rounded before the row is added, and libraries add none to integers
func.func @keeps_halves(%x: tensor<6x4xbf16>, %w: tensor<4x5xbf16>, %v: tensor<5xbf16>) -> tensor<6x5xbf16> {
  %m = tw.matmul %x, %w : (tensor<6x4xbf16>, tensor<4x5xbf16>) -> tensor<6x5xbf16>
  %b = tw.broadcast %v dims [1] : tensor<5xbf16> -> tensor<6x5xbf16>
  %r = tw.add %m, %b : tensor<6x5xbf16>
  func.return %r : tensor<6x5xbf16>
}

// -----

// Products of integers are added up by a library that takes no bias of theirs.
// CHECK-LABEL: @integers
// CHECK: tw.matmul %x, %w : (
// CHECK: tw.add
// REMARK: tw.add at {{.*}}: halves are rounded before the row is added, and libraries add none to integers
func.func @integers(%x: tensor<6x4xi32>, %w: tensor<4x5xi32>, %v: tensor<5xi32>) -> tensor<6x5xi32> {
  %m = tw.matmul %x, %w : (tensor<6x4xi32>, tensor<4x5xi32>) -> tensor<6x5xi32>
  %b = tw.broadcast %v dims [1] : tensor<5xi32> -> tensor<6x5xi32>
  %r = tw.add %m, %b : tensor<6x5xi32>
  func.return %r : tensor<6x5xi32>
}
