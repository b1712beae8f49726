// RUN: tilewright-opt %s -p pick-places,dce --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p pick-places --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// CHECK-LABEL: @one_element_of_sorted_rows
// CHECK: %[[V:.*]], %{{.*}} = tw.sort %x dim 1
// CHECK-DAG: %[[K:.*]] = tw.full 2 : i64
// CHECK-DAG: %[[P:.*]] = tw.iota dim 1 start "0" step "1" -> tensor<8x5xi64>
// CHECK: %[[H:.*]] = tw.compare eq %[[P]], %{{.*}} : tensor<8x5xi64>
// CHECK: %[[S:.*]] = tw.select %[[H]], %[[V]], %{{.*}} loc("m.py":3:0)
// CHECK: %[[R:.*]] = tw.max %[[S]] over [1] : tensor<8x5xf32> -> tensor<8xf32> loc("m.py":3:0)
// CHECK: tw.reshape %[[R]] : tensor<8xf32> -> tensor<8x1xf32>
// CHECK-NOT: tw.slice %[[V]]
func.func @one_element_of_sorted_rows(%x: tensor<8x5xf32>) -> tensor<8x1xf32> {
  %v, %i = tw.sort %x dim 1 : tensor<8x5xf32> -> tensor<8x5xf32>, tensor<8x5xi64>
  %m = tw.slice %v starts "0, 2" steps "1, 1" : tensor<8x5xf32> -> tensor<8x1xf32> loc("m.py":3:0)
  func.return %m : tensor<8x1xf32>
}

// -----

// Others may read the rows; of a slice of other dimensions, too, the rest is left. Integers have a least one.
// CHECK-LABEL: @the_last_of_running_sums
// CHECK: %[[C:.*]] = tw.cumsum %x dim 1
// CHECK: tw.full -2147483648 : i32
// CHECK: %[[R:.*]] = tw.max
// CHECK: %[[A:.*]] = tw.reshape %[[R]] : tensor<8xi32> -> tensor<8x1xi32>
// CHECK: tw.slice %[[A]] starts "2, 0" steps "3, 1" : tensor<8x1xi32> -> tensor<2x1xi32>
func.func @the_last_of_running_sums(%x: tensor<8x5xi32>) -> (tensor<8x5xi32>, tensor<2x1xi32>) {
  %c = tw.cumsum %x dim 1 : tensor<8x5xi32>
  %m = tw.slice %c starts "2, 4" steps "3, 1" : tensor<8x5xi32> -> tensor<2x1xi32>
  func.return %c, %m : tensor<8x5xi32>, tensor<2x1xi32>
}

// -----

// Places that are computed, of rows that are seen through views: whether one is there is asked of the positions.
// CHECK-LABEL: @computed_places
// CHECK: %[[T:.*]] = tw.transpose
// CHECK-DAG: %[[P:.*]] = tw.iota dim 0 start "0" step "1" -> tensor<5x1x8xi64>
// CHECK: %[[K:.*]] = tw.gather_along %[[P]], %k dim 0
// CHECK: tw.select %{{.*}}, %[[T]], %{{.*}} : tensor<5x1x8xi1>, tensor<5x1x8xf32>
// CHECK: tw.max %{{.*}} over [0] : tensor<5x1x8xf32> -> tensor<1x8xf32>
func.func @computed_places(%x: tensor<8x5xf32>, %k: tensor<1x1x8xi64>) -> tensor<1x1x8xf32> {
  %c = tw.cummax %x dim 1 : tensor<8x5xf32>
  %r = tw.reshape %c : tensor<8x5xf32> -> tensor<8x1x5xf32>
  %t = tw.transpose %r by [2, 1, 0] : tensor<8x1x5xf32> -> tensor<5x1x8xf32>
  %m = tw.gather_along %t, %k dim 0 : (tensor<5x1x8xf32>, tensor<1x1x8xi64>) -> tensor<1x1x8xf32>
  func.return %m : tensor<1x1x8xf32>
}

// -----

// Two places at once, of rows whose number only the run knows.
// CHECK-LABEL: @symbols
// CHECK: %[[A:.*]] = tw.max
// CHECK: %[[B:.*]] = tw.max
// CHECK: tw.concat
func.func @symbols(%x: tensor<?x8xf32, #tw.shape<"s0, 8">>, %k: tensor<?x2xi64, #tw.shape<"s0, 2">>, %s0: index {tw.symbol = "s0"}) -> tensor<?x2xf32, #tw.shape<"s0, 2">> {
  %c = tw.cumprod %x dim 1 : tensor<?x8xf32, #tw.shape<"s0, 8">>
  %n = tw.gather_along %c, %k dim 1 : (tensor<?x8xf32, #tw.shape<"s0, 8">>, tensor<?x2xi64, #tw.shape<"s0, 2">>) -> tensor<?x2xf32, #tw.shape<"s0, 2">>
  func.return %n : tensor<?x2xf32, #tw.shape<"s0, 2">>
}

// -----

// CHECK-LABEL: @long_rows
// CHECK-NOT: tw.max
// REMARK: rows of s0 elements may be reduced by other kernels than make them
// REMARK: rows of 8193 elements may be reduced by other kernels than make them
func.func @long_rows(%x: tensor<2x?xf32, #tw.shape<"2, s0">>, %y: tensor<2x8193xf32>, %s0: index {tw.symbol = "s0"}) -> (tensor<2x1xf32>, tensor<2x1xf32>) {
  %c = tw.cumsum %x dim 1 : tensor<2x?xf32, #tw.shape<"2, s0">>
  %m = tw.slice %c starts "0, s0 - 1" steps "1, 1" : tensor<2x?xf32, #tw.shape<"2, s0">> -> tensor<2x1xf32>
  %d = tw.cumsum %y dim 1 : tensor<2x8193xf32>
  %n = tw.slice %d starts "0, 8192" steps "1, 1" : tensor<2x8193xf32> -> tensor<2x1xf32>
  func.return %m, %n : tensor<2x1xf32>, tensor<2x1xf32>
}

// -----

// Neither a part of rows, nor a row, nor places of some rows.
// CHECK-LABEL: @other_parts
// CHECK-NOT: tw.max
func.func @other_parts(%x: tensor<8x5xf32>, %k: tensor<4x1xi64>) -> (tensor<8x2xf32>, tensor<1x5xf32>, tensor<4x1xf32>) {
  %c = tw.cumsum %x dim 1 : tensor<8x5xf32>
  %a = tw.slice %c starts "0, 3" steps "1, 1" : tensor<8x5xf32> -> tensor<8x2xf32>
  %b = tw.slice %c starts "3, 0" steps "1, 1" : tensor<8x5xf32> -> tensor<1x5xf32>
  %d = tw.gather_along %c, %k dim 1 : (tensor<8x5xf32>, tensor<4x1xi64>) -> tensor<4x1xf32>
  func.return %a, %b, %d : tensor<8x2xf32>, tensor<1x5xf32>, tensor<4x1xf32>
}

// -----

// CHECK-LABEL: @many_places
// CHECK-NOT: tw.max
// REMARK: 5 places of each row are read
func.func @many_places(%x: tensor<8x7xf32>, %k: tensor<8x5xi64>) -> tensor<8x5xf32> {
  %c = tw.cumsum %x dim 1 : tensor<8x7xf32>
  %m = tw.gather_along %c, %k dim 1 : (tensor<8x7xf32>, tensor<8x5xi64>) -> tensor<8x5xf32>
  func.return %m : tensor<8x5xf32>
}
