// RUN: tilewright-opt %s -p narrow-integers --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p narrow-integers --split-input-file --print-debuginfo | filecheck %s --check-prefix=LOC

// A position that is wrapped, checked and clamped lies in range as it is.
// CHECK-LABEL: @drops_checks_of_positions
// CHECK-NEXT: %[[P:.*]] = tk.index "(d0 floordiv 2)" : i32
// CHECK-NEXT: %[[I:.*]] = arith.index_cast %[[P]] : i32 to index
// CHECK-NEXT: %[[V:.*]] = tk.load %x[i0](%[[I]])
// CHECK-NEXT: tk.store %[[V]], %o[d0]
// LOC-LABEL: @drops_checks_of_positions
// LOC: tk.index "(d0 floordiv 2)" : i32 loc("m.py":3:0)
tk.func @drops_checks_of_positions [112] (%x: memref<56xf32>, %o: memref<112xf32>) {
  %zero = arith.constant 0 : i64
  %n = arith.constant 56 : i64
  %0 = tk.index "d0 floordiv 2" : i64 loc("m.py":3:0)
  %1 = arith.cmpi slt, %0, %zero : i64
  %2 = arith.addi %0, %n : i64
  %3 = arith.select %1, %2, %0 : i64
  %4 = arith.cmpi ult, %3, %n : i64
  tk.assert %4 "index out of range" : i1
  %5 = arith.select %4, %3, %zero : i64
  %6 = arith.index_cast %5 : i64 to index
  %7 = tk.load %x[i0](%6) : memref<56xf32> -> f32
  tk.store %7, %o[d0] : f32, memref<112xf32>
}

// -----

// CHECK-LABEL: @keeps_checks_that_can_fail
// CHECK: %[[P:.*]] = tk.index "d0" : i32
// CHECK: %[[C:.*]] = arith.cmpi ult, %[[P]], %{{.*}} : i32
// CHECK: tk.assert %[[C]]
tk.func @keeps_checks_that_can_fail [57] (%x: memref<56xf32>, %o: memref<57xf32>) {
  %zero = arith.constant 0 : i64
  %n = arith.constant 56 : i64
  %0 = tk.index "d0" : i64
  %1 = arith.cmpi ult, %0, %n : i64
  tk.assert %1 "index out of range" : i1
  %2 = arith.select %1, %0, %zero : i64
  %3 = arith.index_cast %2 : i64 to index
  %4 = tk.load %x[i0](%3) : memref<56xf32> -> f32
  tk.store %4, %o[d0] : f32, memref<57xf32>
}

// -----

// A loaded number is compared in all its bits; what has passed the check fits.
// CHECK-LABEL: @narrows_loaded_numbers_once_checked
// CHECK: arith.cmpi slt, %{{.*}}, %{{.*}} : i64
// CHECK: %[[V:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : i64
// CHECK: %[[C:.*]] = arith.cmpi ult, %[[V]], %{{.*}} : i64
// CHECK: tk.assert %[[C]]
// CHECK: %[[T:.*]] = arith.trunci %[[V]] : i64 to i32
// CHECK: %[[S:.*]] = arith.select %[[C]], %[[T]], %{{.*}} : i32
// CHECK: arith.index_cast %[[S]] : i32 to index
tk.func @narrows_loaded_numbers_once_checked [8] (%x: memref<4xf32>, %i: memref<8xi64>, %o: memref<8xf32>) {
  %zero = arith.constant 0 : i64
  %n = arith.constant 4 : i64
  %0 = tk.load %i[d0] : memref<8xi64> -> i64
  %1 = arith.cmpi slt, %0, %zero : i64
  %2 = arith.addi %0, %n : i64
  %3 = arith.select %1, %2, %0 : i64
  %4 = arith.cmpi ult, %3, %n : i64
  tk.assert %4 "index out of range" : i1
  %5 = arith.select %4, %3, %zero : i64
  %6 = arith.index_cast %5 : i64 to index
  %7 = tk.load %x[i0](%6) : memref<4xf32> -> f32
  tk.store %7, %o[d0] : f32, memref<8xf32>
}

// -----

// Checks of another number, of another kind or below a limit that does not fit say nothing.
// CHECK-LABEL: @keeps_numbers_wide_that_no_check_bounds
// CHECK-NOT: trunci
// CHECK-COUNT-3: arith.select %{{.*}}, %{{.*}}, %{{.*}} : i64
// CHECK-NOT: trunci
tk.func @keeps_numbers_wide_that_no_check_bounds [8] (%i: memref<8xi64>, %j: memref<8xi64>, %o: memref<8xi64>) {
  %zero = arith.constant 0 : i64
  %n = arith.constant 4 : i64
  %m = arith.constant 4294967296 : i64
  %0 = tk.load %i[d0] : memref<8xi64> -> i64
  %1 = tk.load %j[d0] : memref<8xi64> -> i64
  %2 = arith.cmpi ult, %1, %n : i64
  %3 = arith.select %2, %0, %zero : i64
  %4 = arith.cmpi slt, %0, %n : i64
  %5 = arith.select %4, %0, %zero : i64
  %6 = arith.cmpi ult, %0, %m : i64
  %7 = arith.select %6, %0, %zero : i64
  %8 = arith.addi %3, %5 : i64
  %9 = arith.addi %8, %7 : i64
  tk.store %9, %o[d0] : i64, memref<8xi64>
}

// -----

// Floats that are made of positions have ranges, a little wider than exact arithmetic has.
// CHECK-LABEL: @follows_ranges_through_floats
// CHECK: %[[P:.*]] = tk.index "d0" : i32
// CHECK-NEXT: %[[F:.*]] = arith.sitofp %[[P]] : i32 to f32
// CHECK: arith.fptosi %{{.*}} : f32 to i32
// CHECK-NOT: tk.assert
tk.func @follows_ranges_through_floats [6] (%x: memref<3xf32>, %o: memref<6xf32>) {
  %half = arith.constant 0.5 : f32
  %n = arith.constant 3 : i64
  %0 = tk.index "d0" : i64
  %1 = arith.sitofp %0 : i64 to f32
  %2 = arith.mulf %1, %half : f32
  %3 = arith.fptosi %2 : f32 to i64
  %4 = arith.cmpi ult, %3, %n : i64
  tk.assert %4 "index out of range" : i1
  %5 = arith.index_cast %3 : i64 to index
  %6 = tk.load %x[i0](%5) : memref<3xf32> -> f32
  tk.store %6, %o[d0] : f32, memref<6xf32>
}

// -----

// CHECK-LABEL: @widens_what_is_stored
// CHECK: %[[P:.*]] = tk.index "d0" : i32
// CHECK: %[[S:.*]] = arith.addi %[[P]], %{{.*}} : i32
// CHECK: %[[W:.*]] = arith.extsi %[[S]] : i32 to i64
// CHECK: tk.store %[[W]]
tk.func @widens_what_is_stored [8] (%o: memref<8xi64>) {
  %one = arith.constant 1 : i64
  %0 = tk.index "d0" : i64
  %1 = arith.addi %0, %one : i64
  tk.store %1, %o[d0] : i64, memref<8xi64>
}

// -----

// CHECK-LABEL: @leaves_what_does_not_fit
// CHECK: tk.index "d0*1073741824" : i64
// CHECK: arith.addi %{{.*}} : i64
tk.func @leaves_what_does_not_fit [8] (%o: memref<8xi64>) {
  %one = arith.constant 1 : i64
  %0 = tk.index "d0*1073741824" : i64
  %1 = arith.addi %0, %one : i64
  tk.store %1, %o[d0] : i64, memref<8xi64>
}

// -----

// CHECK-LABEL: @leaves_sizes_that_are_not_known
// CHECK: tk.index "d0" : i64
tk.func @leaves_sizes_that_are_not_known [s0] (%o: memref<?xi64>) symbols [s0] {
  %one = arith.constant 1 : i64
  %0 = tk.index "d0" : i64
  %1 = arith.addi %0, %one : i64
  tk.store %1, %o[d0] : i64, memref<?xi64>
}

// -----

// CHECK-LABEL: @finds_the_largest_in_32_bits
// CHECK: %[[I:.*]] = tk.index "d1" : i32
// CHECK: %{{.*}}, %[[P:.*]] = tk.argreduce max %{{.*}} at %[[I]] over [1] : f32
// CHECK: arith.extsi %[[P]] : i32 to i64
tk.func @finds_the_largest_in_32_bits [4, 40] (%x: memref<160xf32>, %o: memref<4xi64>) {
  %0 = tk.load %x[d0*40 + d1] : memref<160xf32> -> f32
  %1 = tk.index "d1" : i64
  %m, %p = tk.argreduce max %0 at %1 over [1] : f32
  tk.store %p, %o[d0] : i64, memref<4xi64>
}

// -----

// Of what is true anyway, and what is not.
// CHECK-LABEL: @checks_of_either
// CHECK-NOT: arith.ori
// CHECK:     tk.assert
// CHECK-NOT: tk.assert
tk.func @checks_of_either [56] (%i: memref<56xi1>, %o: memref<56xf32>) {
  %one = arith.constant 1.0 : f32
  %n = arith.constant 56 : i64
  %0 = tk.index "d0" : i64
  %1 = tk.load %i[d0] : memref<56xi1> -> i1
  %2 = arith.cmpi slt, %0, %n : i64
  %3 = arith.ori %1, %2 : i1
  tk.assert %3 "in range, or else" : i1
  %4 = arith.cmpi sge, %0, %n : i64
  %5 = arith.ori %4, %1 : i1
  tk.assert %5 "of what is loaded" : i1
  tk.store %one, %o[d0] : f32, memref<56xf32>
}

// -----

// Where a mask hides all that a product makes, nobody computes it, and nobody goes along its axis.

// CHECK-LABEL: tk.func @hidden_scores [8, 16] (
// CHECK-NOT: tk.reduce add
// CHECK: tk.reduce max %{{.*}} over [1]
tk.func @hidden_scores [8, 16, 32] (%q: memref<256xf32>, %k: memref<512xf32>, %o: memref<8xf32>) {
  %0 = tk.load %q[d0*32 + d2] : memref<256xf32> -> f32
  %1 = tk.load %k[d1*32 + d2] : memref<512xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [2] : f32
  %4 = tk.index "d1 - d0" : i64
  %5 = arith.constant 16 : i64
  %6 = arith.cmpi sgt, %4, %5 : i64
  %7 = arith.constant 0xFF800000 : f32
  %8 = arith.select %6, %3, %7 : f32
  %9 = tk.reduce max %8 over [1] : f32
  tk.store %9, %o[d0] : f32, memref<8xf32>
}

// -----

// Some are seen.

// CHECK-LABEL: tk.func @seen_scores [8, 16, 32] (
// CHECK: tk.reduce add
tk.func @seen_scores [8, 16, 32] (%q: memref<256xf32>, %k: memref<512xf32>, %o: memref<8xf32>) {
  %0 = tk.load %q[d0*32 + d2] : memref<256xf32> -> f32
  %1 = tk.load %k[d1*32 + d2] : memref<512xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [2] : f32
  %4 = tk.index "d1 - d0" : i64
  %5 = arith.constant 14 : i64
  %6 = arith.cmpi sgt, %4, %5 : i64
  %7 = arith.constant 0xFF800000 : f32
  %8 = arith.select %6, %3, %7 : f32
  %9 = tk.reduce max %8 over [1] : f32
  tk.store %9, %o[d0] : f32, memref<8xf32>
}
