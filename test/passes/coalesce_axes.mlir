// RUN: tilewright-opt %s -p coalesce-axes | filecheck %s

// CHECK-LABEL: @merges_contiguous_axes_and_drops_ones [6144]
// CHECK: tk.load %x[d0] :
// CHECK: tk.index "d0*2" : i64
// CHECK: tk.store %{{.*}}, %o[d0] :
tk.func @merges_contiguous_axes_and_drops_ones [8, 1, 768] (%x: memref<6144xf32>, %o: memref<6144xf32>) {
  %0 = tk.load %x[d0*768 + d2] : memref<6144xf32> -> f32
  %1 = tk.index "d0*1536 + d2*2" : i64
  tk.store %0, %o[d0*768 + d2] : f32, memref<6144xf32>
}

// CHECK-LABEL: @merges_axes_in_any_order [21]
// CHECK: tk.load %x[d0] :
tk.func @merges_axes_in_any_order [3, 7] (%x: memref<21xf32>, %o: memref<21xf32>) {
  %0 = tk.load %x[d1*3 + d0] : memref<21xf32> -> f32
  tk.store %0, %o[d1*3 + d0] : f32, memref<21xf32>
}

// CHECK-LABEL: @merges_symbolic_axes [s0*35]
// CHECK: tk.load %x[d0] :
tk.func @merges_symbolic_axes [s0, 5, 7] (%x: memref<?xf32>, %o: memref<?xf32>) symbols [s0] {
  %0 = tk.load %x[d0*35 + d1*7 + d2] : memref<?xf32> -> f32
  tk.store %0, %o[d0*35 + d1*7 + d2] : f32, memref<?xf32>
}

// CHECK-LABEL: @merges_what_a_reduction_takes_together [4, 15]
// CHECK: tk.load %x[d0*15 + d1] :
// CHECK: tk.reduce add %{{.*}} over [1] : f32
// CHECK: tk.store %{{.*}}, %o[d0] :
tk.func @merges_what_a_reduction_takes_together [4, 3, 5] (%x: memref<60xf32>, %o: memref<4xf32>) {
  %0 = tk.load %x[d0*15 + d1*5 + d2] : memref<60xf32> -> f32
  %1 = tk.reduce add %0 over [1, 2] : f32
  tk.store %1, %o[d0] : f32, memref<4xf32>
}

// What adds one number runs over axes that nothing else names.
// CHECK-LABEL: @merges_what_a_store_runs_over [15]
// CHECK: tk.store %{{.*}}, %o[0] over [0] combine add :
tk.func @merges_what_a_store_runs_over [1, 3, 5] (%o: memref<4xf32>) {
  %0 = arith.constant 1.0 : f32
  tk.store %0, %o[0] over [0, 1, 2] combine add : f32, memref<4xf32>
}

// CHECK-LABEL: @keeps_axes_that_one_store_splits [3, 5]
// CHECK: tk.store %{{.*}}, %o[d0] over [1] combine add :
tk.func @keeps_axes_that_one_store_splits [3, 5] (%x: memref<15xf32>, %o: memref<15xf32>) {
  %0 = tk.load %x[d0*5 + d1] : memref<15xf32> -> f32
  tk.store %0, %o[d0*5 + d1] : f32, memref<15xf32>
  %1 = arith.constant 1.0 : f32
  tk.store %1, %o[d0] over [1] combine add : f32, memref<15xf32>
}

// CHECK-LABEL: @forwards_reductions_over_one_element [4]
// CHECK-NEXT: %[[V:.*]] = tk.load %x[d0] :
// CHECK-NEXT: tk.store %[[V]], %o[d0] :
tk.func @forwards_reductions_over_one_element [4, 1] (%x: memref<4xf32>, %o: memref<4xf32>) {
  %0 = tk.load %x[d0 + d1] : memref<4xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  tk.store %1, %o[d0] : f32, memref<4xf32>
}

// CHECK-LABEL: @keeps_axes_of_a_broadcast [8, 768]
tk.func @keeps_axes_of_a_broadcast [8, 768] (%x: memref<6144xf32>, %b: memref<768xf32>, %o: memref<6144xf32>) {
  %0 = tk.load %b[d1] : memref<768xf32> -> f32
  tk.store %0, %o[d0*768 + d1] : f32, memref<6144xf32>
}

// CHECK-LABEL: @keeps_axes_that_one_reduction_splits [3, 5]
tk.func @keeps_axes_that_one_reduction_splits [3, 5] (%x: memref<15xf32>, %o: memref<3xf32>) {
  %0 = tk.load %x[d0*5 + d1] : memref<15xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  tk.store %1, %o[d0] : f32, memref<3xf32>
}

// CHECK-LABEL: @keeps_the_axis_of_a_scan [3, 5]
// CHECK: tk.scan add %{{.*}} along 1 : f32
tk.func @keeps_the_axis_of_a_scan [3, 5, 1] (%x: memref<15xf32>, %o: memref<15xf32>) {
  %0 = tk.load %x[d0*5 + d1] : memref<15xf32> -> f32
  %1 = tk.scan add %0 along 1 : f32
  tk.store %1, %o[d0*5 + d1] : f32, memref<15xf32>
}

// CHECK-LABEL: @keeps_the_axis_of_a_sort [3, 5]
// CHECK: tk.sort %{{.*}} along 1 descending : f32
tk.func @keeps_the_axis_of_a_sort [3, 1, 5] (%x: memref<15xf32>, %o: memref<15xf32>) {
  %0 = tk.load %x[d0*5 + d2] : memref<15xf32> -> f32
  %1, %2 = tk.sort %0 along 2 descending : f32
  tk.store %1, %o[d0*5 + d2] : f32, memref<15xf32>
}

// CHECK-LABEL: @forwards_one_sorted_number [4]
// CHECK-NEXT: %[[V:.*]] = tk.load %x[d0] :
// CHECK-NEXT: %[[P:.*]] = arith.constant 0 : i32
// CHECK-NEXT: tk.store %[[V]], %o[d0] :
// CHECK-NEXT: tk.store %[[P]], %p[d0] :
tk.func @forwards_one_sorted_number [4, 1] (%x: memref<4xf32>, %o: memref<4xf32>, %p: memref<4xi32>) {
  %0 = tk.load %x[d0 + d1] : memref<4xf32> -> f32
  %1, %2 = tk.sort %0 along 1 : f32
  tk.store %1, %o[d0 + d1] : f32, memref<4xf32>
  tk.store %2, %p[d0 + d1] : i32, memref<4xi32>
}

// A sum that is not finite leaves no deviation, of one number either.
// CHECK-LABEL: @forwards_moments_of_one_number [4]
// CHECK-NEXT: %[[V:.*]] = tk.load %x[d0] :
// CHECK: %[[F:.*]] = arith.subf %[[V]], %[[V]] : f32
// CHECK: %[[Q:.*]] = arith.addf %{{.*}}, %[[F]] : f32
// CHECK: tk.store %[[Q]], %o[d0] :
tk.func @forwards_moments_of_one_number [4, 1] (%x: memref<4xf32>, %o: memref<4xf32>) {
  %0 = tk.load %x[d0 + d1] : memref<4xf32> -> f32
  %z = arith.constant 0.0 : f32
  %u = arith.constant 1.0 : f32
  %s, %q, %n = tk.moments %0, %z, %u over [1] : f32
  tk.store %q, %o[d0] : f32, memref<4xf32>
}

// CHECK-LABEL: @merges_axes_of_moments [3, 35]
// CHECK: tk.moments %{{.*}}, %{{.*}}, %{{.*}} over [1] : f32
tk.func @merges_axes_of_moments [3, 5, 7] (%x: memref<105xf32>, %o: memref<3xf32>) {
  %0 = tk.load %x[d0*35 + d1*7 + d2] : memref<105xf32> -> f32
  %z = arith.constant 0.0 : f32
  %u = arith.constant 1.0 : f32
  %s, %q, %n = tk.moments %0, %z, %u over [1, 2] : f32
  tk.store %q, %o[d0] : f32, memref<3xf32>
}

// A scatter whose target is filled elsewhere (`split-scatters`): nothing runs along the target's rows.
// CHECK-LABEL: @drops_an_axis_without_use [4, 6]
// CHECK: tk.load %w[d0 + d1*4]
// CHECK: tk.store %{{.*}}, %o[d0 + i0*4](%{{.*}}) combine add
tk.func @drops_an_axis_without_use [9, 4, 6] (%at: memref<6xi64>, %w: memref<24xf32>, %o: memref<36xf32>) {
  %0 = tk.load %at[d2] : memref<6xi64> -> i64
  %1 = arith.index_cast %0 : i64 to index
  %2 = tk.load %w[d2*4 + d1] : memref<24xf32> -> f32
  tk.store %2, %o[d1 + i0*4](%1) combine add : f32, memref<36xf32>
}
