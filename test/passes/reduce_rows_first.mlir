// RUN: tilewright-opt %s -p reduce-rows-first --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p reduce-rows-first{column=16} --split-input-file | filecheck %s --check-prefix=SHORT

// CHECK-LABEL: @by_way_of_the_rows
// CHECK: %[[D:.*]] = tw.sub
// CHECK-NEXT: %[[R:.*]] = tw.sum %[[D]] over [1] : tensor<8x128xf32> -> tensor<8xf32> loc("m.py":3:0)
// CHECK-NEXT: %[[S:.*]] = tw.sum %[[R]] over [0] : tensor<8xf32> -> tensor<f32> loc("m.py":3:0)
// CHECK-NEXT: return %[[S]]
func.func @by_way_of_the_rows(%x: tensor<8x128xf32>) -> tensor<f32> {
  %m = tw.max %x over [1] : tensor<8x128xf32> -> tensor<8xf32>
  %e = tw.exp %m : tensor<8xf32>
  %c = tw.reshape %e : tensor<8xf32> -> tensor<8x1xf32>
  %b = tw.broadcast %c dims [0, 1] : tensor<8x1xf32> -> tensor<8x128xf32>
  %d = tw.sub %x, %b : tensor<8x128xf32>
  %s = tw.sum %d over [0, 1] : tensor<8x128xf32> -> tensor<f32> loc("m.py":3:0)
  func.return %s : tensor<f32>
}

// -----

// Halves have an order, and so a largest one; batches stay.
// CHECK-LABEL: @extremes_of_halves
// CHECK: %[[R:.*]] = tw.max %{{.*}} over [2]
// CHECK-NEXT: tw.max %[[R]] over [1] : tensor<2x8xbf16> -> tensor<2xbf16>
func.func @extremes_of_halves(%x: tensor<2x8x128xbf16>) -> tensor<2xbf16> {
  %m = tw.sum %x over [2] : tensor<2x8x128xbf16> -> tensor<2x8xbf16>
  %b = tw.broadcast %m dims [0, 1] : tensor<2x8xbf16> -> tensor<2x8x128xbf16>
  %d = tw.mul %x, %b : tensor<2x8x128xbf16>
  %s = tw.max %d over [1, 2] : tensor<2x8x128xbf16> -> tensor<2xbf16>
  func.return %s : tensor<2xbf16>
}

// -----

// Sums of rows are not rounded.
// CHECK-LABEL: @sums_of_halves
// CHECK: %[[D:.*]] = tw.sub
// CHECK-NEXT: %[[W:.*]] = tw.cast %[[D]] : tensor<8x128xbf16> -> tensor<8x128xf32>
// CHECK-NEXT: %[[R:.*]] = tw.sum %[[W]] over [1] : tensor<8x128xf32> -> tensor<8xf32>
// CHECK-NEXT: %[[S:.*]] = tw.sum %[[R]] over [0] : tensor<8xf32> -> tensor<f32>
// CHECK-NEXT: tw.cast %[[S]] : tensor<f32> -> tensor<bf16>
func.func @sums_of_halves(%x: tensor<8x128xbf16>) -> tensor<bf16> {
  %m = tw.max %x over [1] : tensor<8x128xbf16> -> tensor<8xbf16>
  %b = tw.broadcast %m dims [0] : tensor<8xbf16> -> tensor<8x128xbf16>
  %d = tw.sub %x, %b : tensor<8x128xbf16>
  %s = tw.sum %d over [0, 1] : tensor<8x128xbf16> -> tensor<bf16>
  func.return %s : tensor<bf16>
}

// -----

// No row is reduced; columns are; all is.
// CHECK-LABEL: @keeps_others
// CHECK: tw.sum %{{.*}} over [0, 1]
// CHECK: tw.sum %{{.*}} over [0, 1]
// CHECK: tw.sum %{{.*}} over [0, 1]
func.func @keeps_others(%x: tensor<8x128xf32>) -> (tensor<f32>, tensor<f32>) {
  %e = tw.exp %x : tensor<8x128xf32>
  %0 = tw.sum %e over [0, 1] : tensor<8x128xf32> -> tensor<f32>
  %m = tw.max %x over [0] : tensor<8x128xf32> -> tensor<128xf32>
  %b = tw.broadcast %m dims [1] : tensor<128xf32> -> tensor<8x128xf32>
  %a = tw.broadcast %0 dims [] : tensor<f32> -> tensor<8x128xf32>
  %c = tw.sub %x, %b : tensor<8x128xf32>
  %d = tw.sub %x, %a : tensor<8x128xf32>
  %1 = tw.sum %c over [0, 1] : tensor<8x128xf32> -> tensor<f32>
  %2 = tw.sum %d over [0, 1] : tensor<8x128xf32> -> tensor<f32>
  func.return %1, %2 : tensor<f32>, tensor<f32>
}

// -----

// Channels are short columns, and images stay: two more reductions of them, of which one goes along batches.

// CHECK-LABEL: @channels
// CHECK: tw.sum %{{.*}} over [1, 2]
// CHECK: tw.max %{{.*}} over [0, 1]
// SHORT-LABEL: @channels
// SHORT: %[[D:.*]] = tw.div
// SHORT-NEXT: %[[R:.*]] = tw.sum %[[D]] over [1] : tensor<8x4x96xf32> -> tensor<8x96xf32>
// SHORT-NEXT: %[[S:.*]] = tw.sum %[[R]] over [1] : tensor<8x96xf32> -> tensor<8xf32>
// SHORT-NEXT: %[[C:.*]] = tw.max %[[D]] over [1] : tensor<8x4x96xf32> -> tensor<8x96xf32>
// SHORT-NEXT: tw.max %[[C]] over [0] : tensor<8x96xf32> -> tensor<96xf32>
func.func @channels(%x: tensor<8x4x96xf32>) -> (tensor<8xf32>, tensor<96xf32>) {
  %m = tw.sum %x over [1] : tensor<8x4x96xf32> -> tensor<8x96xf32>
  %b = tw.broadcast %m dims [0, 2] : tensor<8x96xf32> -> tensor<8x4x96xf32>
  %d = tw.div %x, %b : tensor<8x4x96xf32>
  %s = tw.sum %d over [1, 2] : tensor<8x4x96xf32> -> tensor<8xf32>
  %t = tw.max %d over [0, 1] : tensor<8x4x96xf32> -> tensor<96xf32>
  func.return %s, %t : tensor<8xf32>, tensor<96xf32>
}

// -----

// These columns are longer.

// SHORT-LABEL: @long_columns
// SHORT: tw.sum %{{.*}} over [0, 1]
func.func @long_columns(%x: tensor<96x8xf32>) -> tensor<f32> {
  %m = tw.sum %x over [0] : tensor<96x8xf32> -> tensor<8xf32>
  %b = tw.broadcast %m dims [1] : tensor<8xf32> -> tensor<96x8xf32>
  %d = tw.div %x, %b : tensor<96x8xf32>
  %s = tw.sum %d over [0, 1] : tensor<96x8xf32> -> tensor<f32>
  func.return %s : tensor<f32>
}
