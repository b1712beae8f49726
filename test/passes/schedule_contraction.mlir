// A matrix product gets register tiles: 8 rows by 3 vectors with AVX-512, 4 by 3 with AVX2.
// RUN: tilewright-opt %s -p schedule-cpu --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p schedule-cpu --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p schedule-cpu,apply-schedule --split-input-file | filecheck %s --check-prefix=LOOPS
// RUN: tilewright-opt %s -p "schedule-cpu{vector-bits=256}" --split-input-file | filecheck %s --check-prefix=AVX2

// CHECK-LABEL: @product
// CHECK:       tk.tile = array<i64: 0, 8, 2, 3, 16>
// AVX2:        tk.tile = array<i64: 0, 4, 2, 3, 8>
// LOOPS-LABEL: @product
// LOOPS:       tk.for 4 = "0" to "((s0 - (s0 mod 8)) floordiv 8)*2" step 1
// LOOPS:         tk.for 2 = "0" to "48" step 48
// LOOPS:           tk.local "384"
// LOOPS:           tk.for 3 = "0" to "64" step 1 iter(
// LOOPS-COUNT-3:     lanes 2
// LOOPS-COUNT-8:     -> f32
// LOOPS:           tk.for 5 = "0" to "8" step 1
// LOOPS:             tk.for 6 = "0" to "48" step 16
// LOOPS:               math.tanh
// LOOPS:               tk.store
// Rows that are left over get smaller tiles.
// LOOPS:       tk.for 7
// LOOPS:           tk.local "192"
tk.func @product [s0, 2, 48, 64] (%a: memref<?xf32>, %b: memref<6144xf32>, %o: memref<?xf32>) symbols [s0] {
  %0 = tk.load %a[d0*64 + d3] : memref<?xf32> -> f32
  %1 = tk.load %b[d1*3072 + d3*48 + d2] : memref<6144xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [3] : f32
  %4 = math.tanh %3 : f32
  tk.store %4, %o[d0*96 + d1*48 + d2] : f32, memref<?xf32>
}

// -----

// CHECK-LABEL: @no_contiguous_operand
// CHECK-NOT:   tk.tile
// REMARK:      a matrix product without register tiles: no operand is contiguous across whole vectors
tk.func @no_contiguous_operand [9, 48, 64] (%a: memref<576xf32>, %b: memref<3072xf32>, %o: memref<432xf32>) {
  %0 = tk.load %a[d0*64 + d2] : memref<576xf32> -> f32
  %1 = tk.load %b[d1*64 + d2] : memref<3072xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [2] : f32
  tk.store %3, %o[d0*48 + d1] : f32, memref<432xf32>
}

// -----

// CHECK-LABEL: @dot_product
// CHECK-NOT:   tk.tile
tk.func @dot_product [9, 64] (%a: memref<576xf32>, %b: memref<576xf32>, %o: memref<9xf32>) {
  %0 = tk.load %a[d0*64 + d1] : memref<576xf32> -> f32
  %1 = tk.load %b[d0*64 + d1] : memref<576xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [1] : f32
  tk.store %3, %o[d0] : f32, memref<9xf32>
}

// -----

// A sum of 3072 products is cut into six blocks of 512.
// CHECK-LABEL: @long_sum
// LOOPS-LABEL: @long_sum
// LOOPS:       tk.local "384"
// LOOPS:       tk.for [[B:[0-9]+]] = "0" to "3072" step 512
// LOOPS:         tk.for 3 = "d{{[0-9]+}}" to "d{{[0-9]+}} + 512" step 1 iter(
// LOOPS:         arith.addf
// LOOPS:         tk.store
tk.func @long_sum [8, 2, 48, 3072] (%a: memref<24576xf32>, %b: memref<294912xf32>, %o: memref<768xf32>) {
  %0 = tk.load %a[d0*3072 + d3] : memref<24576xf32> -> f32
  %1 = tk.load %b[d1*147456 + d3*48 + d2] : memref<294912xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [3] : f32
  tk.store %3, %o[d0*96 + d1*48 + d2] : f32, memref<768xf32>
}

// -----

// Packed pairs of bf16: each step of the sum is one `tk.dot` per vector of the tile.
// CHECK-LABEL: @pairs
// CHECK:       tk.tile = array<i64: 0, 9, 2, 3, 16, 4>
// LOOPS-LABEL: @pairs
// LOOPS:           tk.for 3 = "0" to "32" step 1 iter(
// LOOPS-COUNT-3:     lanes 2 group 2 : memref<6144xbf16> -> vector<32xbf16>
// LOOPS-NEXT:        tk.load %{{.*}}[{{.*}}] group 2 : memref<576xbf16> -> vector<2xbf16>
// LOOPS-NEXT:        tk.dot %{{.*}}, %{{.*}} by (%{{.*}}) : vector<16xf32>, vector<32xbf16>, vector<2xbf16>
// AVX2:        tk.tile = array<i64: 0, {{.*}}, 2, {{.*}}, 8, 4>
tk.func @pairs [9, 2, 48, 32, 2] (%a: memref<576xbf16>, %b: memref<6144xbf16>, %o: memref<864xf32>) {
  %0 = tk.load %a[d0*64 + d3*2 + d4] : memref<576xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d1*3072 + d2*2 + d3*96 + d4] : memref<6144xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [3, 4] : f32
  tk.store %5, %o[d0*96 + d1*48 + d2] : f32, memref<864xf32>
}

// -----

// A left operand that is not contiguous is read element by element, one that is computed rounded again.
// LOOPS-LABEL: @pairs_of_computed_values
// LOOPS:           %[[A:.*]] = tk.load %{{.*}}[{{.*}}] : memref<576xf32> -> f32
// LOOPS:           %[[B:.*]] = math.tanh %[[A]] : f32
// LOOPS:           %[[C:.*]] = arith.truncf %[[B]] : f32 to bf16
// LOOPS:           tk.dot %{{.*}}, %{{.*}} by (%[[C]], %{{.*}}) : vector<16xf32>, vector<32xbf16>, bf16, bf16
tk.func @pairs_of_computed_values [9, 48, 32, 2] (%a: memref<576xf32>, %b: memref<3072xbf16>, %o: memref<432xf32>) {
  %0 = tk.load %a[d0 + d2*18 + d3*9] : memref<576xf32> -> f32
  %1 = math.tanh %0 : f32
  %2 = tk.load %b[d1*2 + d2*96 + d3] : memref<3072xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2, 3] : f32
  tk.store %5, %o[d0*48 + d1] : f32, memref<432xf32>
}

// -----

// One row: its axis is the one behind the last.
// CHECK-LABEL: @pairs_times_a_vector
// CHECK:       tk.tile = array<i64: 3, 1, 0, 3, 16, 2>
// LOOPS-LABEL: @pairs_times_a_vector
// LOOPS-COUNT-3:   tk.dot
// LOOPS-NOT:       tk.dot
tk.func @pairs_times_a_vector [48, 32, 2] (%a: memref<64xbf16>, %b: memref<3072xbf16>, %o: memref<48xf32>) {
  %0 = tk.load %a[d1*2 + d2] : memref<64xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d0*2 + d1*96 + d2] : memref<3072xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [1, 2] : f32
  tk.store %5, %o[d0] : f32, memref<48xf32>
}

// -----

// Columns that lie far apart in memory: rows of the tile are loaded and stored, in registers they become columns.
// CHECK-LABEL: @columns_apart
// CHECK-SAME:  tk.tile = array<i64: 0, 8, 1, 3, 16>
// LOOPS-LABEL: @columns_apart
// LOOPS:       tk.for [[N:[0-9]+]] = "0" to "4" step 1
// LOOPS-NEXT:    %[[C:.*]] = tk.local "384"
// LOOPS-NEXT:    tk.turn %c[d[[N]]*8 + d[[R:[0-9]+]] + d[[K:[0-9]+]]*32] into %[[C]][d[[R]]*48 + d[[K]]] over [[R]] = "0" count "8", [[K]] = "0" count "48"
// LOOPS-NEXT:    %[[O:.*]] = tk.local "384"
// LOOPS-NEXT:    tk.for 1 = "0" to "48" step 48
// LOOPS:           tk.load %[[C]][{{.*}}] lanes 1
// LOOPS:           tk.store %{{.*}}, %[[O]][{{.*}}] lanes 1
// LOOPS:         tk.turn %[[O]][{{.*}}] into %o[{{.*}}*32] over {{[0-9]+}} = "0" count "48", {{[0-9]+}} = "0" count "8"
tk.func @columns_apart [32, 48, 5] (%a: memref<160xf32>, %b: memref<240xf32>, %c: memref<1536xf32>, %o: memref<1536xf32>) {
  %0 = tk.load %a[d0*5 + d2] : memref<160xf32> -> f32
  %1 = tk.load %b[d1 + d2*48] : memref<240xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [2] : f32
  %4 = tk.load %c[d0 + d1*32] : memref<1536xf32> -> f32
  %5 = arith.addf %3, %4 : f32
  tk.store %5, %o[d0 + d1*32] : f32, memref<1536xf32>
}

// -----

// Of three rows, lanes are written one by one.
// LOOPS-LABEL: @few_rows_of_columns_apart
// LOOPS-NOT:   tk.turn
// LOOPS:       tk.store %{{.*}}, %o[{{.*}}*3{{.*}}] lanes 1
tk.func @few_rows_of_columns_apart [3, 48, 5] (%a: memref<15xf32>, %b: memref<240xf32>, %o: memref<144xf32>) {
  %0 = tk.load %a[d0*5 + d2] : memref<15xf32> -> f32
  %1 = tk.load %b[d1 + d2*48] : memref<240xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [2] : f32
  tk.store %3, %o[d0 + d1*3] : f32, memref<144xf32>
}

// -----

// Either operand could have the lanes: the result is contiguous along the left one's axis.
// CHECK-LABEL: @lanes_of_the_left
// CHECK-SAME:  tk.tile = array<i64: 1, 12, 0, 2, 16>
// LOOPS-LABEL: @lanes_of_the_left
// LOOPS-NOT:   tk.turn
// LOOPS:       tk.store %{{.*}}, %o[{{.*}}] lanes 0
tk.func @lanes_of_the_left [32, 48, 5] (%a: memref<160xf32>, %b: memref<240xf32>, %o: memref<1536xf32>) {
  %0 = tk.load %a[d0 + d2*32] : memref<160xf32> -> f32
  %1 = tk.load %b[d1 + d2*48] : memref<240xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [2] : f32
  tk.store %3, %o[d0 + d1*32] : f32, memref<1536xf32>
}

// -----

// CHECK-LABEL: @lanes_of_the_right
// CHECK-SAME:  tk.tile = array<i64: 0, 8, 1, 3, 16>
tk.func @lanes_of_the_right [32, 48, 5] (%a: memref<160xf32>, %b: memref<240xf32>, %o: memref<1536xf32>) {
  %0 = tk.load %a[d0 + d2*32] : memref<160xf32> -> f32
  %1 = tk.load %b[d1 + d2*48] : memref<240xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [2] : f32
  tk.store %3, %o[d0*48 + d1] : f32, memref<1536xf32>
}
