// RUN: tilewright-opt %s -p 'schedule-gpu{shared=10},apply-schedule' --split-input-file | filecheck %s

// Chained products that go along listed blocks (`tk.distinct`).

// One loop along the steps of the listed blocks; what a program reads of the list are scalars.
// CHECK-LABEL: tk.func @listed
// CHECK: tk.for 0 = "0" to "6" step 1 parallel {
// CHECK: tk.for 1 = "0" to "512" step 128 parallel {
// CHECK: %[[C:.*]] = tk.load %c[(d1 floordiv 128)] : memref<?xi32> -> i32
// CHECK: %[[N:.*]] = arith.extsi %[[C]] : i32 to i64
// CHECK: %[[TO:.*]] = arith.index_cast %[[N]] : i64 to index
// CHECK: %[[SUM:.*]] = tk.for 6 = "0" to "i0*2"(%[[TO]]) step 1 iter(%[[A:.*]] = {{.*}} : vector<128x16xf32>) {
// CHECK: %[[P:.*]] = tk.index "(d6 floordiv 2)" : i64
// CHECK: %[[IN:.*]] = arith.cmpi slt, %[[P]], %[[N]] : i64
// CHECK: %[[AT:.*]] = arith.index_cast %[[P]]
// CHECK: %[[E:.*]] = tk.load %l[i0 + (d1 floordiv 128)*9](%[[AT]]) if %[[IN]] else %{{.*}} : memref<?xi32> -> i32
// CHECK: %[[B:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK: %[[PART:.*]] = tk.for 3 = "i0*64 + (d6 mod 2)*32" to "512"(%[[B]]) step 32 once iter(%[[D:.*]] = %[[A]] : vector<128x16xf32>) {
// CHECK: tk.mma
// CHECK: %[[NEXT:.*]] = tk.mma %[[D]]
// CHECK: tk.yield %[[NEXT]]
// CHECK: tk.yield %[[PART]]
// CHECK: tk.store %[[SUM]], %o
tk.func @listed [6, 512, 16, 512, 16, 9] (%q: memref<?xbf16>, %k: memref<?xbf16>, %v: memref<?xbf16>, %c: memref<?xi32>, %l: memref<?xi32>, %t: memref<?xi1>, %o: memref<?xf32>) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i32
  %0 = tk.load %q[d0*512*16 + d1*16 + d4] : memref<?xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d0*512*16 + d3*16 + d4] : memref<?xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [4] {tk.factors = bf16} : f32
  %n = tk.index "d5" : i64
  %6 = tk.load %c[d1 floordiv 128] : memref<?xi32> -> i32
  %count = arith.extsi %6 : i32 to i64
  %inside = arith.cmpi slt, %n, %count : i64
  %at = arith.index_cast %n : i64 to index
  %7 = tk.load %l[i0 + (d1 floordiv 128)*9](%at) if %inside else %none : memref<?xi32> -> i32
  %entry = arith.extsi %7 : i32 to i64
  %here = tk.index "d3 floordiv 64" : i64
  %same = arith.cmpi eq, %entry, %here : i64
  %found = arith.andi %same, %inside : i1
  %listed = tk.reduce or %found over [5] {tk.distinct} : i1
  %8 = arith.select %listed, %5, %zero : f32
  %9 = tk.load %v[d0*512*16 + d3*16 + d2] : memref<?xbf16> -> bf16
  %10 = arith.extf %9 : bf16 to f32
  %11 = arith.mulf %8, %10 : f32
  %12 = tk.reduce add %11 over [3] {tk.factors = bf16} : f32
  tk.store %12, %o[d0*512*16 + d1*16 + d2] : f32, memref<?xf32>
}

// -----

// Rows of a program have one list, and a step lies in one block: both are divided by blocks.
// CHECK-LABEL: tk.func @blocks_decide
// CHECK: tk.for 1 = "0" to "512" step 16 parallel {
// CHECK: tk.for 6 = "0" to "i0*3"
// CHECK: tk.for 3 = "i0*48 + (d6 mod 3)*16" to "512"(%{{.*}}) step 16 once iter
tk.func @blocks_decide [6, 512, 16, 512, 16, 9] (%q: memref<?xbf16>, %k: memref<?xbf16>, %v: memref<?xbf16>, %c: memref<?xi32>, %l: memref<?xi32>, %t: memref<?xi1>, %o: memref<?xf32>) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i32
  %0 = tk.load %q[d0*512*16 + d1*16 + d4] : memref<?xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d0*512*16 + d3*16 + d4] : memref<?xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [4] {tk.factors = bf16} : f32
  %n = tk.index "d5" : i64
  %6 = tk.load %c[d1 floordiv 48] : memref<?xi32> -> i32
  %count = arith.extsi %6 : i32 to i64
  %inside = arith.cmpi slt, %n, %count : i64
  %at = arith.index_cast %n : i64 to index
  %7 = tk.load %l[i0 + (d1 floordiv 48)*9](%at) if %inside else %none : memref<?xi32> -> i32
  %entry = arith.extsi %7 : i32 to i64
  %here = tk.index "d3 floordiv 48" : i64
  %same = arith.cmpi eq, %entry, %here : i64
  %found = arith.andi %same, %inside : i1
  %listed = tk.reduce or %found over [5] {tk.distinct} : i1
  %8 = arith.select %listed, %5, %zero : f32
  %9 = tk.load %v[d0*512*16 + d3*16 + d2] : memref<?xbf16> -> bf16
  %10 = arith.extf %9 : bf16 to f32
  %11 = arith.mulf %8, %10 : f32
  %12 = tk.reduce add %11 over [3] {tk.factors = bf16} : f32
  tk.store %12, %o[d0*512*16 + d1*16 + d2] : f32, memref<?xf32>
}

// -----

// The last block hangs over.
// CHECK-LABEL: tk.func @lengths_are_symbols
// CHECK: tk.for 3 = "i0*64 + (d6 mod 2)*32" to "s0"(%{{.*}}) step 32 once masked iter
tk.func @lengths_are_symbols [6, s0, 16, s0, 16, 9] (%q: memref<?xbf16>, %k: memref<?xbf16>, %v: memref<?xbf16>, %c: memref<?xi32>, %l: memref<?xi32>, %t: memref<?xi1>, %o: memref<?xf32>) symbols [s0] {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i32
  %0 = tk.load %q[d0*s0*16 + d1*16 + d4] : memref<?xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d0*s0*16 + d3*16 + d4] : memref<?xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [4] {tk.factors = bf16} : f32
  %n = tk.index "d5" : i64
  %6 = tk.load %c[d1 floordiv 128] : memref<?xi32> -> i32
  %count = arith.extsi %6 : i32 to i64
  %inside = arith.cmpi slt, %n, %count : i64
  %at = arith.index_cast %n : i64 to index
  %7 = tk.load %l[i0 + (d1 floordiv 128)*9](%at) if %inside else %none : memref<?xi32> -> i32
  %entry = arith.extsi %7 : i32 to i64
  %here = tk.index "d3 floordiv 64" : i64
  %same = arith.cmpi eq, %entry, %here : i64
  %found = arith.andi %same, %inside : i1
  %listed = tk.reduce or %found over [5] {tk.distinct} : i1
  %8 = arith.select %listed, %5, %zero : f32
  %9 = tk.load %v[d0*s0*16 + d3*16 + d2] : memref<?xbf16> -> bf16
  %10 = arith.extf %9 : bf16 to f32
  %11 = arith.mulf %8, %10 : f32
  %12 = tk.reduce add %11 over [3] {tk.factors = bf16} : f32
  tk.store %12, %o[d0*s0*16 + d1*16 + d2] : f32, memref<?xf32>
}

// -----

// A table of blocks has one value for a whole step, which is a scalar.
// CHECK-LABEL: tk.func @a_table_beside
// CHECK: tk.for 6
// CHECK: %[[T:.*]] = tk.load %t[(d1 floordiv 128)*8 + (d3 floordiv 32)] : memref<?xi1> -> i1
// CHECK: arith.andi
// CHECK: tk.mma
tk.func @a_table_beside [6, 512, 16, 512, 16, 9] (%q: memref<?xbf16>, %k: memref<?xbf16>, %v: memref<?xbf16>, %c: memref<?xi32>, %l: memref<?xi32>, %t: memref<?xi1>, %o: memref<?xf32>) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i32
  %0 = tk.load %q[d0*512*16 + d1*16 + d4] : memref<?xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d0*512*16 + d3*16 + d4] : memref<?xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [4] {tk.factors = bf16} : f32
  %n = tk.index "d5" : i64
  %6 = tk.load %c[d1 floordiv 128] : memref<?xi32> -> i32
  %count = arith.extsi %6 : i32 to i64
  %inside = arith.cmpi slt, %n, %count : i64
  %at = arith.index_cast %n : i64 to index
  %7 = tk.load %l[i0 + (d1 floordiv 128)*9](%at) if %inside else %none : memref<?xi32> -> i32
  %entry = arith.extsi %7 : i32 to i64
  %here = tk.index "d3 floordiv 64" : i64
  %same = arith.cmpi eq, %entry, %here : i64
  %found = arith.andi %same, %inside : i1
  %listed = tk.reduce or %found over [5] {tk.distinct} : i1
  %table = tk.load %t[(d1 floordiv 128)*8 + d3 floordiv 32] : memref<?xi1> -> i1
  %both = arith.andi %table, %listed : i1
  %8 = arith.select %both, %5, %zero : f32
  %9 = tk.load %v[d0*512*16 + d3*16 + d2] : memref<?xbf16> -> bf16
  %10 = arith.extf %9 : bf16 to f32
  %11 = arith.mulf %8, %10 : f32
  %12 = tk.reduce add %11 over [3] {tk.factors = bf16} : f32
  tk.store %12, %o[d0*512*16 + d1*16 + d2] : f32, memref<?xf32>
}

// -----

// Not so that of smaller blocks.
// CHECK-LABEL: tk.func @a_finer_table_beside
// CHECK: tk.for 6
// CHECK: tk.load %t[(d1 floordiv 128)*8 + (d3 floordiv 8)] lanes 1, 3 : memref<?xi1> -> vector<1x32xi1>
// CHECK: tk.mma
tk.func @a_finer_table_beside [6, 512, 16, 512, 16, 9] (%q: memref<?xbf16>, %k: memref<?xbf16>, %v: memref<?xbf16>, %c: memref<?xi32>, %l: memref<?xi32>, %t: memref<?xi1>, %o: memref<?xf32>) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i32
  %0 = tk.load %q[d0*512*16 + d1*16 + d4] : memref<?xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d0*512*16 + d3*16 + d4] : memref<?xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [4] {tk.factors = bf16} : f32
  %n = tk.index "d5" : i64
  %6 = tk.load %c[d1 floordiv 128] : memref<?xi32> -> i32
  %count = arith.extsi %6 : i32 to i64
  %inside = arith.cmpi slt, %n, %count : i64
  %at = arith.index_cast %n : i64 to index
  %7 = tk.load %l[i0 + (d1 floordiv 128)*9](%at) if %inside else %none : memref<?xi32> -> i32
  %entry = arith.extsi %7 : i32 to i64
  %here = tk.index "d3 floordiv 64" : i64
  %same = arith.cmpi eq, %entry, %here : i64
  %found = arith.andi %same, %inside : i1
  %listed = tk.reduce or %found over [5] {tk.distinct} : i1
  %table = tk.load %t[(d1 floordiv 128)*8 + d3 floordiv 8] : memref<?xi1> -> i1
  %both = arith.andi %table, %listed : i1
  %8 = arith.select %both, %5, %zero : f32
  %9 = tk.load %v[d0*512*16 + d3*16 + d2] : memref<?xbf16> -> bf16
  %10 = arith.extf %9 : bf16 to f32
  %11 = arith.mulf %8, %10 : f32
  %12 = tk.reduce add %11 over [3] {tk.factors = bf16} : f32
  tk.store %12, %o[d0*512*16 + d1*16 + d2] : f32, memref<?xf32>
}
