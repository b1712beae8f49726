// RUN: tilewright-opt %s -p 'schedule-gpu{cores=1},apply-schedule' --split-input-file --print-debuginfo | filecheck %s

// What belongs to a group of 128 numbers of the sum is one value of a step of as many, a line of bytes.

// CHECK-LABEL: @scale_of_a_step
// CHECK: tk.for 2 = "0" to "1024" step 128
// CHECK: tk.load %q[d1*1024 + d2] lanes 2, 1 : memref<65536xi8> -> vector<128x{{.*}}xi8>
// CHECK: tk.load %s[d1*8 + (d2 floordiv 128)] lanes 2, 1 : memref<512xbf16> -> vector<1x{{.*}}xbf16> loc("m.py":1:0)
tk.func @scale_of_a_step [16, 64, 1024] (%x: memref<16384xbf16>, %q: memref<65536xi8>, %s: memref<512xbf16>, %o: memref<1024xf32>) {
  %0 = tk.load %x[d0*1024 + d2] : memref<16384xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %q[d1*1024 + d2] : memref<65536xi8> -> i8
  %3 = arith.extsi %2 : i8 to i32
  %4 = arith.sitofp %3 : i32 to f32
  %5 = tk.load %s[d1*8 + (d2 floordiv 128)] : memref<512xbf16> -> bf16 loc("m.py":1:0)
  %6 = arith.extf %5 : bf16 to f32
  %7 = arith.mulf %4, %6 : f32
  %8 = arith.truncf %7 : f32 to bf16
  %9 = arith.extf %8 : bf16 to f32
  %10 = arith.mulf %1, %9 : f32
  %11 = tk.reduce add %10 over [2] {tk.factors = bf16} : f32
  tk.store %11, %o[d0*64 + d1] : f32, memref<1024xf32>
}

// -----

// Of groups of 64 a step has one, though a line has two.

// CHECK-LABEL: @half_a_line
// CHECK: tk.for 2 = "0" to "1024" step 64
// CHECK: tk.load %s[d1*16 + (d2 floordiv 64)] lanes 2, 1 : memref<1024xbf16> -> vector<1x{{.*}}xbf16>
tk.func @half_a_line [16, 64, 1024] (%x: memref<16384xbf16>, %q: memref<65536xi8>, %s: memref<1024xbf16>, %o: memref<1024xf32>) {
  %0 = tk.load %x[d0*1024 + d2] : memref<16384xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %q[d1*1024 + d2] : memref<65536xi8> -> i8
  %3 = arith.extsi %2 : i8 to i32
  %4 = arith.sitofp %3 : i32 to f32
  %5 = tk.load %s[d1*16 + (d2 floordiv 64)] : memref<1024xbf16> -> bf16
  %6 = arith.extf %5 : bf16 to f32
  %7 = arith.mulf %4, %6 : f32
  %8 = arith.truncf %7 : f32 to bf16
  %9 = arith.extf %8 : bf16 to f32
  %10 = arith.mulf %1, %9 : f32
  %11 = tk.reduce add %10 over [2] {tk.factors = bf16} : f32
  tk.store %11, %o[d0*64 + d1] : f32, memref<1024xf32>
}

// -----

// A step has two groups of 32, and two of 128 where groups do not begin with the sum.

// CHECK-LABEL: @scales_of_a_step
// CHECK: tk.for 2 = "0" to "256" step 64
// CHECK: tk.load %s[d1*8 + (d2 floordiv 32)] lanes 2, 1 : memref<512xbf16> -> vector<64x{{.*}}xbf16>
// CHECK: tk.load %t[((d2 + 96) floordiv 128)] lanes 2, 1 : memref<3xbf16> -> vector<64x1xbf16>
tk.func @scales_of_a_step [16, 64, 256] (%x: memref<4096xbf16>, %s: memref<512xbf16>, %t: memref<3xbf16>, %o: memref<1024xf32>) {
  %0 = tk.load %x[d0*256 + d2] : memref<4096xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %s[d1*8 + (d2 floordiv 32)] : memref<512xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = tk.load %t[((d2 + 96) floordiv 128)] : memref<3xbf16> -> bf16
  %5 = arith.extf %4 : bf16 to f32
  %6 = arith.mulf %3, %5 : f32
  %7 = arith.mulf %1, %6 : f32
  %8 = tk.reduce add %7 over [2] {tk.factors = bf16} : f32
  tk.store %8, %o[d0*64 + d1] : f32, memref<1024xf32>
}

// -----

// Two products over one axis are one loop, which reads what both are made of once.

// CHECK-LABEL: @two_in_a_loop
// CHECK:     %[[R:.*]] = tk.for 2 = "0" to "128" step 64 iter(%[[S:.*]] = %{{.*}})
// CHECK-DAG:   tk.load %x[d0*256 + d2*2] lanes 0, 2
// CHECK-DAG:   tk.load %q
// CHECK-NOT:   tk.load %q
// CHECK:       %[[A:.*]] = tk.mma %[[S]], %{{.*}}, %{{.*}} precision "ieee"
// CHECK:       %[[B:.*]] = tk.mma %[[A]], %{{.*}}, %{{.*}} precision "ieee" {{.*}} loc("m.py":2:0)
// CHECK-NEXT:  tk.yield %[[B]]
// CHECK-NOT: tk.for
// CHECK:     tk.store %[[R]], %o
tk.func @two_in_a_loop [16, 64, 128] (%x: memref<4096xbf16>, %q: memref<8192xi8>, %o: memref<1024xf32>) {
  %0 = tk.load %x[d0*256 + d2*2] : memref<4096xbf16> -> bf16
  %1 = tk.load %x[d0*256 + d2*2 + 1] : memref<4096xbf16> -> bf16
  %2 = arith.extf %0 : bf16 to f32
  %3 = arith.extf %1 : bf16 to f32
  %4 = tk.load %q[d1*128 + d2] : memref<8192xi8> -> i8
  %5 = arith.extsi %4 : i8 to i32
  %6 = arith.sitofp %5 : i32 to f32
  %7 = arith.negf %6 : f32
  %8 = arith.mulf %2, %6 : f32
  %9 = tk.reduce add %8 over [2] {tk.factors = bf16} : f32
  %10 = arith.mulf %3, %7 : f32 loc("m.py":2:0)
  %11 = tk.reduce add %10 over [2] {tk.factors = bf16} : f32
  %12 = arith.addf %9, %11 : f32
  tk.store %12, %o[d0*64 + d1] : f32, memref<1024xf32>
}
