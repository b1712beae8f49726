// Chained products for CPUs: a row in each lane, several vectors of rows at a time.
// RUN: tilewright-opt %s -p schedule-cpu --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p schedule-cpu --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p schedule-cpu,apply-schedule --split-input-file | filecheck %s --check-prefix=LOOPS
// RUN: tilewright-opt %s -p "schedule-cpu{vector-bits=256}" --split-input-file | filecheck %s --check-prefix=AVX2

// Each block of rows goes as far as its last row sees. 83 rows are 64, 16 and 3.
// CHECK-LABEL: @causal
// CHECK-SAME:  tk.vector = array<i64: 1, 16>, tk.chain = array<i64: 64, 64>
// AVX2-LABEL:  @causal
// AVX2-SAME:   tk.vector = array<i64: 1, 8>, {{.*}}tk.chain = array<i64: 16, 64>
// LOOPS-LABEL: @causal
// LOOPS:       tk.for 5 = "0" to "2" step 1 {
// LOOPS:         tk.for 1 = "0" to "64" step 64 {
// LOOPS:           %[[Q:.*]] = tk.local "192" : memref<192xf32>
// LOOPS:           tk.turn %{{.*}}[d5*249 + d6 + d7*3] into %[[Q]][d6*64 + d7] over 6 = "0" count "3", 7 = "0" count "64"
// LOOPS:           %[[TOP:.*]] = tk.local "64"
// LOOPS:           %[[TOTAL:.*]] = tk.local "64"
// LOOPS:           %[[SUM:.*]] = tk.local "320"
// LOOPS:           tk.for [[B:[0-9]+]] = "0" to "64" step 64 {
// Scores of 4 keys by 4 vectors of rows.
// LOOPS:             tk.for [[K:[0-9]+]] = "0" to "{{.*}}" step 4 {
// LOOPS:               tk.for [[D:[0-9]+]] = "0" to "3" step 1 iter(
// LOOPS-COUNT-4:         tk.load %[[Q]][
// LOOPS-COUNT-4:         tk.load %k[d5*249 + d[[B]]*3 + d[[K]]*3 + d[[D]]{{.*}}] : memref<498xf32> -> f32
// LOOPS-COUNT-16:      tk.store %{{.*}}, %[[S:.*]][{{.*}}] lanes 1
// LOOPS:             arith.cmpi sle
// LOOPS:             arith.maximumf
// LOOPS:             %[[OLD:.*]] = tk.load %[[TOP]]
// LOOPS:             %[[NEW:.*]] = arith.maximumf %[[OLD]]
// LOOPS:             tk.store %[[NEW]], %[[TOP]]
// LOOPS:             %[[LESS:.*]] = arith.subf %[[OLD]]
// LOOPS:             %[[SCALE:.*]] = math.exp %[[LESS]]
// LOOPS:             tk.store %[[SCALE]], %[[LOCAL:.*]][
// LOOPS:             math.exp
// LOOPS:             tk.store %{{.*}}, %[[TOTAL]]
// LOOPS:             %[[PART:.*]] = tk.load %[[SUM]]
// LOOPS:             %[[BY:.*]] = tk.load %[[LOCAL]]
// LOOPS:             arith.mulf %[[PART]], %[[BY]]
// LOOPS:           arith.divf
// LOOPS:           tk.turn %{{.*}} into %{{.*}}[
// LOOPS:       tk.for 1 = "0" to "16" step 16 {
// LOOPS:         = "0" to "83" step 64 {
// LOOPS:       tk.tail 1 = "0" count "3" {
// LOOPS:         = "0" to "83" step 64 {
tk.func @causal [2, 83, 5, 83, 3] (%q: memref<498xf32>, %k: memref<498xf32>, %v: memref<830xf32>, %o: memref<830xf32>) {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %0 = tk.load %q[d0*249 + d1*3 + d4] : memref<498xf32> -> f32
  %1 = tk.load %k[d0*249 + d3*3 + d4] : memref<498xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [4] : f32
  %4 = tk.index "d3" : i64
  %5 = tk.index "d1" : i64
  %6 = arith.cmpi sle, %4, %5 : i64
  %7 = arith.select %6, %3, %low : f32
  %8 = tk.reduce max %7 over [3] : f32
  %9 = arith.cmpf oeq, %8, %low : f32
  %10 = arith.select %9, %zero, %8 : f32
  %11 = arith.subf %7, %10 : f32
  %12 = math.exp %11 : f32
  %13 = tk.reduce add %12 over [3] : f32
  %14 = tk.load %v[d0*415 + d3*5 + d2] : memref<830xf32> -> f32
  %15 = arith.mulf %12, %14 : f32
  %16 = tk.reduce add %15 over [3] : f32
  %17 = arith.divf %16, %13 : f32
  tk.store %17, %o[d0*415 + d1*5 + d2] : f32, memref<830xf32>
}

// -----

// A window begins where the first row's does. Lengths are symbols; what is not f32 is made so once per block.
// CHECK-LABEL: @window
// LOOPS-LABEL: @window
// LOOPS:       tk.for [[R:[0-9]+]] = "0" to "((s0 - (s0 mod 64)) floordiv 64)" step 1 parallel if "{{.*}}" attributes {tk.uneven} {
// LOOPS:         tk.for [[B:[0-9]+]] = "max(0, d[[R]]*64 - 64)" to "min(d[[R]]*64 + 64, s1)" step 64 {
// LOOPS:           tk.for 3 = "0" to "16" step 16 {
// LOOPS:             arith.extf %{{.*}} : vector<16xbf16> to vector<16xf32>
// LOOPS:             tk.store %{{.*}}, %[[K:.*]][{{.*}}] lanes 3
// LOOPS:           tk.load %[[K]][{{.*}}] : memref<1024xf32> -> f32
tk.func @window [s0, 16, s1, 16] (%q: memref<?xbf16>, %k: memref<?xbf16>, %v: memref<?xbf16>, %o: memref<?xf32>) symbols [s0, s1] {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %0 = tk.load %q[d0*16 + d3] : memref<?xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d2*16 + d3] : memref<?xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [3] {tk.factors = bf16} : f32
  %6 = tk.index "d0 - d2" : i64
  %7 = arith.constant 0 : i64
  %8 = arith.constant 20 : i64
  %9 = arith.cmpi sge, %6, %7 : i64
  %10 = arith.cmpi sle, %6, %8 : i64
  %11 = arith.andi %9, %10 : i1
  %12 = arith.select %11, %5, %low : f32
  %13 = tk.reduce max %12 over [2] : f32
  %14 = arith.cmpf oeq, %13, %low : f32
  %15 = arith.select %14, %zero, %13 : f32
  %16 = arith.subf %12, %15 : f32
  %17 = math.exp %16 : f32
  %18 = tk.reduce add %17 over [2] : f32
  %19 = tk.load %v[d2*16 + d1] : memref<?xbf16> -> bf16
  %20 = arith.extf %19 : bf16 to f32
  %21 = arith.mulf %17, %20 : f32
  %22 = tk.reduce add %21 over [2] {tk.factors = bf16} : f32
  %23 = arith.divf %22, %18 : f32
  tk.store %23, %o[d0*16 + d1] : f32, memref<?xf32>
}

// -----

// Along a list: blocks of 32 rows have one, so no more rows than that go together, in steps of 32 keys.
// CHECK-LABEL: @listed
// CHECK-SAME:  tk.chain = array<i64: 32, 32>
// LOOPS-LABEL: @listed
// LOOPS:       tk.for 4 = "0" to "i0"(%{{.*}}) step 1 {
// LOOPS:         tk.for {{[0-9]+}} = "i0*32" to "min(96, i0*32 + 32)"(%{{.*}}) step 32 {
tk.func @listed [64, 4, 96, 4, 3] (%q: memref<256xf32>, %k: memref<384xf32>, %v: memref<384xf32>, %list: memref<6xi64>, %count: memref<2xi64>, %o: memref<256xf32>) {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %0 = tk.load %q[d0*4 + d3] : memref<256xf32> -> f32
  %1 = tk.load %k[d2*4 + d3] : memref<384xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [3] : f32
  %4 = tk.index "d4" : i64
  %5 = tk.load %count[d0 floordiv 32] : memref<2xi64> -> i64
  %6 = arith.cmpi slt, %4, %5 : i64
  %7 = tk.load %list[(d0 floordiv 32)*3 + d4] : memref<6xi64> -> i64
  %8 = tk.index "d2 floordiv 32" : i64
  %9 = arith.cmpi eq, %7, %8 : i64
  %10 = arith.andi %9, %6 : i1
  %11 = tk.reduce or %10 over [4] {tk.distinct} : i1
  %12 = arith.select %11, %3, %low : f32
  %13 = tk.reduce max %12 over [2] : f32
  %14 = arith.cmpf oeq, %13, %low : f32
  %15 = arith.select %14, %zero, %13 : f32
  %16 = arith.subf %12, %15 : f32
  %17 = math.exp %16 : f32
  %18 = tk.reduce add %17 over [2] : f32
  %19 = tk.load %v[d2*4 + d1] : memref<384xf32> -> f32
  %20 = arith.mulf %17, %19 : f32
  %21 = tk.reduce add %20 over [2] : f32
  %22 = arith.divf %21, %18 : f32
  tk.store %22, %o[d0*4 + d1] : f32, memref<256xf32>
}

// -----

// Two products, nothing to keep a maximum of; a check sees every element, whatever the mask hides.
// CHECK-LABEL: @checked
// LOOPS-LABEL: @checked
// LOOPS:       tk.for {{[0-9]+}} = "0" to "40" step 40 {
// LOOPS:         math.tanh
// LOOPS:         tk.assert
tk.func @checked [20, 8, 40, 6] (%q: memref<120xf32>, %k: memref<240xf32>, %v: memref<320xf32>, %o: memref<160xf32>) {
  %0 = tk.load %q[d0*6 + d3] : memref<120xf32> -> f32
  %1 = tk.load %k[d2*6 + d3] : memref<240xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [3] : f32
  %4 = math.tanh %3 : f32
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %5 = arith.cmpf olt, %4, %two : f32
  tk.assert %5 "too large" : i1
  %6 = tk.index "d2" : i64
  %7 = tk.index "d0" : i64
  %8 = arith.cmpi sle, %6, %7 : i64
  %9 = arith.select %8, %4, %zero : f32
  %10 = tk.load %v[d2*8 + d1] : memref<320xf32> -> f32
  %11 = arith.mulf %9, %10 : f32
  %12 = tk.reduce add %11 over [2] : f32
  tk.store %12, %o[d0*8 + d1] : f32, memref<160xf32>
}

// -----

// Too few rows have one list for the lanes.
// CHECK-LABEL: @short_lists
// CHECK-NOT:   tk.chain
// REMARK:      chained products without lanes of rows: 8 rows have one list
tk.func @short_lists [64, 4, 96, 4, 3] (%q: memref<256xf32>, %k: memref<384xf32>, %v: memref<384xf32>, %list: memref<24xi64>, %o: memref<256xf32>) {
  %0 = tk.load %q[d0*4 + d3] : memref<256xf32> -> f32
  %1 = tk.load %k[d2*4 + d3] : memref<384xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [3] : f32
  %4 = tk.index "d4" : i64
  %5 = arith.constant 2 : i64
  %6 = arith.cmpi slt, %4, %5 : i64
  %7 = tk.load %list[(d0 floordiv 8)*3 + d4] : memref<24xi64> -> i64
  %8 = tk.index "d2 floordiv 32" : i64
  %9 = arith.cmpi eq, %7, %8 : i64
  %10 = arith.andi %9, %6 : i1
  %11 = tk.reduce or %10 over [4] {tk.distinct} : i1
  %zero = arith.constant 0.0 : f32
  %12 = arith.select %11, %3, %zero : f32
  %13 = tk.load %v[d2*4 + d1] : memref<384xf32> -> f32
  %14 = arith.mulf %12, %13 : f32
  %15 = tk.reduce add %14 over [2] : f32
  tk.store %15, %o[d0*4 + d1] : f32, memref<256xf32>
}

// -----

// What `sum-in-chains` makes for GPUs.
// CHECK-LABEL: tk.func @beside_sums_of_rows
// CHECK-NOT:   tk.chain
// REMARK:      chained products without lanes of rows: they add up rows of their own
tk.func @beside_sums_of_rows [32, 16, 32, 16, 16] (%q: memref<512xf32>, %k: memref<512xf32>, %g: memref<512xf32>, %v: memref<512xf32>, %r: memref<512xf32>, %t: memref<32xf32>, %o: memref<512xf32>) {
  %0 = tk.load %q[d0*16 + d3] : memref<512xf32> -> f32
  %1 = tk.load %k[d2*16 + d3] : memref<512xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [3] : f32
  %4 = tk.load %g[d0*16 + d4] : memref<512xf32> -> f32
  %5 = tk.load %v[d2*16 + d4] : memref<512xf32> -> f32
  %6 = arith.mulf %4, %5 : f32
  %7 = tk.reduce add %6 over [4] : f32
  %8 = tk.load %r[d0*16 + d4] : memref<512xf32> -> f32
  %9 = arith.mulf %4, %8 : f32
  %10 = tk.reduce add %9 over [4] : f32
  tk.store %10, %t[d0] : f32, memref<32xf32>
  %11 = arith.subf %7, %10 : f32
  %12 = arith.mulf %3, %11 : f32
  %13 = tk.load %k[d2*16 + d1] : memref<512xf32> -> f32
  %14 = arith.mulf %12, %13 : f32
  %15 = tk.reduce add %14 over [2] : f32
  tk.store %15, %o[d0*16 + d1] : f32, memref<512xf32>
}

// -----

// As gradients of keys that heads of queries (axis 4) share, which `split-attention` makes for GPUs.
// CHECK-LABEL: tk.func @along_batches
// CHECK-NOT:   tk.chain
// REMARK:      chained products without lanes of rows: they go along several batches
tk.func @along_batches [32, 16, 32, 16, 3] (%q: memref<1536xf32>, %k: memref<512xf32>, %o: memref<512xf32>) {
  %0 = tk.load %k[d0*16 + d3] : memref<512xf32> -> f32
  %1 = tk.load %q[d4*512 + d2*16 + d3] : memref<1536xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [3] : f32
  %4 = tk.load %q[d4*512 + d2*16 + d1] : memref<1536xf32> -> f32
  %5 = arith.mulf %3, %4 : f32
  %6 = tk.reduce add %5 over [2, 4] : f32
  tk.store %6, %o[d0*16 + d1] : f32, memref<512xf32>
}
