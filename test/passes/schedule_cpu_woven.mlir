// RUN: tilewright-opt %s -p schedule-cpu | filecheck %s

// Rows that lie in memory one element of each at a time, four at most, are woven from scratch.
// CHECK: @two_rows_to_pairs
// CHECK-SAME: tk.vector = array<i64: 0, 16>
// CHECK-SAME: tk.tiles = array<i64: 0, 256>, tk.turn = array<i64: 1>
tk.func @two_rows_to_pairs [4096, 2] (%x: memref<8192xf32>, %o: memref<8192xf32>) {
  %0 = tk.load %x[d0 + d1*4096] : memref<8192xf32> -> f32
  tk.store %0, %o[d0*2 + d1] : f32, memref<8192xf32>
}

// CHECK: @pixels_to_three_planes
// CHECK-SAME: {tk.order = array<i64: 0, 1, 2>, tk.vector = array<i64: 2, 16>, tk.turn = array<i64: 1>}
tk.func @pixels_to_three_planes [500, 3, 200] (%x: memref<300000xi8>, %o: memref<300000xi8>) {
  %0 = tk.load %x[d0*600 + d1 + d2*3] : memref<300000xi8> -> i8
  tk.store %0, %o[d0*600 + d1*200 + d2] : i8, memref<300000xi8>
}

// Of five, lanes are stored one by one.
// CHECK: @five_are_too_many
// CHECK-NOT: tk.turn
// CHECK: tk.func
tk.func @five_are_too_many [4096, 5] (%x: memref<20480xf32>, %o: memref<20480xf32>) {
  %0 = tk.load %x[d0 + d1*4096] : memref<20480xf32> -> f32
  tk.store %0, %o[d0*5 + d1] : f32, memref<20480xf32>
}

// Something else lies between the pairs.
// CHECK: @pairs_apart
// CHECK-NOT: tk.turn
// CHECK: tk.func
tk.func @pairs_apart [4096, 2] (%x: memref<8192xf32>, %o: memref<12288xf32>) {
  %0 = tk.load %x[d0 + d1*4096] : memref<8192xf32> -> f32
  tk.store %0, %o[d0*3 + d1] : f32, memref<12288xf32>
}

// The rows are read again for each other row: lanes along what is summed read them as they lie.
// CHECK: @distances
// CHECK-SAME: tk.vector = array<i64: 2, 16>
tk.func @distances [128, 256, 64] (%x: memref<8192xf32>, %y: memref<16384xf32>, %o: memref<32768xf32>) {
  %0 = tk.load %x[d0*64 + d2] : memref<8192xf32> -> f32
  %1 = tk.load %y[d1*64 + d2] : memref<16384xf32> -> f32
  %2 = arith.subf %0, %1 : f32
  %3 = arith.mulf %2, %2 : f32
  %4 = tk.reduce add %3 over [2] : f32
  tk.store %4, %o[d0*256 + d1] : f32, memref<32768xf32>
}
