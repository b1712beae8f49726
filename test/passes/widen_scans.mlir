// RUN: tilewright-opt %s -p widen-scans --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p widen-scans --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// CHECK-LABEL: @sums_in_f64
// CHECK: %[[X:.*]] = arith.extf %{{.*}} : f32 to f64 loc("m.py":3:0)
// CHECK-NEXT: %[[S:.*]] = tk.scan add %[[X]] along 1 : f64 loc("m.py":3:0)
// CHECK-NEXT: %[[Y:.*]] = arith.truncf %[[S]] : f64 to f32 loc("m.py":3:0)
// CHECK: arith.extf %{{.*}} : f32 to f64
// CHECK-NEXT: %[[P:.*]] = tk.scan mul %{{.*}} along 0 : f64
// CHECK-NEXT: %[[Z:.*]] = arith.truncf %[[P]] : f64 to f32
// CHECK: arith.addf %[[Y]], %[[Z]] : f32
tk.func @sums_in_f64 [3, 5] (%x: memref<15xf32>, %o: memref<15xf32>) {
  %0 = tk.load %x[d0*5 + d1] : memref<15xf32> -> f32
  %1 = tk.scan add %0 along 1 : f32 loc("m.py":3:0)
  %2 = tk.scan mul %0 along 0 : f32
  %3 = arith.addf %1, %2 : f32
  tk.store %3, %o[d0*5 + d1] : f32, memref<15xf32>
}

// -----

// CHECK-LABEL: @leaves_other_scans
// CHECK-NOT: f64
// CHECK: tk.scan add %{{.*}} along 0 : i32
// CHECK: tk.scan max %{{.*}} along 0 : f32
// CHECK: tk.scan linear %{{.*}} by %{{.*}} along 0 : f32
// REMARK: tk.scan at {{.*}}: only sums and products lose more with each step
// REMARK: tk.scan at {{.*}}: only sums and products lose more with each step
tk.func @leaves_other_scans [5] (%x: memref<5xf32>, %i: memref<5xi32>, %o: memref<5xf32>, %p: memref<5xi32>) {
  %0 = tk.load %x[d0] : memref<5xf32> -> f32
  %1 = tk.load %i[d0] : memref<5xi32> -> i32
  %2 = tk.scan add %1 along 0 : i32
  %3 = tk.scan max %0 along 0 : f32
  %4 = tk.scan linear %3 by %0 along 0 : f32
  tk.store %4, %o[d0] : f32, memref<5xf32>
  tk.store %2, %p[d0] : i32, memref<5xi32>
}

// -----

// CHECK-LABEL: @sums_halves_in_f32
// CHECK-NOT: f64
// CHECK: tk.scan add %{{.*}} along 0 : f32
// REMARK: tk.scan at {{.*}}: halves are rounded by more
tk.func @sums_halves_in_f32 [5] (%x: memref<5xbf16>, %o: memref<5xbf16>) {
  %0 = tk.load %x[d0] : memref<5xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.scan add %1 along 0 : f32
  %3 = arith.truncf %2 : f32 to bf16
  tk.store %3, %o[d0] : bf16, memref<5xbf16>
}
