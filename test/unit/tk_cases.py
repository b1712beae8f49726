"""Kernels of every shape that scheduling treats in its own way, with buffers to run them on."""

from __future__ import annotations

import tk_reduction_cases
import tk_scan_cases
from tk_harness import Case

CASES = {
    **tk_reduction_cases.CASES,
    **tk_scan_cases.CASES,
    "elementwise": Case(
        """tk.func @f [3, 1, 7] (%x: memref<21xf32>, %o: memref<21xf32>) {
          %0 = tk.load %x[d0*7 + d2] : memref<21xf32> -> f32
          %1 = math.exp %0 : f32
          tk.store %1, %o[d0*7 + d2] : f32, memref<21xf32>
        }""",
        ("f32 21", "f32 21 = 0"),
    ),
    "bias": Case(
        """tk.func @f [s0, 19] (%x: memref<?xf32>, %b: memref<19xf32>, %o: memref<?xf32>) symbols [s0] {
          %0 = tk.load %x[d0*19 + d1] : memref<?xf32> -> f32
          %1 = tk.load %b[d1] : memref<19xf32> -> f32
          %2 = arith.addf %0, %1 : f32
          tk.store %2, %o[d0*19 + d1] : f32, memref<?xf32>
        }""",
        ("f32 s0*19", "f32 19", "f32 s0*19 = 0"),
        {"s0": 5},
    ),
    "transpose": Case(
        """tk.func @f [9, 21] (%x: memref<189xf32>, %o: memref<189xf32>) {
          %0 = tk.load %x[d1*9 + d0] : memref<189xf32> -> f32
          tk.store %0, %o[d0*21 + d1] : f32, memref<189xf32>
        }""",
        ("f32 189", "f32 189 = 0"),
    ),
    "large_transpose": Case(
        """tk.func @f [3, 100, 70] (%x: memref<21000xf32>, %o: memref<21000xf32>) {
          %0 = tk.load %x[d0*7000 + d2*100 + d1] : memref<21000xf32> -> f32
          tk.store %0, %o[d0*7000 + d1*70 + d2] : f32, memref<21000xf32>
        }""",
        ("f32 21000", "f32 21000 = 0"),
    ),
    "symbolic_transpose": Case(
        """tk.func @f [s0, s1] (%x: memref<?xf32>, %o: memref<?xf32>) symbols [s0, s1] {
          %0 = tk.load %x[d1*s0 + d0] : memref<?xf32> -> f32
          tk.store %0, %o[d0*s1 + d1] : f32, memref<?xf32>
        }""",
        ("f32 s0*s1", "f32 s0*s1 = 0"),
        {"s0": 45, "s1": 75},
    ),
    "point": Case(
        """tk.func @f [] (%x: memref<1xf32>, %o: memref<1xf32>) {
          %0 = tk.load %x[0] : memref<1xf32> -> f32
          %1 = math.tanh %0 : f32
          tk.store %1, %o[0] : f32, memref<1xf32>
        }""",
        ("f32 1", "f32 1 = 0"),
    ),
    "embedding": Case(
        """tk.func @f [s0, 20] (%j: memref<?xi64>, %w: memref<200xf32>, %o: memref<?xf32>) symbols [s0] {
          %0 = tk.load %j[d0] : memref<?xi64> -> i64
          %1 = arith.index_cast %0 : i64 to index
          %2 = tk.load %w[d1 + i0*20](%1) : memref<200xf32> -> f32
          tk.store %2, %o[d0*20 + d1] : f32, memref<?xf32>
        }""",
        ("i64 s0 < 10", "f32 200", "f32 s0*20 = 0"),
        {"s0": 6},
    ),
    "element_gather": Case(
        """tk.func @f [40] (%j: memref<40xi64>, %w: memref<10xf32>, %o: memref<40xf32>) {
          %0 = tk.load %j[d0] : memref<40xi64> -> i64
          %1 = arith.index_cast %0 : i64 to index
          %2 = tk.load %w[i0](%1) : memref<10xf32> -> f32
          %3 = math.exp %2 : f32
          tk.store %3, %o[d0] : f32, memref<40xf32>
        }""",
        ("i64 40 < 10", "f32 10", "f32 40 = 0"),
    ),
    "embedding_backward": Case(
        """tk.func @f [25, 20] (%j: memref<25xi64>, %g: memref<500xf32>, %o: memref<200xf32>) {
          %0 = tk.load %j[d0] : memref<25xi64> -> i64
          %1 = arith.index_cast %0 : i64 to index
          %2 = tk.load %g[d0*20 + d1] : memref<500xf32> -> f32
          tk.store %2, %o[d1 + i0*20](%1) combine add : f32, memref<200xf32>
        }""",
        ("i64 25 < 10", "f32 500", "f32 200 = 0"),
    ),
    "masked_pad": Case(
        """tk.func @f [3, 20] (%x: memref<48xf32>, %o: memref<60xf32>) {
          %z = arith.constant -1.0 : f32
          %n = arith.constant 16 : i64
          %0 = tk.index "d1" : i64
          %1 = arith.cmpi slt, %0, %n : i64
          %2 = tk.load %x[d0*16 + d1] if %1 else %z : memref<48xf32> -> f32
          tk.store %2, %o[d0*20 + d1] : f32, memref<60xf32>
        }""",
        ("f32 48", "f32 60 = 0"),
    ),
    "copy_then_scatter": Case(
        """tk.func @f [10, 3] (%x: memref<10xf32>, %j: memref<3xi64>, %g: memref<3xf32>, %o: memref<10xf32>) {
          %0 = tk.load %x[d0] : memref<10xf32> -> f32
          tk.store %0, %o[d0] : f32, memref<10xf32>
          %1 = tk.load %j[d1] : memref<3xi64> -> i64
          %2 = arith.index_cast %1 : i64 to index
          %3 = tk.load %g[d1] : memref<3xf32> -> f32
          tk.store %3, %o[i0](%2) combine add : f32, memref<10xf32>
        }""",
        ("f32 10", "i64 3 < 10", "f32 3", "f32 10 = 0"),
    ),
    "half_and_casts": Case(
        """tk.func @f [45] (%x: memref<45xi64>, %o: memref<45xf32>, %b: memref<45xi1>) {
          %c = arith.constant 2 : i64
          %0 = tk.load %x[d0] : memref<45xi64> -> i64
          %1 = arith.sitofp %0 : i64 to f32
          %2 = arith.cmpi sgt, %0, %c : i64
          %3 = arith.extui %2 : i1 to i64
          %4 = arith.sitofp %3 : i64 to f32
          %5 = arith.select %2, %1, %4 : f32
          tk.store %5, %o[d0] : f32, memref<45xf32>
          tk.store %2, %b[d0] : i1, memref<45xi1>
        }""",
        ("i64 45", "f32 45 = 0", "i1 45 = 0"),
    ),
    "dropout": Case(
        """tk.func @f [3, 11] (%s: memref<1xi64>, %x: memref<33xf32>, %o: memref<33xf32>) {
          %p = arith.constant 0.5 : f32
          %z = arith.constant 0.0 : f32
          %0 = tk.load %s[0] : memref<1xi64> -> i64
          %1 = tk.index "d0*11 + d1" : i64
          %2 = tk.random %0, %1 : f32
          %3 = arith.cmpf olt, %2, %p : f32
          %4 = tk.load %x[d0*11 + d1] : memref<33xf32> -> f32
          %5 = arith.select %3, %4, %z : f32
          tk.store %5, %o[d0*11 + d1] : f32, memref<33xf32>
        }""",
        ("i64 1", "f32 33", "f32 33 = 0"),
    ),
    "division": Case(
        """tk.func @f [2, 37]
        (%x: memref<74xi64>, %y: memref<74xi32>, %o: memref<74xi64>, %p: memref<74xi32>) {
          %seven = arith.constant -7 : i64
          %five = arith.constant 5 : i32
          %0 = tk.load %x[d0*37 + d1] : memref<74xi64> -> i64
          %1 = arith.divsi %0, %seven : i64
          tk.store %1, %o[d0*37 + d1] : i64, memref<74xi64>
          %2 = tk.load %y[d0*37 + d1] : memref<74xi32> -> i32
          %3 = arith.remsi %2, %five : i32
          tk.store %3, %p[d0*37 + d1] : i32, memref<74xi32>
        }""",
        ("i64 74 < 1000", "i32 74", "i64 74 = 0", "i32 74 = 0"),
    ),
    "powers_and_remainders": Case(
        """tk.func @f [40] (%x: memref<40xf32>, %y: memref<40xf32>, %o: memref<40xf32>, %p: memref<40xf32>) {
          %0 = tk.load %x[d0] : memref<40xf32> -> f32
          %1 = tk.load %y[d0] : memref<40xf32> -> f32
          %2 = math.absf %0 : f32
          %3 = math.powf %2, %1 : f32
          tk.store %3, %o[d0] : f32, memref<40xf32>
          %4 = tk.call "fmod"(%0, %1) : f32, f32 -> f32
          tk.store %4, %p[d0] : f32, memref<40xf32>
        }""",
        ("f32 40", "f32 40", "f32 40 = 0", "f32 40 = 0"),
    ),
    "gather_nearby": Case(
        """tk.func @f [3, 41] (%x: memref<63xf32>, %o: memref<123xf32>, %p: memref<123xf32>) {
          %one = arith.constant 1 : i32
          %0 = tk.index "d1" : i32
          %1 = arith.shrsi %0, %one : i32
          %2 = arith.index_cast %1 : i32 to index
          %3 = tk.load %x[d0*21 + i0](%2) : memref<63xf32> -> f32
          tk.store %3, %o[d0*41 + d1] : f32, memref<123xf32>
          %4 = tk.load %x[d0 - d1 + 41] : memref<63xf32> -> f32
          tk.store %4, %p[d0*41 + d1] : f32, memref<123xf32>
        }""",
        ("f32 63", "f32 123 = 0", "f32 123 = 0"),
    ),
}
