// RUN: tilewright-opt %s -p 'schedule-gpu{cores=16}' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'schedule-gpu{cores=16 lanes=64}' --split-input-file | filecheck %s --check-prefix=LONG

// Every lane moves 16 bytes at once: 8 halves. Longer warps are fewer.
// CHECK-LABEL: tk.func @halves
// CHECK-SAME: tk.blocks = array<i64: 0, 1024>, tk.grid = 1 : i64, tk.warps = 4
// LONG-LABEL: tk.func @halves
// LONG-SAME: tk.blocks = array<i64: 0, 1024>, tk.grid = 1 : i64, tk.warps = 2
tk.func @halves [1048576] (%x: memref<1048576xbf16>, %o: memref<1048576xbf16>) {
  %0 = tk.load %x[d0] : memref<1048576xbf16> -> bf16
  tk.store %0, %o[d0] : bf16, memref<1048576xbf16>
}

// -----

// Of f32 that is 4.
// CHECK-LABEL: tk.func @words
// CHECK-SAME: tk.blocks = array<i64: 0, 1024>, tk.grid = 1 : i64, tk.warps = 4
// LONG-LABEL: tk.func @words
// LONG-SAME: tk.blocks = array<i64: 0, 1024>, tk.grid = 1 : i64, tk.warps = 4
tk.func @words [1048576] (%x: memref<1048576xf32>, %o: memref<1048576xf32>) {
  %0 = tk.load %x[d0] : memref<1048576xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<1048576xf32>
}

// -----

// Few elements make blocks small, but no smaller than one warp moves at once.
// CHECK-LABEL: tk.func @few_halves
// CHECK-SAME: tk.blocks = array<i64: 0, 256>, tk.grid = 1 : i64, tk.warps = 1
// LONG-LABEL: tk.func @few_halves
// LONG-SAME: tk.blocks = array<i64: 0, 512>, tk.grid = 1 : i64, tk.warps = 1
tk.func @few_halves [2048] (%x: memref<2048xbf16>, %o: memref<2048xbf16>) {
  %0 = tk.load %x[d0] : memref<2048xbf16> -> bf16
  tk.store %0, %o[d0] : bf16, memref<2048xbf16>
}

// -----

// CHECK-LABEL: tk.func @few_words
// CHECK-SAME: tk.blocks = array<i64: 0, 128>, tk.grid = 1 : i64, tk.warps = 1
// LONG-LABEL: tk.func @few_words
// LONG-SAME: tk.blocks = array<i64: 0, 256>, tk.grid = 1 : i64, tk.warps = 1
tk.func @few_words [2048] (%x: memref<2048xf32>, %o: memref<2048xf32>) {
  %0 = tk.load %x[d0] : memref<2048xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<2048xf32>
}

// -----

// CHECK-LABEL: tk.func @turned
// CHECK-SAME: tk.blocks = array<i64: 0, 32, 1, 32>, tk.grid = 2 : i64, tk.warps = 4
// LONG-LABEL: tk.func @turned
// LONG-SAME: tk.blocks = array<i64: 0, 32, 1, 32>, tk.grid = 2 : i64, tk.warps = 2
tk.func @turned [2048, 1024] (%x: memref<2097152xf32>, %o: memref<2097152xf32>) {
  %0 = tk.load %x[d0 + d1*2048] : memref<2097152xf32> -> f32
  tk.store %0, %o[d0*1024 + d1] : f32, memref<2097152xf32>
}

// -----

// Rows, and columns that are summed, in short: as many as fill a warp.
// CHECK-LABEL: tk.func @short_rows
// CHECK-SAME: tk.blocks = array<i64: 0, 4, 1, 64>, tk.grid = 1 : i64, tk.warps = 1
// LONG-LABEL: tk.func @short_rows
// LONG-SAME: tk.blocks = array<i64: 0, 8, 1, 64>, tk.grid = 1 : i64, tk.warps = 1
tk.func @short_rows [48, 64] (%x: memref<3072xbf16>, %o: memref<48xf32>) {
  %0 = tk.load %x[d0*64 + d1] : memref<3072xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.reduce add %1 over [1] : f32
  tk.store %2, %o[d0] : f32, memref<48xf32>
}

// -----

// CHECK-LABEL: tk.func @short_columns
// CHECK-SAME: tk.blocks = array<i64: 0, 64, 1, 4>, tk.grid = 1 : i64, tk.warps = 1
// LONG-LABEL: tk.func @short_columns
// LONG-SAME: tk.blocks = array<i64: 0, 128, 1, 4>, tk.grid = 1 : i64, tk.warps = 1
tk.func @short_columns [1000, 4] (%x: memref<4000xbf16>, %o: memref<1000xf32>) {
  %0 = tk.load %x[d0 + d1*1000] : memref<4000xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.reduce add %1 over [1] : f32
  tk.store %2, %o[d0] : f32, memref<1000xf32>
}

// -----

// Rows that stay.
// CHECK-LABEL: tk.func @rows
// CHECK-SAME: tk.blocks = array<i64: 0, 2, 1, 1024>, tk.grid = 1 : i64, tk.warps = 8
// LONG-LABEL: tk.func @rows
// LONG-SAME: tk.blocks = array<i64: 0, 2, 1, 1024>, tk.grid = 1 : i64, tk.warps = 4
tk.func @rows [4096, 768] (%x: memref<3145728xbf16>, %o: memref<3145728xf32>) {
  %0 = tk.load %x[d0*768 + d1] : memref<3145728xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.reduce add %1 over [1] : f32
  %3 = arith.subf %1, %2 : f32
  tk.store %3, %o[d0*768 + d1] : f32, memref<3145728xf32>
}

// -----

// A product with a short sum has little to load: warps are no more than load it by whole instructions.
// CHECK-LABEL: tk.func @short_sum
// CHECK-SAME: tk.blocks = array<i64: 0, 32, 1, 32, 2, 16>, tk.grid = 2 : i64, tk.warps = 2
// LONG-LABEL: tk.func @short_sum
// LONG-SAME: tk.blocks = array<i64: 0, 32, 1, 32, 2, 16>, tk.grid = 2 : i64, tk.warps = 1
tk.func @short_sum [96, 96, 8] (%a: memref<768xbf16>, %b: memref<768xbf16>, %o: memref<9216xf32>) {
  %0 = tk.load %a[d0 + d2*96] : memref<768xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d1 + d2*96] : memref<768xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
  tk.store %5, %o[d0*96 + d1] : f32, memref<9216xf32>
}
