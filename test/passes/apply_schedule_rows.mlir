// Chained products with a row in each of 4 lanes, 8 rows and 2 elements of the chain at a time: small enough to run.
// RUN: tilewright-opt %s -p apply-schedule | filecheck %s

// CHECK-LABEL: @causal
// CHECK:       tk.for 4 = "0" to "1" step 1 {
// CHECK:         tk.for 0 = "0" to "8" step 8 {
// CHECK:           tk.for {{[0-9]+}} = "0" to "min(5, d4*8 + 8)" step 2 {
// CHECK:       tk.tail 0 = "0" count "3" {
// CHECK:         tk.for {{[0-9]+}} = "0" to "5" step 2 {
tk.func @causal [11, 3, 5, 2] (%q: memref<22xf32>, %k: memref<10xf32>, %v: memref<15xf32>, %o: memref<33xf32>)
    attributes {tk.order = array<i64: 0, 1, 2, 3>, tk.vector = array<i64: 0, 4>, tk.chain = array<i64: 8, 2>} {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %0 = tk.load %q[d0*2 + d3] : memref<22xf32> -> f32
  %1 = tk.load %k[d2*2 + d3] : memref<10xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [3] : f32
  %4 = tk.index "d2" : i64
  %5 = tk.index "d0" : i64
  %6 = arith.cmpi sle, %4, %5 : i64
  %7 = arith.select %6, %3, %low : f32
  %8 = tk.reduce max %7 over [2] : f32
  %9 = arith.cmpf oeq, %8, %low : f32
  %10 = arith.select %9, %zero, %8 : f32
  %11 = arith.subf %7, %10 : f32
  %12 = math.exp %11 : f32
  %13 = tk.reduce add %12 over [2] : f32
  %14 = tk.load %v[d2*3 + d1] : memref<15xf32> -> f32
  %15 = arith.mulf %12, %14 : f32
  %16 = tk.reduce add %15 over [2] : f32
  %17 = arith.divf %16, %13 : f32
  tk.store %17, %o[d0*3 + d1] : f32, memref<33xf32>
}
