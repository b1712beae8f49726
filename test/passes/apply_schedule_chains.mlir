// RUN: tilewright-opt %s -p schedule-gpu --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p schedule-gpu,apply-schedule --split-input-file | filecheck %s --check-prefix=APPLY
// RUN: tilewright-opt %s -p schedule-gpu --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// Attention: the maximum, the sum and the product are kept for the keys so far. Blocks of keys that
// a causal mask hides as a whole are left out; those of which it hides nothing have a loop without it.
// CHECK-LABEL: tk.func @causal
// CHECK-SAME: tk.blocks = array<i64: 0, 1, 1, {{[0-9]+}}, 2, 64, 4, 64, 3, {{[0-9]+}}>, tk.grid = 2 : i64
// CHECK-SAME: tk.product = "ieee"
// APPLY-LABEL: tk.func @causal
// APPLY: tk.for 0 = "0" to "6" step 1 parallel {
// APPLY-NEXT: tk.for 1 = "0" to "512" step [[ROWS:[0-9]+]] parallel {
// APPLY: %[[Q:.*]] = tk.load %q[{{.*}}] lanes 1, 4 : memref<196608xbf16> -> vector<[[ROWS]]x64xbf16>
// APPLY: tk.for 3 = "0" to "min(512, d1)" step
// APPLY-NOT: arith.cmpi
// APPLY: tk.for 3 = "min(512, d1)" to "min(512, d1 + [[ROWS]])" step [[KEYS:[0-9]+]] iter(%[[TOP:.*]] = {{.*}}, %[[TOTAL:.*]] = {{.*}}, %[[ACC:.*]] = {{.*}}) {
// APPLY: %[[K:.*]] = tk.load %k[{{.*}}] lanes 4, 3
// APPLY: tk.mma %{{.*}}, %[[Q]], %[[K]] precision "ieee"
// APPLY: %[[BEST:.*]] = tk.collapse max %{{.*}} dims [1]
// APPLY: %[[NEW:.*]] = arith.maximumf %[[TOP]], %[[BEST]]
// APPLY: %[[D:.*]] = arith.subf %[[TOP]], %[[GUARD:[0-9]+]]
// APPLY: %[[SCALE:.*]] = math.exp %[[D]]
// APPLY: arith.mulf %[[TOTAL]], %[[SCALE]]
// APPLY: tk.collapse add
// APPLY: %[[WIDE:.*]] = vector.broadcast %[[SCALE]]
// APPLY: %[[LESS:.*]] = arith.mulf %[[ACC]], %[[WIDE]]
// APPLY: %[[MORE:.*]] = tk.mma %[[LESS]], %{{.*}}, %{{.*}} precision "ieee" : {{.*}}bf16>, vector<[[KEYS]]x64xbf16>
// APPLY: tk.yield %[[NEW]], %{{.*}}, %[[MORE]]
// APPLY: tk.store %{{.*}}, %o[{{.*}}] lanes 1, 2
tk.func @causal [6, 512, 64, 512, 64] (%q: memref<196608xbf16>, %k: memref<196608xbf16>, %v: memref<196608xbf16>, %o: memref<196608xf32>) {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %0 = tk.load %q[d0*32768 + d1*64 + d4] : memref<196608xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d0*32768 + d3*64 + d4] : memref<196608xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [4] {tk.factors = bf16} : f32
  %6 = tk.index "d3" : i64
  %7 = tk.index "d1" : i64
  %8 = arith.cmpi sle, %6, %7 : i64
  %9 = arith.select %8, %5, %low : f32
  %10 = tk.reduce max %9 over [3] : f32
  %11 = arith.cmpf oeq, %10, %low : f32
  %12 = arith.select %11, %zero, %10 : f32
  %13 = arith.subf %9, %12 : f32
  %14 = math.exp %13 : f32
  %15 = tk.reduce add %14 over [3] : f32
  %16 = tk.load %v[d0*32768 + d3*64 + d2] : memref<196608xbf16> -> bf16
  %17 = arith.extf %16 : bf16 to f32
  %18 = arith.mulf %14, %17 : f32
  %19 = tk.reduce add %18 over [3] {tk.factors = bf16} : f32
  %20 = arith.divf %19, %15 : f32
  tk.store %20, %o[d0*32768 + d1*64 + d2] : f32, memref<196608xf32>
}

// -----

// Two products, nothing to keep a maximum of; what hangs over adds zero.
// CHECK-LABEL: tk.func @without_maximum
// CHECK-SAME: tk.product = "ieee"
// APPLY-LABEL: tk.func @without_maximum
// APPLY: tk.for 2 = "0" to "s0" step {{[0-9]+}} masked iter(%[[ACC:.*]] = {{.*}}) {
// APPLY: %[[T:.*]] = math.tanh
// APPLY: %[[M:.*]] = tk.active lanes 0, 2
// APPLY: arith.select %{{.*}}, %[[T]], %{{.*}}
// APPLY: tk.mma %[[ACC]]
tk.func @without_maximum [40, 32, s0, 24] (%q: memref<960xf32>, %k: memref<?xf32>, %v: memref<?xf32>, %o: memref<1280xf32>) symbols [s0] {
  %0 = tk.load %q[d0*24 + d3] : memref<960xf32> -> f32
  %1 = tk.load %k[d2*24 + d3] : memref<?xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [3] : f32
  %4 = math.tanh %3 : f32
  %5 = tk.load %v[d2*32 + d1] : memref<?xf32> -> f32
  %6 = arith.mulf %4, %5 : f32
  %7 = tk.reduce add %6 over [2] : f32
  tk.store %7, %o[d0*32 + d1] : f32, memref<1280xf32>
}

// -----

// The exponent is not of what the maximum is of: nothing can be rescaled.
// CHECK-LABEL: tk.func @another_exponent
// CHECK-NOT: tk.product
tk.func @another_exponent [40, 32, 48, 24] (%q: memref<960xf32>, %k: memref<1152xf32>, %v: memref<1536xf32>, %o: memref<1280xf32>) {
  %0 = tk.load %q[d0*24 + d3] : memref<960xf32> -> f32
  %1 = tk.load %k[d2*24 + d3] : memref<1152xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [3] : f32
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %4 = tk.reduce max %3 over [2] : f32
  %hidden = arith.cmpf oeq, %4, %low : f32
  %shift = arith.select %hidden, %zero, %4 : f32
  %5 = math.absf %3 : f32
  %6 = arith.subf %5, %shift : f32
  %7 = math.exp %6 : f32
  %8 = tk.load %v[d2*32 + d1] : memref<1536xf32> -> f32
  %9 = arith.mulf %7, %8 : f32
  %10 = tk.reduce add %9 over [2] : f32
  tk.store %10, %o[d0*32 + d1] : f32, memref<1280xf32>
}

// -----

// The maximum so far may be -inf where that of all is not, and what is counted from there is NaN: that needs a
// guard, as of @attention.
// CHECK-LABEL: tk.func @unguarded
// CHECK-NOT: tk.product
tk.func @unguarded [40, 32, 48, 24] (%q: memref<960xf32>, %k: memref<1152xf32>, %v: memref<1536xf32>, %o: memref<1280xf32>) {
  %0 = tk.load %q[d0*24 + d3] : memref<960xf32> -> f32
  %1 = tk.load %k[d2*24 + d3] : memref<1152xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [3] : f32
  %4 = tk.reduce max %3 over [2] : f32
  %6 = arith.subf %3, %4 : f32
  %7 = math.exp %6 : f32
  %8 = tk.load %v[d2*32 + d1] : memref<1536xf32> -> f32
  %9 = arith.mulf %7, %8 : f32
  %10 = tk.reduce add %9 over [2] : f32
  tk.store %10, %o[d0*32 + d1] : f32, memref<1280xf32>
}

// -----

// CHECK-LABEL: tk.func @deep
// CHECK-NOT: tk.product
// REMARK: chained products without tiles: axis 3 of size 512 is not held
tk.func @deep [40, 32, 48, 512] (%q: memref<20480xf32>, %k: memref<24576xf32>, %v: memref<1536xf32>, %o: memref<1280xf32>) {
  %0 = tk.load %q[d0*512 + d3] : memref<20480xf32> -> f32
  %1 = tk.load %k[d2*512 + d3] : memref<24576xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [3] : f32
  %4 = tk.load %v[d2*32 + d1] : memref<1536xf32> -> f32
  %5 = arith.mulf %3, %4 : f32
  %6 = tk.reduce add %5 over [2] : f32
  tk.store %6, %o[d0*32 + d1] : f32, memref<1280xf32>
}

// -----

// An index of a mask is checked in every block of the chain, and no block is left out.
// CHECK-LABEL: tk.func @checked_mask
// APPLY-LABEL: tk.func @checked_mask
// APPLY: tk.for 3 = "0" to "512" step [[KEYS:[0-9]+]] iter
// APPLY: tk.mma
// APPLY: tk.mma
// APPLY: %[[FOUND:.*]] = arith.cmpi ult, %{{.*}} : vector<1x[[KEYS]]xi64>
// APPLY-NEXT: tk.assert %[[FOUND]] "index out of range"
// APPLY-NEXT: tk.yield
// APPLY: tk.store
// APPLY-NOT: tk.assert
tk.func @checked_mask [6, 512, 64, 512, 64] (%q: memref<196608xbf16>, %k: memref<196608xbf16>, %v: memref<196608xbf16>, %i: memref<512xi64>, %o: memref<196608xf32>) {
  %low = arith.constant 0xFF800000 : f32
  %none = arith.constant 0.0 : f32
  %zero = arith.constant 0 : i64
  %end = arith.constant 9 : i64
  %0 = tk.load %q[d0*32768 + d1*64 + d4] : memref<196608xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d0*32768 + d3*64 + d4] : memref<196608xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [4] {tk.factors = bf16} : f32
  %6 = tk.load %i[d3] : memref<512xi64> -> i64
  %7 = arith.cmpi ult, %6, %end : i64
  tk.assert %7 "index out of range" : i1
  %8 = tk.index "d1" : i64
  %9 = tk.index "d3" : i64
  %10 = arith.cmpi sle, %9, %8 : i64
  %11 = arith.select %10, %5, %low : f32
  %12 = tk.reduce max %11 over [3] : f32
  %hidden = arith.cmpf oeq, %12, %low : f32
  %shift = arith.select %hidden, %none, %12 : f32
  %13 = arith.subf %11, %shift : f32
  %14 = math.exp %13 : f32
  %15 = tk.load %v[d0*32768 + d3*64 + d2] : memref<196608xbf16> -> bf16
  %16 = arith.extf %15 : bf16 to f32
  %17 = arith.mulf %14, %16 : f32
  %18 = tk.reduce add %17 over [3] {tk.factors = bf16} : f32
  tk.store %18, %o[d0*32768 + d1*64 + d2] : f32, memref<196608xf32>
}

// -----

// Gradients of keys: two products in each step, two sums, and nothing to rescale. A causal mask hides the rows
// before the first key of a program, although weights are 0 for another reason, too: in rows that see nothing.
// CHECK-LABEL: tk.func @gradients
// CHECK-SAME: tk.warps = 8 : i64
// CHECK-SAME: tk.product = "ieee"
// APPLY-LABEL: tk.func @gradients
// APPLY: tk.for 1 = "0" to "512" step [[ROWS:[0-9]+]] parallel {
// APPLY: %[[K:.*]] = tk.load %k[{{.*}}] lanes 1, 5
// APPLY: %[[V:.*]] = tk.load %v[{{.*}}] lanes 1, 6
// APPLY: tk.for 4 = "d1" to "min(512, d1 + 128)" step [[STEP:[0-9]+]] iter(%[[A:.*]] = {{.*}}, %[[B:.*]] = {{.*}}) {
// APPLY: %[[Q:.*]] = tk.load %q[{{.*}}] lanes 5, 4
// APPLY: %[[S:.*]] = tk.mma %{{.*}}, %[[K]], %[[Q]]
// APPLY: %[[G:.*]] = tk.load %g[{{.*}}] lanes 6, 4
// APPLY: %[[P:.*]] = tk.mma %{{.*}}, %[[V]], %[[G]]
// APPLY: %[[E:.*]] = math.exp
// APPLY: %[[W:.*]] = arith.select %{{.*}}, %{{.*}}, %[[E]]
// APPLY: tk.mma %[[A]], %{{.*}}, %{{.*}} precision "ieee" : {{.*}}bf16>, vector<[[STEP]]x64xbf16>
// APPLY: %[[D:.*]] = arith.subf %[[P]], %{{.*}}
// APPLY: arith.mulf %[[W]], %[[D]]
// APPLY: tk.mma %[[B]], %{{.*}}, %{{.*}} precision "ieee" : {{.*}}bf16>, vector<[[STEP]]x64xbf16>
// APPLY: tk.store %{{.*}}, %dv[{{.*}}] lanes 1, 3
// APPLY: tk.store %{{.*}}, %dk[{{.*}}] lanes 1, 2
tk.func @gradients [6, 512, 64, 64, 512, 64, 64] (%q: memref<196608xbf16>, %k: memref<196608xbf16>, %v: memref<196608xbf16>, %g: memref<196608xbf16>, %l: memref<3072xf32>, %d: memref<3072xf32>, %dk: memref<196608xf32>, %dv: memref<196608xf32>) {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %0 = tk.load %q[d0*32768 + d4*64 + d5] : memref<196608xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d0*32768 + d1*64 + d5] : memref<196608xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [5] {tk.factors = bf16} : f32
  %6 = tk.index "d1" : i64
  %7 = tk.index "d4" : i64
  %8 = arith.cmpi sle, %6, %7 : i64
  %9 = arith.select %8, %5, %low : f32
  %10 = tk.load %l[d0*512 + d4] : memref<3072xf32> -> f32
  %11 = arith.subf %9, %10 : f32
  %e = math.exp %11 : f32
  %blind = arith.cmpf oeq, %10, %low : f32
  %12 = arith.select %blind, %zero, %e : f32
  %13 = tk.load %g[d0*32768 + d4*64 + d3] : memref<196608xbf16> -> bf16
  %14 = arith.extf %13 : bf16 to f32
  %15 = arith.mulf %12, %14 : f32
  %16 = tk.reduce add %15 over [4] {tk.factors = bf16} : f32
  %17 = tk.load %g[d0*32768 + d4*64 + d6] : memref<196608xbf16> -> bf16
  %18 = arith.extf %17 : bf16 to f32
  %19 = tk.load %v[d0*32768 + d1*64 + d6] : memref<196608xbf16> -> bf16
  %20 = arith.extf %19 : bf16 to f32
  %21 = arith.mulf %18, %20 : f32
  %22 = tk.reduce add %21 over [6] {tk.factors = bf16} : f32
  %23 = tk.load %d[d0*512 + d4] : memref<3072xf32> -> f32
  %24 = arith.subf %22, %23 : f32
  %25 = arith.mulf %12, %24 : f32
  %26 = tk.load %q[d0*32768 + d4*64 + d2] : memref<196608xbf16> -> bf16
  %27 = arith.extf %26 : bf16 to f32
  %28 = arith.mulf %25, %27 : f32
  %29 = tk.reduce add %28 over [4] {tk.factors = bf16} : f32
  tk.store %16, %dv[d0*32768 + d1*64 + d3] : f32, memref<196608xf32>
  tk.store %29, %dk[d0*32768 + d1*64 + d2] : f32, memref<196608xf32>
}

// -----

// As much per program, of f32: fewer keys, so that threads hold what they multiply.
// CHECK-LABEL: tk.func @gradients_of_f32
// CHECK-SAME: tk.blocks = array<i64: 0, 16, 1, 64, 3, 64, 4, 64, 2, 32>
// CHECK-SAME: tk.warps = 8 : i64, tk.stages = 1 : i64
tk.func @gradients_of_f32 [512, 64, 512, 64, 64] (%q: memref<32768xf32>, %k: memref<32768xf32>, %v: memref<32768xf32>, %g: memref<32768xf32>, %dq: memref<32768xf32>) {
  %0 = tk.load %q[d0*64 + d3] : memref<32768xf32> -> f32
  %1 = tk.load %k[d2*64 + d3] : memref<32768xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [3] : f32
  %4 = tk.load %g[d0*64 + d4] : memref<32768xf32> -> f32
  %5 = tk.load %v[d2*64 + d4] : memref<32768xf32> -> f32
  %6 = arith.mulf %4, %5 : f32
  %7 = tk.reduce add %6 over [4] : f32
  %8 = arith.mulf %3, %7 : f32
  %9 = tk.load %k[d2*64 + d1] : memref<32768xf32> -> f32
  %10 = arith.mulf %8, %9 : f32
  %11 = tk.reduce add %10 over [2] : f32
  tk.store %11, %dq[d0*64 + d1] : f32, memref<32768xf32>
}

// -----

// Dropout: numbers are drawn for the block at hand, and what a causal mask hides is left out as without it.
// CHECK-LABEL: tk.func @dropout
// APPLY-LABEL: tk.func @dropout
// APPLY: tk.for 1 = "0" to "512" step [[ROWS:[0-9]+]] parallel {
// APPLY: %[[SEED:.*]] = tk.load %s[0] : memref<2xi64> -> i64
// APPLY: tk.for 3 = "min(512, d1)" to "min(512, d1 + [[ROWS]])" step [[KEYS:[0-9]+]] iter
// APPLY: %[[W:.*]] = math.exp %{{.*}} : vector<[[ROWS]]x[[KEYS]]xf32>
// APPLY: tk.collapse add %[[W]]
// APPLY: %[[AT:.*]] = tk.index "d0*262144 + d1*512 + d3" lanes 1, 3 : vector<[[ROWS]]x[[KEYS]]xi64>
// APPLY: %[[DRAWN:.*]] = tk.random %[[SEED]], %[[AT]] : vector<[[ROWS]]x[[KEYS]]xf32>
// APPLY: %[[LEFT:.*]] = arith.select %{{.*}}, %[[W]]
// APPLY: %[[FACTOR:.*]] = arith.truncf %[[LEFT]]
// APPLY: tk.mma %{{.*}}, %[[FACTOR]]
tk.func @dropout [6, 512, 64, 512, 64] (%q: memref<196608xbf16>, %k: memref<196608xbf16>, %v: memref<196608xbf16>, %s: memref<2xi64>, %o: memref<196608xf32>) {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %p = arith.constant 0.25 : f32
  %0 = tk.load %q[d0*32768 + d1*64 + d4] : memref<196608xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d0*32768 + d3*64 + d4] : memref<196608xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [4] {tk.factors = bf16} : f32
  %6 = tk.index "d3" : i64
  %7 = tk.index "d1" : i64
  %8 = arith.cmpi sle, %6, %7 : i64
  %9 = arith.select %8, %5, %low : f32
  %10 = tk.reduce max %9 over [3] : f32
  %11 = arith.cmpf oeq, %10, %low : f32
  %12 = arith.select %11, %zero, %10 : f32
  %13 = arith.subf %9, %12 : f32
  %14 = math.exp %13 : f32
  %15 = tk.reduce add %14 over [3] : f32
  %16 = tk.index "d0*262144 + d1*512 + d3" : i64
  %17 = tk.load %s[0] : memref<2xi64> -> i64
  %18 = tk.random %17, %16 : f32
  %19 = arith.cmpf oge, %18, %p : f32
  %20 = arith.select %19, %14, %zero : f32
  %21 = tk.load %v[d0*32768 + d3*64 + d2] : memref<196608xbf16> -> bf16
  %22 = arith.extf %21 : bf16 to f32
  %23 = arith.mulf %20, %22 : f32
  %24 = tk.reduce add %23 over [3] {tk.factors = bf16} : f32
  %25 = arith.divf %24, %15 : f32
  tk.store %25, %o[d0*32768 + d1*64 + d2] : f32, memref<196608xf32>
}

// -----

// Heads of 128 elements of f32, two sums of them: half as many keys at a time.
// CHECK-LABEL: tk.func @wide_gradients_of_f32
// CHECK-SAME: tk.blocks = array<i64: 0, 16, 1, 128, 2, 128, 4, 128, 5, 128, 3, 16>
// CHECK-SAME: tk.warps = 8 : i64, tk.stages = 1 : i64
tk.func @wide_gradients_of_f32 [512, 128, 128, 512, 128, 128] (%q: memref<65536xf32>, %k: memref<65536xf32>, %v: memref<65536xf32>, %g: memref<65536xf32>, %dk: memref<65536xf32>, %dv: memref<65536xf32>) {
  %0 = tk.load %q[d3*128 + d4] : memref<65536xf32> -> f32
  %1 = tk.load %k[d0*128 + d4] : memref<65536xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [4] : f32
  %4 = tk.load %g[d3*128 + d2] : memref<65536xf32> -> f32
  %5 = arith.mulf %3, %4 : f32
  %6 = tk.reduce add %5 over [3] : f32
  %7 = tk.load %g[d3*128 + d5] : memref<65536xf32> -> f32
  %8 = tk.load %v[d0*128 + d5] : memref<65536xf32> -> f32
  %9 = arith.mulf %7, %8 : f32
  %10 = tk.reduce add %9 over [5] : f32
  %11 = arith.mulf %3, %10 : f32
  %12 = tk.load %q[d3*128 + d1] : memref<65536xf32> -> f32
  %13 = arith.mulf %11, %12 : f32
  %14 = tk.reduce add %13 over [3] : f32
  tk.store %14, %dk[d0*128 + d1] : f32, memref<65536xf32>
  tk.store %6, %dv[d0*128 + d2] : f32, memref<65536xf32>
}

// -----

// Numbers for dropout need registers, too: fewer keys at a time, where heads of f32 are wide.
// CHECK-LABEL: tk.func @wide_dropout_of_f32
// CHECK-SAME: tk.blocks = array<i64: 0, 32, 1, 128, 3, 128, 2, 16>
tk.func @wide_dropout_of_f32 [512, 128, 512, 128] (%q: memref<65536xf32>, %k: memref<65536xf32>, %v: memref<65536xf32>, %s: memref<2xi64>, %o: memref<65536xf32>) {
  %zero = arith.constant 0.0 : f32
  %p = arith.constant 0.25 : f32
  %0 = tk.load %q[d0*128 + d3] : memref<65536xf32> -> f32
  %1 = tk.load %k[d2*128 + d3] : memref<65536xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [3] : f32
  %4 = tk.index "d0*512 + d2" : i64
  %5 = tk.load %s[0] : memref<2xi64> -> i64
  %6 = tk.random %5, %4 : f32
  %7 = arith.cmpf oge, %6, %p : f32
  %8 = arith.select %7, %3, %zero : f32
  %9 = tk.load %v[d2*128 + d1] : memref<65536xf32> -> f32
  %10 = arith.mulf %8, %9 : f32
  %11 = tk.reduce add %10 over [2] : f32
  tk.store %11, %o[d0*128 + d1] : f32, memref<65536xf32>
}

// -----

// What hides is said the other way round: later keys are hidden.
// APPLY-LABEL: tk.func @later_keys_are_hidden
// APPLY: tk.for 1 = "0" to "512" step [[ROWS:[0-9]+]] parallel {
// APPLY: tk.for 3 = "min(512, d1)" to "min(512, d1 + [[ROWS]])" step {{[0-9]+}} iter
tk.func @later_keys_are_hidden [6, 512, 64, 512, 64] (%q: memref<196608xbf16>, %k: memref<196608xbf16>, %v: memref<196608xbf16>, %o: memref<196608xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tk.load %q[d0*32768 + d1*64 + d4] : memref<196608xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d0*32768 + d3*64 + d4] : memref<196608xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [4] {tk.factors = bf16} : f32
  %6 = tk.index "d3" : i64
  %7 = tk.index "d1" : i64
  %8 = arith.cmpi sgt, %6, %7 : i64
  %9 = arith.select %8, %zero, %5 : f32
  %10 = tk.load %v[d0*32768 + d3*64 + d2] : memref<196608xbf16> -> bf16
  %11 = arith.extf %10 : bf16 to f32
  %12 = arith.mulf %9, %11 : f32
  %13 = tk.reduce add %12 over [3] {tk.factors = bf16} : f32
  tk.store %13, %o[d0*32768 + d1*64 + d2] : f32, memref<196608xf32>
}

// -----

// A mask of keys hides the same ones from all rows.
// APPLY-LABEL: tk.func @some_keys_are_hidden
// APPLY: tk.for 3 = "64" to "101" step {{[0-9]+}} iter
tk.func @some_keys_are_hidden [6, 512, 64, 512, 64] (%q: memref<196608xbf16>, %k: memref<196608xbf16>, %v: memref<196608xbf16>, %o: memref<196608xf32>) {
  %zero = arith.constant 0.0 : f32
  %c = arith.constant 100 : i64
  %0 = tk.load %q[d0*32768 + d1*64 + d4] : memref<196608xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d0*32768 + d3*64 + d4] : memref<196608xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [4] {tk.factors = bf16} : f32
  %6 = tk.index "d3" : i64
  %8 = arith.cmpi sgt, %6, %c : i64
  %9 = arith.select %8, %zero, %5 : f32
  %10 = tk.load %v[d0*32768 + d3*64 + d2] : memref<196608xbf16> -> bf16
  %11 = arith.extf %10 : bf16 to f32
  %12 = arith.mulf %9, %11 : f32
  %13 = tk.reduce add %12 over [3] {tk.factors = bf16} : f32
  tk.store %13, %o[d0*32768 + d1*64 + d2] : f32, memref<196608xf32>
}

// -----

// Sums of rows that a program holds are there before the loop, and stored with the results.
// CHECK-LABEL: tk.func @sums_of_rows
// CHECK-SAME: tk.product = "ieee"
// APPLY-LABEL: tk.func @sums_of_rows
// APPLY: %[[G:.*]] = tk.load %g[{{.*}}] lanes 0, 4
// APPLY: %[[O:.*]] = tk.load %o[{{.*}}] lanes 0, 4
// APPLY: %[[GO:.*]] = arith.mulf %[[G]], %[[O]]
// APPLY: %[[T:.*]] = tk.collapse add %[[GO]] dims [1]
// APPLY: tk.for 2 =
// APPLY-COUNT-2: tk.mma
// APPLY: vector.broadcast %[[T]]
// APPLY: tk.mma
// APPLY: tk.store %[[T]], %t[d0] lanes 0, 1
tk.func @sums_of_rows [40, 32, 48, 32, 24] (%q: memref<1280xf32>, %k: memref<1536xf32>, %v: memref<1152xf32>, %g: memref<960xf32>, %o: memref<960xf32>, %t: memref<40xf32>, %r: memref<1280xf32>) {
  %0 = tk.load %g[d0*24 + d4] : memref<960xf32> -> f32
  %1 = tk.load %o[d0*24 + d4] : memref<960xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [4] : f32
  tk.store %3, %t[d0] : f32, memref<40xf32>
  %4 = tk.load %q[d0*32 + d3] : memref<1280xf32> -> f32
  %5 = tk.load %k[d2*32 + d3] : memref<1536xf32> -> f32
  %6 = arith.mulf %4, %5 : f32
  %7 = tk.reduce add %6 over [3] : f32
  %8 = tk.load %v[d2*24 + d4] : memref<1152xf32> -> f32
  %9 = arith.mulf %0, %8 : f32
  %10 = tk.reduce add %9 over [4] : f32
  %11 = arith.subf %10, %3 : f32
  %12 = arith.mulf %7, %11 : f32
  %13 = tk.load %k[d2*32 + d1] : memref<1536xf32> -> f32
  %14 = arith.mulf %12, %13 : f32
  %15 = tk.reduce add %14 over [2] : f32
  tk.store %15, %r[d0*32 + d1] : f32, memref<1280xf32>
}

// -----

// A program holds nothing of which this would be the sum.
// CHECK-LABEL: tk.func @sum_of_other_rows
// CHECK-NOT: tk.product
tk.func @sum_of_other_rows [40, 32, 48, 32, 7] (%q: memref<1280xf32>, %k: memref<1536xf32>, %o: memref<280xf32>, %r: memref<1280xf32>) {
  %0 = tk.load %o[d0*7 + d4] : memref<280xf32> -> f32
  %1 = tk.reduce add %0 over [4] : f32
  %2 = tk.load %q[d0*32 + d3] : memref<1280xf32> -> f32
  %3 = tk.load %k[d2*32 + d3] : memref<1536xf32> -> f32
  %4 = arith.mulf %2, %3 : f32
  %5 = tk.reduce add %4 over [3] : f32
  %6 = arith.subf %5, %1 : f32
  %7 = tk.load %k[d2*32 + d1] : memref<1536xf32> -> f32
  %8 = arith.mulf %6, %7 : f32
  %9 = tk.reduce add %8 over [2] : f32
  tk.store %9, %r[d0*32 + d1] : f32, memref<1280xf32>
}

// -----

// Four heads (axis 4) that share what each row is multiplied with: one loop goes along all of their steps, of
// which a program of rows from `d1` on has those of 64 columns that it sees.
// CHECK-LABEL: tk.func @along_batches
// CHECK-SAME: tk.blocks = array<i64: 0, 1, 1, [[ROWS:[0-9]+]], 2, 64, 3, 64, 4, 1, 5, [[STEP:[0-9]+]]>, tk.grid = 2 : i64
// APPLY-LABEL: tk.func @along_batches
// APPLY: tk.for 0 = "0" to "6" step 1 parallel {
// APPLY-NEXT: tk.for 1 = "0" to "512" step [[ROWS:[0-9]+]] parallel {
// APPLY: %[[K:.*]] = tk.load %k[{{.*}}] lanes 1, 3 : {{.*}} -> vector<[[ROWS]]x64xbf16>
// APPLY: tk.for 6 = "0" to "((-d1 + {{[0-9]+}}) floordiv [[STEP:[0-9]+]])*4" step 1 iter(%[[A:.*]] = %{{.*}} : vector<[[ROWS]]x64xf32>) {
// APPLY-NEXT: %{{.*}} = tk.for 4 = "(d6 floordiv (((-d1 + {{.*}} to "4" step 1 once iter(%[[B:.*]] = %[[A]] : {{.*}}) {
// APPLY-NEXT: %{{.*}} = tk.for 5 = "d1 + {{.*}}" to "512" step [[STEP]] once iter(%[[C:.*]] = %[[B]] : {{.*}}) {
// APPLY: tk.load %q[{{.*}}d4{{.*}}] lanes 3, 5
// APPLY: arith.cmpi sle
// APPLY: tk.mma %[[C]],
// APPLY: tk.store %{{.*}}, %o[
tk.func @along_batches [6, 512, 64, 64, 4, 512] (%q: memref<786432xbf16>, %k: memref<196608xbf16>, %o: memref<196608xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tk.load %q[d0*131072 + d4*32768 + d5*64 + d3] : memref<786432xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d0*32768 + d1*64 + d3] : memref<196608xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %3, %1 : f32
  %5 = tk.reduce add %4 over [3] {tk.factors = bf16} : f32
  %6 = tk.index "d1" : i64
  %7 = tk.index "d5" : i64
  %8 = arith.cmpi sle, %6, %7 : i64
  %9 = arith.select %8, %5, %zero : f32
  %10 = tk.load %q[d0*131072 + d4*32768 + d5*64 + d2] : memref<786432xbf16> -> bf16
  %11 = arith.extf %10 : bf16 to f32
  %12 = arith.mulf %9, %11 : f32
  %13 = tk.reduce add %12 over [4, 5] {tk.factors = bf16} : f32
  tk.store %13, %o[d0*32768 + d1*64 + d2] : f32, memref<196608xf32>
}

// -----

// Here the rows' factor is another one for each head (axis 4): no chain of one program.
// CHECK-LABEL: tk.func @other_factors
// CHECK-NOT: tk.product
// APPLY-LABEL: tk.func @other_factors
// APPLY-NOT: tk.mma
tk.func @other_factors [6, 512, 64, 64, 4, 512] (%q: memref<786432xbf16>, %k: memref<786432xbf16>, %o: memref<196608xf32>) {
  %0 = tk.load %q[d0*131072 + d4*32768 + d5*64 + d3] : memref<786432xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d0*131072 + d4*32768 + d1*64 + d3] : memref<786432xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %3, %1 : f32
  %5 = tk.reduce add %4 over [3] {tk.factors = bf16} : f32
  %10 = tk.load %q[d0*131072 + d4*32768 + d5*64 + d2] : memref<786432xbf16> -> bf16
  %11 = arith.extf %10 : bf16 to f32
  %12 = arith.mulf %5, %11 : f32
  %13 = tk.reduce add %12 over [4, 5] {tk.factors = bf16} : f32
  tk.store %13, %o[d0*32768 + d1*64 + d2] : f32, memref<196608xf32>
}

// -----

// Two products of the same scores, one of halves and one of f32: each has them in its own type.
// CHECK-LABEL: tk.func @in_two_types
// CHECK-SAME:  tk.product = "ieee"
// APPLY-LABEL: tk.func @in_two_types
// APPLY:       %[[H:.*]] = arith.truncf %{{.*}} : vector<{{.*}}xf32> to vector<{{.*}}xbf16>
// APPLY:       tk.mma %{{.*}}, %[[H]], %{{.*}} : vector<[[ROWS:.*]]x16xf32>, vector<{{.*}}xbf16>, vector<{{.*}}xbf16>
// APPLY:       tk.mma %{{.*}} : vector<[[ROWS]]x16xf32>, vector<{{.*}}xf32>, vector<{{.*}}xf32>
tk.func @in_two_types [16, 16, 16, 16, 16] (%q: memref<256xbf16>, %k: memref<256xbf16>, %v: memref<256xbf16>, %w: memref<256xf32>, %o: memref<256xf32>, %p: memref<256xf32>) {
  %0 = tk.load %q[d0*16 + d3] : memref<256xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d4*16 + d3] : memref<256xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [3] {tk.factors = bf16} : f32
  %6 = tk.load %v[d4*16 + d1] : memref<256xbf16> -> bf16
  %7 = arith.extf %6 : bf16 to f32
  %8 = arith.mulf %5, %7 : f32
  %9 = tk.reduce add %8 over [4] {tk.factors = bf16} : f32
  %10 = tk.load %w[d4*16 + d2] : memref<256xf32> -> f32
  %11 = arith.mulf %5, %10 : f32
  %12 = tk.reduce add %11 over [4] : f32
  tk.store %9, %o[d0*16 + d1] : f32, memref<256xf32>
  tk.store %12, %p[d0*16 + d2] : f32, memref<256xf32>
}
