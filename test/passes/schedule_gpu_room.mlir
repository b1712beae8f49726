// RUN: tilewright-opt %s -p 'schedule-gpu{shared=160 cores=1}' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'schedule-gpu{shared=227 cores=1 units=group}' --split-input-file | filecheck %s --check-prefix=SHARED
// RUN: tilewright-opt %s -p 'schedule-gpu{shared=227 cores=1 units=core}' --split-input-file | filecheck %s --check-prefix=APART
// RUN: tilewright-opt %s -p 'schedule-gpu{shared=64 lanes=64}' --split-input-file | filecheck %s --check-prefix=LANES

// How large the tile of a product is depends on what else wants registers.

// CHECK-LABEL:  tk.func @nothing_else
// CHECK-SAME:   tk.blocks = array<i64: 0, 128, 1, 256, 2, 64>
// SHARED-LABEL: tk.func @nothing_else
// SHARED-SAME:  tk.blocks = array<i64: 0, 128, 1, 256, 2, 64>
// APART-LABEL:  tk.func @nothing_else
// APART-SAME:   tk.blocks = array<i64: 0, 128, 1, 256, 2, 64>
tk.func @nothing_else [4096, 4096, 4096] (%a: memref<16777216xbf16>, %b: memref<16777216xbf16>, %o: memref<16777216xbf16>) {
  %0 = tk.load %a[d0*4096 + d2] : memref<16777216xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d2*4096 + d1] : memref<16777216xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
  %6 = arith.truncf %5 : f32 to bf16
  tk.store %6, %o[d0*4096 + d1] : bf16, memref<16777216xbf16>
}

// -----

// Sums that come from memory of their own come all at once, beside the tile that is added.

// CHECK-LABEL:  tk.func @adds_a_tile
// CHECK-SAME:   tk.blocks = array<i64: 0, 128, 1, 256, 2, 64>
// SHARED-LABEL: tk.func @adds_a_tile
// SHARED-SAME:  tk.blocks = array<i64: 0, 128, 1, 256, 2, 64>
// APART-LABEL:  tk.func @adds_a_tile
// APART-SAME:   tk.blocks = array<i64: 0, 128, 1, 256, 2, 64>
tk.func @adds_a_tile [4096, 4096, 4096] (%a: memref<16777216xbf16>, %b: memref<16777216xbf16>, %c: memref<16777216xbf16>, %o: memref<16777216xbf16>) {
  %0 = tk.load %a[d0*4096 + d2] : memref<16777216xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d2*4096 + d1] : memref<16777216xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
  %6 = tk.load %c[d0*4096 + d1] : memref<16777216xbf16> -> bf16
  %7 = arith.extf %6 : bf16 to f32
  %8 = arith.addf %5, %7 : f32
  %9 = arith.truncf %8 : f32 to bf16
  tk.store %9, %o[d0*4096 + d1] : bf16, memref<16777216xbf16>
}

// -----

// Random numbers take more registers than other functions: less is left where factors are in registers, too.

// CHECK-LABEL:  tk.func @drops
// CHECK-SAME:   tk.blocks = array<i64: 0, 64, 1, 128, 2, 64>
// SHARED-LABEL: tk.func @drops
// SHARED-SAME:  tk.blocks = array<i64: 0, 128, 1, 128, 2, 64>
// APART-LABEL:  tk.func @drops
// APART-SAME:   tk.blocks = array<i64: 0, 64, 1, 128, 2, 64>
tk.func @drops [4096, 4096, 4096] (%a: memref<16777216xbf16>, %b: memref<16777216xbf16>, %s: memref<1xi64>, %o: memref<16777216xbf16>) {
  %0 = tk.load %a[d0*4096 + d2] : memref<16777216xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d2*4096 + d1] : memref<16777216xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
  %6 = tk.load %s[0] : memref<1xi64> -> i64
  %7 = tk.index "d0*4096 + d1" : i64
  %8 = tk.random %6, %7 : f32
  %9 = arith.mulf %5, %8 : f32
  %10 = arith.truncf %9 : f32 to bf16
  tk.store %10, %o[d0*4096 + d1] : bf16, memref<16777216xbf16>
}

// -----

// A small tile has room for all of that.

// CHECK-LABEL:  tk.func @small
// CHECK-SAME:   tk.blocks = array<i64: 0, 32, 1, 16, 2, 16>
// APART-LABEL:  tk.func @small
// APART-SAME:   tk.blocks = array<i64: 0, 32, 1, 16, 2, 16>
tk.func @small [32, 16, 16] (%a: memref<512xbf16>, %b: memref<256xbf16>, %s: memref<1xi64>, %c: memref<512xbf16>, %o: memref<512xbf16>) {
  %0 = tk.load %a[d0*16 + d2] : memref<512xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d2*16 + d1] : memref<256xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
  %6 = tk.load %s[0] : memref<1xi64> -> i64
  %7 = tk.index "d0*16 + d1" : i64
  %8 = tk.random %6, %7 : f32
  %9 = tk.load %c[d0*16 + d1] : memref<512xbf16> -> bf16
  %10 = arith.extf %9 : bf16 to f32
  %11 = arith.mulf %10, %8 : f32
  %12 = arith.addf %5, %11 : f32
  %13 = arith.truncf %12 : f32 to bf16
  tk.store %13, %o[d0*16 + d1] : bf16, memref<512xbf16>
}

// -----

// No matrix unit multiplies f32: the longer a head, the fewer keys does a thread take at a time.
// CHECK-LABEL: tk.func @heads_of_f32
// CHECK-SAME:  tk.blocks = array<i64: 0, 32, 1, 64, 3, 64, 2, 16>
tk.func @heads_of_f32 [512, 64, 512, 64] (%q: memref<32768xf32>, %k: memref<32768xf32>, %v: memref<32768xf32>, %o: memref<32768xf32>) {
  %0 = tk.load %q[d0*64 + d3] : memref<32768xf32> -> f32
  %1 = tk.load %k[d2*64 + d3] : memref<32768xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [3] : f32
  %4 = math.tanh %3 : f32
  %5 = tk.load %v[d2*64 + d1] : memref<32768xf32> -> f32
  %6 = arith.mulf %4, %5 : f32
  %7 = tk.reduce add %6 over [2] : f32
  tk.store %7, %o[d0*64 + d1] : f32, memref<32768xf32>
}

// -----

// Short ones leave room.
// CHECK-LABEL: tk.func @narrow_heads_of_f32
// CHECK-SAME:  tk.blocks = array<i64: 0, 32, 1, 32, 3, 32, 2, 32>
tk.func @narrow_heads_of_f32 [512, 32, 512, 32] (%q: memref<16384xf32>, %k: memref<16384xf32>, %v: memref<16384xf32>, %o: memref<16384xf32>) {
  %0 = tk.load %q[d0*32 + d3] : memref<16384xf32> -> f32
  %1 = tk.load %k[d2*32 + d3] : memref<16384xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [3] : f32
  %4 = math.tanh %3 : f32
  %5 = tk.load %v[d2*32 + d1] : memref<16384xf32> -> f32
  %6 = arith.mulf %4, %5 : f32
  %7 = tk.reduce add %6 over [2] : f32
  tk.store %7, %o[d0*32 + d1] : f32, memref<16384xf32>
}

// -----

// Two products of f32 have a thread hold few rows, and leave room for 32 keys at a time.
// CHECK-LABEL: tk.func @two_products_of_f32
// CHECK-SAME:  tk.blocks = array<i64: 0, 16, 1, 64, 3, 64, 4, 64, 2, 32>
tk.func @two_products_of_f32 [512, 64, 512, 64, 64] (%q: memref<32768xf32>, %k: memref<32768xf32>, %g: memref<32768xf32>, %v: memref<32768xf32>, %t: memref<512xf32>, %o: memref<32768xf32>) {
  %0 = tk.load %q[d0*64 + d3] : memref<32768xf32> -> f32
  %1 = tk.load %k[d2*64 + d3] : memref<32768xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [3] : f32
  %4 = tk.load %g[d0*64 + d4] : memref<32768xf32> -> f32
  %5 = tk.load %v[d2*64 + d4] : memref<32768xf32> -> f32
  %6 = arith.mulf %4, %5 : f32
  %7 = tk.reduce add %6 over [4] : f32
  %8 = tk.load %t[d0] : memref<512xf32> -> f32
  %9 = arith.subf %7, %8 : f32
  %10 = arith.mulf %3, %9 : f32
  %11 = tk.load %k[d2*64 + d1] : memref<32768xf32> -> f32
  %12 = arith.mulf %10, %11 : f32
  %13 = tk.reduce add %12 over [2] : f32
  tk.store %13, %o[d0*64 + d1] : f32, memref<32768xf32>
}

// -----

// Longer ones do not.
// CHECK-LABEL: tk.func @two_long_products_of_f32
// CHECK-SAME:  tk.blocks = array<i64: 0, 16, 1, 128, 3, 128, 4, 128, 2, 16>{{.*}} tk.warps = 8
tk.func @two_long_products_of_f32 [512, 96, 512, 96, 96] (%q: memref<49152xf32>, %k: memref<49152xf32>, %g: memref<49152xf32>, %v: memref<49152xf32>, %t: memref<512xf32>, %o: memref<49152xf32>) {
  %0 = tk.load %q[d0*96 + d3] : memref<49152xf32> -> f32
  %1 = tk.load %k[d2*96 + d3] : memref<49152xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [3] : f32
  %4 = tk.load %g[d0*96 + d4] : memref<49152xf32> -> f32
  %5 = tk.load %v[d2*96 + d4] : memref<49152xf32> -> f32
  %6 = arith.mulf %4, %5 : f32
  %7 = tk.reduce add %6 over [4] : f32
  %8 = tk.load %t[d0] : memref<512xf32> -> f32
  %9 = arith.subf %7, %8 : f32
  %10 = arith.mulf %3, %9 : f32
  %11 = tk.load %k[d2*96 + d1] : memref<49152xf32> -> f32
  %12 = arith.mulf %10, %11 : f32
  %13 = tk.reduce add %12 over [2] : f32
  tk.store %13, %o[d0*96 + d1] : f32, memref<49152xf32>
}

// -----

// Half as many where rows are summed there as well. As many threads of warps of 64, so that each loads 16 bytes.
// CHECK-LABEL: tk.func @beside_sums_of_rows
// CHECK-SAME:  tk.blocks = array<i64: 0, 16, 1, 64, 3, 64, 4, 64, 2, 16>{{.*}} tk.warps = 8
// LANES-LABEL: tk.func @beside_sums_of_rows
// LANES-SAME:  tk.blocks = array<i64: 0, 16, 1, 64, 3, 64, 4, 64, 2, 16>{{.*}} tk.warps = 4
tk.func @beside_sums_of_rows [512, 64, 512, 64, 64] (%q: memref<32768xf32>, %k: memref<32768xf32>, %g: memref<32768xf32>, %v: memref<32768xf32>, %r: memref<32768xf32>, %t: memref<512xf32>, %o: memref<32768xf32>) {
  %0 = tk.load %q[d0*64 + d3] : memref<32768xf32> -> f32
  %1 = tk.load %k[d2*64 + d3] : memref<32768xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [3] : f32
  %4 = tk.load %g[d0*64 + d4] : memref<32768xf32> -> f32
  %5 = tk.load %v[d2*64 + d4] : memref<32768xf32> -> f32
  %6 = arith.mulf %4, %5 : f32
  %7 = tk.reduce add %6 over [4] : f32
  %8 = tk.load %r[d0*64 + d4] : memref<32768xf32> -> f32
  %9 = arith.mulf %4, %8 : f32
  %10 = tk.reduce add %9 over [4] : f32
  tk.store %10, %t[d0] : f32, memref<512xf32>
  %11 = arith.subf %7, %10 : f32
  %12 = arith.mulf %3, %11 : f32
  %13 = tk.load %k[d2*64 + d1] : memref<32768xf32> -> f32
  %14 = arith.mulf %12, %13 : f32
  %15 = tk.reduce add %14 over [2] : f32
  tk.store %15, %o[d0*64 + d1] : f32, memref<32768xf32>
}

// -----

// A tile of f32 that is added takes as many registers as the sums of 128 x 256: half as many columns. Where nothing
// but sums is in registers, one half of the columns is finished after the other.
// CHECK-LABEL: @adds_f32
// CHECK-SAME: tk.blocks = array<i64: 0, 128, 1, 128, 2, 64>
// CHECK-NOT: tk.halves
// SHARED-LABEL: @adds_f32
// SHARED-SAME: tk.blocks = array<i64: 0, 128, 1, 256, 2, 64>{{.*}} tk.halves}
tk.func @adds_f32 [512, 512, 256] (%a: memref<131072xbf16>, %b: memref<131072xbf16>, %c: memref<262144xf32>, %o: memref<262144xbf16>) {
  %0 = tk.load %a[d0*256 + d2] : memref<131072xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d2*512 + d1] : memref<131072xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
  %6 = tk.load %c[d0*512 + d1] : memref<262144xf32> -> f32
  %7 = arith.addf %5, %6 : f32
  %8 = arith.truncf %7 : f32 to bf16
  tk.store %8, %o[d0*512 + d1] : bf16, memref<262144xbf16>
}

// -----

// One of halves does not.
// CHECK-LABEL: @adds_halves
// CHECK-SAME: tk.blocks = array<i64: 0, 128, 1, 256, 2, 64>
tk.func @adds_halves [512, 512, 256] (%a: memref<131072xbf16>, %b: memref<131072xbf16>, %c: memref<262144xbf16>, %o: memref<262144xbf16>) {
  %0 = tk.load %a[d0*256 + d2] : memref<131072xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d2*512 + d1] : memref<131072xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
  %6 = tk.load %c[d0*512 + d1] : memref<262144xbf16> -> bf16
  %7 = arith.extf %6 : bf16 to f32
  %8 = arith.addf %5, %7 : f32
  %9 = arith.truncf %8 : f32 to bf16
  tk.store %9, %o[d0*512 + d1] : bf16, memref<262144xbf16>
}

// -----

// Ops of no reduction are in another order, too, where lanes have no room for what is live: of a long sum each
// term is made right before it is added.
// CHECK-LABEL: tk.func @many_terms
// CHECK: %l15 = tk.load
// CHECK: %l14 = tk.load
// CHECK-NEXT: %m14 = arith.mulf
// CHECK-NEXT: %a14 = arith.addf
// CHECK-NEXT: %l13 = tk.load
// CHECK-NEXT: %m13 = arith.mulf
// CHECK-NEXT: %a13 = arith.addf
tk.func @many_terms [1048576] (%x: memref<16777216xf32>, %o: memref<1048576xf32>) {
  %c = arith.constant 5.0e-01 : f32
  %l0 = tk.load %x[d0] : memref<16777216xf32> -> f32
  %m0 = arith.mulf %l0, %c : f32
  %l1 = tk.load %x[d0 + 1048576] : memref<16777216xf32> -> f32
  %m1 = arith.mulf %l1, %c : f32
  %l2 = tk.load %x[d0 + 2097152] : memref<16777216xf32> -> f32
  %m2 = arith.mulf %l2, %c : f32
  %l3 = tk.load %x[d0 + 3145728] : memref<16777216xf32> -> f32
  %m3 = arith.mulf %l3, %c : f32
  %l4 = tk.load %x[d0 + 4194304] : memref<16777216xf32> -> f32
  %m4 = arith.mulf %l4, %c : f32
  %l5 = tk.load %x[d0 + 5242880] : memref<16777216xf32> -> f32
  %m5 = arith.mulf %l5, %c : f32
  %l6 = tk.load %x[d0 + 6291456] : memref<16777216xf32> -> f32
  %m6 = arith.mulf %l6, %c : f32
  %l7 = tk.load %x[d0 + 7340032] : memref<16777216xf32> -> f32
  %m7 = arith.mulf %l7, %c : f32
  %l8 = tk.load %x[d0 + 8388608] : memref<16777216xf32> -> f32
  %m8 = arith.mulf %l8, %c : f32
  %l9 = tk.load %x[d0 + 9437184] : memref<16777216xf32> -> f32
  %m9 = arith.mulf %l9, %c : f32
  %l10 = tk.load %x[d0 + 10485760] : memref<16777216xf32> -> f32
  %m10 = arith.mulf %l10, %c : f32
  %l11 = tk.load %x[d0 + 11534336] : memref<16777216xf32> -> f32
  %m11 = arith.mulf %l11, %c : f32
  %l12 = tk.load %x[d0 + 12582912] : memref<16777216xf32> -> f32
  %m12 = arith.mulf %l12, %c : f32
  %l13 = tk.load %x[d0 + 13631488] : memref<16777216xf32> -> f32
  %m13 = arith.mulf %l13, %c : f32
  %l14 = tk.load %x[d0 + 14680064] : memref<16777216xf32> -> f32
  %m14 = arith.mulf %l14, %c : f32
  %l15 = tk.load %x[d0 + 15728640] : memref<16777216xf32> -> f32
  %m15 = arith.mulf %l15, %c : f32
  %a14 = arith.addf %m15, %m14 : f32
  %a13 = arith.addf %a14, %m13 : f32
  %a12 = arith.addf %a13, %m12 : f32
  %a11 = arith.addf %a12, %m11 : f32
  %a10 = arith.addf %a11, %m10 : f32
  %a9 = arith.addf %a10, %m9 : f32
  %a8 = arith.addf %a9, %m8 : f32
  %a7 = arith.addf %a8, %m7 : f32
  %a6 = arith.addf %a7, %m6 : f32
  %a5 = arith.addf %a6, %m5 : f32
  %a4 = arith.addf %a5, %m4 : f32
  %a3 = arith.addf %a4, %m3 : f32
  %a2 = arith.addf %a3, %m2 : f32
  %a1 = arith.addf %a2, %m1 : f32
  %a0 = arith.addf %a1, %m0 : f32
  tk.store %a0, %o[d0] : f32, memref<1048576xf32>
}

// -----

// They stay where they are where there is: all that is loaded is on its way at once.
// CHECK-LABEL: tk.func @few_terms
// CHECK: %l0 = tk.load
// CHECK: %l1 = tk.load
// CHECK: %l2 = tk.load
// CHECK: %a1 = arith.addf
tk.func @few_terms [1048576] (%x: memref<3145728xf32>, %o: memref<1048576xf32>) {
  %c = arith.constant 5.0e-01 : f32
  %l0 = tk.load %x[d0] : memref<3145728xf32> -> f32
  %m0 = arith.mulf %l0, %c : f32
  %l1 = tk.load %x[d0 + 1048576] : memref<3145728xf32> -> f32
  %m1 = arith.mulf %l1, %c : f32
  %l2 = tk.load %x[d0 + 2097152] : memref<3145728xf32> -> f32
  %m2 = arith.mulf %l2, %c : f32
  %a1 = arith.addf %m2, %m1 : f32
  %a0 = arith.addf %a1, %m0 : f32
  tk.store %a0, %o[d0] : f32, memref<1048576xf32>
}

// -----

// Blocks of attention: what is done once per row, or per step, is shared by as many scores as there is room for.
// CHECK-LABEL:   tk.func @heads_of_128
// CHECK-SAME:    tk.blocks = array<i64: 0, 1, 1, 128, 2, 128, 3, 128, 4, 64>{{.*}} tk.warps = 8 : i64, tk.stages = 3
// SHARED-LABEL:  tk.func @heads_of_128
// SHARED-SAME:   tk.blocks = array<i64: 0, 1, 1, 128, 2, 128, 3, 128, 4, 128>{{.*}} tk.warps = 8 : i64, tk.stages = 3
// APART-LABEL:   tk.func @heads_of_128
// APART-SAME:    tk.blocks = array<i64: 0, 1, 1, 128, 2, 128, 3, 128, 4, 64>{{.*}} tk.warps = 8 : i64, tk.stages = 3
// LANES-LABEL:   tk.func @heads_of_128
// LANES-SAME:    tk.blocks = array<i64: 0, 1, 1, 64, 2, 128, 3, 128, 4, 32>{{.*}} tk.warps = 8 : i64, tk.stages = 2
tk.func @heads_of_128 [16, 1024, 128, 128, 1024] (%0: memref<2097152xbf16>, %1: memref<2097152xbf16>, %2: memref<2097152xbf16>, %3: memref<2097152xbf16>, %4: memref<16384xf32>) {
  %5 = tk.load %0[d0*131072 + d1*128 + d3] : memref<2097152xbf16> -> bf16
  %6 = arith.extf %5 : bf16 to f32
  %7 = tk.load %1[d0*131072 + d3 + d4*128] : memref<2097152xbf16> -> bf16
  %8 = arith.extf %7 : bf16 to f32
  %9 = arith.mulf %6, %8 : f32
  %10 = tk.reduce add %9 over [3] {tk.factors = bf16} : f32
  %11 = arith.constant 0.0883883461 : f32
  %12 = arith.mulf %10, %11 : f32
  %13 = arith.constant 0xff800000 : f32
  %14 = tk.reduce max %12 over [4] : f32
  %15 = arith.cmpf oeq, %14, %13 : f32
  %16 = arith.constant 0.000000e+00 : f32
  %17 = arith.select %15, %16, %14 : f32
  %18 = arith.subf %12, %17 : f32
  %19 = math.exp %18 : f32
  %20 = tk.reduce add %19 over [4] : f32
  %21 = tk.load %2[d0*131072 + d2 + d4*128] : memref<2097152xbf16> -> bf16
  %22 = arith.extf %21 : bf16 to f32
  %23 = arith.mulf %19, %22 : f32
  %24 = tk.reduce add %23 over [4] {tk.factors = bf16} : f32
  %25 = arith.cmpf oeq, %20, %16 : f32
  %26 = arith.constant 1.000000e+00 : f32
  %27 = arith.select %25, %26, %20 : f32
  %28 = arith.divf %24, %27 : f32
  %29 = arith.truncf %28 : f32 to bf16
  tk.store %29, %3[d0*131072 + d1*128 + d2] : bf16, memref<2097152xbf16>
  %30 = math.log %20 : f32
  %31 = arith.addf %30, %17 : f32
  tk.store %31, %4[d1*8 + (d0 floordiv 8)*8192 + (d0 mod 8)] : f32, memref<16384xf32>
}

// -----

// Keys that are computed in a step take registers as well: fewer at a time than of those that are loaded.
// SHARED-LABEL: tk.func @scaled_keys
// SHARED-SAME:  tk.blocks = array<i64: 0, 1, 1, 128, 2, 64, 3, 64, 4, 64>
tk.func @scaled_keys [16, 1024, 64, 64, 1024] (%0: memref<1048576xbf16>, %1: memref<1048576xbf16>, %s: memref<16384xf32>, %m: memref<1048576xf32>, %2: memref<1048576xbf16>, %3: memref<1048576xbf16>, %4: memref<16384xf32>) {
  %5 = tk.load %0[d0*65536 + d1*64 + d3] : memref<1048576xbf16> -> bf16
  %6 = arith.extf %5 : bf16 to f32
  %7 = tk.load %1[d0*65536 + d3 + d4*64] : memref<1048576xbf16> -> bf16
  %w = arith.extf %7 : bf16 to f32
  %n = tk.load %s[d0*1024 + d4] : memref<16384xf32> -> f32
  %p = arith.mulf %w, %n : f32
  %h = arith.truncf %p : f32 to bf16
  %8 = arith.extf %h : bf16 to f32
  %9 = arith.mulf %6, %8 : f32
  %10 = tk.reduce add %9 over [3] {tk.factors = bf16} : f32
  %11 = arith.constant 0.0883883461 : f32
  %x = arith.mulf %10, %11 : f32
  %b = tk.load %m[d1*1024 + d4] : memref<1048576xf32> -> f32
  %12 = arith.addf %x, %b : f32
  %13 = arith.constant 0xff800000 : f32
  %14 = tk.reduce max %12 over [4] : f32
  %15 = arith.cmpf oeq, %14, %13 : f32
  %16 = arith.constant 0.000000e+00 : f32
  %17 = arith.select %15, %16, %14 : f32
  %18 = arith.subf %12, %17 : f32
  %19 = math.exp %18 : f32
  %20 = tk.reduce add %19 over [4] : f32
  %21 = tk.load %2[d0*65536 + d2 + d4*64] : memref<1048576xbf16> -> bf16
  %22 = arith.extf %21 : bf16 to f32
  %23 = arith.mulf %19, %22 : f32
  %24 = tk.reduce add %23 over [4] {tk.factors = bf16} : f32
  %25 = arith.cmpf oeq, %20, %16 : f32
  %26 = arith.constant 1.000000e+00 : f32
  %27 = arith.select %25, %26, %20 : f32
  %28 = arith.divf %24, %27 : f32
  %29 = arith.truncf %28 : f32 to bf16
  tk.store %29, %3[d0*65536 + d1*64 + d2] : bf16, memref<1048576xbf16>
  %30 = math.log %20 : f32
  %31 = arith.addf %30, %17 : f32
  tk.store %31, %4[d1*8 + (d0 floordiv 8)*8192 + (d0 mod 8)] : f32, memref<16384xf32>
}

// -----

// Two sums of 128 elements stand beside the scores; where units take factors from registers, fewer rows do.
// CHECK-LABEL:   tk.func @key_gradients_of_128
// CHECK-SAME:    tk.blocks = array<i64: 0, 1, 1, 64, 2, 128, 3, 128, 4, 128, 5, 128, 6, 32>{{.*}} tk.warps = 8 : i64, tk.stages = 3
// SHARED-LABEL:  tk.func @key_gradients_of_128
// SHARED-SAME:   tk.blocks = array<i64: 0, 1, 1, 128, 2, 128, 3, 128, 4, 128, 5, 128, 6, 64>{{.*}} tk.warps = 8 : i64, tk.stages = 3
// APART-LABEL:   tk.func @key_gradients_of_128
// APART-SAME:    tk.blocks = array<i64: 0, 1, 1, 128, 2, 128, 3, 128, 4, 128, 5, 128, 6, 64>{{.*}} tk.warps = 8 : i64, tk.stages = 2
// LANES-LABEL:   tk.func @key_gradients_of_128
// LANES-SAME:    tk.blocks = array<i64: 0, 1, 1, 64, 2, 128, 3, 128, 4, 128, 5, 128, 6, 16>{{.*}} tk.warps = 8 : i64, tk.stages = 2
tk.func @key_gradients_of_128 [16, 1024, 128, 128, 128, 128, 1024] (%0: memref<2097152xbf16>, %1: memref<2097152xbf16>, %2: memref<2097152xbf16>, %3: memref<2097152xbf16>, %4: memref<16384xf32>, %5: memref<16384xf32>, %6: memref<2097152xbf16>, %7: memref<2097152xbf16>) {
  %8 = tk.load %0[d0*131072 + d4 + d6*128] : memref<2097152xbf16> -> bf16
  %9 = arith.extf %8 : bf16 to f32
  %10 = tk.load %1[d0*131072 + d1*128 + d4] : memref<2097152xbf16> -> bf16
  %11 = arith.extf %10 : bf16 to f32
  %12 = arith.mulf %9, %11 : f32
  %13 = tk.reduce add %12 over [4] {tk.factors = bf16} : f32
  %14 = arith.constant 0.0883883461 : f32
  %15 = arith.mulf %13, %14 : f32
  %16 = arith.constant 0xff800000 : f32
  %17 = tk.load %4[d6*8 + (d0 floordiv 8)*8192 + (d0 mod 8)] : memref<16384xf32> -> f32
  %18 = arith.cmpf oeq, %17, %16 : f32
  %19 = arith.constant 0.000000e+00 : f32
  %20 = arith.select %18, %19, %17 : f32
  %21 = arith.subf %15, %20 : f32
  %22 = math.exp %21 : f32
  %23 = tk.load %3[d0*131072 + d3 + d6*128] : memref<2097152xbf16> -> bf16
  %24 = arith.extf %23 : bf16 to f32
  %25 = arith.mulf %22, %24 : f32
  %26 = tk.reduce add %25 over [6] {tk.factors = bf16} : f32
  %27 = tk.load %3[d0*131072 + d5 + d6*128] : memref<2097152xbf16> -> bf16
  %28 = arith.extf %27 : bf16 to f32
  %29 = tk.load %2[d0*131072 + d1*128 + d5] : memref<2097152xbf16> -> bf16
  %30 = arith.extf %29 : bf16 to f32
  %31 = tk.load %5[d0*1024 + d6] : memref<16384xf32> -> f32
  %32 = arith.mulf %28, %30 : f32
  %33 = tk.reduce add %32 over [5] {tk.factors = bf16} : f32
  %34 = arith.subf %33, %31 : f32
  %35 = arith.mulf %22, %34 : f32
  %36 = tk.load %0[d0*131072 + d2 + d6*128] : memref<2097152xbf16> -> bf16
  %37 = arith.extf %36 : bf16 to f32
  %38 = arith.mulf %35, %37 : f32
  %39 = tk.reduce add %38 over [6] {tk.factors = bf16} : f32
  %40 = arith.mulf %39, %14 : f32
  %41 = arith.truncf %40 : f32 to bf16
  tk.store %41, %6[d1*1024 + d2 + (d0 floordiv 8)*1048576 + (d0 mod 8)*128] : bf16, memref<2097152xbf16>
  %42 = arith.truncf %26 : f32 to bf16
  tk.store %42, %7[d1*1024 + d3 + (d0 floordiv 8)*1048576 + (d0 mod 8)*128] : bf16, memref<2097152xbf16>
}

// -----

// Random numbers beside two sums of 256 elements.
// CHECK-LABEL:   tk.func @dropped_key_gradients_of_256
// CHECK-SAME:    tk.blocks = array<i64: 0, 1, 1, 32, 2, 256, 3, 256, 4, 256, 5, 256, 6, 16>{{.*}} tk.warps = 8 : i64, tk.stages = 3
// SHARED-LABEL:  tk.func @dropped_key_gradients_of_256
// SHARED-SAME:   tk.blocks = array<i64: 0, 1, 1, 32, 2, 256, 3, 256, 4, 256, 5, 256, 6, 16>{{.*}} tk.warps = 8 : i64, tk.stages = 3
// APART-LABEL:   tk.func @dropped_key_gradients_of_256
// APART-SAME:    tk.blocks = array<i64: 0, 1, 1, 32, 2, 256, 3, 256, 4, 256, 5, 256, 6, 16>{{.*}} tk.warps = 8 : i64, tk.stages = 3
// LANES-LABEL:   tk.func @dropped_key_gradients_of_256
// LANES-SAME:    tk.blocks = array<i64: 0, 1, 1, 32, 2, 256, 3, 256, 4, 256, 5, 256, 6, 16>{{.*}} tk.warps = 8 : i64, tk.stages = 1
tk.func @dropped_key_gradients_of_256 [2, 512, 256, 256, 256, 256, 512] (%0: memref<262144xbf16>, %1: memref<262144xbf16>, %2: memref<262144xbf16>, %3: memref<1024xf32>, %4: memref<1024xf32>, %5: memref<1xi64>, %6: memref<262144xbf16>, %7: memref<262144xbf16>, %8: memref<1024xf32>, %9: memref<262144xbf16>, %10: memref<262144xbf16>) {
  %11 = tk.load %0[d0*131072 + d2 + d6*256] : memref<262144xbf16> -> bf16
  %12 = arith.extf %11 : bf16 to f32
  %13 = tk.load %1[d0*131072 + d1*256 + d2] : memref<262144xbf16> -> bf16
  %14 = arith.extf %13 : bf16 to f32
  %15 = arith.mulf %12, %14 : f32
  %16 = tk.reduce add %15 over [2] {tk.factors = bf16} : f32
  %17 = arith.constant 6.250000e-02 : f32
  %18 = arith.mulf %16, %17 : f32
  %19 = tk.load %2[d1 + d6*512] : memref<262144xbf16> -> bf16
  %20 = arith.extf %19 : bf16 to f32
  %21 = arith.addf %18, %20 : f32
  %22 = arith.constant 1.11111116 : f32
  %23 = arith.constant 0.000000e+00 : f32
  %24 = tk.load %3[d0*512 + d6] : memref<1024xf32> -> f32
  %25 = arith.subf %21, %24 : f32
  %26 = math.exp %25 : f32
  %27 = tk.load %4[d0*512 + d6] : memref<1024xf32> -> f32
  %28 = arith.divf %26, %27 : f32
  %29 = arith.truncf %28 {tk.rounded} : f32 to bf16
  %30 = arith.extf %29 : bf16 to f32
  %31 = arith.mulf %30, %22 : f32
  %32 = arith.constant 1.000000e-01 : f32
  %33 = tk.load %5[0] : memref<1xi64> -> i64
  %34 = tk.index "d0*262144 + d1 + d6*512" : i64
  %35 = tk.random %33, %34 : f32
  %36 = arith.cmpf oge, %35, %32 : f32
  %37 = arith.select %36, %31, %23 : f32
  %38 = arith.uitofp %36 : i1 to f32
  %39 = arith.mulf %38, %22 : f32
  %40 = tk.load %6[d0*131072 + d3 + d6*256] : memref<262144xbf16> -> bf16
  %41 = arith.extf %40 : bf16 to f32
  %42 = tk.load %7[d0*131072 + d1*256 + d3] : memref<262144xbf16> -> bf16
  %43 = arith.extf %42 : bf16 to f32
  %44 = arith.mulf %41, %43 : f32
  %45 = tk.reduce add %44 over [3] {tk.factors = bf16} : f32
  %46 = arith.mulf %45, %39 : f32
  %47 = tk.load %8[d0*512 + d6] : memref<1024xf32> -> f32
  %48 = arith.mulf %28, %47 : f32
  %49 = arith.mulf %46, %28 : f32
  %50 = arith.subf %49, %48 : f32
  %51 = arith.truncf %50 {tk.rounded} : f32 to bf16
  %52 = arith.extf %51 : bf16 to f32
  %53 = arith.mulf %52, %17 : f32
  %54 = tk.load %6[d0*131072 + d4 + d6*256] : memref<262144xbf16> -> bf16
  %55 = arith.extf %54 : bf16 to f32
  %56 = arith.mulf %37, %55 : f32
  %57 = tk.reduce add %56 over [6] {tk.factors = bf16} : f32
  %58 = arith.truncf %57 : f32 to bf16
  tk.store %58, %9[d0*131072 + d1*256 + d4] : bf16, memref<262144xbf16>
  %59 = tk.load %0[d0*131072 + d5 + d6*256] : memref<262144xbf16> -> bf16
  %60 = arith.extf %59 : bf16 to f32
  %61 = arith.mulf %60, %53 : f32
  %62 = tk.reduce add %61 over [6] {tk.factors = bf16} : f32
  %63 = arith.truncf %62 : f32 to bf16
  tk.store %63, %10[d0*131072 + d1 + d5*512] : bf16, memref<262144xbf16>
}

// -----

// A chain of convolutions of 1 x 1, with eight numbers for each channel along it, of which each lane of a wide warp
// would have those of sixteen: it goes sixteen at a time.

// LANES-LABEL: tk.func @block_of_images
// LANES-SAME:  tk.blocks = array<i64: 0, 1, 1, 64, 2, 64, 3, 64, 4, 128, 5, 16>
tk.func @block_of_images [8, 3136, 64, 64, 128, 256] (%w: memref<16384xbf16>, %x: memref<1605632xbf16>, %m0: memref<256xbf16>, %v0: memref<256xbf16>, %g0: memref<256xbf16>, %b0: memref<256xbf16>, %u: memref<16384xbf16>, %y: memref<1605632xbf16>, %m1: memref<256xbf16>, %v1: memref<256xbf16>, %g1: memref<256xbf16>, %b1: memref<256xbf16>, %t: memref<32768xbf16>, %m2: memref<128xbf16>, %v2: memref<128xbf16>, %g2: memref<128xbf16>, %b2: memref<128xbf16>, %o: memref<6422528xbf16>, %p: memref<3211264xbf16>) {
  %0 = tk.load %w[d2 + d5*64] : memref<16384xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %x[d0*200704 + d1 + d2*3136] : memref<1605632xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
  %6 = tk.load %m0[d5] : memref<256xbf16> -> bf16
  %7 = arith.extf %6 : bf16 to f32
  %8 = arith.subf %5, %7 : f32
  %9 = tk.load %v0[d5] : memref<256xbf16> -> bf16
  %10 = arith.extf %9 : bf16 to f32
  %11 = arith.constant 1.000000e-05 : f32
  %12 = arith.addf %10, %11 : f32
  %13 = math.sqrt %12 : f32
  %14 = arith.constant 1.000000e+00 : f32
  %15 = arith.divf %14, %13 : f32
  %16 = arith.mulf %8, %15 : f32
  %17 = tk.load %g0[d5] : memref<256xbf16> -> bf16
  %18 = arith.extf %17 : bf16 to f32
  %19 = arith.mulf %16, %18 : f32
  %20 = tk.load %b0[d5] : memref<256xbf16> -> bf16
  %21 = arith.extf %20 : bf16 to f32
  %22 = arith.addf %19, %21 : f32
  %23 = tk.load %u[d3 + d5*64] : memref<16384xbf16> -> bf16
  %24 = arith.extf %23 : bf16 to f32
  %25 = tk.load %y[d0*200704 + d1 + d3*3136] : memref<1605632xbf16> -> bf16
  %26 = arith.extf %25 : bf16 to f32
  %27 = arith.mulf %24, %26 : f32
  %28 = tk.reduce add %27 over [3] {tk.factors = bf16} : f32
  %29 = tk.load %m1[d5] : memref<256xbf16> -> bf16
  %30 = arith.extf %29 : bf16 to f32
  %31 = arith.subf %28, %30 : f32
  %32 = tk.load %v1[d5] : memref<256xbf16> -> bf16
  %33 = arith.extf %32 : bf16 to f32
  %34 = arith.addf %33, %11 : f32
  %35 = math.sqrt %34 : f32
  %36 = arith.divf %14, %35 : f32
  %37 = arith.mulf %31, %36 : f32
  %38 = tk.load %g1[d5] : memref<256xbf16> -> bf16
  %39 = arith.extf %38 : bf16 to f32
  %40 = arith.mulf %37, %39 : f32
  %41 = tk.load %b1[d5] : memref<256xbf16> -> bf16
  %42 = arith.extf %41 : bf16 to f32
  %43 = arith.addf %40, %42 : f32
  %44 = arith.addf %43, %22 : f32
  %45 = arith.constant 0.000000e+00 : f32
  %46 = arith.maximumf %45, %44 : f32
  %47 = arith.truncf %46 : f32 to bf16
  tk.store %47, %o[d0*802816 + d1 + d5*3136] : bf16, memref<6422528xbf16>
  %48 = tk.load %t[d4*256 + d5] : memref<32768xbf16> -> bf16
  %49 = arith.extf %48 : bf16 to f32
  %50 = arith.mulf %49, %46 : f32
  %51 = tk.reduce add %50 over [5] {tk.factors = bf16} : f32
  %52 = tk.load %m2[d4] : memref<128xbf16> -> bf16
  %53 = arith.extf %52 : bf16 to f32
  %54 = arith.subf %51, %53 : f32
  %55 = tk.load %v2[d4] : memref<128xbf16> -> bf16
  %56 = arith.extf %55 : bf16 to f32
  %57 = arith.addf %56, %11 : f32
  %58 = math.sqrt %57 : f32
  %59 = arith.divf %14, %58 : f32
  %60 = arith.mulf %54, %59 : f32
  %61 = tk.load %g2[d4] : memref<128xbf16> -> bf16
  %62 = arith.extf %61 : bf16 to f32
  %63 = arith.mulf %60, %62 : f32
  %64 = tk.load %b2[d4] : memref<128xbf16> -> bf16
  %65 = arith.extf %64 : bf16 to f32
  %66 = arith.addf %63, %65 : f32
  %67 = arith.maximumf %45, %66 : f32
  %68 = arith.truncf %67 : f32 to bf16
  tk.store %68, %p[d0*401408 + d1 + d4*3136] : bf16, memref<3211264xbf16>
}
