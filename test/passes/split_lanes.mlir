// RUN: tilewright-opt %s -p split-lanes --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p split-lanes,schedule-gpu --split-input-file | filecheck %s --check-prefix=BLOCKS
// RUN: tilewright-opt %s -p split-lanes --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// Eight halves, 16 bytes, of one channel.

// CHECK-LABEL: @one_channel [50176, 8]
// CHECK-NEXT: tk.load %x[d0*8 + d1] : memref<401408xbf16> -> bf16 loc("m.py":1:0)
// CHECK-NEXT: arith.extf
// CHECK-NEXT: tk.load %m[(((d0 floordiv 392)) mod 64)]
// CHECK-NEXT: arith.subf
// CHECK-NEXT: arith.truncf
// CHECK-NEXT: tk.store %{{.*}}, %o[d0*8 + d1] : bf16, memref<401408xbf16> loc("m.py":2:0)
// BLOCKS-LABEL: @one_channel
// BLOCKS-SAME: tk.blocks = array<i64: 0, 128, 1, 8>, tk.grid = 1 : i64, tk.warps = 4
tk.func @one_channel [401408] (%x: memref<401408xbf16>, %m: memref<64xf32>, %o: memref<401408xbf16>) {
  %0 = tk.load %x[d0] : memref<401408xbf16> -> bf16 loc("m.py":1:0)
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %m[((d0 floordiv 3136)) mod 64] : memref<64xf32> -> f32
  %3 = arith.subf %1, %2 : f32
  %4 = arith.truncf %3 : f32 to bf16
  tk.store %4, %o[d0] : bf16, memref<401408xbf16> loc("m.py":2:0)
}

// -----

// Rows of a table: the index is read once, what lies beside each other is read at once.

// CHECK-LABEL: @gathered_rows [640, 4]
// CHECK: tk.load %j[(d0 floordiv 16)]
// CHECK: tk.load %w[d1 + i0*64 + (d0 mod 16)*4]
// CHECK: tk.load %b[d1 + (d0 mod 16)*4]
tk.func @gathered_rows [2560] (%j: memref<40xi64>, %w: memref<640xf32>, %b: memref<64xf32>, %o: memref<2560xf32>) {
  %0 = tk.load %j[d0 floordiv 64] : memref<40xi64> -> i64
  %1 = arith.index_cast %0 : i64 to index
  %2 = tk.load %w[i0*64 + d0 mod 64](%1) : memref<640xf32> -> f32
  %3 = tk.load %b[d0 mod 64] : memref<64xf32> -> f32
  %4 = arith.addf %2, %3 : f32
  tk.store %4, %o[d0] : f32, memref<2560xf32>
}

// -----

// Rows of unknown number.

// CHECK-LABEL: @symbolic [s0*2, 4]
// CHECK: tk.load %r[(d0 floordiv 2)]
tk.func @symbolic [s0*8] (%x: memref<?xf32>, %r: memref<?xf32>, %o: memref<?xf32>) symbols [s0] {
  %0 = tk.load %x[d0] : memref<?xf32> -> f32
  %1 = tk.load %r[d0 floordiv 8] : memref<?xf32> -> f32
  %2 = arith.addf %0, %1 : f32
  tk.store %2, %o[d0] : f32, memref<?xf32>
}

// -----

// What is made of the number of the row, once for four of its elements.

// CHECK-LABEL: @number_of_row [128, 4]
// CHECK: tk.index "(d0 floordiv 4)" : i64
tk.func @number_of_row [512] (%x: memref<512xf32>, %o: memref<512xf32>) {
  %0 = tk.load %x[d0] : memref<512xf32> -> f32
  %1 = tk.index "d0 floordiv 16" : i64
  %2 = arith.sitofp %1 : i64 to f32
  %3 = math.sin %2 : f32
  %4 = arith.mulf %0, %3 : f32
  tk.store %4, %o[d0] : f32, memref<512xf32>
}

// -----

// Rows of 196 halves are no multiple of eight of them.

// CHECK-LABEL: @different_rows [1568]
// REMARK: tk.func at {{.*}}: neighbours lie in different rows
tk.func @different_rows [1568] (%x: memref<1568xbf16>, %r: memref<8xbf16>, %o: memref<1568xbf16>) {
  %0 = tk.load %x[d0] : memref<1568xbf16> -> bf16
  %1 = tk.load %r[d0 floordiv 196] : memref<8xbf16> -> bf16
  %2 = arith.extf %0 : bf16 to f32
  %3 = arith.extf %1 : bf16 to f32
  %4 = arith.addf %2, %3 : f32
  %5 = arith.truncf %4 : f32 to bf16
  tk.store %5, %o[d0] : bf16, memref<1568xbf16>
}

// -----

// CHECK-LABEL: @nothing_in_common [64]
// REMARK: tk.func at {{.*}}: neighbours read nothing in common
tk.func @nothing_in_common [64] (%x: memref<64xf32>, %o: memref<64xf32>) {
  %0 = tk.load %x[d0] : memref<64xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<64xf32>
}

// -----

// CHECK-LABEL: @odd [63]
// REMARK: tk.func at {{.*}}: not all lanes would have 4 neighbours
tk.func @odd [63] (%x: memref<63xf32>, %r: memref<3xf32>, %o: memref<63xf32>) {
  %0 = tk.load %x[d0] : memref<63xf32> -> f32
  %1 = tk.load %r[d0 floordiv 21] : memref<3xf32> -> f32
  %2 = arith.addf %0, %1 : f32
  tk.store %2, %o[d0] : f32, memref<63xf32>
}

// -----

// CHECK-LABEL: @strided [64]
// REMARK: tk.func at {{.*}}: its stores are not contiguous along one axis
tk.func @strided [64] (%x: memref<8xf32>, %o: memref<128xf32>) {
  %0 = tk.load %x[d0 floordiv 8] : memref<8xf32> -> f32
  tk.store %0, %o[d0*2] : f32, memref<128xf32>
}

// -----

// CHECK-LABEL: @reduced [8, 16]
// REMARK: tk.func at {{.*}}: lanes share rows that are reduced or scanned
tk.func @reduced [8, 16] (%x: memref<128xf32>, %o: memref<8xf32>) {
  %0 = tk.load %x[d0*16 + d1] : memref<128xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  tk.store %1, %o[d0] : f32, memref<8xf32>
}

// -----

// Pairs, which lanes have side by side: what their rows share is loaded for each.

// CHECK-LABEL: @pairs [64]
// REMARK: tk.func at {{.*}}: lanes load or store groups of neighbours
tk.func @pairs [64] (%x: memref<128xf32>, %r: memref<4xf32>, %o: memref<64xf32>) {
  %0 = tk.load %x[d0*2] : memref<128xf32> -> f32
  %1 = tk.load %x[d0*2 + 1] : memref<128xf32> -> f32
  %2 = tk.load %r[d0 floordiv 16] : memref<4xf32> -> f32
  %3 = arith.mulf %0, %1 : f32
  %4 = arith.addf %3, %2 : f32
  tk.store %4, %o[d0] : f32, memref<64xf32>
}
