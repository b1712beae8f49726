// RUN: tilewright-opt %s -p 'schedule-cpu{vector-bits=128}' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'schedule-cpu{vector-bits=128},apply-schedule' --split-input-file | filecheck %s --check-prefix=APPLY
// RUN: tilewright-opt %s -p 'schedule-cpu{vector-bits=128}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// Rows in parallel, lanes along each: one row after the other is computed, sorted and read again.
// CHECK-LABEL: tk.func @rows
// CHECK-SAME: tk.order = array<i64: 0, 1>, tk.vector = array<i64: 1, 4>, tk.parallel = array<i64: 1>
// REMARK: tk.func at {{.*}}: axis 0 gets no lanes: one row after the other is sorted
// APPLY-LABEL: tk.func @rows
// APPLY: tk.for 0 = "0" to "512" step 1 parallel {
// APPLY-NEXT: %[[V:.*]] = tk.local "8" : memref<8xf32>
// APPLY-NEXT: %[[P:.*]] = tk.local "8" : memref<8xi32>
// APPLY-NEXT: tk.for 1 = "0" to "8" step 4 {
// APPLY-NEXT: %[[X:.*]] = tk.load %x[d0*8 + d1] lanes 1
// APPLY-NEXT: %[[E:.*]] = math.exp %[[X]] : vector<4xf32>
// APPLY-NEXT: tk.store %[[E]], %[[V]][d1] lanes 1
// APPLY-NEXT: }
// APPLY-NEXT: tk.order %[[V]] into %[[P]] count "8" : memref<8xf32>, memref<8xi32>
// APPLY-NEXT: tk.for 1 = "0" to "8" step 4 {
// APPLY-DAG: %[[W:.*]] = tk.load %[[V]][d1] lanes 1
// APPLY-DAG: %[[Q:.*]] = tk.load %[[P]][d1] lanes 1
// APPLY-DAG: tk.store %[[W]], %o[d0*8 + d1] lanes 1
// APPLY-DAG: tk.store %[[Q]], %p[d0*8 + d1] lanes 1
tk.func @rows [512, 8] (%x: memref<4096xf32>, %o: memref<4096xf32>, %p: memref<4096xi32>) {
  %0 = tk.load %x[d0*8 + d1] : memref<4096xf32> -> f32
  %1 = math.exp %0 : f32
  %2, %3 = tk.sort %1 along 1 : f32
  tk.store %2, %o[d0*8 + d1] : f32, memref<4096xf32>
  tk.store %3, %p[d0*8 + d1] : i32, memref<4096xi32>
}

// -----

// Columns are rows that strides lie between: no lane goes across them. One row is not parallel along itself.
// CHECK-LABEL: tk.func @columns
// CHECK-SAME: tk.vector = array<i64: 0,
// APPLY-LABEL: tk.func @columns
// APPLY: tk.for 1 = "0" to "6" step 1
// APPLY: tk.order %{{.*}} into %{{.*}} count "8" descending : memref<8xi32>, memref<8xi32>
tk.func @columns [8, 6] (%x: memref<48xi32>, %o: memref<48xi32>) {
  %0 = tk.load %x[d0*6 + d1] : memref<48xi32> -> i32
  %1, %2 = tk.sort %0 along 0 descending : i32
  tk.store %1, %o[d0*6 + d1] : i32, memref<48xi32>
}

// -----

// CHECK-LABEL: tk.func @one_long_row
// CHECK-NOT: tk.parallel
tk.func @one_long_row [16384] (%x: memref<16384xf32>, %o: memref<16384xf32>) {
  %0 = tk.load %x[d0] : memref<16384xf32> -> f32
  %1, %2 = tk.sort %0 along 0 : f32
  tk.store %1, %o[d0] : f32, memref<16384xf32>
}

// -----

// Stores of the first ones alone need no other positions.
// APPLY-LABEL: tk.func @the_first
// APPLY: tk.order %{{.*}} into %{{.*}} count "8" first 3
// APPLY-NEXT: tk.tail 1 = "0" count "3" {
tk.func @the_first [6, 8] (%x: memref<48xf32>, %o: memref<18xf32>) {
  %0 = tk.load %x[d0*8 + d1] : memref<48xf32> -> f32
  %1, %2 = tk.sort %0 along 1 first 3 : f32
  %3 = tk.index "d1" : i64
  %4 = arith.constant 3 : i64
  %5 = arith.cmpi slt, %3, %4 : i64
  tk.store %1, %o[d0*3 + d1] if %5 : f32, memref<18xf32>
}

// -----

// Others need all of them: what is stored behind the first ones, and what is masked in another way.
// APPLY-LABEL: tk.func @and_a_rest
// APPLY: tk.order %{{.*}} into %{{.*}} count "8" first 3
// APPLY-NEXT: tk.for 1 = "0" to "8" step 4 {
tk.func @and_a_rest [6, 8] (%x: memref<48xf32>, %o: memref<48xf32>) {
  %0 = tk.load %x[d0*8 + d1] : memref<48xf32> -> f32
  %1, %2 = tk.sort %0 along 1 first 3 : f32
  %3 = tk.index "d1" : i64
  %4 = arith.constant 3 : i64
  %5 = arith.cmpi slt, %3, %4 : i64
  %6 = arith.select %5, %1, %0 : f32
  tk.store %6, %o[d0*8 + d1] : f32, memref<48xf32>
}

// -----

// APPLY-LABEL: tk.func @behind_the_first
// APPLY: tk.order %{{.*}} into %{{.*}} count "8" first 3
// APPLY-NEXT: tk.for 1 = "0" to "8" step 4 {
tk.func @behind_the_first [6, 8] (%x: memref<48xf32>, %o: memref<48xf32>) {
  %0 = tk.load %x[d0*8 + d1] : memref<48xf32> -> f32
  %1, %2 = tk.sort %0 along 1 first 3 : f32
  %3 = tk.index "d1" : i64
  %4 = arith.constant 5 : i64
  %5 = arith.cmpi slt, %3, %4 : i64
  tk.store %1, %o[d0*8 + d1] if %5 : f32, memref<48xf32>
}

// -----

// Nor what sorts after the first sort, and sums, go along the first ones only.
// APPLY-LABEL: tk.func @two_sorts_and_a_sum
// APPLY: tk.for 1 = "0" to "8" step 4 {
// APPLY: tk.order %{{.*}} into %{{.*}} count "8" first 3
// APPLY: tk.for 1 = "0" to "8" step 4 {
// APPLY: tk.order %{{.*}} into %{{.*}} count "8" descending first 3
// APPLY: tk.for 1 = "0" to "8" step 4 iter
// APPLY: tk.for 1 = "0" to "8" step 4 {
tk.func @two_sorts_and_a_sum [6, 8] (%x: memref<48xf32>, %o: memref<18xf32>, %p: memref<18xf32>) {
  %0 = tk.load %x[d0*8 + d1] : memref<48xf32> -> f32
  %1, %2 = tk.sort %0 along 1 first 3 : f32
  %k = math.exp %0 : f32
  %3, %4 = tk.sort %k along 1 descending first 3 : f32
  %s = tk.reduce add %0 over [1] : f32
  %5 = tk.index "d1" : i64
  %6 = arith.constant 3 : i64
  %7 = arith.cmpi slt, %5, %6 : i64
  %8 = arith.mulf %3, %s : f32
  tk.store %1, %o[d0*3 + d1] if %7 : f32, memref<18xf32>
  tk.store %8, %p[d0*3 + d1] if %7 : f32, memref<18xf32>
}

// -----

// What is stored of the first ones by each of two sorts.
// APPLY-LABEL: tk.func @two_sorts
// APPLY: tk.for 1 = "0" to "8" step 4 {
// APPLY: tk.order %{{.*}} into %{{.*}} count "8" first 3
// APPLY: tk.for 1 = "0" to "8" step 4 {
// APPLY: tk.order %{{.*}} into %{{.*}} count "8" descending first 3
// APPLY-NEXT: tk.tail 1 = "0" count "3" {
tk.func @two_sorts [6, 8] (%x: memref<48xf32>, %o: memref<18xf32>, %p: memref<18xf32>) {
  %0 = tk.load %x[d0*8 + d1] : memref<48xf32> -> f32
  %1, %2 = tk.sort %0 along 1 first 3 : f32
  %k = math.exp %0 : f32
  %3, %4 = tk.sort %k along 1 descending first 3 : f32
  %5 = tk.index "d1" : i64
  %6 = arith.constant 3 : i64
  %7 = arith.cmpi slt, %5, %6 : i64
  tk.store %1, %o[d0*3 + d1] if %7 : f32, memref<18xf32>
  tk.store %3, %p[d0*3 + d1] if %7 : f32, memref<18xf32>
}

// -----

// A key that is alike along the row is one, too.
// APPLY-LABEL: tk.func @alike
// APPLY: tk.for 1 = "0" to "8" step 4 {
// APPLY-NOT: }
// APPLY: tk.store %{{.*}}, %[[V:.*]][d1] lanes 1
// APPLY: tk.order %[[V]] into
tk.func @alike [6, 8] (%x: memref<6xf32>, %o: memref<48xf32>) {
  %0 = tk.load %x[d0] : memref<6xf32> -> f32
  %1, %2 = tk.sort %0 along 1 : f32
  tk.store %1, %o[d0*8 + d1] : f32, memref<48xf32>
}
