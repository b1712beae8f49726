// RUN: tilewright-opt %s -p 'schedule-gpu{shared=160 cores=1}' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'schedule-gpu{shared=227 cores=1 from_shared=true}' --split-input-file | filecheck %s --check-prefix=SHARED
// RUN: tilewright-opt %s -p 'schedule-gpu{shared=227 cores=1 from_shared=true sums_apart=true}' --split-input-file | filecheck %s --check-prefix=APART
// RUN: tilewright-opt %s -p 'schedule-gpu{shared=64 lanes=64}' --split-input-file | filecheck %s --check-prefix=LANES

// How large the tile of a product is depends on what else wants registers.

// CHECK-LABEL:  tk.func @nothing_else
// CHECK-SAME:   tk.blocks = array<i64: 0, 128, 1, 256, 2, 64>
// SHARED-LABEL: tk.func @nothing_else
// SHARED-SAME:  tk.blocks = array<i64: 0, 128, 1, 256, 2, 64>
// APART-LABEL:  tk.func @nothing_else
// APART-SAME:   tk.blocks = array<i64: 0, 128, 1, 256, 2, 64>
tk.func @nothing_else [128, 256, 64] (%a: memref<8192xbf16>, %b: memref<16384xbf16>, %o: memref<32768xbf16>) {
  %0 = tk.load %a[d0*64 + d2] : memref<8192xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d2*256 + d1] : memref<16384xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
  %6 = arith.truncf %5 : f32 to bf16
  tk.store %6, %o[d0*256 + d1] : bf16, memref<32768xbf16>
}

// -----

// Sums that come from memory of their own come all at once, beside the tile that is added.

// CHECK-LABEL:  tk.func @adds_a_tile
// CHECK-SAME:   tk.blocks = array<i64: 0, 128, 1, 256, 2, 64>
// SHARED-LABEL: tk.func @adds_a_tile
// SHARED-SAME:  tk.blocks = array<i64: 0, 128, 1, 256, 2, 64>
// APART-LABEL:  tk.func @adds_a_tile
// APART-SAME:   tk.blocks = array<i64: 0, 128, 1, 128, 2, 64>
tk.func @adds_a_tile [128, 256, 64] (%a: memref<8192xbf16>, %b: memref<16384xbf16>, %c: memref<32768xbf16>, %o: memref<32768xbf16>) {
  %0 = tk.load %a[d0*64 + d2] : memref<8192xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d2*256 + d1] : memref<16384xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
  %6 = tk.load %c[d0*256 + d1] : memref<32768xbf16> -> bf16
  %7 = arith.extf %6 : bf16 to f32
  %8 = arith.addf %5, %7 : f32
  %9 = arith.truncf %8 : f32 to bf16
  tk.store %9, %o[d0*256 + d1] : bf16, memref<32768xbf16>
}

// -----

// Random numbers take more registers than other functions: less is left where factors are in registers, too.

// CHECK-LABEL:  tk.func @drops
// CHECK-SAME:   tk.blocks = array<i64: 0, 128, 1, 64, 2, 64>
// SHARED-LABEL: tk.func @drops
// SHARED-SAME:  tk.blocks = array<i64: 0, 128, 1, 128, 2, 64>
// APART-LABEL:  tk.func @drops
// APART-SAME:   tk.blocks = array<i64: 0, 128, 1, 64, 2, 64>
tk.func @drops [128, 256, 64] (%a: memref<8192xbf16>, %b: memref<16384xbf16>, %s: memref<1xi64>, %o: memref<32768xbf16>) {
  %0 = tk.load %a[d0*64 + d2] : memref<8192xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d2*256 + d1] : memref<16384xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
  %6 = tk.load %s[0] : memref<1xi64> -> i64
  %7 = tk.index "d0*256 + d1" : i64
  %8 = tk.random %6, %7 : f32
  %9 = arith.mulf %5, %8 : f32
  %10 = arith.truncf %9 : f32 to bf16
  tk.store %10, %o[d0*256 + d1] : bf16, memref<32768xbf16>
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

// A tile of f32 that is added takes as many registers as the sums of 128 x 256: half as many columns.
// CHECK-LABEL: @adds_f32
// CHECK-SAME: tk.blocks = array<i64: 0, 128, 1, 128, 2, 64>
// SHARED-LABEL: @adds_f32
// SHARED-SAME: tk.blocks = array<i64: 0, 128, 1, 128, 2, 64>
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
