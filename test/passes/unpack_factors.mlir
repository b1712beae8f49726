// RUN: tilewright-opt %s -p unpack-factors --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p unpack-factors --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p 'unpack-factors{ops=8}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=FEW

// Two numbers of 4 bits a byte: which of them it is, is known; the scale of a group stays that of a group.

// CHECK-LABEL: @nibbles [4, 6, 16]
// CHECK-DAG:  %[[X0:.*]] = tk.load %x[d0*32 + d2*2] : memref<128xbf16> -> bf16 loc("m.py":1:0)
// CHECK-DAG:  %[[X1:.*]] = tk.load %x[d0*32 + d2*2 + 1] : memref<128xbf16> -> bf16 loc("m.py":1:0)
// CHECK-DAG:  %[[Q:.*]] = tk.load %q[d1*16 + d2] : memref<96xui8> -> i8 loc("m.py":2:0)
// CHECK-NOT:  tk.load %q
// CHECK-DAG:  %[[S:.*]] = tk.load %s[d1*2 + (d2 floordiv 8)] : memref<12xf32> -> f32
// CHECK-NOT:  arith.select
// CHECK:      %[[A:.*]] = tk.reduce add %{{.*}} over [2] {tk.factors = bf16} : f32 loc("m.py":4:0)
// CHECK:      %[[B:.*]] = tk.reduce add %{{.*}} over [2] {tk.factors = bf16} : f32 loc("m.py":4:0)
// CHECK:      %[[SUM:.*]] = arith.addf %[[A]], %[[B]] fastmath<contract> : f32 loc("m.py":4:0)
// CHECK:      tk.store %[[SUM]], %o[d0*6 + d1]
// FEW: remark: tk.func at {{.*}}: unpacked, its factors are too many ops
tk.func @nibbles [4, 6, 32] (%x: memref<128xbf16>, %q: memref<96xui8>, %s: memref<12xf32>, %o: memref<24xf32>) {
  %0 = tk.load %x[d0*32 + d2] : memref<128xbf16> -> bf16 loc("m.py":1:0)
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %q[d1*16 + (d2 floordiv 2)] : memref<96xui8> -> i8 loc("m.py":2:0)
  %3 = arith.extui %2 : i8 to i32
  %four = arith.constant 4 : i32
  %mask = arith.constant 15 : i32
  %one = arith.constant 1 : i64
  %4 = tk.index "(d2 mod 2)" : i64
  %5 = arith.cmpi slt, %4, %one : i64
  %6 = arith.shrsi %3, %four : i32
  %7 = arith.andi %3, %mask : i32
  %8 = arith.select %5, %7, %6 : i32
  %9 = arith.sitofp %8 : i32 to f32
  %10 = tk.load %s[d1*2 + (d2 floordiv 16)] : memref<12xf32> -> f32
  %11 = arith.mulf %9, %10 : f32
  %12 = arith.mulf %1, %11 : f32
  %13 = tk.reduce add %12 over [2] {tk.factors = bf16} : f32 loc("m.py":4:0)
  tk.store %13, %o[d0*6 + d1] : f32, memref<24xf32>
}

// -----

// Scales alone are no numbers that lie side by side.

// CHECK-LABEL: @scaled [4, 6, 32]
// REMARK: remark: tk.func at {{.*}}: no element of a factor holds several of its numbers
tk.func @scaled [4, 6, 32] (%x: memref<128xf32>, %q: memref<192xf32>, %s: memref<12xf32>, %o: memref<24xf32>) {
  %0 = tk.load %x[d0*32 + d2] : memref<128xf32> -> f32
  %1 = tk.load %q[d1*32 + d2] : memref<192xf32> -> f32
  %2 = tk.load %s[d1*2 + (d2 floordiv 16)] : memref<12xf32> -> f32
  %3 = arith.mulf %1, %2 : f32
  %4 = arith.mulf %0, %3 : f32
  %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
  tk.store %5, %o[d0*6 + d1] : f32, memref<24xf32>
}

// -----

// Words that lie below one another are read by whole rows as they are.

// CHECK-LABEL: @rows_of_words [4, 6, 32]
// REMARK: remark: tk.func at {{.*}}: no element of a factor holds several of its numbers
tk.func @rows_of_words [4, 6, 32] (%x: memref<128xf32>, %q: memref<24xi32>, %o: memref<24xf32>) {
  %0 = tk.load %x[d0*32 + d2] : memref<128xf32> -> f32
  %1 = tk.load %q[(d2 floordiv 8)*6 + d1] : memref<24xi32> -> i32
  %2 = tk.index "(d2 mod 8)*4" : i64
  %3 = arith.trunci %2 : i64 to i32
  %4 = arith.shrsi %1, %3 : i32
  %5 = arith.sitofp %4 : i32 to f32
  %6 = arith.mulf %0, %5 : f32
  %7 = tk.reduce add %6 over [2] {tk.factors = bf16} : f32
  tk.store %7, %o[d0*6 + d1] : f32, memref<24xf32>
}

// -----

// A sum of 24 bytes is too short for a matrix unit.

// CHECK-LABEL: @short [4, 6, 24]
// REMARK: remark: tk.func at {{.*}}: no element of a factor holds several of its numbers
tk.func @short [4, 6, 24] (%x: memref<96xf32>, %q: memref<72xf32>, %o: memref<24xf32>) {
  %0 = tk.load %x[d0*24 + d2] : memref<96xf32> -> f32
  %1 = tk.load %q[d1*12 + (d2 floordiv 2)] : memref<72xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [2] {tk.factors = bf16} : f32
  tk.store %3, %o[d0*6 + d1] : f32, memref<24xf32>
}

// -----

// CHECK-LABEL: @two_products [4, 6, 32, 32]
// REMARK: remark: tk.func at {{.*}}: only one product of floats, over one axis, is unpacked
tk.func @two_products [4, 6, 32, 32] (%x: memref<128xf32>, %q: memref<96xf32>, %o: memref<24xf32>) {
  %0 = tk.load %x[d0*32 + d2] : memref<128xf32> -> f32
  %1 = tk.load %q[d1*16 + (d2 floordiv 2)] : memref<96xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [2] {tk.factors = bf16} : f32
  %4 = tk.load %x[d0*32 + d3] : memref<128xf32> -> f32
  %5 = tk.load %q[d1*16 + (d3 floordiv 2)] : memref<96xf32> -> f32
  %6 = arith.mulf %4, %5 : f32
  %7 = tk.reduce add %6 over [3] {tk.factors = bf16} : f32
  %8 = arith.addf %3, %7 : f32
  tk.store %8, %o[d0*6 + d1] : f32, memref<24xf32>
}

// -----

// CHECK-LABEL: @sum_alone [32, 32]
tk.func @sum_alone [32, 32] (%q: memref<512xf32>, %o: memref<32xf32>) {
  %0 = tk.load %q[d0*16 + ((d1 floordiv 2))] : memref<512xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  tk.store %1, %o[d0] : f32, memref<32xf32>
}
