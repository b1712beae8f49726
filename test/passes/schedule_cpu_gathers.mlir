// RUN: tilewright-opt %s -p schedule-cpu --remarks 2>&1 | filecheck %s

// Positions from memory: lanes would each be read by themselves, after checks of vectors of 64 bits.
// CHECK-DAG: no axis gets lanes: scalars are cheaper
// CHECK: @copies
// CHECK-SAME: attributes {tk.order = array<i64: 0, 1>, tk.parallel = array<i64: 1>} {
tk.func @copies [64, 100] (%x: memref<64000xf32>, %j: memref<6400xi64>, %o: memref<6400xf32>) {
  %zero = arith.constant 0 : i64
  %size = arith.constant 1000 : i64
  %0 = tk.load %j[d0*100 + d1] : memref<6400xi64> -> i64
  %1 = arith.cmpi ult, %0, %size : i64
  tk.assert %1 "index out of range" : i1
  %2 = arith.select %1, %0, %zero : i64
  %3 = arith.index_cast %2 : i64 to index
  %4 = tk.load %x[d0*1000 + i0](%3) : memref<64000xf32> -> f32
  tk.store %4, %o[d0*100 + d1] : f32, memref<6400xf32>
}

// What is computed of the elements is worth lanes.
// CHECK: @computes
// CHECK-SAME: tk.vector = array<i64: 1, 16>
tk.func @computes [64, 100] (%x: memref<64000xf32>, %j: memref<6400xi64>, %o: memref<6400xf32>) {
  %0 = tk.load %j[d0*100 + d1] : memref<6400xi64> -> i64
  %1 = arith.index_cast %0 : i64 to index
  %2 = tk.load %x[d0*1000 + i0](%1) : memref<64000xf32> -> f32
  %3 = math.exp %2 : f32
  %4 = math.tanh %3 : f32
  tk.store %4, %o[d0*100 + d1] : f32, memref<6400xf32>
}

// Rows: the position is that of all lanes.
// CHECK: @rows
// CHECK-SAME: tk.vector = array<i64: 1, 16>
tk.func @rows [64, 100] (%x: memref<64000xf32>, %j: memref<64xi64>, %o: memref<6400xf32>) {
  %0 = tk.load %j[d0] : memref<64xi64> -> i64
  %1 = arith.index_cast %0 : i64 to index
  %2 = tk.load %x[i0*100 + d1](%1) : memref<64000xf32> -> f32
  tk.store %2, %o[d0*100 + d1] : f32, memref<6400xf32>
}

// Positions that are computed stay close together: whole vectors are read and permuted.
// CHECK: @reflects
// CHECK-SAME: tk.vector = array<i64: 1, 16>
tk.func @reflects [64, 100] (%x: memref<6144xf32>, %o: memref<6400xf32>) {
  %two = arith.constant 2 : i32
  %0 = tk.index "d1" : i32
  %1 = arith.subi %0, %two : i32
  %2 = math.absi %1 : i32
  %3 = arith.index_cast %2 : i32 to index
  %4 = tk.load %x[d0*96 + i0](%3) : memref<6144xf32> -> f32
  tk.store %4, %o[d0*100 + d1] : f32, memref<6400xf32>
}
