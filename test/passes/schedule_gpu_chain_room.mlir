// RUN: tilewright-opt %s -p 'schedule-gpu{shared=227 cores=1 units=group}' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'schedule-gpu{shared=128 cores=1 units=group}' --split-input-file | filecheck %s --check-prefix=LITTLE

// What stands beside the products of a chain takes registers, and shared memory: fewer keys at a time, fewer stages.

// In a short chain all steps are masked; of a long one, those of which the mask hides nothing are apart.
// CHECK-LABEL: tk.func @masked_in_short
// CHECK-SAME:  tk.blocks = array<i64: 0, 1, 1, 128, 2, 128, 3, 128, 4, 128, 5, 128, 6, 32>
tk.func @masked_in_short [16, 130, 128, 128, 128, 128, 130] (%0: memref<266240xbf16>, %1: memref<266240xbf16>, %2: memref<266240xbf16>, %3: memref<266240xbf16>, %4: memref<2080xf32>, %5: memref<2080xf32>, %6: memref<266240xbf16>, %7: memref<266240xbf16>) {
  %8 = tk.load %0[d0*16640 + d4 + d6*128] : memref<266240xbf16> -> bf16
  %9 = arith.extf %8 : bf16 to f32
  %10 = tk.load %1[d0*16640 + d1*128 + d4] : memref<266240xbf16> -> bf16
  %11 = arith.extf %10 : bf16 to f32
  %12 = arith.mulf %9, %11 : f32
  %13 = tk.reduce add %12 over [4] {tk.factors = bf16} : f32
  %14 = arith.constant 0.0883883461 : f32
  %15 = arith.mulf %13, %14 : f32
  %16 = arith.constant 0xff800000 : f32
  %17 = tk.load %4[d6*8 + (d0 floordiv 8)*1040 + (d0 mod 8)] : memref<2080xf32> -> f32
  %18 = arith.cmpf oeq, %17, %16 : f32
  %19 = arith.constant 0.000000e+00 : f32
  %20 = arith.select %18, %19, %17 : f32
  %i = tk.index "d1 - d6" : i64
  %n = arith.constant 1 : i64
  %t = arith.cmpi sle, %i, %n : i64
  %m = arith.select %t, %15, %16 : f32
  %21 = arith.subf %m, %20 : f32
  %22 = math.exp %21 : f32
  %23 = tk.load %3[d0*16640 + d3 + d6*128] : memref<266240xbf16> -> bf16
  %24 = arith.extf %23 : bf16 to f32
  %25 = arith.mulf %22, %24 : f32
  %26 = tk.reduce add %25 over [6] {tk.factors = bf16} : f32
  %27 = tk.load %3[d0*16640 + d5 + d6*128] : memref<266240xbf16> -> bf16
  %28 = arith.extf %27 : bf16 to f32
  %29 = tk.load %2[d0*16640 + d1*128 + d5] : memref<266240xbf16> -> bf16
  %30 = arith.extf %29 : bf16 to f32
  %31 = tk.load %5[d0*130 + d6] : memref<2080xf32> -> f32
  %32 = arith.mulf %28, %30 : f32
  %33 = tk.reduce add %32 over [5] {tk.factors = bf16} : f32
  %34 = arith.subf %33, %31 : f32
  %35 = arith.mulf %22, %34 : f32
  %36 = tk.load %0[d0*16640 + d2 + d6*128] : memref<266240xbf16> -> bf16
  %37 = arith.extf %36 : bf16 to f32
  %38 = arith.mulf %35, %37 : f32
  %39 = tk.reduce add %38 over [6] {tk.factors = bf16} : f32
  %40 = arith.mulf %39, %14 : f32
  %41 = arith.truncf %40 : f32 to bf16
  tk.store %41, %6[d1*1024 + d2 + (d0 floordiv 8)*133120 + (d0 mod 8)*128] : bf16, memref<266240xbf16>
  %42 = arith.truncf %26 : f32 to bf16
  tk.store %42, %7[d1*1024 + d3 + (d0 floordiv 8)*133120 + (d0 mod 8)*128] : bf16, memref<266240xbf16>
}

// -----

// CHECK-LABEL: tk.func @masked_in_long
// CHECK-SAME:  tk.blocks = array<i64: 0, 1, 1, 128, 2, 128, 3, 128, 4, 128, 5, 128, 6, 64>
tk.func @masked_in_long [16, 1024, 128, 128, 128, 128, 1024] (%0: memref<2097152xbf16>, %1: memref<2097152xbf16>, %2: memref<2097152xbf16>, %3: memref<2097152xbf16>, %4: memref<16384xf32>, %5: memref<16384xf32>, %6: memref<2097152xbf16>, %7: memref<2097152xbf16>) {
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
  %i = tk.index "d1 - d6" : i64
  %n = arith.constant 1 : i64
  %t = arith.cmpi sle, %i, %n : i64
  %m = arith.select %t, %15, %16 : f32
  %21 = arith.subf %m, %20 : f32
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

// A bias of which no four bytes are loaded at a time is on its way in registers.
// CHECK-LABEL: tk.func @odd_bias
// CHECK-SAME:  tk.blocks = array<i64: 0, 1, 1, 128, 2, 128, 3, 128, 4, 32>
tk.func @odd_bias [16, 1024, 128, 128, 1024] (%0: memref<2097152xbf16>, %1: memref<2097152xbf16>, %bias: memref<1049600xbf16>, %2: memref<2097152xbf16>, %3: memref<2097152xbf16>, %4: memref<16384xf32>) {
  %5 = tk.load %0[d0*131072 + d1*128 + d3] : memref<2097152xbf16> -> bf16
  %6 = arith.extf %5 : bf16 to f32
  %7 = tk.load %1[d0*131072 + d3 + d4*128] : memref<2097152xbf16> -> bf16
  %8 = arith.extf %7 : bf16 to f32
  %9 = arith.mulf %6, %8 : f32
  %10 = tk.reduce add %9 over [3] {tk.factors = bf16} : f32
  %11 = arith.constant 0.0883883461 : f32
  %x = arith.mulf %10, %11 : f32
  %b = tk.load %bias[d1*1025 + d4] : memref<1049600xbf16> -> bf16
  %f = arith.extf %b : bf16 to f32
  %12 = arith.addf %x, %f : f32
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

// CHECK-LABEL: tk.func @even_bias
// CHECK-SAME:  tk.blocks = array<i64: 0, 1, 1, 128, 2, 128, 3, 128, 4, 64>
tk.func @even_bias [16, 1024, 128, 128, 1024] (%0: memref<2097152xbf16>, %1: memref<2097152xbf16>, %bias: memref<1050624xbf16>, %2: memref<2097152xbf16>, %3: memref<2097152xbf16>, %4: memref<16384xf32>) {
  %5 = tk.load %0[d0*131072 + d1*128 + d3] : memref<2097152xbf16> -> bf16
  %6 = arith.extf %5 : bf16 to f32
  %7 = tk.load %1[d0*131072 + d3 + d4*128] : memref<2097152xbf16> -> bf16
  %8 = arith.extf %7 : bf16 to f32
  %9 = arith.mulf %6, %8 : f32
  %10 = tk.reduce add %9 over [3] {tk.factors = bf16} : f32
  %11 = arith.constant 0.0883883461 : f32
  %x = arith.mulf %10, %11 : f32
  %b = tk.load %bias[d1*1026 + d4] : memref<1050624xbf16> -> bf16
  %f = arith.extf %b : bf16 to f32
  %12 = arith.addf %x, %f : f32
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

// What each step stores passes through shared memory.
// LITTLE-LABEL: tk.func @stored_scores
// LITTLE-SAME:  4, 64>{{.*}} tk.stages = 2
tk.func @stored_scores [16, 1024, 128, 128, 1024] (%0: memref<2097152xbf16>, %1: memref<2097152xbf16>, %2: memref<2097152xbf16>, %3: memref<2097152xbf16>, %4: memref<16384xf32>, %w: memref<16777216xbf16>) {
  %5 = tk.load %0[d0*131072 + d1*128 + d3] : memref<2097152xbf16> -> bf16
  %6 = arith.extf %5 : bf16 to f32
  %7 = tk.load %1[d0*131072 + d3 + d4*128] : memref<2097152xbf16> -> bf16
  %8 = arith.extf %7 : bf16 to f32
  %9 = arith.mulf %6, %8 : f32
  %10 = tk.reduce add %9 over [3] {tk.factors = bf16} : f32
  %11 = arith.constant 0.0883883461 : f32
  %12 = arith.mulf %10, %11 : f32
  %h = arith.truncf %12 : f32 to bf16
  tk.store %h, %w[d0*1048576 + d1*1024 + d4] : bf16, memref<16777216xbf16>
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

// LITTLE-LABEL: tk.func @nothing_stored
// LITTLE-SAME:  4, 64>{{.*}} tk.stages = 3
tk.func @nothing_stored [16, 1024, 128, 128, 1024] (%0: memref<2097152xbf16>, %1: memref<2097152xbf16>, %2: memref<2097152xbf16>, %3: memref<2097152xbf16>, %4: memref<16384xf32>) {
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
