"""Kernels that reduce rows, columns, or all, with buffers to run them on."""

from __future__ import annotations

from tk_harness import Case

CASES = {
    "tall_column_statistics": Case(
        """tk.func @f [20, 200] (%x: memref<4000xf32>, %r: memref<20xf32>, %o: memref<200xf32>,
                                 %p: memref<200xf32>, %y: memref<4000xf32>) {
          %0 = tk.load %x[d0*200 + d1] : memref<4000xf32> -> f32
          %1 = tk.load %r[d0] : memref<20xf32> -> f32
          %2 = arith.subf %0, %1 : f32
          %3 = tk.reduce max %2 over [0] : f32
          %4 = arith.subf %2, %3 : f32
          %5 = math.exp %4 : f32
          %6 = tk.reduce add %5 over [0] : f32
          tk.store %3, %o[d1] : f32, memref<200xf32>
          tk.store %6, %p[d1] : f32, memref<200xf32>
          %7 = arith.divf %5, %6 : f32
          tk.store %7, %y[d0*200 + d1] : f32, memref<4000xf32>
        }""",
        ("f32 4000", "f32 20", "f32 200 = 0", "f32 200 = 0", "f32 4000 = 0"),
        tolerance=1e-4,
    ),
    "symbolic_column_sum": Case(
        """tk.func @f [s0, s1] (%x: memref<?xf32>, %o: memref<?xf32>) symbols [s0, s1] {
          %0 = tk.load %x[d0*s1 + d1] : memref<?xf32> -> f32
          %1 = tk.reduce add %0 over [0] : f32
          tk.store %1, %o[d1] : f32, memref<?xf32>
        }""",
        ("f32 s0*s1", "f32 s1 = 0"),
        {"s0": 271, "s1": 37},
        tolerance=1e-4,
    ),
    "sums_over_batch_and_rows": Case(
        """tk.func @f [3, 40, 4, 50] (%x: memref<24000xf32>, %o: memref<200xf32>) {
          %0 = tk.load %x[d0*8000 + d1*200 + d2*50 + d3] : memref<24000xf32> -> f32
          %1 = tk.reduce add %0 over [0, 1] : f32
          tk.store %1, %o[d2*50 + d3] : f32, memref<200xf32>
        }""",
        ("f32 24000", "f32 200 = 0"),
        tolerance=1e-4,
    ),
    "row_sum": Case(
        """tk.func @f [5, s0] (%x: memref<?xf32>, %o: memref<5xf32>) symbols [s0] {
          %0 = tk.load %x[d0*s0 + d1] : memref<?xf32> -> f32
          %1 = tk.reduce add %0 over [1] : f32
          tk.store %1, %o[d0] : f32, memref<5xf32>
        }""",
        ("f32 s0*5", "f32 5 = 7"),
        {"s0": 203},
    ),
    "empty_sum": Case(
        """tk.func @f [5, s0] (%x: memref<?xf32>, %o: memref<5xf32>) symbols [s0] {
          %0 = tk.load %x[d0*s0 + d1] : memref<?xf32> -> f32
          %1 = tk.reduce add %0 over [1] : f32
          tk.store %1, %o[d0] : f32, memref<5xf32>
        }""",
        ("f32 s0*5", "f32 5 = 7"),
        {"s0": 0},
    ),
    "column_sum": Case(
        """tk.func @f [37, 21] (%x: memref<777xf32>, %o: memref<21xf32>) {
          %0 = tk.load %x[d0*21 + d1] : memref<777xf32> -> f32
          %1 = tk.reduce add %0 over [0] : f32
          tk.store %1, %o[d1] : f32, memref<21xf32>
        }""",
        ("f32 777", "f32 21 = 0"),
    ),
    "long_sum": Case(
        """tk.func @f [20000] (%x: memref<20000xf32>, %o: memref<1xf32>) {
          %0 = tk.load %x[d0] : memref<20000xf32> -> f32
          %1 = tk.reduce add %0 over [0] : f32
          tk.store %1, %o[0] : f32, memref<1xf32>
        }""",
        ("f32 20000", "f32 1 = 0"),
        tolerance=1e-4,
    ),
    "sums_in_parts": Case(
        """tk.func @f [s0, 3] (%x: memref<?xf32>, %o: memref<1xf32>, %p: memref<1xi64>) symbols [s0] {
          %0 = tk.load %x[d0*3 + d1] : memref<?xf32> -> f32
          %1 = tk.index "d0*3 + d1" : i64
          %2, %3 = tk.argreduce min %0 at %1 over [0, 1] : f32
          %4 = tk.reduce add %0 over [0, 1] : f32
          tk.store %4, %o[0] : f32, memref<1xf32>
          tk.store %3, %p[0] : i64, memref<1xi64>
        }""",
        ("f32 s0*3", "f32 1 = 0", "i64 1 = 0"),
        {"s0": 170},
        tolerance=1e-3,
    ),
    "softmax": Case(
        """tk.func @f [3, s0] (%x: memref<?xf32>, %o: memref<?xf32>) symbols [s0] {
          %0 = tk.load %x[d0*s0 + d1] : memref<?xf32> -> f32
          %1 = tk.reduce max %0 over [1] : f32
          %2 = arith.subf %0, %1 : f32
          %3 = math.exp %2 : f32
          %4 = tk.reduce add %3 over [1] : f32
          %5 = arith.divf %3, %4 : f32
          tk.store %5, %o[d0*s0 + d1] : f32, memref<?xf32>
        }""",
        ("f32 s0*3", "f32 s0*3 = 0"),
        {"s0": 77},
    ),
    "layer_norm": Case(
        """tk.func @f [4, 50] (%x: memref<200xf32>, %w: memref<50xf32>, %o: memref<200xf32>,
                               %m: memref<4xf32>) {
          %n = arith.constant 50.0 : f32
          %0 = tk.load %x[d0*50 + d1] : memref<200xf32> -> f32
          %1 = tk.reduce add %0 over [1] : f32
          %2 = arith.divf %1, %n : f32
          tk.store %2, %m[d0] : f32, memref<4xf32>
          %3 = arith.subf %0, %2 : f32
          %4 = arith.mulf %3, %3 : f32
          %5 = tk.reduce add %4 over [1] : f32
          %6 = arith.divf %5, %n : f32
          %7 = math.rsqrt %6 : f32
          %8 = arith.mulf %3, %7 : f32
          %9 = tk.load %w[d1] : memref<50xf32> -> f32
          %10 = arith.mulf %8, %9 : f32
          tk.store %10, %o[d0*50 + d1] : f32, memref<200xf32>
        }""",
        ("f32 200", "f32 50", "f32 200 = 0", "f32 4 = 0"),
        tolerance=1e-4,
    ),
    "batch_norm_statistics": Case(
        """tk.func @f [s0, 3, 5, 5] (%x: memref<?xf32>, %o: memref<3xf32>, %y: memref<?xf32>) symbols [s0] {
          %0 = tk.load %x[d0*75 + d1*25 + d2*5 + d3] : memref<?xf32> -> f32
          %1 = tk.reduce add %0 over [0, 2, 3] : f32
          tk.store %1, %o[d1] : f32, memref<3xf32>
          %2 = arith.subf %0, %1 : f32
          tk.store %2, %y[d0*75 + d1*25 + d2*5 + d3] : f32, memref<?xf32>
        }""",
        ("f32 s0*75", "f32 3 = 0", "f32 s0*75 = 0"),
        {"s0": 4},
        tolerance=1e-4,
    ),
    "rows_and_columns": Case(
        """tk.func @f [6, 33] (%x: memref<198xf32>, %r: memref<6xf32>, %c: memref<33xf32>,
                               %o: memref<198xf32>) {
          %0 = tk.load %x[d0*33 + d1] : memref<198xf32> -> f32
          %1 = tk.reduce add %0 over [1] : f32
          %2 = tk.reduce max %0 over [0] : f32
          tk.store %1, %r[d0] : f32, memref<6xf32>
          tk.store %2, %c[d1] : f32, memref<33xf32>
          %3 = arith.mulf %0, %1 : f32
          tk.store %3, %o[d0*33 + d1] : f32, memref<198xf32>
        }""",
        ("f32 198", "f32 6 = 0", "f32 33 = 0", "f32 198 = 0"),
        tolerance=1e-4,
    ),
    "reduction_of_reduction": Case(
        """tk.func @f [3, 4, 18] (%x: memref<216xf32>, %o: memref<3xf32>) {
          %0 = tk.load %x[d0*72 + d1*18 + d2] : memref<216xf32> -> f32
          %1 = tk.reduce max %0 over [2] : f32
          %2 = math.exp %1 : f32
          %3 = tk.reduce add %2 over [1] : f32
          tk.store %3, %o[d0] : f32, memref<3xf32>
        }""",
        ("f32 216", "f32 3 = 0"),
    ),
    "argmax": Case(
        """tk.func @f [5, 37] (%x: memref<185xi32>, %v: memref<5xi32>, %o: memref<5xi64>) {
          %0 = tk.load %x[d0*37 + d1] : memref<185xi32> -> i32
          %1 = tk.index "d1" : i64
          %2, %3 = tk.argreduce max %0 at %1 over [1] : i32
          tk.store %2, %v[d0] : i32, memref<5xi32>
          tk.store %3, %o[d0] : i64, memref<5xi64>
        }""",
        ("i32 185", "i32 5 = 0", "i64 5 = 0"),
    ),
    "argmin_of_columns": Case(
        """tk.func @f [9, 21] (%x: memref<189xf32>, %o: memref<21xi64>) {
          %0 = tk.load %x[d0*21 + d1] : memref<189xf32> -> f32
          %1 = tk.index "d0" : i64
          %2, %3 = tk.argreduce min %0 at %1 over [0] : f32
          tk.store %3, %o[d1] : i64, memref<21xi64>
        }""",
        ("f32 189", "i64 21 = 0"),
    ),
    "moments": Case(
        """tk.func @f [5, s0] (%x: memref<?xf32>, %m: memref<5xf32>, %o: memref<5xf32>) symbols [s0] {
          %0 = tk.load %x[d0*s0 + d1] : memref<?xf32> -> f32
          %z = arith.constant 0.0 : f32
          %u = arith.constant 1.0 : f32
          %s, %q, %n = tk.moments %0, %z, %u over [1] : f32
          %1 = arith.divf %s, %n : f32
          tk.store %1, %m[d0] : f32, memref<5xf32>
          tk.store %q, %o[d0] : f32, memref<5xf32>
        }""",
        ("f32 s0*5", "f32 5 = 0", "f32 5 = 0"),
        {"s0": 133},
    ),
    "moments_of_columns": Case(
        """tk.func @f [19, 21] (%x: memref<399xf32>, %m: memref<21xf32>, %o: memref<21xf32>) {
          %0 = tk.load %x[d0*21 + d1] : memref<399xf32> -> f32
          %z = arith.constant 0.0 : f32
          %u = arith.constant 1.0 : f32
          %s, %q, %n = tk.moments %0, %z, %u over [0] : f32
          tk.store %s, %m[d1] : f32, memref<21xf32>
          tk.store %q, %o[d1] : f32, memref<21xf32>
        }""",
        ("f32 399", "f32 21 = 0", "f32 21 = 0"),
    ),
    "moments_of_some": Case(
        """tk.func @f [5, 33] (%x: memref<165xf32>, %j: memref<33xi64>,
                               %m: memref<5xf32>, %o: memref<5xf32>) {
          %0 = tk.load %x[d0*33 + d1] : memref<165xf32> -> f32
          %1 = tk.load %j[d1] : memref<33xi64> -> i64
          %c = arith.constant 3 : i64
          %z = arith.constant 0.0 : f32
          %u = arith.constant 1.0 : f32
          %w = arith.constant 50.0 : f32
          %b = arith.cmpi slt, %1, %c : i64
          %2 = arith.addf %0, %w : f32
          %3 = arith.select %b, %2, %z : f32
          %4 = arith.select %b, %u, %z : f32
          %s, %q, %n = tk.moments %3, %z, %4 over [1] : f32
          tk.store %s, %m[d0] : f32, memref<5xf32>
          tk.store %q, %o[d0] : f32, memref<5xf32>
        }""",
        ("f32 165", "i64 33 < 9", "f32 5 = 0", "f32 5 = 0"),
    ),
    "moments_of_parts": Case(
        """tk.func @f [3, 41] (%s: memref<123xf32>, %q: memref<123xf32>, %j: memref<41xi64>,
                               %o: memref<3xf32>, %p: memref<3xf32>) {
          %0 = tk.load %s[d0*41 + d1] : memref<123xf32> -> f32
          %1 = tk.load %q[d0*41 + d1] : memref<123xf32> -> f32
          %2 = tk.load %j[d1] : memref<41xi64> -> i64
          %c = arith.constant 1 : i64
          %i = arith.addi %2, %c : i64
          %3 = arith.sitofp %i : i64 to f32
          %4, %5, %6 = tk.moments %0, %1, %3 over [1] : f32
          tk.store %5, %o[d0] : f32, memref<3xf32>
          tk.store %6, %p[d0] : f32, memref<3xf32>
        }""",
        ("f32 123", "f32 123", "i64 41 < 9", "f32 3 = 0", "f32 3 = 0"),
    ),
    "sumexp": Case(
        """tk.func @f [5, s0] (%x: memref<?xf32>, %m: memref<5xf32>, %o: memref<5xf32>) symbols [s0] {
          %0 = tk.load %x[d0*s0 + d1] : memref<?xf32> -> f32
          %u = arith.constant 1.0 : f32
          %1, %s = tk.sumexp %0, %u over [1] : f32
          tk.store %1, %m[d0] : f32, memref<5xf32>
          tk.store %s, %o[d0] : f32, memref<5xf32>
        }""",
        ("f32 s0*5", "f32 5 = 0", "f32 5 = 0"),
        {"s0": 133},
    ),
    "sumexp_of_columns": Case(
        """tk.func @f [19, 21] (%x: memref<399xf32>, %j: memref<19xi64>,
                                %m: memref<21xf32>, %o: memref<21xf32>) {
          %0 = tk.load %x[d0*21 + d1] : memref<399xf32> -> f32
          %1 = tk.load %j[d0] : memref<19xi64> -> i64
          %2 = arith.sitofp %1 : i64 to f32
          %3, %s = tk.sumexp %0, %2 over [0] : f32
          tk.store %3, %m[d1] : f32, memref<21xf32>
          tk.store %s, %o[d1] : f32, memref<21xf32>
        }""",
        ("f32 399", "i64 19 < 9", "f32 21 = 0", "f32 21 = 0"),
    ),
    "all_and_any": Case(
        """tk.func @f [4, 23] (%x: memref<92xi1>, %o: memref<4xi1>, %p: memref<4xi1>) {
          %0 = tk.load %x[d0*23 + d1] : memref<92xi1> -> i1
          %1 = tk.reduce and %0 over [1] : i1
          %2 = tk.reduce or %0 over [1] : i1
          tk.store %1, %o[d0] : i1, memref<4xi1>
          tk.store %2, %p[d0] : i1, memref<4xi1>
        }""",
        ("i1 92", "i1 4 = 0", "i1 4 = 0"),
    ),
    "sum_of_what_does_not_vary": Case(
        """tk.func @f [4, 23] (%x: memref<4xf32>, %o: memref<4xf32>) {
          %0 = tk.load %x[d0] : memref<4xf32> -> f32
          %1 = tk.reduce add %0 over [1] : f32
          tk.store %1, %o[d0] : f32, memref<4xf32>
        }""",
        ("f32 4", "f32 4 = 0"),
    ),
}
