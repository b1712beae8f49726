// RUN: tilewright-translate %s --to cpp | filecheck %s

// How often a loop runs may be loaded from memory; threads take uneven iterations one at a time.
// CHECK-LABEL: static void listed(
// CHECK-NEXT:    #pragma omp parallel for schedule(dynamic)
// CHECK-NEXT:    for (i64 d0 = 0; d0 < 2; d0 += 1) {
// CHECK:           const i64 [[N:v[0-9]+]] = tw::convert<i64>({{.*}});
// CHECK-NEXT:      for (i64 d1 = 0; d1 < [[N]]; d1 += 1) {
// CHECK:             const i64 [[B:v[0-9]+]] = tw::convert<i64>({{.*}});
// CHECK-NEXT:        for (i64 d2 = [[B]] * 8; d2 < {{.*}}[[B]] * 8 + 8{{.*}}; d2 += 1) {
tk.func @listed [2, 3, 20] (%count: memref<2xi64>, %list: memref<6xi64>, %a: memref<20xf32>, %o: memref<40xf32>) scheduled {
  tk.for 0 = "0" to "2" step 1 parallel attributes {tk.uneven} {
    %0 = tk.load %count[d0] : memref<2xi64> -> i64
    %1 = arith.index_cast %0 : i64 to index
    tk.for 1 = "0" to "i0"(%1) step 1 {
      %2 = tk.load %list[d0*3 + d1] : memref<6xi64> -> i64
      %3 = arith.index_cast %2 : i64 to index
      tk.for 2 = "i0*8" to "min(i0*8 + 8, 20)"(%3) step 1 {
        %4 = tk.load %a[d2] : memref<20xf32> -> f32
        tk.store %4, %o[d0*20 + d2] : f32, memref<40xf32>
      }
    }
  }
}
