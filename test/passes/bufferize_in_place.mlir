// RUN: tilewright-opt %s -p bufferize --split-input-file | filecheck %s

// Kernels of several stores that reduce: which input may be where which result is.

// One loop along the row sums what it loads, and stores.

// CHECK: tk.func @sum_and_scale [3, 5] {{.*}} attributes {tk.inplace = [array<i64: 0, 1>]}
func.func @summed_by_the_loop_that_stores(%x: tensor<3x5xf32>) -> (tensor<3xf32>, tensor<3x5xf32>) {
  %0, %1 = tk.kernel [3, 5] ins(%x : tensor<3x5xf32>) -> (tensor<3xf32>, tensor<3x5xf32>) attributes {tk.name = "sum_and_scale"} {
  ^bb0(%a: tensor<3x5xf32>, %s: tensor<3xf32>, %o: tensor<3x5xf32>):
    %2 = tk.load %a[d0, d1] : tensor<3x5xf32> -> f32
    %3 = tk.reduce add %2 over [1] : f32
    tk.store %3, %s[d0] : f32, tensor<3xf32>
    %4 = arith.negf %2 : f32
    tk.store %4, %o[d0, d1] : f32, tensor<3x5xf32>
  }
  func.return %0, %1 : tensor<3xf32>, tensor<3x5xf32>
}

// -----

// The loop that stores comes after those that find the maximum and the sum: %o needs both. The second result is stored by
// the same loop, so it may take the place, too.

// CHECK: tk.func @softmaxes [3, 5] {{.*}} attributes {tk.inplace = [array<i64: 0, 0>, array<i64: 0, 1>]}
func.func @stored_after_all_sums(%x: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3xf32>) {
  %0, %1, %2 = tk.kernel [3, 5] ins(%x : tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3xf32>) attributes {tk.name = "softmaxes"} {
  ^bb0(%a: tensor<3x5xf32>, %o: tensor<3x5xf32>, %p: tensor<3x5xf32>, %s: tensor<3xf32>):
    %3 = tk.load %a[d0, d1] : tensor<3x5xf32> -> f32
    %4 = tk.reduce max %3 over [1] : f32
    %5 = arith.subf %3, %4 : f32
    %6 = math.exp %5 : f32
    %7 = tk.reduce add %6 over [1] : f32
    %8 = arith.divf %6, %7 : f32
    %9 = arith.mulf %8, %8 : f32
    tk.store %8, %o[d0, d1] : f32, tensor<3x5xf32>
    tk.store %9, %p[d0, d1] : f32, tensor<3x5xf32>
    tk.store %7, %s[d0] : f32, tensor<3xf32>
  }
  func.return %0, %1, %2 : tensor<3x5xf32>, tensor<3x5xf32>, tensor<3xf32>
}

// -----

// The sum of what lies above the maximum is a second loop, which %o does not wait for; nor for the store of %p, another time.

// CHECK: tk.func @sum_above [3, 5] ({{.*}}) {
// CHECK: tk.func @other_store [3, 5] ({{.*}}) attributes {tk.inplace = [array<i64: 0, 1>]} {
func.func @read_by_a_later_loop(%x: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3xf32>, tensor<3x5xf32>, tensor<3x5xf32>) {
  %0, %1 = tk.kernel [3, 5] ins(%x : tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3xf32>) attributes {tk.name = "sum_above"} {
  ^bb0(%a: tensor<3x5xf32>, %o: tensor<3x5xf32>, %s: tensor<3xf32>):
    %4 = tk.load %a[d0, d1] : tensor<3x5xf32> -> f32
    %5 = tk.reduce max %4 over [1] : f32
    %6 = arith.subf %4, %5 : f32
    %7 = tk.reduce add %6 over [1] : f32
    tk.store %7, %s[d0] : f32, tensor<3xf32>
    %8 = arith.negf %4 : f32
    tk.store %8, %o[d0, d1] : f32, tensor<3x5xf32>
  }
  %2, %3 = tk.kernel [3, 5] ins(%x : tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) attributes {tk.name = "other_store"} {
  ^bb0(%a: tensor<3x5xf32>, %o: tensor<3x5xf32>, %p: tensor<3x5xf32>):
    %4 = tk.load %a[d0, d1] : tensor<3x5xf32> -> f32
    %5 = tk.reduce max %4 over [1] : f32
    %6 = arith.subf %4, %5 : f32
    %7 = arith.negf %4 : f32
    tk.store %7, %o[d0, d1] : f32, tensor<3x5xf32>
    tk.store %6, %p[d0, d1] : f32, tensor<3x5xf32>
  }
  func.return %0, %1, %2, %3 : tensor<3x5xf32>, tensor<3xf32>, tensor<3x5xf32>, tensor<3x5xf32>
}

// -----

// Rows and columns are summed: one after the other.

// CHECK: tk.func @both_ways [3, 5] ({{.*}}) {
func.func @two_nests(%x: tensor<3x5xf32>) -> (tensor<3xf32>, tensor<5xf32>, tensor<3x5xf32>) {
  %0, %1, %2 = tk.kernel [3, 5] ins(%x : tensor<3x5xf32>) -> (tensor<3xf32>, tensor<5xf32>, tensor<3x5xf32>) attributes {tk.name = "both_ways"} {
  ^bb0(%a: tensor<3x5xf32>, %s: tensor<3xf32>, %t: tensor<5xf32>, %o: tensor<3x5xf32>):
    %3 = tk.load %a[d0, d1] : tensor<3x5xf32> -> f32
    %4 = tk.reduce add %3 over [1] : f32
    %5 = tk.reduce add %3 over [0] : f32
    %6 = arith.negf %3 : f32
    tk.store %4, %s[d0] : f32, tensor<3xf32>
    tk.store %5, %t[d1] : f32, tensor<5xf32>
    tk.store %6, %o[d0, d1] : f32, tensor<3x5xf32>
  }
  func.return %0, %1, %2 : tensor<3xf32>, tensor<5xf32>, tensor<3x5xf32>
}

// -----

// The vector %b is loaded once for each row, and %o stored as often; of one row the sum's axis may be that of a product.

// CHECK: tk.func @of_a_vector [3, 5] ({{.*}}) {
// CHECK: tk.func @of_one [3, 1] ({{.*}}) {
func.func @not_every_axis(%x: tensor<3x5xf32>, %y: tensor<5xf32>, %z: tensor<3x1xf32>) -> (tensor<3xf32>, tensor<5xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0, %1 = tk.kernel [3, 5] ins(%x, %y : tensor<3x5xf32>, tensor<5xf32>) -> (tensor<3xf32>, tensor<5xf32>) attributes {tk.name = "of_a_vector"} {
  ^bb0(%a: tensor<3x5xf32>, %b: tensor<5xf32>, %s: tensor<3xf32>, %o: tensor<5xf32>):
    %4 = tk.load %a[d0, d1] : tensor<3x5xf32> -> f32
    %5 = tk.load %b[d1] : tensor<5xf32> -> f32
    %6 = arith.mulf %4, %5 : f32
    %7 = tk.reduce add %6 over [1] : f32
    %8 = arith.negf %5 : f32
    tk.store %7, %s[d0] : f32, tensor<3xf32>
    tk.store %8, %o[d1] : f32, tensor<5xf32>
  }
  %2, %3 = tk.kernel [3, 1] ins(%z : tensor<3x1xf32>) -> (tensor<3xf32>, tensor<3xf32>) attributes {tk.name = "of_one"} {
  ^bb0(%a: tensor<3x1xf32>, %s: tensor<3xf32>, %o: tensor<3xf32>):
    %4 = tk.load %a[d0, 0] : tensor<3x1xf32> -> f32
    %5 = tk.index "d1" : i64
    %6 = arith.sitofp %5 : i64 to f32
    %7 = arith.addf %4, %6 : f32
    %8 = tk.reduce add %7 over [1] : f32
    %9 = arith.negf %4 : f32
    tk.store %8, %s[d0] : f32, tensor<3xf32>
    tk.store %9, %o[d0] : f32, tensor<3xf32>
  }
  func.return %0, %1, %2, %3 : tensor<3xf32>, tensor<5xf32>, tensor<3xf32>, tensor<3xf32>
}

// -----

// Parts of unequal length: what is not stored is not loaded either. Under another mask, or none, it may be.

// CHECK: tk.func @same_mask [2, 4] {{.*}} attributes {tk.inplace = [array<i64: 0, 1>]}
// CHECK: tk.func @no_mask [2, 4] ({{.*}}) {
func.func @masked_alike(%x: tensor<7xf32>, %y: tensor<8xf32>) -> (tensor<2xf32>, tensor<7xf32>, tensor<8xf32>) {
  %0, %1 = tk.kernel [2, 4] ins(%x : tensor<7xf32>) -> (tensor<2xf32>, tensor<7xf32>) attributes {tk.name = "same_mask"} {
  ^bb0(%a: tensor<7xf32>, %s: tensor<2xf32>, %o: tensor<7xf32>):
    %3 = tk.index "d0*4 + d1" : i64
    %4 = arith.constant 7 : i64
    %5 = arith.cmpi slt, %3, %4 : i64
    %6 = arith.constant 0.0 : f32
    %7 = tk.load %a[d0*4 + d1] if %5 else %6 : tensor<7xf32> -> f32
    %8 = tk.reduce add %7 over [1] : f32
    %9 = arith.negf %7 : f32
    tk.store %8, %s[d0] : f32, tensor<2xf32>
    tk.store %9, %o[d0*4 + d1] if %5 : f32, tensor<7xf32>
  }
  %2 = tk.kernel [2, 4] ins(%y : tensor<8xf32>) -> (tensor<8xf32>) attributes {tk.name = "no_mask"} {
  ^bb0(%a: tensor<8xf32>, %o: tensor<8xf32>):
    %3 = tk.load %a[d0*4 + d1] : tensor<8xf32> -> f32
    %4 = arith.constant true
    %5 = arith.negf %3 : f32
    tk.store %5, %o[d0*4 + d1] if %4 : f32, tensor<8xf32>
  }
  func.return %0, %1, %2 : tensor<2xf32>, tensor<7xf32>, tensor<8xf32>
}
