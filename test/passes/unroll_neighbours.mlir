// RUN: tilewright-opt %s -p unroll-neighbours --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p 'unroll-neighbours{ops=4}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=FEW
// RUN: tilewright-opt %s -p unroll-neighbours --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// What is computed of pairs, joined to pairs: both are computed by one lane, each once.

// CHECK-LABEL: @rotated [32]
// CHECK-DAG:  %[[A:.*]] = tk.load %x[d0*2] : memref<64xf32> -> f32 loc("m.py":1:0)
// CHECK-DAG:  %[[B:.*]] = tk.load %x[d0*2 + 1] : memref<64xf32> -> f32 loc("m.py":1:0)
// CHECK-DAG:  %[[NEG:.*]] = arith.negf %[[B]] : f32 loc("m.py":2:0)
// CHECK-NOT:  arith.select
// CHECK:      tk.store %[[NEG]], %o[d0*2] : f32, memref<64xf32> loc("m.py":3:0)
// CHECK-NEXT: tk.store %[[A]], %o[d0*2 + 1] : f32, memref<64xf32> loc("m.py":3:0)
// FEW: remark: tk.func at {{.*}}: its groups of neighbours are too many ops
tk.func @rotated [32, 2] (%x: memref<64xf32>, %o: memref<64xf32>) {
  %0 = tk.index "d1" : i64
  %one = arith.constant 1 : i64
  %zero = arith.constant 0.0 : f32
  %1 = arith.cmpi slt, %0, %one : i64
  %2 = tk.load %x[d0*2 + d1*2 + 1] if %1 else %zero : memref<64xf32> -> f32 loc("m.py":1:0)
  %3 = arith.negf %2 : f32 loc("m.py":2:0)
  %4 = arith.cmpi sge, %0, %one : i64
  %5 = tk.load %x[d0*2 + d1*2 - 2] if %4 else %zero : memref<64xf32> -> f32 loc("m.py":1:0)
  %6 = arith.select %1, %3, %5 : f32
  tk.store %6, %o[d0*2 + d1] : f32, memref<64xf32> loc("m.py":3:0)
}

// -----

// Two planes become neighbours in rows: `pixel_shuffle`. The axis of the planes is no last one.

// CHECK-LABEL: @planes [8, 64]
// CHECK-DAG: tk.load %x[d0*128 + d1]
// CHECK-DAG: tk.load %x[d0*128 + d1 + 64]
// CHECK-DAG: tk.store %{{.*}}, %o[d0*128 + d1*2]
// CHECK-DAG: tk.store %{{.*}}, %o[d0*128 + d1*2 + 1]
tk.func @planes [8, 2, 64] (%x: memref<1024xf32>, %o: memref<1024xf32>) {
  %0 = tk.load %x[d0*128 + d1*64 + d2] : memref<1024xf32> -> f32
  tk.store %0, %o[d0*128 + d1 + d2*2] : f32, memref<1024xf32>
}

// -----

// Four neighbours become planes.

// CHECK-LABEL: @channels [100]
// CHECK-DAG: tk.load %x[d0*4 + 3]
// CHECK-DAG: tk.store %{{.*}}, %o[d0 + 300]
tk.func @channels [4, 100] (%x: memref<400xui8>, %o: memref<400xui8>) {
  %0 = tk.load %x[d0 + d1*4] : memref<400xui8> -> i8
  tk.store %0, %o[d0*100 + d1] : i8, memref<400xui8>
}

// -----

// Neighbours that all read the same, which is loaded once; rows of unknown number.

// CHECK-LABEL: @enlarged [s0]
// CHECK:      %[[X:.*]] = tk.load %x[d0]
// CHECK-NEXT: tk.store %[[X]], %o[d0*2]
// CHECK-NEXT: tk.store %[[X]], %o[d0*2 + 1]
tk.func @enlarged [s0, 2] (%x: memref<?xf32>, %o: memref<?xf32>) symbols [s0] {
  %0 = tk.load %x[d0] : memref<?xf32> -> f32
  tk.store %0, %o[d0*2 + d1] : f32, memref<?xf32>
}

// -----

// REMARK: remark: tk.func at {{.*}}: its neighbours are all computed alike
// CHECK-LABEL: @alike [100, 2]
tk.func @alike [100, 2] (%x: memref<200xf32>, %b: memref<2xf32>, %o: memref<200xf32>) {
  %0 = tk.load %x[d0*2 + d1] : memref<200xf32> -> f32
  %1 = tk.load %b[d1] : memref<2xf32> -> f32
  %2 = arith.addf %0, %1 : f32
  tk.store %2, %o[d0*2 + d1] : f32, memref<200xf32>
}

// -----

// REMARK: remark: tk.func at {{.*}}: its groups of neighbours are reduced, scanned or drawn
// CHECK-LABEL: @reduced [100, 2]
tk.func @reduced [100, 2] (%x: memref<200xf32>, %o: memref<100xf32>) {
  %0 = tk.load %x[d0*2 + d1] : memref<200xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  tk.store %1, %o[d0] : f32, memref<100xf32>
}

// -----

// REMARK: remark: tk.func at {{.*}}: it stores some elements of groups of neighbours, or none
// CHECK-LABEL: @some [100, 2]
tk.func @some [100, 2] (%x: memref<100xf32>, %m: memref<100xi1>, %o: memref<200xf32>) {
  %0 = tk.load %x[d0] : memref<100xf32> -> f32
  %1 = tk.load %m[d0] : memref<100xi1> -> i1
  tk.store %0, %o[d0*2 + d1] if %1 : f32, memref<200xf32>
}

// -----

// Columns of another matrix.

// REMARK: remark: tk.func at {{.*}}: not all accesses go along groups of neighbours
// CHECK-LABEL: @turned [100, 2]
tk.func @turned [100, 2] (%x: memref<100xf32>, %y: memref<3200xf32>, %o: memref<200xf32>) {
  %0 = tk.load %x[d0] : memref<100xf32> -> f32
  %1 = tk.load %y[d0*32 + d1] : memref<3200xf32> -> f32
  %2 = arith.addf %0, %1 : f32
  tk.store %2, %o[d0*2 + d1] : f32, memref<200xf32>
}

// -----

// Rows of an odd number of elements, of which pairs are a part: no instruction stores both.

// REMARK: remark: tk.func at {{.*}}: not all groups of neighbours are stored at multiples of their size
// CHECK-LABEL: @odd_rows [10, 50, 2]
tk.func @odd_rows [10, 50, 2] (%x: memref<500xf32>, %o: memref<1010xf32>) {
  %0 = tk.load %x[d0*50 + d1] : memref<500xf32> -> f32
  tk.store %0, %o[d0*101 + d1*2 + d2] : f32, memref<1010xf32>
}

// -----

// Rows of a few groups, of which each ends: nothing is said of functions without long rows.

// REMARK-NOT: remark
// CHECK-LABEL: @short [100, 8, 2]
tk.func @short [100, 8, 2] (%x: memref<800xf32>, %o: memref<3200xf32>) {
  %0 = tk.load %x[d0*8 + d1] : memref<800xf32> -> f32
  tk.store %0, %o[d0*32 + d1*2 + d2] : f32, memref<3200xf32>
}
