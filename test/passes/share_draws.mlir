// RUN: tilewright-opt %s -p share-draws --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p share-draws --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// Along rows, where these and all else begin at multiples of four; symbols, too.
// CHECK-LABEL: @rows
// CHECK: tk.random %{{.*}}, %{{.*}} {tk.quads = 1 : i64} : vector<8x16xf32>
tk.func @rows [8, 64] (%s: memref<1xi64>, %o: memref<512xf32>) symbols [s0] scheduled {
  %seed = tk.load %s[0] : memref<1xi64> -> i64
  tk.for 0 = "0" to "8" step 8 parallel { tk.for 1 = "0" to "64" step 16 parallel {
    %at = tk.index "d0*64 + d1 + s0*16 + 4096" lanes 0, 1 : vector<8x16xi64>
    %u = tk.random %seed, %at : vector<8x16xf32>
    tk.store %u, %o[d0*64 + d1] lanes 0, 1 : vector<8x16xf32>, memref<512xf32>
  } }
}

// -----

// Down columns, beside a number of which the last bits are cleared.
// CHECK-LABEL: @columns
// CHECK: tk.random %{{.*}}, %{{.*}} {tk.quads = 0 : i64} : vector<16x8xf32>
tk.func @columns [64, 8] (%s: memref<2xi64>, %o: memref<512xf32>) scheduled {
  %seed = tk.load %s[0] : memref<2xi64> -> i64
  %first = tk.load %s[1] : memref<2xi64> -> i64
  %mask = arith.constant -4 : i64
  %even = arith.andi %first, %mask : i64
  %wide = vector.broadcast %even : i64 to vector<16x8xi64>
  tk.for 1 = "0" to "8" step 8 parallel { tk.for 0 = "0" to "64" step 16 parallel {
    %at = tk.index "d0 + d1*64" lanes 0, 1 : vector<16x8xi64>
    %counter = arith.addi %at, %wide : vector<16x8xi64>
    %u = tk.random %seed, %counter : vector<16x8xf32>
    tk.store %u, %o[d0*8 + d1] lanes 0, 1 : vector<16x8xf32>, memref<512xf32>
  } }
}

// -----

// Of a position that `narrow-integers` computes in 32 bits.
// CHECK-LABEL: @narrow
// CHECK: tk.random %{{.*}}, %{{.*}} {tk.quads = 1 : i64} : vector<8x16xf32>
tk.func @narrow [8, 64] (%s: memref<1xi64>, %o: memref<512xf32>) scheduled {
  %seed = tk.load %s[0] : memref<1xi64> -> i64
  tk.for 0 = "0" to "8" step 8 parallel { tk.for 1 = "0" to "64" step 16 parallel {
    %at = tk.index "d0*64 + d1" lanes 0, 1 : vector<8x16xi32>
    %counter = arith.extsi %at : vector<8x16xi32> to vector<8x16xi64>
    %u = tk.random %seed, %counter : vector<8x16xf32>
    tk.store %u, %o[d0*64 + d1] lanes 0, 1 : vector<8x16xf32>, memref<512xf32>
  } }
}

// -----

// Columns of which each program sums a part: the axis is part and column in one. Of 62 columns, four neighbours
// may be of two parts.
// CHECK-LABEL: @parts_of_columns
// CHECK: tk.random %{{.*}}, %{{.*}} {tk.quads = 0 : i64} : vector<16x8xf32>
// CHECK: tk.random %{{.*}}, %{{[0-9a-z]*}} : vector<16x8xf32>
tk.func @parts_of_columns [128, 8] (%s: memref<1xi64>, %o: memref<1024xf32>) scheduled {
  %seed = tk.load %s[0] : memref<1xi64> -> i64
  tk.for 0 = "0" to "128" step 16 parallel { tk.for 1 = "0" to "8" step 8 {
    %0 = tk.index "d1*64 + (d0 floordiv 64)*512 + d0 mod 64" lanes 0, 1 : vector<16x8xi64>
    %a = tk.random %seed, %0 : vector<16x8xf32>
    tk.store %a, %o[d0 + d1*128] lanes 0, 1 : vector<16x8xf32>, memref<1024xf32>
    %1 = tk.index "d1*64 + (d0 floordiv 62)*512 + d0 mod 62" lanes 0, 1 : vector<16x8xi64>
    %b = tk.random %seed, %1 : vector<16x8xf32>
    tk.store %b, %o[d0 + d1*128] lanes 0, 1 : vector<16x8xf32>, memref<1024xf32>
  } }
}

// -----

// Rows of odd length, an odd offset, two steps at a time, a loop that begins anywhere: none.
// CHECK-LABEL: @apart
// CHECK-NOT: tk.quads
// REMARK: tk.random{{.*}}each number is a block: no four neighbours are known to have the counters of one
// REMARK: tk.random{{.*}}each number is a block: no four neighbours are known to have the counters of one
// REMARK: tk.random{{.*}}each number is a block: no four neighbours are known to have the counters of one
// REMARK: tk.random{{.*}}each number is a block: no four neighbours are known to have the counters of one
tk.func @apart [8, 64] (%s: memref<1xi64>, %o: memref<520xf32>) symbols [s0] scheduled {
  %seed = tk.load %s[0] : memref<1xi64> -> i64
  tk.for 0 = "0" to "8" step 8 {
  tk.for 1 = "0" to "64" step 16 {
    %0 = tk.index "d0*63 + d1" lanes 0, 1 : vector<8x16xi64>
    %a = tk.random %seed, %0 : vector<8x16xf32>
    tk.store %a, %o[d0*64 + d1] lanes 0, 1 : vector<8x16xf32>, memref<520xf32>
    %1 = tk.index "d0*64 + d1 + 2" lanes 0, 1 : vector<8x16xi64>
    %b = tk.random %seed, %1 : vector<8x16xf32>
    tk.store %b, %o[d0*64 + d1] lanes 0, 1 : vector<8x16xf32>, memref<520xf32>
    %2 = tk.index "d0*128 + d1*2" lanes 0, 1 : vector<8x16xi64>
    %c = tk.random %seed, %2 : vector<8x16xf32>
    tk.store %c, %o[d0*64 + d1] lanes 0, 1 : vector<8x16xf32>, memref<520xf32>
  }
  tk.for 1 = "s0" to "64" step 16 {
    %3 = tk.index "d0*64 + d1" lanes 0, 1 : vector<8x16xi64>
    %d = tk.random %seed, %3 : vector<8x16xf32>
    tk.store %d, %o[d0*64 + d1] lanes 0, 1 : vector<8x16xf32>, memref<520xf32>
  }
  }
}

// -----

// CHECK-LABEL: @unknown
// CHECK-NOT: tk.quads
// REMARK: tk.random{{.*}}each number is a block: its counter is no position beside a multiple of four
// REMARK: tk.random{{.*}}each number is a block: its tile has 0 dimensions
tk.func @unknown [64] (%s: memref<2xi64>, %o: memref<65xf32>) scheduled {
  %seed = tk.load %s[0] : memref<2xi64> -> i64
  %first = tk.load %s[1] : memref<2xi64> -> i64
  %wide = vector.broadcast %first : i64 to vector<16xi64>
  tk.for 0 = "0" to "64" step 16 parallel {
    %at = tk.index "d0" lanes 0 : vector<16xi64>
    %counter = arith.addi %at, %wide : vector<16xi64>
    %u = tk.random %seed, %counter : vector<16xf32>
    tk.store %u, %o[d0] lanes 0 : vector<16xf32>, memref<65xf32>
  }
  %v = tk.random %seed, %first : f32
  tk.store %v, %o[64] : f32, memref<65xf32>
}

// -----

// Multiples of four, but not one for all neighbours.
// CHECK-LABEL: @several
// CHECK-NOT: tk.quads
tk.func @several [64] (%s: memref<1xi64>, %x: memref<64xi64>, %o: memref<64xf32>) scheduled {
  %seed = tk.load %s[0] : memref<1xi64> -> i64
  %four = arith.constant 4 : i64
  %fours = vector.broadcast %four : i64 to vector<16xi64>
  tk.for 0 = "0" to "64" step 16 parallel {
    %at = tk.index "d0" lanes 0 : vector<16xi64>
    %n = tk.load %x[d0] lanes 0 : memref<64xi64> -> vector<16xi64>
    %m = arith.muli %n, %fours : vector<16xi64>
    %counter = arith.addi %at, %m : vector<16xi64>
    %u = tk.random %seed, %counter : vector<16xf32>
    tk.store %u, %o[d0] lanes 0 : vector<16xf32>, memref<64xf32>
  }
}
