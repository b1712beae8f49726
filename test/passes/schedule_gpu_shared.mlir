// RUN: tilewright-opt %s -p 'schedule-gpu{shared=160}' --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'schedule-gpu{shared=160},apply-schedule' --split-input-file | filecheck %s --check-prefix=APPLY
// RUN: tilewright-opt %s -p 'schedule-gpu{shared=227 units=group}' --split-input-file | filecheck %s --check-prefix=MEMORY

// Where matrix units take factors from registers, each warp would compute all keys of a step.

// CHECK-LABEL:  tk.func @turned_keys
// CHECK:        tk.reduce add {{.*}} over [3] {tk.factors = bf16, tk.shared}
// CHECK:        tk.reduce add {{.*}} over [2] {tk.factors = bf16} :
// MEMORY-LABEL: tk.func @turned_keys
// MEMORY-NOT:   tk.shared
// APPLY-LABEL:  tk.func @turned_keys
// APPLY:        %[[NARROW:.*]] = arith.truncf {{.*}} to vector<64x64xbf16>
// APPLY-NEXT:   %[[KEYS:.*]] = tk.share %[[NARROW]] : vector<64x64xbf16>
// APPLY-NEXT:   tk.mma %{{.*}}, %{{.*}}, %[[KEYS]]
// APPLY-NOT:    tk.share
tk.func @turned_keys [128, 64, 96, 64] (%q: memref<8192xbf16>, %k: memref<6144xbf16>, %a: memref<6144xf32>, %v: memref<6144xbf16>, %o: memref<8192xf32>) {
  %0 = tk.load %q[d0*64 + d3] : memref<8192xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d2*64 + d3] : memref<6144xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = tk.load %a[d2*64 + d3] : memref<6144xf32> -> f32
  %5 = math.sin %4 : f32
  %6 = math.cos %4 : f32
  %7 = arith.mulf %3, %5 : f32
  %8 = arith.mulf %7, %6 : f32
  %9 = arith.truncf %8 {tk.rounded} : f32 to bf16
  %10 = arith.extf %9 : bf16 to f32
  %11 = arith.mulf %1, %10 : f32
  %12 = tk.reduce add %11 over [3] {tk.factors = bf16} : f32
  %13 = math.tanh %12 : f32
  %14 = arith.truncf %13 {tk.rounded} : f32 to bf16
  %15 = arith.extf %14 : bf16 to f32
  %16 = tk.load %v[d2*64 + d1] : memref<6144xbf16> -> bf16
  %17 = arith.extf %16 : bf16 to f32
  %18 = arith.mulf %15, %17 : f32
  %19 = tk.reduce add %18 over [2] {tk.factors = bf16} : f32
  tk.store %19, %o[d0*64 + d1] : f32, memref<8192xf32>
}

// -----

// Values, whose heads are twice as long.

// CHECK-LABEL:  tk.func @values
// CHECK:        tk.reduce add {{.*}} over [3] {tk.factors = bf16} :
// CHECK:        tk.reduce add {{.*}} over [2] {tk.factors = bf16, tk.shared}
// APPLY-LABEL:  tk.func @values
// APPLY:        %[[VALUES:.*]] = tk.share %{{.*}} : vector<64x128xbf16>
// APPLY-NEXT:   tk.mma %{{.*}}, %{{.*}}, %[[VALUES]]
tk.func @values [128, 128, 96, 64] (%q: memref<8192xbf16>, %k: memref<6144xbf16>, %v: memref<12288xbf16>, %o: memref<16384xf32>) {
  %0 = tk.load %q[d0*64 + d3] : memref<8192xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %k[d2*64 + d3] : memref<6144xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [3] {tk.factors = bf16} : f32
  %6 = arith.truncf %5 {tk.rounded} : f32 to bf16
  %7 = arith.extf %6 : bf16 to f32
  %8 = tk.load %v[d2*128 + d1] : memref<12288xbf16> -> bf16
  %9 = arith.extf %8 : bf16 to f32
  %10 = math.erf %9 : f32
  %11 = arith.truncf %10 {tk.rounded} : f32 to bf16
  %12 = arith.extf %11 : bf16 to f32
  %13 = arith.mulf %7, %12 : f32
  %14 = tk.reduce add %13 over [2] {tk.factors = bf16} : f32
  tk.store %14, %o[d0*128 + d1] : f32, memref<16384xf32>
}

// -----

// Not so what is computed once: for a whole row of keys, and for queries, which stay.

// CHECK-LABEL: tk.func @once_anyway
// CHECK-NOT:   tk.shared
tk.func @once_anyway [128, 64, 96, 64] (%q: memref<8192xbf16>, %k: memref<6144xbf16>, %a: memref<96xf32>, %v: memref<6144xbf16>, %o: memref<8192xf32>) {
  %0 = tk.load %q[d0*64 + d3] : memref<8192xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = math.sin %1 : f32
  %3 = arith.truncf %2 {tk.rounded} : f32 to bf16
  %4 = arith.extf %3 : bf16 to f32
  %5 = tk.load %k[d2*64 + d3] : memref<6144xbf16> -> bf16
  %6 = arith.extf %5 : bf16 to f32
  %7 = tk.load %a[d2] : memref<96xf32> -> f32
  %8 = math.sin %7 : f32
  %9 = arith.mulf %6, %8 : f32
  %10 = arith.truncf %9 {tk.rounded} : f32 to bf16
  %11 = arith.extf %10 : bf16 to f32
  %12 = arith.mulf %4, %11 : f32
  %13 = tk.reduce add %12 over [3] {tk.factors = bf16} : f32
  %14 = math.tanh %13 : f32
  %15 = arith.truncf %14 {tk.rounded} : f32 to bf16
  %16 = arith.extf %15 : bf16 to f32
  %17 = tk.load %v[d2*64 + d1] : memref<6144xbf16> -> bf16
  %18 = arith.extf %17 : bf16 to f32
  %19 = arith.mulf %16, %18 : f32
  %20 = tk.reduce add %19 over [2] {tk.factors = bf16} : f32
  tk.store %20, %o[d0*64 + d1] : f32, memref<8192xf32>
}

// -----

// A product by itself: the factor that costs much, not the other one.

// CHECK-LABEL: tk.func @product
// CHECK:       {tk.factors = f16, tk.shared}
// APPLY-LABEL: tk.func @product
// APPLY:       tk.share
// APPLY-NOT:   tk.share
tk.func @product [32, 16, 32] (%a: memref<1024xf16>, %b: memref<512xf16>, %o: memref<512xf32>) {
  %0 = tk.load %a[d0*32 + d2] : memref<1024xf16> -> f16
  %1 = arith.extf %0 : f16 to f32
  %2 = math.exp %1 : f32
  %3 = arith.truncf %2 {tk.rounded} : f32 to f16
  %4 = arith.extf %3 : f16 to f32
  %5 = tk.load %b[d2*16 + d1] : memref<512xf16> -> f16
  %6 = arith.extf %5 : f16 to f32
  %7 = arith.mulf %4, %6 : f32
  %8 = tk.reduce add %7 over [2] {tk.factors = f16} : f32
  tk.store %8, %o[d0*16 + d1] : f32, memref<512xf32>
}

// -----

// What is cheap costs as much as a function where there is enough of it: two divisions do not, three do.

// CHECK-LABEL: tk.func @divided
// CHECK:       {tk.factors = f16, tk.shared}
// APPLY-LABEL: tk.func @divided
// APPLY:       %[[B:.*]] = tk.share %{{.*}} : vector<32x16xf16>
// APPLY-NEXT:  tk.mma %{{.*}}, %{{.*}}, %[[B]]
tk.func @divided [32, 16, 32] (%a: memref<1024xf16>, %b: memref<512xf16>, %r: memref<32xf32>, %c: memref<16xf32>, %o: memref<512xf32>) {
  %0 = tk.load %a[d0*32 + d2] : memref<1024xf16> -> f16
  %1 = arith.extf %0 : f16 to f32
  %2 = tk.load %r[d0] : memref<32xf32> -> f32
  %3 = arith.divf %1, %2 : f32
  %4 = arith.divf %2, %3 : f32
  %5 = arith.truncf %4 {tk.rounded} : f32 to f16
  %6 = arith.extf %5 : f16 to f32
  %7 = tk.load %b[d2*16 + d1] : memref<512xf16> -> f16
  %8 = arith.extf %7 : f16 to f32
  %9 = tk.load %c[d1] : memref<16xf32> -> f32
  %10 = arith.divf %8, %9 : f32
  %11 = arith.divf %9, %10 : f32
  %12 = arith.divf %11, %8 : f32
  %13 = arith.truncf %12 {tk.rounded} : f32 to f16
  %14 = arith.extf %13 : f16 to f32
  %15 = arith.mulf %6, %14 : f32
  %16 = tk.reduce add %15 over [2] {tk.factors = f16} : f32
  tk.store %16, %o[d0*16 + d1] : f32, memref<512xf32>
}

// -----

// No matrix unit multiplies f32.

// CHECK-LABEL: tk.func @wide
// CHECK-NOT:   tk.shared
tk.func @wide [128, 64, 64] (%a: memref<8192xf32>, %b: memref<4096xf32>, %o: memref<8192xf32>) {
  %0 = tk.load %a[d0*64 + d2] : memref<8192xf32> -> f32
  %1 = math.exp %0 : f32
  %2 = tk.load %b[d2*64 + d1] : memref<4096xf32> -> f32
  %3 = arith.mulf %1, %2 : f32
  %4 = tk.reduce add %3 over [2] : f32
  tk.store %4, %o[d0*64 + d1] : f32, memref<8192xf32>
}
