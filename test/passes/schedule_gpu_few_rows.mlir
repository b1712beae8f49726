// RUN: tilewright-opt %s -p 'schedule-gpu{cores=132 shared=227}' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'schedule-gpu{cores=132 shared=20}' --split-input-file | filecheck %s --check-prefix=LITTLE
// RUN: tilewright-opt %s -p 'schedule-gpu{cores=8 shared=227}' --split-input-file | filecheck %s --check-prefix=FEW
// RUN: tilewright-opt %s -p 'schedule-gpu{cores=132 shared=227}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// Two rows of halves are multiplied by tiles of sixteen, which read the other factor once; there are no wider ones
// where that leaves multiprocessors idle. Steps of the sum are small then, and six of them on their way, if they fit.
// CHECK-LABEL: tk.func @two_rows
// CHECK-SAME:  tk.blocks = array<i64: 0, 16, 1, 32, 2, 64>, tk.grid = 2 : i64, tk.warps = 4 : i64, tk.stages = 6 : i64
// LITTLE-LABEL: tk.func @two_rows
// LITTLE-SAME:  tk.blocks = array<i64: 0, 16, 1, 32, 2, 64>{{.*}} tk.stages = 3 : i64
// FEW-LABEL:   tk.func @two_rows
// FEW-SAME:    tk.blocks = array<i64: 0, 16, 1, 256, 2, 64>{{.*}} tk.stages = 3 : i64
tk.func @two_rows [2, 4096, 4096] (%a: memref<8192xbf16>, %b: memref<16777216xbf16>, %o: memref<8192xbf16>) {
  %0 = tk.load %a[d0*4096 + d2] : memref<8192xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d1*4096 + d2] : memref<16777216xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] : f32
  %6 = arith.truncf %5 : f32 to bf16
  tk.store %6, %o[d0*4096 + d1] : bf16, memref<8192xbf16>
}

// -----

// Both sides may be the short one.
// CHECK-LABEL: tk.func @two_columns
// CHECK-SAME:  tk.blocks = array<i64: 0, 32, 1, 16, 2, 64>{{.*}} tk.stages = 6 : i64
tk.func @two_columns [4096, 2, 4096] (%a: memref<16777216xbf16>, %b: memref<8192xbf16>, %o: memref<8192xbf16>) {
  %0 = tk.load %a[d0*4096 + d2] : memref<16777216xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d1*4096 + d2] : memref<8192xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] : f32
  %6 = arith.truncf %5 : f32 to bf16
  tk.store %6, %o[d0*2 + d1] : bf16, memref<8192xbf16>
}

// -----

// A sum of few steps has no more of them on their way.
// CHECK-LABEL: tk.func @few_steps
// CHECK-SAME:  tk.blocks = array<i64: 0, 16, 1, 32, 2, 64>{{.*}} tk.stages = 4 : i64
tk.func @few_steps [8, 2048, 256] (%a: memref<2048xbf16>, %b: memref<524288xbf16>, %o: memref<16384xbf16>) {
  %0 = tk.load %a[d0*256 + d2] : memref<2048xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d1*256 + d2] : memref<524288xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] : f32
  %6 = arith.truncf %5 : f32 to bf16
  tk.store %6, %o[d0*2048 + d1] : bf16, memref<16384xbf16>
}

// -----

// Larger steps fill the memory's queue by three; so do several programs of a multiprocessor.
// CHECK-LABEL: tk.func @larger_steps
// CHECK-SAME:  tk.blocks = array<i64: 0, 64, 1, 128, 2, 64>{{.*}} tk.stages = 6 : i64
// FEW-LABEL:   tk.func @larger_steps
tk.func @larger_steps [768, 768, 768] (%a: memref<589824xbf16>, %b: memref<589824xbf16>, %o: memref<589824xbf16>) {
  %0 = tk.load %a[d0*768 + d2] : memref<589824xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d1*768 + d2] : memref<589824xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] : f32
  %6 = arith.truncf %5 : f32 to bf16
  tk.store %6, %o[d0*768 + d1] : bf16, memref<589824xbf16>
}

// -----

// CHECK-LABEL: tk.func @many_programs
// CHECK-SAME:  tk.blocks = array<i64: 0, 16, 1, 256, 2, 64>{{.*}} tk.stages = 3 : i64
tk.func @many_programs [16, 65536, 768] (%a: memref<12288xbf16>, %b: memref<50331648xbf16>, %o: memref<1048576xbf16>) {
  %0 = tk.load %a[d0*768 + d2] : memref<12288xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d1*768 + d2] : memref<50331648xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] : f32
  %6 = arith.truncf %5 : f32 to bf16
  tk.store %6, %o[d0*65536 + d1] : bf16, memref<1048576xbf16>
}

// -----

// A small factor is read often enough as it is.
// CHECK-LABEL: tk.func @small_factor
// CHECK-NOT:   tk.product
// REMARK: tk.func at {{.*}}: a matrix product without tiles: of sizes [2, 64, 32], one is below 8
tk.func @small_factor [2, 64, 32] (%a: memref<64xbf16>, %b: memref<2048xbf16>, %o: memref<128xbf16>) {
  %0 = tk.load %a[d0*32 + d2] : memref<64xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d1*32 + d2] : memref<2048xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] : f32
  %6 = arith.truncf %5 : f32 to bf16
  tk.store %6, %o[d0*64 + d1] : bf16, memref<128xbf16>
}
