// RUN: tilewright-opt %s -p apply-schedule | filecheck %s
// RUN: tilewright-opt %s -p apply-schedule | tilewright-translate --to=triton | filecheck %s --check-prefix=TEXT

// What follows the sums is done for the left half of the columns, then for the right one.

// CHECK-LABEL: tk.func @adds
// CHECK-NOT:   tk.halves
// CHECK:       tk.for 1 = "0" to "300" step 256 masked parallel
// CHECK:       %[[SUM:.*]] = tk.for 2 = "0" to "64" step 64 iter
// CHECK:       %[[L:.*]], %[[R:.*]] = tk.halve %[[SUM]] : vector<16x256xf32> -> vector<16x128xf32>, vector<16x128xf32>
// CHECK-NEXT:  tk.for 1 = "d1" to "300" step 128 once masked
// CHECK:       %[[C:.*]] = tk.load %c[d1] lanes 0, 1 : memref<300xf32> -> vector<1x128xf32>
// CHECK:       arith.addf %[[L]], %{{.*}} : vector<16x128xf32>
// CHECK-NEXT:  tk.store %{{.*}}, %o[d0*300 + d1] lanes 0, 1 : vector<16x128xf32>, memref<4800xf32>
// CHECK:       tk.for 1 = "d1 + 128" to "300" step 128 once masked
// CHECK:       arith.addf %[[R]], %{{.*}} : vector<16x128xf32>
// CHECK-NEXT:  tk.store %{{.*}}, %o[d0*300 + d1] lanes 0, 1 : vector<16x128xf32>, memref<4800xf32>

// TEXT-LABEL: def adds(
// TEXT:       x1 = d1 + tl.arange(0, 256)[None, :]
// TEXT:       v{{[0-9]+}}, v{{[0-9]+}} = tl.split(tl.permute(tl.reshape(acc{{[0-9]+}}, [16, 2, 128]), [0, 2, 1]))
// TEXT-NEXT:  x1 = d1 + tl.arange(0, 128)[None, :]
// TEXT-NEXT:  m1 = x1 < 300
// TEXT:       tl.store({{.*}}, mask=m1)
// TEXT-NEXT:  d1_1 = d1 + 128
// TEXT-NEXT:  x1 = d1_1 + tl.arange(0, 128)[None, :]
// TEXT-NEXT:  m1 = x1 < 300
// TEXT:       tl.store({{.*}}, mask=m1)
tk.func @adds [16, 300, 64] (%a: memref<1024xbf16>, %b: memref<19200xbf16>, %c: memref<300xf32>, %o: memref<4800xf32>) attributes {tk.blocks = array<i64: 0, 16, 1, 256, 2, 64>, tk.grid = 2 : i64, tk.warps = 4 : i64, tk.stages = 3 : i64, tk.index = 32 : i64, tk.product = "ieee", tk.halves} {
  %0 = tk.load %a[d0*64 + d2] : memref<1024xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d2*300 + d1] : memref<19200xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
  %6 = tk.load %c[d1] : memref<300xf32> -> f32
  %7 = arith.addf %5, %6 : f32
  tk.store %7, %o[d0*300 + d1] : f32, memref<4800xf32>
}


// One block has all columns: the halves begin at 0 and 128.

// TEXT-LABEL: def one_block(
// TEXT-NOT:   d1
// TEXT:       tl.split
// TEXT-NEXT:  x1 = tl.arange(0, 128)[None, :]
// TEXT:       x1 = 128 + tl.arange(0, 128)[None, :]
tk.func @one_block [16, 256, 64] (%a: memref<1024xbf16>, %b: memref<16384xbf16>, %c: memref<256xf32>, %o: memref<4096xf32>) attributes {tk.blocks = array<i64: 0, 16, 1, 256, 2, 64>, tk.grid = 2 : i64, tk.warps = 4 : i64, tk.stages = 3 : i64, tk.index = 32 : i64, tk.product = "ieee", tk.halves} {
  %0 = tk.load %a[d0*64 + d2] : memref<1024xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d2*256 + d1] : memref<16384xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
  %6 = tk.load %c[d1] : memref<256xf32> -> f32
  %7 = arith.addf %5, %6 : f32
  tk.store %7, %o[d0*256 + d1] : f32, memref<4096xf32>
}
