// RUN: tilewright-opt %s -p 'schedule-gpu{shared=64 lanes=64}' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'schedule-gpu{shared=160}' --split-input-file | filecheck %s --check-prefix=SHORT

// Warps of 64 lanes keep a truth value of all lanes in two scalar registers: where a mask is made of several tests,
// a program takes fewer keys at a time. Documents that are causal, whose blocks are listed: forward, capped.

// CHECK-LABEL: tk.func @documents
// CHECK-SAME:  tk.blocks = array<i64: 0, 1, 1, 128, 2, 64, 3, 64, 4, 1, 5, 16>, tk.grid = 2 : i64, tk.warps = 8
// SHORT-LABEL: tk.func @documents
// SHORT-SAME:  tk.blocks = array<i64: 0, 1, 1, 128, 2, 64, 3, 64, 4, 1, 5, 64>, tk.grid = 2 : i64, tk.warps = 8
tk.func @documents [8, 4096, 64, 64, 64, 4096] (%q: memref<2097152xbf16>, %k: memref<2097152xbf16>, %docs: memref<4096xi64>, %v: memref<2097152xbf16>, %some: memref<1024xi32>, %nsome: memref<32xi32>, %whole: memref<1024xi32>, %nwhole: memref<32xi32>, %lse: memref<32768xf32>, %o: memref<2097152xbf16>) {
  %0 = arith.constant 2.000000e+00 : f32
  %1 = arith.constant 5.000000e-01 : f32
  %2 = arith.constant 1.250000e-01 : f32
  %3 = tk.load %q[d0*262144 + d1*64 + d3] : memref<2097152xbf16> -> bf16
  %4 = arith.extf %3 : bf16 to f32
  %5 = tk.load %k[d0*262144 + d3 + d5*64] : memref<2097152xbf16> -> bf16
  %6 = arith.extf %5 : bf16 to f32
  %7 = arith.mulf %4, %6 : f32
  %8 = tk.reduce add %7 over [3] {tk.factors = bf16} : f32
  %9 = arith.mulf %8, %2 : f32
  %10 = arith.mulf %9, %1 : f32
  %11 = math.tanh %10 : f32
  %12 = arith.mulf %11, %0 : f32
  %13 = tk.index "d1" : i64
  %14 = tk.index "d5" : i64
  %15 = arith.cmpi sge, %13, %14 : i64
  %16 = tk.load %docs[d1] : memref<4096xi64> -> i64
  %17 = tk.load %docs[d5] : memref<4096xi64> -> i64
  %18 = arith.cmpi eq, %16, %17 : i64
  %19 = arith.andi %18, %15 : i1
  %20 = tk.index "d4" : i64
  %21 = tk.load %nsome[(d1 floordiv 128)] : memref<32xi32> -> i32
  %22 = arith.extsi %21 : i32 to i64
  %23 = arith.cmpi slt, %20, %22 : i64
  %24 = arith.index_cast %20 : i64 to index
  %25 = arith.constant 0 : i32
  %26 = tk.load %some[i0 + (d1 floordiv 128)*32](%24) if %23 else %25 : memref<1024xi32> -> i32
  %27 = arith.extsi %26 : i32 to i64
  %28 = tk.load %nwhole[(d1 floordiv 128)] : memref<32xi32> -> i32
  %29 = arith.extsi %28 : i32 to i64
  %30 = arith.subi %20, %22 : i64
  %31 = arith.cmpi slt, %30, %29 : i64
  %32 = arith.cmpi sge, %20, %22 : i64
  %33 = arith.andi %32, %31 : i1
  %34 = arith.index_cast %30 : i64 to index
  %35 = tk.load %whole[i0 + (d1 floordiv 128)*32](%34) if %33 else %25 : memref<1024xi32> -> i32
  %36 = arith.extsi %35 : i32 to i64
  %37 = arith.select %33, %36, %27 : i64
  %38 = arith.addi %22, %29 : i64
  %39 = tk.index "(d5 floordiv 128)" : i64
  %40 = arith.cmpi eq, %37, %39 : i64
  %41 = arith.cmpi slt, %20, %38 : i64
  %42 = arith.andi %40, %41 : i1
  %43 = tk.reduce or %42 over [4] {tk.distinct} : i1
  %44 = arith.andi %19, %43 : i1
  %45 = arith.constant 0xff800000 : f32
  %46 = arith.select %44, %12, %45 : f32
  %47 = tk.reduce max %46 over [5] : f32
  %48 = math.absf %47 : f32
  %49 = arith.constant 0.000000e+00 : f32
  %50 = arith.constant 0x7f800000 : f32
  %51 = arith.cmpf oeq, %48, %50 : f32
  %52 = arith.select %51, %49, %47 : f32
  %53 = arith.subf %47, %47 : f32
  %54 = arith.subf %46, %52 : f32
  %55 = math.exp %54 : f32
  %56 = tk.reduce add %55 over [5] : f32
  %57 = math.log %56 : f32
  %58 = arith.addf %57, %52 : f32
  %59 = arith.cmpf oeq, %47, %45 : f32
  %60 = arith.select %59, %45, %58 : f32
  %61 = arith.addf %56, %53 : f32
  %62 = arith.constant 0.693147182 : f32
  %63 = arith.divf %60, %62 : f32
  tk.store %63, %lse[d0*4096 + d1] : f32, memref<32768xf32>
  %64 = tk.load %v[d0*262144 + d2 + d5*64] : memref<2097152xbf16> -> bf16
  %65 = arith.extf %64 : bf16 to f32
  %66 = arith.mulf %55, %65 : f32
  %67 = tk.reduce add %66 over [5] {tk.factors = bf16} : f32
  %68 = arith.divf %67, %61 : f32
  %69 = arith.select %59, %67, %68 : f32
  %70 = arith.truncf %69 : f32 to bf16
  tk.store %70, %o[d0*262144 + d1*64 + d2] : bf16, memref<2097152xbf16>
}

// -----

// The gradient of queries.
// CHECK-LABEL: tk.func @documents_query_grad
// CHECK-SAME:  tk.blocks = array<i64: 0, 1, 1, 128, 2, 64, 3, 64, 4, 64, 5, 1, 6, 16>
// SHORT-LABEL: tk.func @documents_query_grad
// SHORT-SAME:  tk.blocks = array<i64: 0, 1, 1, 128, 2, 64, 3, 64, 4, 64, 5, 1, 6, 64>
tk.func @documents_query_grad [8, 4096, 64, 64, 64, 64, 4096] (%g: memref<2097152xbf16>, %o: memref<2097152xbf16>, %lse: memref<32768xf32>, %v: memref<2097152xbf16>, %q: memref<2097152xbf16>, %k: memref<2097152xbf16>, %docs: memref<4096xi64>, %seen: memref<1024xi1>, %some: memref<1024xi32>, %nsome: memref<32xi32>, %whole: memref<1024xi32>, %nwhole: memref<32xi32>, %t: memref<32768xf32>, %gq: memref<2097152xbf16>) {
  %0 = tk.load %g[d0*262144 + d1*64 + d2] : memref<2097152xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %o[d0*262144 + d1*64 + d2] : memref<2097152xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %3, %1 : f32
  %5 = tk.reduce add %4 over [2] : f32
  tk.store %5, %t[d0*4096 + d1] : f32, memref<32768xf32>
  %6 = arith.constant 0xff800000 : f32
  %7 = arith.constant 0.693147182 : f32
  %8 = tk.load %lse[d0*4096 + d1] : memref<32768xf32> -> f32
  %9 = arith.mulf %8, %7 : f32
  %10 = arith.cmpf oeq, %9, %6 : f32
  %11 = arith.constant 0.000000e+00 : f32
  %12 = tk.load %v[d0*262144 + d2 + d6*64] : memref<2097152xbf16> -> bf16
  %13 = arith.extf %12 : bf16 to f32
  %14 = arith.mulf %1, %13 : f32
  %15 = tk.reduce add %14 over [2] {tk.factors = bf16} : f32
  %16 = arith.subf %15, %5 : f32
  %17 = arith.addf %16, %11 : f32
  %18 = tk.load %q[d0*262144 + d1*64 + d3] : memref<2097152xbf16> -> bf16
  %19 = arith.extf %18 : bf16 to f32
  %20 = tk.load %k[d0*262144 + d3 + d6*64] : memref<2097152xbf16> -> bf16
  %21 = arith.extf %20 : bf16 to f32
  %22 = arith.mulf %19, %21 : f32
  %23 = tk.reduce add %22 over [3] {tk.factors = bf16} : f32
  %24 = arith.constant 1.250000e-01 : f32
  %25 = arith.mulf %23, %24 : f32
  %26 = tk.index "d1" : i64
  %27 = tk.index "d6" : i64
  %28 = arith.cmpi sge, %26, %27 : i64
  %29 = tk.load %docs[d1] : memref<4096xi64> -> i64
  %30 = tk.load %docs[d6] : memref<4096xi64> -> i64
  %31 = arith.cmpi eq, %29, %30 : i64
  %32 = arith.andi %31, %28 : i1
  %33 = tk.index "d5" : i64
  %34 = tk.load %nsome[(d1 floordiv 128)] : memref<32xi32> -> i32
  %35 = arith.extsi %34 : i32 to i64
  %36 = arith.cmpi slt, %33, %35 : i64
  %37 = arith.index_cast %33 : i64 to index
  %38 = arith.constant 0 : i32
  %39 = tk.load %some[i0 + (d1 floordiv 128)*32](%37) if %36 else %38 : memref<1024xi32> -> i32
  %40 = arith.extsi %39 : i32 to i64
  %41 = tk.load %nwhole[(d1 floordiv 128)] : memref<32xi32> -> i32
  %42 = arith.extsi %41 : i32 to i64
  %43 = arith.subi %33, %35 : i64
  %44 = arith.cmpi slt, %43, %42 : i64
  %45 = arith.cmpi sge, %33, %35 : i64
  %46 = arith.andi %45, %44 : i1
  %47 = arith.index_cast %43 : i64 to index
  %48 = tk.load %whole[i0 + (d1 floordiv 128)*32](%47) if %46 else %38 : memref<1024xi32> -> i32
  %49 = arith.extsi %48 : i32 to i64
  %50 = arith.select %46, %49, %40 : i64
  %51 = arith.addi %35, %42 : i64
  %52 = tk.index "(d6 floordiv 128)" : i64
  %53 = arith.cmpi eq, %50, %52 : i64
  %54 = arith.cmpi slt, %33, %51 : i64
  %55 = arith.andi %53, %54 : i1
  %56 = tk.reduce or %55 over [5] {tk.distinct} : i1
  %57 = arith.andi %32, %56 : i1
  %58 = tk.load %seen[(d1 floordiv 128) + (d6 floordiv 128)*32] : memref<1024xi1> -> i1
  %59 = arith.andi %57, %58 : i1
  %60 = arith.select %59, %25, %6 : f32
  %61 = arith.subf %60, %9 : f32
  %62 = math.exp %61 : f32
  %63 = arith.select %10, %11, %62 : f32
  %64 = arith.mulf %63, %17 : f32
  %65 = arith.mulf %64, %24 : f32
  %66 = arith.truncf %65 {tk.rounded} : f32 to bf16
  %67 = arith.extf %66 : bf16 to f32
  %68 = arith.select %59, %67, %11 : f32
  %69 = tk.load %k[d0*262144 + d4 + d6*64] : memref<2097152xbf16> -> bf16
  %70 = arith.extf %69 : bf16 to f32
  %71 = arith.mulf %68, %70 : f32
  %72 = tk.reduce add %71 over [6] {tk.factors = bf16} : f32
  %73 = arith.truncf %72 : f32 to bf16
  tk.store %73, %gq[d0*262144 + d1*64 + d4] : bf16, memref<2097152xbf16>
}

// -----

// One test alone, and what makes it visible at all, leave room.
// CHECK-LABEL: tk.func @causal
// CHECK-SAME:  tk.blocks = array<i64: 0, 1, 1, 128, 2, 64, 3, 64, 4, 1, 5, 32>
tk.func @causal [8, 4096, 64, 64, 64, 4096] (%q: memref<2097152xbf16>, %k: memref<2097152xbf16>, %v: memref<2097152xbf16>, %some: memref<1024xi32>, %nsome: memref<32xi32>, %whole: memref<1024xi32>, %nwhole: memref<32xi32>, %lse: memref<32768xf32>, %o: memref<2097152xbf16>) {
  %0 = arith.constant 1.250000e-01 : f32
  %1 = tk.load %q[d0*262144 + d1*64 + d3] : memref<2097152xbf16> -> bf16
  %2 = arith.extf %1 : bf16 to f32
  %3 = tk.load %k[d0*262144 + d3 + d5*64] : memref<2097152xbf16> -> bf16
  %4 = arith.extf %3 : bf16 to f32
  %5 = arith.mulf %2, %4 : f32
  %6 = tk.reduce add %5 over [3] {tk.factors = bf16} : f32
  %7 = arith.mulf %6, %0 : f32
  %8 = tk.index "d1" : i64
  %9 = tk.index "d5" : i64
  %10 = arith.cmpi sge, %8, %9 : i64
  %11 = tk.index "d4" : i64
  %12 = tk.load %nsome[(d1 floordiv 128)] : memref<32xi32> -> i32
  %13 = arith.extsi %12 : i32 to i64
  %14 = arith.cmpi slt, %11, %13 : i64
  %15 = arith.index_cast %11 : i64 to index
  %16 = arith.constant 0 : i32
  %17 = tk.load %some[i0 + (d1 floordiv 128)*32](%15) if %14 else %16 : memref<1024xi32> -> i32
  %18 = arith.extsi %17 : i32 to i64
  %19 = tk.load %nwhole[(d1 floordiv 128)] : memref<32xi32> -> i32
  %20 = arith.extsi %19 : i32 to i64
  %21 = arith.subi %11, %13 : i64
  %22 = arith.cmpi slt, %21, %20 : i64
  %23 = arith.cmpi sge, %11, %13 : i64
  %24 = arith.andi %23, %22 : i1
  %25 = arith.index_cast %21 : i64 to index
  %26 = tk.load %whole[i0 + (d1 floordiv 128)*32](%25) if %24 else %16 : memref<1024xi32> -> i32
  %27 = arith.extsi %26 : i32 to i64
  %28 = arith.select %24, %27, %18 : i64
  %29 = arith.addi %13, %20 : i64
  %30 = tk.index "(d5 floordiv 128)" : i64
  %31 = arith.cmpi eq, %28, %30 : i64
  %32 = arith.cmpi slt, %11, %29 : i64
  %33 = arith.andi %31, %32 : i1
  %34 = tk.reduce or %33 over [4] {tk.distinct} : i1
  %35 = arith.andi %10, %34 : i1
  %36 = arith.constant 0xff800000 : f32
  %37 = arith.select %35, %7, %36 : f32
  %38 = tk.reduce max %37 over [5] : f32
  %39 = math.absf %38 : f32
  %40 = arith.constant 0.000000e+00 : f32
  %41 = arith.constant 0x7f800000 : f32
  %42 = arith.cmpf oeq, %39, %41 : f32
  %43 = arith.select %42, %40, %38 : f32
  %44 = arith.subf %38, %38 : f32
  %45 = arith.subf %37, %43 : f32
  %46 = math.exp %45 : f32
  %47 = tk.reduce add %46 over [5] : f32
  %48 = math.log %47 : f32
  %49 = arith.addf %48, %43 : f32
  %50 = arith.cmpf oeq, %38, %36 : f32
  %51 = arith.select %50, %36, %49 : f32
  %52 = arith.addf %47, %44 : f32
  %53 = arith.constant 0.693147182 : f32
  %54 = arith.divf %51, %53 : f32
  tk.store %54, %lse[d0*4096 + d1] : f32, memref<32768xf32>
  %55 = tk.load %v[d0*262144 + d2 + d5*64] : memref<2097152xbf16> -> bf16
  %56 = arith.extf %55 : bf16 to f32
  %57 = arith.mulf %46, %56 : f32
  %58 = tk.reduce add %57 over [5] {tk.factors = bf16} : f32
  %59 = arith.divf %58, %52 : f32
  %60 = arith.select %50, %58, %59 : f32
  %61 = arith.truncf %60 : f32 to bf16
  tk.store %61, %o[d0*262144 + d1*64 + d2] : bf16, memref<2097152xbf16>
}

// -----

// Functions are computed by cases: two of what keys are multiplied by, two more of scores.
// CHECK-LABEL: tk.func @turned_keys
// CHECK-SAME:  tk.blocks = array<i64: 0, 128, 1, 64, 3, 64, 2, 16>
// SHORT-LABEL: tk.func @turned_keys
// SHORT-SAME:  tk.blocks = array<i64: 0, 128, 1, 64, 3, 64, 2, 64>
tk.func @turned_keys [512, 64, 512, 64] (%q: memref<32768xbf16>, %k: memref<32768xbf16>, %a: memref<32768xf32>, %v: memref<32768xbf16>, %o: memref<32768xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tk.load %q[d0*64 + d3] : memref<32768xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d2*64 + d3] : memref<32768xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = tk.load %a[d2*64 + d3] : memref<32768xf32> -> f32
  %5 = math.tanh %4 : f32
  %6 = math.tanh %3 : f32
  %7 = arith.mulf %3, %5 : f32
  %8 = arith.mulf %7, %6 : f32
  %9 = arith.truncf %8 {tk.rounded} : f32 to bf16
  %10 = arith.extf %9 : bf16 to f32
  %11 = arith.mulf %1, %10 : f32
  %12 = tk.reduce add %11 over [3] {tk.factors = bf16} : f32
  %13 = math.tanh %12 : f32
  %14 = math.exp %13 : f32
  %15 = tk.index "d0" : i64
  %16 = tk.index "d2" : i64
  %17 = arith.cmpi sge, %15, %16 : i64
  %18 = arith.select %17, %14, %zero : f32
  %19 = arith.truncf %18 {tk.rounded} : f32 to bf16
  %20 = arith.extf %19 : bf16 to f32
  %21 = tk.load %v[d2*64 + d1] : memref<32768xbf16> -> bf16
  %22 = arith.extf %21 : bf16 to f32
  %23 = arith.mulf %20, %22 : f32
  %24 = tk.reduce add %23 over [2] {tk.factors = bf16} : f32
  tk.store %24, %o[d0*64 + d1] : f32, memref<32768xf32>
}
