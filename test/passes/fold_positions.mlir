// RUN: tilewright-opt %s -p fold-positions --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p fold-positions --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// Sums, differences and products by constants; the mask and the place in the source stay.
// CHECK-LABEL: @reads_at_an_index_expression
// CHECK-NOT: index_cast
// CHECK: %[[V:.*]] = tk.load %x[d0*3 + d1*30 + d2 - 1] if %{{.*}} else %{{.*}} : memref<300xf32> -> f32 loc("m.py":3:0)
// CHECK: tk.store %[[V]], %o[d0*280 + d1*28 + d2]
tk.func @reads_at_an_index_expression [3, 10, 28] (%x: memref<300xf32>, %m: memref<3xi1>, %o: memref<840xf32>) {
  %z = arith.constant 0.0 : f32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %0 = tk.index "d0" : i32
  %1 = tk.index "d2" : i32
  %2 = arith.muli %0, %three : i32
  %3 = arith.addi %1, %2 : i32
  %4 = arith.subi %3, %one : i32
  %5 = arith.extsi %4 : i32 to i64
  %6 = arith.index_cast %5 : i64 to index
  %7 = tk.load %m[d0] : memref<3xi1> -> i1
  %8 = tk.load %x[d1*30 + i0](%6) if %7 else %z : memref<300xf32> -> f32 loc("m.py":3:0)
  tk.store %8, %o[d0*280 + d1*28 + d2] : f32, memref<840xf32>
}

// -----

// An index that is loaded stays one, beside one that is known.
// CHECK-LABEL: @keeps_loaded_indices
// CHECK: %[[I:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK: tk.load %x[d0 + i0*8](%[[I]])
// REMARK: tk.load at {{.*}}: its indices are no sums of positions
tk.func @keeps_loaded_indices [8] (%x: memref<64xf32>, %i: memref<8xi64>, %o: memref<8xf32>) {
  %0 = tk.index "d0" : i64
  %1 = arith.index_cast %0 : i64 to index
  %2 = tk.load %i[d0] : memref<8xi64> -> i64
  %3 = arith.index_cast %2 : i64 to index
  %4 = tk.load %x[i0 + i1*8](%1, %3) : memref<64xf32> -> f32
  %5 = tk.load %x[i0](%3) : memref<64xf32> -> f32
  %6 = arith.addf %4, %5 : f32
  tk.store %6, %o[d0] : f32, memref<8xf32>
}

// -----

// A product of positions, a sum that wraps around, a sum and a position that 32 bits may not hold, a store.
// CHECK-LABEL: @keeps_what_is_no_sum_or_may_wrap_around
// CHECK: tk.load %x[i0](%{{.*}})
// CHECK: tk.load %x[i0](%{{.*}})
// CHECK: tk.load %x[i0](%{{.*}})
// CHECK: tk.load %x[i0](%{{.*}})
// CHECK: tk.store %{{.*}}, %o[i0](%{{.*}})
tk.func @keeps_what_is_no_sum_or_may_wrap_around [8, s0] (%x: memref<64xf32>, %o: memref<?xf32>) symbols [s0] {
  %far = arith.constant 2147483647 : i32
  %0 = tk.index "d0" : i32
  %1 = arith.muli %0, %0 : i32
  %2 = arith.index_cast %1 : i32 to index
  %3 = tk.load %x[i0](%2) : memref<64xf32> -> f32
  %4 = arith.addi %0, %far : i32
  %5 = arith.index_cast %4 : i32 to index
  %6 = tk.load %x[i0](%5) : memref<64xf32> -> f32
  %7 = tk.index "d1" : i32
  %8 = arith.addi %7, %0 : i32
  %9 = arith.index_cast %8 : i32 to index
  %10 = tk.load %x[i0](%9) : memref<64xf32> -> f32
  %11 = arith.index_cast %7 : i32 to index
  %12 = tk.load %x[i0](%11) : memref<64xf32> -> f32
  %13 = arith.addf %3, %6 : f32
  %14 = arith.addf %10, %12 : f32
  %15 = arith.addf %13, %14 : f32
  %16 = arith.index_cast %0 : i32 to index
  tk.store %15, %o[i0](%16) combine add : f32, memref<?xf32>
}
