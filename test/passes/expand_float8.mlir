// RUN: tilewright-opt %s -p expand-float8 --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p 'expand-float8{float8=e4m3fn,e5m2fnuz}' --split-input-file | filecheck %s --check-prefix=SOME
// RUN: tilewright-opt %s -p expand-float8 --split-input-file --print-debuginfo | filecheck %s --check-prefix=LOC
// RUN: tilewright-opt %s -p expand-float8 --split-input-file --check-semantics -o %t

// Exponents count from 127 instead of 7; below 8 there is no leading 1; 127 is no number; the sign goes on top.
// CHECK-LABEL: @e4m3fn
// CHECK-NEXT: %[[X:.*]] = tk.load %x[d0]
// CHECK-NEXT: %[[B:.*]] = arith.extui %[[X]] : i8 to i32
// CHECK: %[[S:.*]] = arith.andi %[[B]], %{{.*}} : i32
// CHECK: %[[C20:.*]] = arith.constant 20 : i32
// CHECK: arith.shli %[[S]], %[[C20]] : i32
// CHECK: arith.constant 1006632960 : i32
// CHECK: %[[N:.*]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK: arith.constant 0.001953125 : f32
// CHECK: arith.cmpi slt, %[[S]]
// CHECK: %[[L:.*]] = arith.constant 126 : i32
// CHECK: arith.cmpi sgt, %[[S]], %[[L]] : i32
// CHECK: %[[R:.*]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK-NEXT: tk.store %[[R]], %o[d0]
// LOC-LABEL: @e4m3fn
// LOC: arith.shli {{.*}} loc("m.py":3:0)
// SOME-LABEL: @e4m3fn
// SOME: arith.bitcast %{{.*}} : i8 to f8E4M3FN
// SOME-NEXT: arith.extf
tk.func @e4m3fn [256] (%x: memref<256xi8>, %o: memref<256xf32>) {
  %0 = tk.load %x[d0] : memref<256xi8> -> i8
  %1 = arith.bitcast %0 : i8 to f8E4M3FN
  %2 = arith.extf %1 : f8E4M3FN to f32 loc("m.py":3:0)
  tk.store %2, %o[d0] : f32, memref<256xf32>
}

// -----

// 124 is infinite, what follows is no number.
// CHECK-LABEL: @e5m2
// CHECK: arith.constant 0x7f800000 : f32
// CHECK: arith.constant 123 : i32
// SOME-LABEL: @e5m2
// SOME-NOT: f8E5M2
tk.func @e5m2 [256] (%x: memref<256xi8>, %o: memref<256xf32>) {
  %0 = tk.load %x[d0] : memref<256xi8> -> i8
  %1 = arith.bitcast %0 : i8 to f8E5M2
  %2 = arith.extf %1 : f8E5M2 to f32
  tk.store %2, %o[d0] : f32, memref<256xf32>
}

// -----

// The pattern of -0.0 is no number.
// CHECK-LABEL: @fnuz
// CHECK: %[[M:.*]] = arith.constant 128 : i32
// CHECK: arith.cmpi eq, %{{.*}}, %[[M]] : i32
// SOME-LABEL: @fnuz
// SOME: f8E5M2FNUZ
// SOME-NOT: f8E4M3FNUZ
tk.func @fnuz [256] (%x: memref<256xi8>, %o: memref<256xf32>, %p: memref<256xf32>) {
  %0 = tk.load %x[d0] : memref<256xi8> -> i8
  %1 = arith.bitcast %0 : i8 to f8E5M2FNUZ
  %2 = arith.extf %1 : f8E5M2FNUZ to f32
  tk.store %2, %o[d0] : f32, memref<256xf32>
  %3 = arith.bitcast %0 : i8 to f8E4M3FNUZ
  %4 = arith.extf %3 : f8E4M3FNUZ to f32
  tk.store %4, %p[d0] : f32, memref<256xf32>
}

// -----

// CHECK-LABEL: @leaves_halves
// CHECK-NEXT: tk.load
// CHECK-NEXT: arith.extf
// CHECK-NEXT: tk.store
tk.func @leaves_halves [8] (%x: memref<8xbf16>, %o: memref<8xf32>) {
  %0 = tk.load %x[d0] : memref<8xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  tk.store %1, %o[d0] : f32, memref<8xf32>
}

// -----

// What is rounded has integers too where the target reads the kind: its instruction would clamp.
// CHECK-LABEL: @round_e4m3fn
// CHECK: %[[R:.*]] = arith.bitcast %{{.*}} : f32 to i32
// CHECK: %[[S:.*]] = arith.andi %[[R]], %{{.*}} : i32
// CHECK: %[[N:.*]] = arith.minsi %[[S]], %{{.*}} : i32
// CHECK: arith.shrsi
// CHECK: %[[T:.*]] = arith.trunci %{{.*}} : i32 to i8
// CHECK-NEXT: tk.store %[[T]], %o[d0]
// CHECK-NOT: f8E4M3FN
// SOME-LABEL: @round_e4m3fn
// SOME-NOT: f8E4M3FN
// LOC-LABEL: @round_e4m3fn
// LOC: arith.minsi {{.*}} loc("m.py":4:0)
tk.func @round_e4m3fn [256] (%x: memref<256xf32>, %o: memref<256xi8>) {
  %0 = tk.load %x[d0] : memref<256xf32> -> f32
  %1 = arith.truncf %0 : f32 to f8E4M3FN loc("m.py":4:0)
  %2 = arith.bitcast %1 : f8E4M3FN to i8 loc("m.py":5:0)
  tk.store %2, %o[d0] : i8, memref<256xi8>
}

// -----

// What was rounded is read as a number without going by way of the bits.
// CHECK-LABEL: @rounded_and_read
// CHECK: %[[T:.*]] = arith.trunci %{{.*}} : i32 to i8
// CHECK-NEXT: tk.store %[[T]], %o[d0]
// CHECK-NEXT: arith.extui %[[T]] : i8 to i32
// CHECK-NOT: f8E4M3FN
// SOME-LABEL: @rounded_and_read
// SOME: %[[T:.*]] = arith.trunci %{{.*}} : i32 to i8
// SOME-NEXT: %[[F:.*]] = arith.bitcast %[[T]] : i8 to f8E4M3FN
// SOME-NEXT: tk.store %[[T]], %o[d0]
// SOME-NEXT: arith.extf %[[F]] : f8E4M3FN to f32
tk.func @rounded_and_read [256] (%x: memref<256xf32>, %o: memref<256xi8>, %p: memref<256xf32>) {
  %0 = tk.load %x[d0] : memref<256xf32> -> f32
  %1 = arith.truncf %0 : f32 to f8E4M3FN
  %2 = arith.bitcast %1 : f8E4M3FN to i8
  tk.store %2, %o[d0] : i8, memref<256xi8>
  %3 = arith.extf %1 : f8E4M3FN to f32
  tk.store %3, %p[d0] : f32, memref<256xf32>
}

// -----

// Halves and bits of 32 bits are left alone.
// CHECK-LABEL: @others
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: arith.bitcast %{{.*}} : f32 to i32
tk.func @others [256] (%x: memref<256xf32>, %o: memref<256xbf16>, %p: memref<256xi32>) {
  %0 = tk.load %x[d0] : memref<256xf32> -> f32
  %1 = arith.truncf %0 : f32 to bf16
  tk.store %1, %o[d0] : bf16, memref<256xbf16>
  %2 = arith.bitcast %0 : f32 to i32
  tk.store %2, %p[d0] : i32, memref<256xi32>
}
