// RUN: tilewright-opt %s -p schedule-cpu --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p schedule-cpu,apply-schedule --split-input-file | filecheck %s --check-prefix=LOOPS

// Rows may meet and columns do not: threads take columns, also of the copy, and need no atomic addition.
// CHECK:      @rows
// CHECK-SAME:   tk.order = array<i64: 3, 0, 2, 1>, tk.vector = array<i64: 1, 16>, tk.parallel = array<i64: 1>, tk.tiles = array<i64: 1, 128>
// CHECK:        combine add {tk.alone}
// LOOPS:      @rows
// LOOPS:        tk.for 3 = "0" to "512" step 128 parallel {
// LOOPS-NEXT:     tk.for 0 =
// LOOPS-NEXT:       tk.for 1 = "d3"
// LOOPS:            tk.store {{.*}}[d0*512 + d1] lanes 1
// LOOPS:        tk.for 3 = "0" to "512" step 128 parallel {
// LOOPS-NEXT:     tk.for 2 =
// LOOPS:            tk.for 1 = "d3"
// LOOPS:              tk.store {{.*}}[d1 + i0*512]({{.*}}) if {{.*}} combine add lanes 1 {tk.alone}
tk.func @rows [5000, 512, 4096] (%t: memref<2560000xf32>, %v: memref<2097152xf32>, %j: memref<4096xi64>, %o: memref<2560000xf32>) {
  %zero = arith.constant 0 : i64
  %size = arith.constant 5000 : i64
  %0 = tk.load %t[d0*512 + d1] : memref<2560000xf32> -> f32
  tk.store %0, %o[d0*512 + d1] : f32, memref<2560000xf32>
  %1 = tk.load %j[d2] : memref<4096xi64> -> i64
  %2 = arith.cmpi ult, %1, %size : i64
  %3 = arith.select %2, %1, %zero : i64
  %4 = arith.index_cast %3 : i64 to index
  %5 = tk.load %v[d2*512 + d1] : memref<2097152xf32> -> f32
  tk.store %5, %o[i0*512 + d1](%4) if %2 combine add : f32, memref<2560000xf32>
}

// -----

// Checked positions stay within their row: rows are independent. What is stored lane by lane gets no lanes,
// the copy does; a check stands where its position is.
// CHECK:      @within_rows
// CHECK-SAME:   tk.order = array<i64: 0, 2, 1>, tk.vector = array<i64: 1, 16>, tk.parallel = array<i64: 1>}
// CHECK:        combine add {tk.alone}
// LOOPS:      @within_rows
// LOOPS:        tk.for 0 = "0" to "4096" step 1 parallel {
// LOOPS-NEXT:     tk.for 1 = "0" to "1024" step 16 {
// LOOPS:        tk.for 0 = "0" to "4096" step 1 parallel {
// LOOPS-NEXT:     tk.for 2 = "0" to "100" step 1 {
// LOOPS:            tk.assert
// LOOPS:            tk.store {{.*}} combine add {tk.alone} : f32
tk.func @within_rows [4096, 1024, 100] (%t: memref<4194304xf32>, %v: memref<409600xf32>, %j: memref<409600xi64>, %o: memref<4194304xf32>) {
  %zero = arith.constant 0 : i32
  %size = arith.constant 1024 : i64
  %1 = tk.load %j[d0*100 + d2] : memref<409600xi64> -> i64
  %2 = arith.cmpi ult, %1, %size : i64
  tk.assert %2 "index out of range" : i1
  %narrow = arith.trunci %1 : i64 to i32
  %3 = arith.select %2, %narrow, %zero : i32
  %4 = arith.index_cast %3 : i32 to index
  %0 = tk.load %t[d0*1024 + d1] : memref<4194304xf32> -> f32
  tk.store %0, %o[d0*1024 + d1] : f32, memref<4194304xf32>
  %5 = tk.load %v[d0*100 + d2] : memref<409600xf32> -> f32
  tk.store %5, %o[d0*1024 + i0](%4) if %2 combine add : f32, memref<4194304xf32>
}

// -----

// Each element has a row of its own to go to: no lanes for the addition, which a thread does for its columns.
// CHECK:      @elements
// CHECK-SAME:   tk.order = array<i64: 3, 0, 2, 1>, tk.vector = array<i64: 1, 16>, tk.parallel = array<i64: 1>, tk.tiles = array<i64: 1, 128>
// CHECK:        combine add {tk.alone, tk.scalar}
// LOOPS:      @elements
// LOOPS:        tk.for 3 = "0" to "512" step 128 parallel {
// LOOPS:        tk.for 3 = "0" to "512" step 128 parallel {
// LOOPS-NEXT:     tk.for 2 =
// LOOPS-NEXT:       tk.for 1 = "d3" to "d3 + 128" step 1 {
// LOOPS:              tk.store {{.*}} combine add {tk.alone} : f32
tk.func @elements [5000, 512, 4096] (%t: memref<2560000xf32>, %v: memref<2097152xf32>, %j: memref<2097152xi64>, %o: memref<2560000xf32>) {
  %0 = tk.load %t[d0*512 + d1] : memref<2560000xf32> -> f32
  tk.store %0, %o[d0*512 + d1] : f32, memref<2560000xf32>
  %1 = tk.load %j[d2*512 + d1] : memref<2097152xi64> -> i64
  %2 = arith.index_cast %1 : i64 to index
  %3 = tk.load %v[d2*512 + d1] : memref<2097152xf32> -> f32
  tk.store %3, %o[i0*512 + d1](%2) combine add : f32, memref<2560000xf32>
}

// -----

// Positions that nothing bounds may lie in another row, and those below another limit, too: the sums of all
// rows are made in order.
// CHECK:      @unbounded
// CHECK-SAME:   attributes {tk.order = array<i64: 0, 1>} {
// CHECK:        combine add :
// CHECK:      @other_limit
// CHECK-SAME:   attributes {tk.order = array<i64: 0, 1>} {
// CHECK:        combine add :
tk.func @unbounded [4096, 1000] (%v: memref<4096000xf32>, %j: memref<4096000xi64>, %o: memref<4096000xf32>) {
  %1 = tk.load %j[d0*1000 + d1] : memref<4096000xi64> -> i64
  %4 = arith.index_cast %1 : i64 to index
  %5 = tk.load %v[d0*1000 + d1] : memref<4096000xf32> -> f32
  tk.store %5, %o[d0*1000 + i0](%4) combine add : f32, memref<4096000xf32>
}
tk.func @other_limit [4096, 1000] (%v: memref<4096000xf32>, %j: memref<4096000xi64>, %o: memref<4096000xf32>) {
  %zero = arith.constant 0 : i64
  %size = arith.constant 1001 : i64
  %1 = tk.load %j[d0*1000 + d1] : memref<4096000xi64> -> i64
  %2 = arith.cmpi ult, %1, %size : i64
  %3 = arith.select %2, %1, %zero : i64
  %4 = arith.index_cast %3 : i64 to index
  %5 = tk.load %v[d0*1000 + d1] : memref<4096000xf32> -> f32
  tk.store %5, %o[d0*1000 + i0](%4) combine add : f32, memref<4096000xf32>
}

// -----

// The limit may be a size that is only known at run time.
// CHECK:      @symbolic_rows
// CHECK-SAME:   tk.parallel = array<i64: 1>
tk.func @symbolic_rows [s0, 1000, s1] (%v: memref<?xf32>, %j: memref<?xi64>, %o: memref<?xf32>) symbols [s0, s1] {
  %zero = arith.constant 0 : i64
  %size = tk.index "s1" : i64
  %1 = tk.load %j[d0*1000 + d1] : memref<?xi64> -> i64
  %2 = arith.cmpi ult, %1, %size : i64
  %3 = arith.select %2, %1, %zero : i64
  %4 = arith.index_cast %3 : i64 to index
  %5 = tk.load %v[d0*1000 + d1] : memref<?xf32> -> f32
  tk.store %5, %o[d0*s1 + i0](%4) combine add : f32, memref<?xf32>
}

// -----

// Lanes that all add to one place do so one after the other, as often as the axis is long.
// CHECK:      @one_place
// LOOPS:      @one_place
// LOOPS:        tk.for 0 = "0" to "s0" step 1
// LOOPS-NEXT:     tk.store %{{.*}}, %o[0] combine add : f32, memref<4xf32>
tk.func @one_place [s0] (%o: memref<4xf32>) symbols [s0] {
  %0 = arith.constant 1.0 : f32
  tk.store %0, %o[0] over [0] combine add : f32, memref<4xf32>
}
