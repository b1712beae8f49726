// RUN: tilewright-opt %s -p 'flatten-axes,schedule-gpu' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'flatten-axes,schedule-gpu{units=core shared=160}' --split-input-file | filecheck %s --check-prefix=APART
// RUN: tilewright-opt %s -p 'flatten-axes,schedule-gpu{units=group shared=160}' --split-input-file | filecheck %s --check-prefix=WIDE
// RUN: tilewright-opt %s -p 'flatten-axes,schedule-gpu{candidates=true}' --split-input-file | filecheck %s --check-prefix=OTHERS
// RUN: tilewright-opt %s -p 'flatten-axes,schedule-gpu,apply-schedule' --split-input-file | filecheck %s --check-prefix=APPLY

// A tile has all the rows that it reduces. Programs go along the parts and the other side, in groups of eight
// parts; other choices have other columns. Deviations from a mean want a tile twice, where matrix units keep it.

// CHECK-LABEL: tk.func @moments
// CHECK-SAME:  [196, 128, 256, 64]
// CHECK-SAME:  tk.blocks = array<i64: 1, 128, 0, 1, 2, 128, 3, 64>, tk.grid = 3 : i64, tk.warps = 8 : i64, {{.*}}, tk.swizzle = 8 : i64
// APART-LABEL: tk.func @moments
// APART-SAME:  tk.blocks = array<i64: 1, 128, 0, 1, 2, 128, 3, 64>
// WIDE-LABEL:  tk.func @moments
// WIDE-SAME:   tk.blocks = array<i64: 1, 128, 0, 1, 2, 128, 3, 64>
// OTHERS-LABEL: tk.func @moments
// OTHERS-NOT:  tk.blocks = array<i64: 1, 64
// APPLY-LABEL: tk.func @moments
// APPLY:       %[[T:.*]] = tk.for 3
// APPLY:       tk.collapse add %[[T]] dims [0] : vector<128x128xf32> -> vector<1x128xf32>
// APPLY:       arith.subf %[[T]]
// APPLY:       tk.collapse add %{{.*}} dims [0] : vector<128x128xf32> -> vector<1x128xf32>
// APPLY:       tk.collapse add %{{.*}} dims [0] : vector<128x128xf32> -> vector<1x128xf32>
// APPLY-NOT:   arith.select
// APPLY:       %[[M:.*]] = arith.addf
// APPLY:       tk.store %[[M]], %s[d0*256 + d2] lanes 1, 2 : vector<1x128xf32>, memref<50176xf32>
tk.func @moments [256, 196, 128, 64] (%x: memref<1605632xbf16>, %w: memref<16384xbf16>, %s: memref<50176xf32>, %q: memref<50176xf32>, %o: memref<6422528xbf16>) {
  %0 = tk.load %x[d1*8192 + d2*64 + d3] : memref<1605632xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %w[d0*64 + d3] : memref<16384xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [3] {tk.factors = bf16} : f32
  %6 = arith.truncf %5 : f32 to bf16
  tk.store %6, %o[d1*32768 + d2*256 + d0] : bf16, memref<6422528xbf16>
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %7, %8, %9 = tk.moments %5, %zero, %one over [2] {tk.of_tile} : f32
  tk.store %7, %s[d1*256 + d0] : f32, memref<50176xf32>
  tk.store %8, %q[d1*256 + d0] : f32, memref<50176xf32>
}

// -----

// Columns, and those of another tensor.

// CHECK-LABEL: tk.func @columns
// CHECK-SAME:  tk.blocks = array<i64: 2, 64, 1, 128, 0, 1, 3, 64>, tk.grid = 3 : i64
// APPLY-LABEL: tk.func @columns
// APPLY:       tk.collapse max %{{.*}} dims [1] : vector<128x64xf32> -> vector<128x1xf32>
// APPLY:       tk.store %{{.*}}, %s[d0*1000 + d1] lanes 1, 2 : vector<128x1xf32>, memref<16000xf32>
tk.func @columns [1000, 16, 64, 512] (%x: memref<512000xbf16>, %w: memref<524288xbf16>, %y: memref<1024000xbf16>, %s: memref<16000xf32>) {
  %0 = tk.load %x[d0*512 + d3] : memref<512000xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %w[d1*32768 + d2*512 + d3] : memref<524288xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [3] {tk.factors = bf16} : f32
  %6 = tk.load %y[d0*1024 + d1*64 + d2] : memref<1024000xbf16> -> bf16
  %7 = arith.extf %6 : bf16 to f32
  %8 = arith.mulf %5, %7 : f32
  %9 = tk.reduce max %8 over [2] {tk.of_tile} : f32
  tk.store %9, %s[d1*1000 + d0] : f32, memref<16000xf32>
}

// -----

// Rows of more than one axis, and matrices of a batch; no whole power of two is masked.

// CHECK-LABEL: tk.func @batch
// CHECK-SAME:  [2, 2, 24, 20, 16]
// CHECK-SAME:  tk.blocks = array<i64: 0, 1, 2, 32, 1, 1, 3, 32, 4, 16>, tk.grid = 4 : i64
// APPLY-LABEL: tk.func @batch
// APPLY:       arith.select
// APPLY:       tk.collapse add %{{.*}} dims [0] : vector<32x32xf32> -> vector<1x32xf32>
tk.func @batch [2, 20, 2, 3, 8, 16] (%x: memref<1536xf16>, %w: memref<640xf16>, %s: memref<80xf32>) {
  %0 = tk.load %x[d0*768 + d2*384 + d3*128 + d4*16 + d5] : memref<1536xf16> -> f16
  %1 = arith.extf %0 : f16 to f32
  %2 = tk.load %w[d0*320 + d1*16 + d5] : memref<640xf16> -> f16
  %3 = arith.extf %2 : f16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [5] {tk.factors = f16} : f32
  %6 = math.exp %5 : f32
  %7 = tk.reduce add %6 over [3, 4] {tk.of_tile} : f32
  tk.store %7, %s[d0*40 + d2*20 + d1] : f32, memref<80xf32>
}

// -----

// A tile with as many values beside the sums as its lanes have room for has eight warps, however large one
// might be of which one half follows the other.

// CHECK-LABEL: tk.func @gated_gradients
// CHECK-SAME:  tk.blocks = array<i64: 0, 64, 1, 128, 2, 64>, tk.grid = 2 : i64, tk.warps = 8
// WIDE-LABEL:  tk.func @gated_gradients
// WIDE-SAME:   tk.blocks = array<i64: 0, 64, 1, 128, 2, 64>, tk.grid = 2 : i64, tk.warps = 8
tk.func @gated_gradients [516, 4096, 512] (%0: memref<264192xbf16>, %1: memref<2097152xbf16>, %2: memref<4227072xbf16>, %3: memref<4227072xbf16>, %4: memref<4227072xbf16>) {
  %5 = tk.load %0[d0*512 + d2] : memref<264192xbf16> -> bf16
  %6 = arith.extf %5 : bf16 to f32
  %7 = tk.load %1[d1*512 + d2] : memref<2097152xbf16> -> bf16
  %8 = arith.extf %7 : bf16 to f32
  %9 = arith.mulf %6, %8 : f32
  %10 = tk.reduce add %9 over [2] {tk.factors = bf16} : f32
  %11 = tk.load %2[d0*2048 + (d1 floordiv 1024)*1056768 + (d1 mod 1024)] : memref<4227072xbf16> -> bf16
  %12 = arith.extf %11 : bf16 to f32
  %13 = arith.constant 1.000000e+00 : f32
  %14 = arith.negf %12 : f32
  %15 = math.exp %14 : f32
  %16 = arith.addf %13, %15 : f32
  %17 = arith.divf %13, %16 : f32
  %18 = arith.mulf %12, %17 : f32
  %19 = arith.mulf %10, %18 : f32
  %20 = arith.truncf %19 : f32 to bf16
  tk.store %20, %3[d0*2048 + (d1 floordiv 1024)*1056768 + (d1 mod 1024) + 1024] : bf16, memref<4227072xbf16>
  %21 = tk.load %2[d0*2048 + (d1 floordiv 1024)*1056768 + (d1 mod 1024) + 1024] : memref<4227072xbf16> -> bf16
  %22 = arith.extf %21 : bf16 to f32
  %23 = arith.mulf %10, %22 : f32
  %24 = arith.mulf %23, %17 : f32
  %25 = arith.subf %13, %17 : f32
  %26 = arith.mulf %12, %25 : f32
  %27 = arith.addf %26, %13 : f32
  %28 = arith.mulf %24, %27 : f32
  %29 = arith.truncf %28 : f32 to bf16
  tk.store %29, %4[d0*2048 + (d1 floordiv 1024)*1056768 + (d1 mod 1024)] : bf16, memref<4227072xbf16>
}
