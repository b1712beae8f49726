// RUN: tilewright-opt %s -p split-head-dims --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'split-head-dims{units=group}' --split-input-file | filecheck %s --check-prefix=GROUP
// RUN: tilewright-opt %s -p 'split-head-dims{lanes=64}' --split-input-file | filecheck %s --check-prefix=GROUP
// RUN: tilewright-opt %s -p 'split-head-dims{tf32=true}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=ROUNDED
// RUN: tilewright-opt %s -p 'split-head-dims,schedule-gpu{units=group shared=227},apply-schedule' --split-input-file | filecheck %s --check-prefix=APPLY
// RUN: tilewright-opt %s -p split-head-dims --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// Heads of 80 elements are 64 and 16: scores are summed in two parts, of which the second goes on from the
// first, and columns of results have sums and stores of their own. What has no head is computed once.

// CHECK-LABEL: tk.func @attention [16, 64, 64, 16, 16, 16]
// CHECK-DAG:   %[[Q0:.*]] = tk.load %q[d0*80 + d2]
// CHECK-DAG:   %[[Q1:.*]] = tk.load %q[d0*80 + d5 + 64]
// CHECK-DAG:   tk.load %k[d2 + d3*80]
// CHECK-DAG:   tk.load %k[d3*80 + d5 + 64]
// CHECK:       %[[X0:.*]] = tk.reduce add %{{.*}} over [2] {tk.factors = bf16} : f32
// CHECK-NEXT:  %[[X1:.*]] = tk.reduce add %{{.*}} over [5] {tk.factors = bf16} : f32
// CHECK-NEXT:  %[[X:.*]] = arith.addf %[[X0]], %[[X1]] : f32
// CHECK-NEXT:  tk.reduce max %[[X]] over [3] : f32
// CHECK:       tk.reduce add %{{.*}} over [3] {tk.factors = bf16} : f32
// CHECK-NEXT:  tk.reduce add %{{.*}} over [3] {tk.factors = bf16} : f32
// CHECK:       tk.store %{{.*}}, %o[d0*80 + d1]
// CHECK-NEXT:  tk.store %{{.*}}, %o[d0*80 + d4 + 64]
// CHECK-NOT:   tk.store %{{.*}}, %o
// CHECK:       tk.store %{{.*}}, %l[d0]
// CHECK-NOT:   tk.store
// APPLY-LABEL: tk.func @attention
// APPLY:       tk.for 3
// APPLY:       %[[A:.*]] = tk.mma %{{.*}}, vector<16x64xbf16>, vector<64x16xbf16> -> vector<16x16xf32>
// APPLY:       tk.mma %[[A]], %{{.*}}, vector<16x16xbf16>, vector<16x16xbf16> -> vector<16x16xf32>
// APPLY:       %[[P:.*]] = arith.truncf %{{.*}} : vector<16x16xf32> to vector<16x16xbf16>
// APPLY-NOT:   arith.truncf
// APPLY:       tk.mma %{{.*}}, %[[P]], %{{.*}} : vector<16x64xf32>, vector<16x16xbf16>, vector<16x64xbf16>
// APPLY-NOT:   arith.truncf
// APPLY:       tk.mma %{{.*}}, %[[P]], %{{.*}} : vector<16x16xf32>, vector<16x16xbf16>, vector<16x16xbf16>
// APPLY:       tk.yield
tk.func @attention [16, 80, 80, 16] (%q: memref<1280xbf16>, %k: memref<1280xbf16>, %v: memref<1280xbf16>, %o: memref<1280xbf16>, %l: memref<16xf32>) {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %0 = tk.load %q[d0*80 + d2] : memref<1280xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d3*80 + d2] : memref<1280xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
  %6 = tk.reduce max %5 over [3] : f32
  %hidden = arith.cmpf oeq, %6, %low : f32
  %shift = arith.select %hidden, %zero, %6 : f32
  %7 = arith.subf %5, %shift : f32
  %8 = math.exp %7 : f32
  %9 = tk.reduce add %8 over [3] : f32
  %10 = tk.load %v[d3*80 + d1] : memref<1280xbf16> -> bf16
  %11 = arith.extf %10 : bf16 to f32
  %12 = arith.mulf %8, %11 : f32
  %13 = tk.reduce add %12 over [3] {tk.factors = bf16} : f32
  %14 = arith.divf %13, %9 : f32
  %15 = arith.truncf %14 : f32 to bf16
  tk.store %15, %o[d0*80 + d1] : bf16, memref<1280xbf16>
  tk.store %9, %l[d0] : f32, memref<16xf32>
}

// -----

// Sums of rows are sums of both parts. A place in the head goes on counting: of 72 elements the last 8 are the
// second part, which wants a tile of 16.

// Factors that are rounded for matrix units are not cut.

// ROUNDED:     tk.func at {{.*}}: parts of rounded factors take more registers than zeros do
// ROUNDED:     tk.func @gradient [16, 72, 72, 16]
// CHECK-LABEL: tk.func @gradient [16, 64, 64, 16, 8, 8]
// CHECK:       tk.index "d1" : i64
// CHECK-NEXT:  tk.index "d4 + 64" : i64
// CHECK:       %[[S0:.*]] = tk.reduce add %{{.*}} over [2] : f32
// CHECK-NEXT:  %[[S1:.*]] = tk.reduce add %{{.*}} over [5] : f32
// CHECK-NEXT:  arith.addf %[[S0]], %[[S1]] : f32
tk.func @gradient [16, 72, 72, 16] (%q: memref<1152xf32>, %k: memref<1152xf32>, %g: memref<1152xf32>, %o: memref<1152xf32>) {
  %i = tk.index "d1" : i64
  %n = arith.constant 40 : i64
  %c = arith.cmpi slt, %i, %n : i64
  %0 = tk.load %q[d0*72 + d2] : memref<1152xf32> -> f32
  %1 = tk.load %g[d0*72 + d2] : memref<1152xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [2] : f32
  %4 = tk.load %k[d3*72 + d2] : memref<1152xf32> -> f32
  %5 = arith.mulf %0, %4 : f32
  %6 = tk.reduce add %5 over [2] : f32
  %7 = arith.subf %6, %3 : f32
  %8 = tk.load %k[d3*72 + d1] : memref<1152xf32> -> f32
  %9 = arith.mulf %7, %8 : f32
  %10 = tk.reduce add %9 over [3] : f32
  %z = arith.constant 0.0 : f32
  %11 = arith.select %c, %10, %z : f32
  tk.store %11, %o[d0*72 + d1] : f32, memref<1152xf32>
}

// -----

// Heads of 192 are 128 and 64 where registers need not hold all of a row; those of 112 would be no fewer.

// CHECK-LABEL: tk.func @of_groups [16, 112, 192, 16]
// GROUP-LABEL: tk.func @of_groups [16, 112, 128, 16, 64]
// GROUP:       tk.load %q[d0*192 + d4 + 128]
// GROUP:       tk.store
// GROUP-NOT:   tk.store
// REMARK:      tk.func at {{.*}}: its heads fill tiles, or are too large
tk.func @of_groups [16, 112, 192, 16] (%q: memref<3072xbf16>, %k: memref<3072xbf16>, %v: memref<1792xbf16>, %o: memref<1792xf32>) {
  %0 = tk.load %q[d0*192 + d2] : memref<3072xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d3*192 + d2] : memref<3072xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
  %6 = tk.load %v[d3*112 + d1] : memref<1792xbf16> -> bf16
  %7 = arith.extf %6 : bf16 to f32
  %8 = arith.mulf %5, %7 : f32
  %9 = tk.reduce add %8 over [3] {tk.factors = bf16} : f32
  tk.store %9, %o[d0*112 + d1] : f32, memref<1792xf32>
}

// -----

// In f32 threads hold the rows and columns that they multiply: a gradient, whose two products have a row of 96
// elements each in every step, sums 32 of them at a time. Matrix units (of f32 where warps have 64 lanes) do not
// mind. What two products share is held for both at once: nothing is gained.

// CHECK-LABEL: tk.func @of_floats [16, 32, 32, 16, 32, 32, 32, 32]
// CHECK-COUNT-3: tk.load %q
// CHECK-COUNT-3: tk.load %k
// CHECK-NOT:   tk.load %k
// CHECK:       tk.load %g
// GROUP-LABEL: tk.func @of_floats
// CHECK-LABEL: tk.func @of_shared_factors [16, 64, 64, 16, 32, 32]
// GROUP-LABEL: tk.func @of_shared_factors
tk.func @of_floats [16, 96, 96, 16] (%q: memref<1536xf32>, %k: memref<1536xf32>, %g: memref<1536xf32>, %v: memref<1536xf32>, %o: memref<1536xf32>) {
  %0 = tk.load %q[d0*96 + d1] : memref<1536xf32> -> f32
  %1 = tk.load %k[d3*96 + d1] : memref<1536xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [1] : f32
  %4 = tk.load %g[d0*96 + d2] : memref<1536xf32> -> f32
  %5 = tk.load %v[d3*96 + d2] : memref<1536xf32> -> f32
  %6 = arith.mulf %4, %5 : f32
  %7 = tk.reduce add %6 over [2] : f32
  %8 = arith.mulf %3, %7 : f32
  %9 = arith.mulf %8, %1 : f32
  %10 = tk.reduce add %9 over [3] : f32
  tk.store %10, %o[d0*96 + d1] : f32, memref<1536xf32>
}
tk.func @of_shared_factors [16, 96, 96, 16] (%q: memref<1536xf32>, %k: memref<1536xf32>, %g: memref<1536xf32>, %o: memref<1536xf32>) {
  %0 = tk.load %q[d0*96 + d1] : memref<1536xf32> -> f32
  %1 = tk.load %k[d3*96 + d1] : memref<1536xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [1] : f32
  %4 = tk.load %g[d0*96 + d2] : memref<1536xf32> -> f32
  %5 = tk.load %k[d3*96 + d2] : memref<1536xf32> -> f32
  %6 = arith.mulf %4, %5 : f32
  %7 = tk.reduce add %6 over [2] : f32
  %8 = arith.mulf %3, %7 : f32
  %9 = arith.mulf %8, %1 : f32
  %10 = tk.reduce add %9 over [3] : f32
  tk.store %10, %o[d0*96 + d1] : f32, memref<1536xf32>
}

// -----

// No chain of products: a sum of 80 is one axis.
// CHECK-LABEL: tk.func @product [16, 64, 80]
// GROUP-LABEL: tk.func @product [16, 64, 80]
tk.func @product [16, 64, 80] (%a: memref<1280xf32>, %b: memref<5120xf32>, %o: memref<1024xf32>) {
  %0 = tk.load %a[d0*80 + d2] : memref<1280xf32> -> f32
  %1 = tk.load %b[d1*80 + d2] : memref<5120xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [2] : f32
  tk.store %3, %o[d0*64 + d1] : f32, memref<1024xf32>
}
