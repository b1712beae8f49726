// RUN: tilewright-opt %s -p schedule-cpu | filecheck %s
// RUN: tilewright-opt %s -p schedule-cpu{vector-bits=128} | filecheck %s --check-prefix=NARROW
// RUN: tilewright-opt %s -p schedule-cpu --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// CHECK: @small_stays_on_one_core
// CHECK-SAME: attributes {tk.order = array<i64: 0>, tk.vector = array<i64: 0, 16>} {
// NARROW: @small_stays_on_one_core
// NARROW-SAME: tk.vector = array<i64: 0, 4>
tk.func @small_stays_on_one_core [512] (%x: memref<512xf32>, %o: memref<512xf32>) {
  %0 = tk.load %x[d0] : memref<512xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<512xf32>
}

// CHECK: @large_runs_in_parallel
// CHECK-SAME: tk.parallel = array<i64: 1>}
tk.func @large_runs_in_parallel [4194304] (%x: memref<4194304xf32>, %o: memref<4194304xf32>) {
  %0 = tk.load %x[d0] : memref<4194304xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<4194304xf32>
}

// CHECK: @symbolic_decides_at_run_time
// CHECK-SAME: tk.parallel = array<i64: 1>, tk.worth = #tk.map<"s0*2 - 640000">}
tk.func @symbolic_decides_at_run_time [s0] (%x: memref<?xf32>, %o: memref<?xf32>) symbols [s0] {
  %0 = tk.load %x[d0] : memref<?xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<?xf32>
}

// CHECK: @lanes_go_along_contiguous_columns
// CHECK-SAME: tk.order = array<i64: 1, 0>, tk.vector = array<i64: 1, 16>, tk.unroll = array<i64: 4>} {
tk.func @lanes_go_along_contiguous_columns [64, 24] (%x: memref<1536xf32>, %o: memref<24xf32>) {
  %0 = tk.load %x[d0*24 + d1] : memref<1536xf32> -> f32
  %1 = tk.reduce add %0 over [0] : f32
  tk.store %1, %o[d1] : f32, memref<24xf32>
}

// Axis 2 are tiles of columns, one thread each, axis 3 are tiles of rows.

// CHECK: @wide_rows_are_read_in_order
// CHECK-SAME: tk.order = array<i64: 2, 3, 0, 1>, tk.vector = array<i64: 1, 16>, tk.parallel = array<i64: 1>
// CHECK-SAME: tk.tiles = array<i64: 1, 128, 0, 256>, tk.arrays} {
tk.func @wide_rows_are_read_in_order [4096, 768] (%x: memref<3145728xf32>, %o: memref<768xf32>) {
  %0 = tk.load %x[d0*768 + d1] : memref<3145728xf32> -> f32
  %1 = tk.reduce add %0 over [0] : f32
  tk.store %1, %o[d1] : f32, memref<768xf32>
}

// CHECK: @transposes_in_tiles
// CHECK-SAME: tk.order = array<i64: 0, 3, 4, 1, 2>, tk.vector = array<i64: 2, 16>
// CHECK-SAME: tk.tiles = array<i64: 1, 32, 2, 32>, tk.turn = array<i64: 1>} {
tk.func @transposes_in_tiles [2, 128, 64] (%x: memref<16384xf32>, %o: memref<16384xf32>) {
  %0 = tk.load %x[d0*8192 + d2*128 + d1] : memref<16384xf32> -> f32
  tk.store %0, %o[d0*8192 + d1*64 + d2] : f32, memref<16384xf32>
}

// Lines of 64 bytes. Of the loads those along one axis turn, others are read lane by lane.

// CHECK: @tiles_of_bytes_are_whole_lines
// CHECK-SAME: tk.tiles = array<i64: 1, 64, 2, 64>, tk.turn = array<i64: 1>} {
tk.func @tiles_of_bytes_are_whole_lines [128, 128, 128] (%x: memref<2097152xui8>, %y: memref<2097152xui8>, %z: memref<2097152xui8>, %o: memref<2097152xi8>, %p: memref<2097152xi8>) {
  %0 = tk.load %x[d0*16384 + d2*128 + d1] : memref<2097152xui8> -> i8
  %1 = tk.load %y[d0 + d1*16384 + d2*128] : memref<2097152xui8> -> i8
  %2 = tk.load %z[d0*16384 + d2*128 + d1] : memref<2097152xui8> -> i8
  %3 = arith.addi %0, %1 : i8
  %4 = arith.addi %3, %2 : i8
  tk.store %4, %o[d0*16384 + d1*128 + d2] : i8, memref<2097152xi8>
  tk.store %3, %p[d0*16384 + d1*128 + d2] : i8, memref<2097152xi8>
}

// A small one is all one tile, and not worth threads.

// CHECK: @small_transposes_turn_whole
// CHECK-SAME: attributes {tk.order = array<i64: 0, 1>, tk.vector = array<i64: 1, 16>, tk.turn = array<i64: 0>} {
tk.func @small_transposes_turn_whole [30, 40] (%x: memref<1200xf32>, %o: memref<1200xf32>) {
  %0 = tk.load %x[d0 + d1*30] : memref<1200xf32> -> f32
  tk.store %0, %o[d0*40 + d1] : f32, memref<1200xf32>
}

// CHECK: @masked_transposes_are_read_lane_by_lane
// CHECK-SAME: tk.tiles = array<i64: 0, 32, 1, 32>} {
tk.func @masked_transposes_are_read_lane_by_lane [128, 256] (%x: memref<32768xf32>, %m: memref<256xi1>, %o: memref<32768xf32>) {
  %z = arith.constant 0.0 : f32
  %c = tk.load %m[d1] : memref<256xi1> -> i1
  %0 = tk.load %x[d0 + d1*128] if %c else %z : memref<32768xf32> -> f32
  tk.store %0, %o[d0*256 + d1] : f32, memref<32768xf32>
}

// CHECK: @few_columns_do_not_turn
// CHECK-NOT: tk.turn
// CHECK: tk.func
tk.func @few_columns_do_not_turn [7, 4096] (%x: memref<28672xf32>, %o: memref<28672xf32>) {
  %0 = tk.load %x[d0 + d1*7] : memref<28672xf32> -> f32
  tk.store %0, %o[d0*4096 + d1] : f32, memref<28672xf32>
}

// Each lane has a row; a tile that cut the rows would begin new sums.

// CHECK: @lanes_are_rows_of_short_running_sums
// CHECK-SAME: {tk.order = array<i64: 2, 0, 1>, tk.vector = array<i64: 0, 16>, tk.parallel = array<i64: 1>, tk.tiles = array<i64: 0, 16>, tk.turn = array<i64: 1>} {
tk.func @lanes_are_rows_of_short_running_sums [8192, 128] (%x: memref<1048576xf32>, %o: memref<1048576xf32>) {
  %0 = tk.load %x[d0*128 + d1] : memref<1048576xf32> -> f32
  %1 = tk.scan add %0 along 1 : f32
  tk.store %1, %o[d0*128 + d1] : f32, memref<1048576xf32>
}

// What is read in columns does not turn, what is written in rows does.

// CHECK: @running_sums_of_columns_are_not_cut
// CHECK-SAME: {tk.order = array<i64: 2, 0, 1>, tk.vector = array<i64: 0, 16>, tk.tiles = array<i64: 0, 16>, tk.turn = array<i64: 1>} {
tk.func @running_sums_of_columns_are_not_cut [256, 128] (%x: memref<32768xf32>, %o: memref<32768xf32>) {
  %0 = tk.load %x[d0 + d1*256] : memref<32768xf32> -> f32
  %1 = tk.scan add %0 along 1 : f32
  tk.store %1, %o[d0*128 + d1] : f32, memref<32768xf32>
}

// Rows that scratch cannot hold, rows of a few elements, and rows of unknown length stay as they are.

// CHECK: @long_running_sums_are_scalars
// CHECK-SAME: {tk.order = array<i64: 0, 1>
// CHECK-NOT: tk.turn
// CHECK: tk.func
tk.func @long_running_sums_are_scalars [256, 2048] (%x: memref<524288xf32>, %o: memref<524288xf32>) {
  %0 = tk.load %x[d0*2048 + d1] : memref<524288xf32> -> f32
  %1 = tk.scan add %0 along 1 : f32
  tk.store %1, %o[d0*2048 + d1] : f32, memref<524288xf32>
}

// CHECK-SAME: @tiny_running_sums_are_scalars
// CHECK-NOT: tk.turn
// CHECK: tk.func
tk.func @tiny_running_sums_are_scalars [256, 7] (%x: memref<1792xf32>, %o: memref<1792xf32>) {
  %0 = tk.load %x[d0*7 + d1] : memref<1792xf32> -> f32
  %1 = tk.scan add %0 along 1 : f32
  tk.store %1, %o[d0*7 + d1] : f32, memref<1792xf32>
}

// CHECK-SAME: @running_sums_of_unknown_length_are_scalars
// CHECK-NOT: tk.turn
// CHECK: tk.func
tk.func @running_sums_of_unknown_length_are_scalars [256, s0] (%x: memref<?xf32>, %o: memref<?xf32>) symbols [s0] {
  %0 = tk.load %x[d0*s0 + d1] : memref<?xf32> -> f32
  %1 = tk.scan add %0 along 1 : f32
  tk.store %1, %o[d0*s0 + d1] : f32, memref<?xf32>
}

// CHECK: @expensive_values_are_kept
// CHECK: math.exp %{{.*}} {tk.keep}
tk.func @expensive_values_are_kept [4, 64] (%x: memref<256xf32>, %o: memref<256xf32>) {
  %0 = tk.load %x[d0*64 + d1] : memref<256xf32> -> f32
  %1 = math.exp %0 : f32
  %2 = tk.reduce add %1 over [1] : f32
  %3 = arith.divf %1, %2 : f32
  tk.store %3, %o[d0*64 + d1] : f32, memref<256xf32>
}

// Rows may collide, columns may not.

// CHECK: @scatter_runs_in_order
// CHECK-SAME: attributes {tk.order = array<i64: 0, 1>, tk.vector = array<i64: 1, 16>} {
// REMARK: axis 0 gets no lanes: its iterations depend on each other
// REMARK: not parallel: axis 0 is reduced or not independent
tk.func @scatter_runs_in_order [65536, 64] (%x: memref<4194304xf32>, %j: memref<65536xi64>, %o: memref<640xf32>) {
  %0 = tk.load %x[d0*64 + d1] : memref<4194304xf32> -> f32
  %1 = tk.load %j[d0] : memref<65536xi64> -> i64
  %2 = arith.index_cast %1 : i64 to index
  tk.store %0, %o[d1 + i0*64](%2) combine add : f32, memref<640xf32>
}

// CHECK: @scan_is_scalar
// CHECK-SAME: attributes {tk.order = array<i64: 0>} {
// REMARK: no axis gets lanes: scalars are cheaper
tk.func @scan_is_scalar [64] (%x: memref<64xf32>, %o: memref<64xf32>) {
  %0 = tk.load %x[d0] : memref<64xf32> -> f32
  %1 = tk.scan add %0 along 0 : f32
  tk.store %1, %o[d0] : f32, memref<64xf32>
}

// CHECK: @full_reductions_run_in_parts
// CHECK-SAME: tk.order = array<i64: 1, 0>, tk.vector = array<i64: 0, 16>, tk.parallel = array<i64: 1>
// CHECK-SAME: tk.tiles = array<i64: 0, 32768>} {
tk.func @full_reductions_run_in_parts [1000000] (%x: memref<1000000xf32>, %o: memref<1xf32>) {
  %0 = tk.load %x[d0] : memref<1000000xf32> -> f32
  %1 = tk.reduce add %0 over [0] : f32
  tk.store %1, %o[0] : f32, memref<1xf32>
}

// REMARK: math.exp at {{.*}}: computed again per loop: 1048576 elements are too many for scratch
tk.func @recomputes_what_is_too_large_to_keep [2, 1048576] (%a: memref<2097152xf32>, %o: memref<2097152xf32>) {
  %0 = tk.load %a[d0*1048576 + d1] : memref<2097152xf32> -> f32
  %e = math.exp %0 : f32
  %s = tk.reduce add %e over [1] : f32
  %q = arith.divf %e, %s : f32
  tk.store %q, %o[d0*1048576 + d1] : f32, memref<2097152xf32>
}

// A register holds half as many numbers of 64 bits, where most of what is computed has so many.
// CHECK: @wide_numbers_take_half_as_many_lanes
// CHECK-SAME: tk.vector = array<i64: 0, 8>
tk.func @wide_numbers_take_half_as_many_lanes [64] (%x: memref<64xi64>, %y: memref<64xi64>, %o: memref<64xi64>) {
  %c = arith.constant 3 : i64
  %0 = tk.load %x[d0] : memref<64xi64> -> i64
  %1 = tk.load %y[d0] : memref<64xi64> -> i64
  %2 = arith.cmpi slt, %0, %c : i64
  %3 = arith.select %2, %0, %1 : i64
  tk.store %3, %o[d0] : i64, memref<64xi64>
}

// CHECK: @few_wide_numbers_among_narrow_ones_do_not
// CHECK-SAME: tk.vector = array<i64: 0, 16>
tk.func @few_wide_numbers_among_narrow_ones_do_not [64] (%x: memref<64xi64>, %y: memref<64xf32>, %o: memref<64xf32>) {
  %c = arith.constant 3 : i64
  %0 = tk.load %x[d0] : memref<64xi64> -> i64
  %1 = arith.addi %0, %c : i64
  %2 = arith.sitofp %1 : i64 to f32
  %3 = tk.load %y[d0] : memref<64xf32> -> f32
  %4 = arith.mulf %2, %3 : f32
  tk.store %4, %o[d0] : f32, memref<64xf32>
}

// Every other element is two vectors and a permutation: lanes stand side by side in the result, not in a window of 3.

// CHECK: @maxima_of_windows
// CHECK-SAME: tk.vector = array<i64: 1, 16>
tk.func @maxima_of_windows [64, 31, 3, 3, 3] (%x: memref<36864xf32>, %o: memref<1984xf32>) {
  %0 = tk.load %x[d0*384 + d1*2 + d2*192 + d3*64 + d4] : memref<36864xf32> -> f32
  %1 = tk.reduce max %0 over [2, 3, 4] : f32
  tk.store %1, %o[d0*31 + d1] : f32, memref<1984xf32>
}

// Frames that are cut from samples: of 128 samples there are less than none, so more are guessed.
// CHECK: @means_of_frames
// CHECK-SAME: tk.vector = array<i64: 1, 16>
tk.func @means_of_frames [4, ((s0 - 127) floordiv 384) - 1] (%x: memref<?xf32>, %o: memref<?xf32>) symbols [s0] {
  %0 = tk.load %x[d0*((s0 - 127) floordiv 384) - d0 + d1] : memref<?xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  %2 = arith.subf %0, %1 : f32
  %3 = math.exp %2 : f32
  tk.store %3, %o[d0*((s0 - 127) floordiv 384) - d0 + d1] : f32, memref<?xf32>
}
