// RUN: tilewright-opt %s -p 'schedule-gpu{shared=40},apply-schedule' --split-input-file | filecheck %s

// Which blocks of keys chained products leave out: those that a condition on positions hides from all rows of
// a program, before the first that it does not hide and after the last.

// A window: both ends of the loop follow the rows.
// CHECK-LABEL: tk.func @window
// CHECK: tk.for 1 = "0" to "512" step 128 parallel {
// CHECK: tk.for 3 = "max(0, d1 - 64)" to "min(512, d1 + 128)" step 32 iter
tk.func @window [6, 512, 64, 512, 64] (%q: memref<196608xbf16>, %k: memref<196608xbf16>, %v: memref<196608xbf16>, %t: memref<?xi64>, %o: memref<196608xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tk.load %q[d0*512*64 + d1*64 + d4] : memref<196608xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d0*512*64 + d3*64 + d4] : memref<196608xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [4] {tk.factors = bf16} : f32
  %i = tk.index "d1" : i64
  %j = tk.index "d3" : i64
  %w = arith.constant 64 : i64
  %d = arith.subi %i, %j : i64
  %a = arith.cmpi sge, %i, %j : i64
  %b = arith.cmpi sle, %d, %w : i64
  %c = arith.andi %a, %b : i1
  %6 = arith.select %c, %5, %zero : f32
  %7 = tk.load %v[d0*512*64 + d3*64 + d2] : memref<196608xbf16> -> bf16
  %8 = arith.extf %7 : bf16 to f32
  %9 = arith.mulf %6, %8 : f32
  %10 = tk.reduce add %9 over [3] {tk.factors = bf16} : f32
  tk.store %10, %o[d0*512*64 + d1*64 + d2] : f32, memref<196608xf32>
}

// -----

// A loop begins at a multiple of its step, wherever a window does: loads stay aligned.
// CHECK-LABEL: tk.func @window_of_any_width
// CHECK: tk.for 3 = "max(0, d1 - 128)" to "min(512, d1 + 227)" step 32 iter
tk.func @window_of_any_width [6, 512, 64, 512, 64] (%q: memref<196608xbf16>, %k: memref<196608xbf16>, %v: memref<196608xbf16>, %t: memref<?xi64>, %o: memref<196608xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tk.load %q[d0*512*64 + d1*64 + d4] : memref<196608xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d0*512*64 + d3*64 + d4] : memref<196608xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [4] {tk.factors = bf16} : f32
  %i = tk.index "d1" : i64
  %j = tk.index "d3" : i64
  %w = arith.constant 100 : i64
  %d = arith.subi %j, %i : i64
  %s = math.absi %d : i64
  %c = arith.cmpi slt, %s, %w : i64
  %6 = arith.select %c, %5, %zero : f32
  %7 = tk.load %v[d0*512*64 + d3*64 + d2] : memref<196608xbf16> -> bf16
  %8 = arith.extf %7 : bf16 to f32
  %9 = arith.mulf %6, %8 : f32
  %10 = tk.reduce add %9 over [3] {tk.factors = bf16} : f32
  tk.store %10, %o[d0*512*64 + d1*64 + d2] : f32, memref<196608xf32>
}

// -----

// Of two conditions either of which lets through, the one that reaches further counts.
// CHECK-LABEL: tk.func @prefix
// CHECK: tk.for 3 = "0" to "[[ALL:.*]]" step 32 iter
// CHECK-NOT: arith.cmpi
// CHECK: tk.for 3 = "[[ALL]]" to "min(512, max(200, d1 + 128))" step 32 iter
// CHECK: arith.cmpi
tk.func @prefix [6, 512, 64, 512, 64] (%q: memref<196608xbf16>, %k: memref<196608xbf16>, %v: memref<196608xbf16>, %t: memref<?xi64>, %o: memref<196608xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tk.load %q[d0*512*64 + d1*64 + d4] : memref<196608xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d0*512*64 + d3*64 + d4] : memref<196608xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [4] {tk.factors = bf16} : f32
  %i = tk.index "d1" : i64
  %j = tk.index "d3" : i64
  %p = arith.constant 200 : i64
  %a = arith.cmpi sge, %i, %j : i64
  %b = arith.cmpi slt, %j, %p : i64
  %c = arith.ori %a, %b : i1
  %6 = arith.select %c, %5, %zero : f32
  %7 = tk.load %v[d0*512*64 + d3*64 + d2] : memref<196608xbf16> -> bf16
  %8 = arith.extf %7 : bf16 to f32
  %9 = arith.mulf %6, %8 : f32
  %10 = tk.reduce add %9 over [3] {tk.factors = bf16} : f32
  tk.store %10, %o[d0*512*64 + d1*64 + d2] : f32, memref<196608xf32>
}

// -----

// The same of what is hidden.
// CHECK-LABEL: tk.func @what_is_hidden
// CHECK: tk.for 3 = "d1" to "min(512, d1 + 192)" step 32 iter
tk.func @what_is_hidden [6, 512, 64, 512, 64] (%q: memref<196608xbf16>, %k: memref<196608xbf16>, %v: memref<196608xbf16>, %t: memref<?xi64>, %o: memref<196608xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tk.load %q[d0*512*64 + d1*64 + d4] : memref<196608xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d0*512*64 + d3*64 + d4] : memref<196608xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [4] {tk.factors = bf16} : f32
  %i = tk.index "d1" : i64
  %j = tk.index "d3" : i64
  %y = arith.constant true
  %w = arith.constant 64 : i64
  %f = arith.addi %i, %w : i64
  %a = arith.cmpi sgt, %j, %f : i64
  %b = arith.cmpi slt, %j, %i : i64
  %h = arith.ori %a, %b : i1
  %c = arith.xori %h, %y : i1
  %6 = arith.select %c, %5, %zero : f32
  %7 = tk.load %v[d0*512*64 + d3*64 + d2] : memref<196608xbf16> -> bf16
  %8 = arith.extf %7 : bf16 to f32
  %9 = arith.mulf %6, %8 : f32
  %10 = tk.reduce add %9 over [3] {tk.factors = bf16} : f32
  tk.store %10, %o[d0*512*64 + d1*64 + d2] : f32, memref<196608xf32>
}

// -----

// Rows that look at one key each, every other one.
// CHECK-LABEL: tk.func @scaled
// CHECK: tk.for 3 = "(d1 floordiv 128)*64" to "min(((d1 + 127) floordiv 2) + 1, 512)" step 32 iter
tk.func @scaled [6, 512, 64, 512, 64] (%q: memref<196608xbf16>, %k: memref<196608xbf16>, %v: memref<196608xbf16>, %t: memref<?xi64>, %o: memref<196608xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tk.load %q[d0*512*64 + d1*64 + d4] : memref<196608xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d0*512*64 + d3*64 + d4] : memref<196608xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [4] {tk.factors = bf16} : f32
  %i = tk.index "d1" : i64
  %j = tk.index "d3" : i64
  %t2 = arith.constant 2 : i64
  %f = arith.muli %j, %t2 : i64
  %c = arith.cmpi eq, %f, %i : i64
  %6 = arith.select %c, %5, %zero : f32
  %7 = tk.load %v[d0*512*64 + d3*64 + d2] : memref<196608xbf16> -> bf16
  %8 = arith.extf %7 : bf16 to f32
  %9 = arith.mulf %6, %8 : f32
  %10 = tk.reduce add %9 over [3] {tk.factors = bf16} : f32
  tk.store %10, %o[d0*512*64 + d1*64 + d2] : f32, memref<196608xf32>
}

// -----

// CHECK-LABEL: tk.func @lengths_are_symbols
// CHECK: tk.for 3 = "max(0, d1 - 64)" to "min(d1 + 128, s0)" step 32 masked iter
tk.func @lengths_are_symbols [6, s0, 64, s0, 64] (%q: memref<?xbf16>, %k: memref<?xbf16>, %v: memref<?xbf16>, %t: memref<?xi64>, %o: memref<?xf32>) symbols [s0] {
  %zero = arith.constant 0.0 : f32
  %0 = tk.load %q[d0*s0*64 + d1*64 + d4] : memref<?xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d0*s0*64 + d3*64 + d4] : memref<?xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [4] {tk.factors = bf16} : f32
  %i = tk.index "d1" : i64
  %j = tk.index "d3" : i64
  %w = arith.constant 64 : i64
  %d = arith.subi %i, %j : i64
  %a = arith.cmpi sge, %i, %j : i64
  %b = arith.cmpi sle, %d, %w : i64
  %c = arith.andi %a, %b : i1
  %s = arith.select %c, %5, %zero : f32
  %n = arith.truncf %s : f32 to bf16
  %6 = arith.extf %n : bf16 to f32
  %7 = tk.load %v[d0*s0*64 + d3*64 + d2] : memref<?xbf16> -> bf16
  %8 = arith.extf %7 : bf16 to f32
  %9 = arith.mulf %6, %8 : f32
  %10 = tk.reduce add %9 over [3] {tk.factors = bf16} : f32
  tk.store %10, %o[d0*s0*64 + d1*64 + d2] : f32, memref<?xf32>
}

// -----

// Numbers that are loaded limit nothing; what must hold beside them does.
// CHECK-LABEL: tk.func @one_alone_of_two
// CHECK: tk.for 3 = "0" to "min(512, d1 + 128)" step 32 iter
tk.func @one_alone_of_two [6, 512, 64, 512, 64] (%q: memref<196608xbf16>, %k: memref<196608xbf16>, %v: memref<196608xbf16>, %t: memref<?xi64>, %o: memref<196608xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tk.load %q[d0*512*64 + d1*64 + d4] : memref<196608xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d0*512*64 + d3*64 + d4] : memref<196608xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [4] {tk.factors = bf16} : f32
  %i = tk.index "d1" : i64
  %j = tk.index "d3" : i64
  %l = tk.load %t[d3] : memref<?xi64> -> i64
  %a = arith.cmpi sge, %i, %j : i64
  %b = arith.cmpi sle, %l, %i : i64
  %c = arith.andi %a, %b : i1
  %6 = arith.select %c, %5, %zero : f32
  %7 = tk.load %v[d0*512*64 + d3*64 + d2] : memref<196608xbf16> -> bf16
  %8 = arith.extf %7 : bf16 to f32
  %9 = arith.mulf %6, %8 : f32
  %10 = tk.reduce add %9 over [3] {tk.factors = bf16} : f32
  tk.store %10, %o[d0*512*64 + d1*64 + d2] : f32, memref<196608xf32>
}

// -----

// CHECK-LABEL: tk.func @either_of_two_is_loaded
// CHECK: tk.for 3 = "0" to "min(512, d1)" step 32 iter
// CHECK-NOT: tk.load %t
// CHECK: tk.for 3 = "min(512, d1)" to "512" step 32 iter
tk.func @either_of_two_is_loaded [6, 512, 64, 512, 64] (%q: memref<196608xbf16>, %k: memref<196608xbf16>, %v: memref<196608xbf16>, %t: memref<?xi64>, %o: memref<196608xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tk.load %q[d0*512*64 + d1*64 + d4] : memref<196608xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d0*512*64 + d3*64 + d4] : memref<196608xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [4] {tk.factors = bf16} : f32
  %i = tk.index "d1" : i64
  %j = tk.index "d3" : i64
  %l = tk.load %t[d3] : memref<?xi64> -> i64
  %a = arith.cmpi sge, %i, %j : i64
  %b = arith.cmpi sle, %l, %i : i64
  %c = arith.ori %a, %b : i1
  %6 = arith.select %c, %5, %zero : f32
  %7 = tk.load %v[d0*512*64 + d3*64 + d2] : memref<196608xbf16> -> bf16
  %8 = arith.extf %7 : bf16 to f32
  %9 = arith.mulf %6, %8 : f32
  %10 = tk.reduce add %9 over [3] {tk.factors = bf16} : f32
  tk.store %10, %o[d0*512*64 + d1*64 + d2] : f32, memref<196608xf32>
}

// -----

// CHECK-LABEL: tk.func @all_but_one
// CHECK: tk.for 3 = "0" to "512" step 32 iter
tk.func @all_but_one [6, 512, 64, 512, 64] (%q: memref<196608xbf16>, %k: memref<196608xbf16>, %v: memref<196608xbf16>, %t: memref<?xi64>, %o: memref<196608xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tk.load %q[d0*512*64 + d1*64 + d4] : memref<196608xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d0*512*64 + d3*64 + d4] : memref<196608xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [4] {tk.factors = bf16} : f32
  %i = tk.index "d1" : i64
  %j = tk.index "d3" : i64
  %c = arith.cmpi ne, %i, %j : i64
  %6 = arith.select %c, %5, %zero : f32
  %7 = tk.load %v[d0*512*64 + d3*64 + d2] : memref<196608xbf16> -> bf16
  %8 = arith.extf %7 : bf16 to f32
  %9 = arith.mulf %6, %8 : f32
  %10 = tk.reduce add %9 over [3] {tk.factors = bf16} : f32
  tk.store %10, %o[d0*512*64 + d1*64 + d2] : f32, memref<196608xf32>
}

// -----

// CHECK-LABEL: tk.func @unsigned
// CHECK: tk.for 3 = "0" to "512" step 32 iter
tk.func @unsigned [6, 512, 64, 512, 64] (%q: memref<196608xbf16>, %k: memref<196608xbf16>, %v: memref<196608xbf16>, %t: memref<?xi64>, %o: memref<196608xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tk.load %q[d0*512*64 + d1*64 + d4] : memref<196608xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d0*512*64 + d3*64 + d4] : memref<196608xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [4] {tk.factors = bf16} : f32
  %i = tk.index "d1" : i64
  %j = tk.index "d3" : i64
  %c = arith.cmpi ule, %j, %i : i64
  %6 = arith.select %c, %5, %zero : f32
  %7 = tk.load %v[d0*512*64 + d3*64 + d2] : memref<196608xbf16> -> bf16
  %8 = arith.extf %7 : bf16 to f32
  %9 = arith.mulf %6, %8 : f32
  %10 = tk.reduce add %9 over [3] {tk.factors = bf16} : f32
  tk.store %10, %o[d0*512*64 + d1*64 + d2] : f32, memref<196608xf32>
}

// -----

// Row 128 times 2**24 is negative.
// CHECK-LABEL: tk.func @may_wrap_around
// CHECK: tk.for 3 = "0" to "512" step 32 iter
tk.func @may_wrap_around [6, 512, 64, 512, 64] (%q: memref<196608xbf16>, %k: memref<196608xbf16>, %v: memref<196608xbf16>, %t: memref<?xi64>, %o: memref<196608xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tk.load %q[d0*512*64 + d1*64 + d4] : memref<196608xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d0*512*64 + d3*64 + d4] : memref<196608xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [4] {tk.factors = bf16} : f32
  %i = tk.index "d1" : i64
  %j = tk.index "d3" : i64
  %big = arith.constant 16777216 : i32
  %m = tk.index "d1" : i32
  %f = arith.muli %m, %big : i32
  %g = tk.index "d3" : i32
  %c = arith.cmpi sle, %g, %f : i32
  %6 = arith.select %c, %5, %zero : f32
  %7 = tk.load %v[d0*512*64 + d3*64 + d2] : memref<196608xbf16> -> bf16
  %8 = arith.extf %7 : bf16 to f32
  %9 = arith.mulf %6, %8 : f32
  %10 = tk.reduce add %9 over [3] {tk.factors = bf16} : f32
  tk.store %10, %o[d0*512*64 + d1*64 + d2] : f32, memref<196608xf32>
}

// -----

// Without the mask the second sum would be that of no row: all steps ask for it.
// CHECK-LABEL: tk.func @mask_alone_has_rows
// CHECK: tk.for 3 = "0" to "min(512, d1 + 128)" step 32 iter
// CHECK: arith.cmpi
// CHECK-NOT: tk.for 3
tk.func @mask_alone_has_rows [6, 512, 64, 512, 64] (%q: memref<196608xbf16>, %k: memref<196608xbf16>, %v: memref<196608xbf16>, %w: memref<512xf32>, %o: memref<196608xf32>, %p: memref<3072xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tk.load %q[d0*32768 + d1*64 + d4] : memref<196608xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d0*32768 + d3*64 + d4] : memref<196608xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [4] {tk.factors = bf16} : f32
  %i = tk.index "d1" : i64
  %j = tk.index "d3" : i64
  %seen = arith.cmpi sle, %j, %i : i64
  %6 = arith.select %seen, %5, %zero : f32
  %7 = tk.load %v[d0*32768 + d3*64 + d2] : memref<196608xbf16> -> bf16
  %8 = arith.extf %7 : bf16 to f32
  %9 = arith.mulf %6, %8 : f32
  %x = tk.load %w[d3] : memref<512xf32> -> f32
  %y = arith.select %seen, %x, %zero : f32
  %s = tk.reduce add %y over [3] : f32
  tk.store %s, %p[d0*512 + d1] : f32, memref<3072xf32>
  %10 = tk.reduce add %9 over [3] {tk.factors = bf16} : f32
  tk.store %10, %o[d0*32768 + d1*64 + d2] : f32, memref<196608xf32>
}
