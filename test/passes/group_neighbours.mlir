// RUN: tilewright-opt %s -p 'schedule-gpu{cores=1},apply-schedule,group-neighbours' --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p 'schedule-gpu{cores=1}' --split-input-file | filecheck %s --check-prefix=BLOCKS
// RUN: tilewright-opt %s -p 'schedule-gpu{cores=1},apply-schedule,group-neighbours' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// Pairs of halves: a lane has four, 16 bytes.

// BLOCKS-LABEL: @rotated
// BLOCKS-SAME: tk.blocks = array<i64: 0, 512>, tk.grid = 1 : i64, tk.warps = 4
// CHECK-LABEL: @rotated
// CHECK:      %[[PAIRS:.*]] = tk.load %x[d0*2] lanes 0 group 2 : memref<4096xbf16> -> vector<1024xbf16> loc("m.py":1:0)
// CHECK-NEXT: %[[A:.*]], %[[B:.*]] = tk.deinterleave %[[PAIRS]] : vector<1024xbf16> -> vector<512xbf16>, vector<512xbf16> loc("m.py":1:0)
// CHECK:      %[[BA:.*]] = tk.interleave %[[B]], %[[A]] : vector<512xbf16>, vector<512xbf16> -> vector<1024xbf16> loc("m.py":3:0)
// CHECK-NEXT: tk.store %[[BA]], %o[d0*2] lanes 0 group 2 : vector<1024xbf16>, memref<4096xbf16> loc("m.py":3:0)
tk.func @rotated [2048] (%x: memref<4096xbf16>, %o: memref<4096xbf16>) {
  %0 = tk.load %x[d0*2 + 1] : memref<4096xbf16> -> bf16 loc("m.py":1:0)
  %1 = tk.load %x[d0*2] : memref<4096xbf16> -> bf16 loc("m.py":1:0)
  tk.store %0, %o[d0*2] : bf16, memref<4096xbf16> loc("m.py":2:0)
  tk.store %1, %o[d0*2 + 1] : bf16, memref<4096xbf16> loc("m.py":3:0)
}

// -----

// Boxes: one for each lane.

// BLOCKS-LABEL: @boxes
// BLOCKS-SAME: tk.blocks = array<i64: 0, 128>, tk.grid = 1 : i64, tk.warps = 4
// CHECK-LABEL: @boxes
// CHECK:      %[[ALL:.*]] = tk.load %x[d0*4] lanes 0 group 4 : memref<4096xf32> -> vector<512xf32>
// CHECK-NEXT: %[[EVEN:.*]], %[[ODD:.*]] = tk.deinterleave %[[ALL]]
// CHECK-NEXT: %[[A:.*]], %[[C:.*]] = tk.deinterleave %[[EVEN]]
// CHECK-NEXT: %[[B:.*]], %[[D:.*]] = tk.deinterleave %[[ODD]]
// CHECK-DAG:  arith.subf %[[C]], %[[A]]
// CHECK-DAG:  arith.subf %[[D]], %[[B]]
tk.func @boxes [1024] (%x: memref<4096xf32>, %o: memref<1024xf32>) {
  %0 = tk.load %x[d0*4] : memref<4096xf32> -> f32
  %1 = tk.load %x[d0*4 + 1] : memref<4096xf32> -> f32
  %2 = tk.load %x[d0*4 + 2] : memref<4096xf32> -> f32
  %3 = tk.load %x[d0*4 + 3] : memref<4096xf32> -> f32
  %4 = arith.subf %2, %0 : f32
  %5 = arith.subf %3, %1 : f32
  %6 = arith.mulf %4, %5 : f32
  tk.store %6, %o[d0] : f32, memref<1024xf32>
}

// -----

// Rows of pairs with gaps between them, of unknown number.

// CHECK-LABEL: @gaps
// CHECK: tk.load %x[(d0 floordiv 64)*256 + (d0 mod 64)*2 + 2] lanes 0 group 2 : memref<?xf32> -> vector<512xf32>
tk.func @gaps [s0*64] (%x: memref<?xf32>, %o: memref<?xf32>) symbols [s0] {
  %0 = tk.load %x[(d0 floordiv 64)*256 + (d0 mod 64)*2 + 2] : memref<?xf32> -> f32
  %1 = tk.load %x[(d0 floordiv 64)*256 + (d0 mod 64)*2 + 3] : memref<?xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  tk.store %2, %o[d0] : f32, memref<?xf32>
}

// -----

// None at multiples of two, of pairs one is missing, rows begin anywhere, or pairs end.

// BLOCKS-LABEL: @none
// BLOCKS-SAME: tk.blocks = array<i64: 0, 1024>
// CHECK-LABEL: @none
// CHECK-NOT: lanes 0 group
tk.func @none [2048] (%x: memref<4097xf32>, %y: memref<4096xf32>, %z: memref<8000xf32>, %w: memref<9000xf32>, %o: memref<2048xf32>) {
  %0 = tk.load %x[d0*2 + 1] : memref<4097xf32> -> f32
  %1 = tk.load %x[d0*2 + 2] : memref<4097xf32> -> f32
  %2 = tk.load %y[d0*2] : memref<4096xf32> -> f32
  %3 = tk.load %z[(d0 floordiv 64)*129 + (d0 mod 64)*2] : memref<8000xf32> -> f32
  %4 = tk.load %z[(d0 floordiv 64)*129 + (d0 mod 64)*2 + 1] : memref<8000xf32> -> f32
  %5 = tk.load %w[(d0 floordiv 4)*16 + (d0 mod 4)*2] : memref<9000xf32> -> f32
  %6 = tk.load %w[(d0 floordiv 4)*16 + (d0 mod 4)*2 + 1] : memref<9000xf32> -> f32
  %7 = arith.mulf %0, %1 : f32
  %8 = arith.mulf %2, %3 : f32
  %9 = arith.mulf %4, %5 : f32
  %10 = arith.mulf %6, %7 : f32
  %11 = arith.mulf %8, %9 : f32
  %12 = arith.mulf %10, %11 : f32
  tk.store %12, %o[d0] : f32, memref<2048xf32>
}

// -----

// What is written in its place is moved element by element.

// CHECK-LABEL: @in_place
// CHECK-NOT: lanes 0 group
tk.func @in_place [2048] (%x: memref<4096xf32>) {
  %0 = tk.load %x[d0*2] : memref<4096xf32> -> f32
  %1 = tk.load %x[d0*2 + 1] : memref<4096xf32> -> f32
  tk.store %1, %x[d0*2] : f32, memref<4096xf32>
  tk.store %0, %x[d0*2 + 1] : f32, memref<4096xf32>
}

// -----

// REMARK: remark: tk.load at {{.*}}: lanes of rows that are reduced or scanned share more
// CHECK-LABEL: @reduced
// CHECK-NOT: lanes 0 group
tk.func @reduced [4, 2048] (%x: memref<16384xf32>, %o: memref<4xf32>) {
  %0 = tk.load %x[d0*4096 + d1*2] : memref<16384xf32> -> f32
  %1 = tk.load %x[d0*4096 + d1*2 + 1] : memref<16384xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [1] : f32
  tk.store %3, %o[d0] : f32, memref<4xf32>
}

// -----

// One pair for a whole program.

// CHECK-LABEL: @scalars
// CHECK-NOT: group 2
tk.func @scalars [64] (%x: memref<128xf32>, %o: memref<64xf32>) scheduled attributes {tk.warps = 1 : i64, tk.stages = 1 : i64, tk.index = 32 : i64} {
  tk.for 0 = "0" to "64" step 1 parallel {
    %0 = tk.load %x[d0*2] : memref<128xf32> -> f32
    %1 = tk.load %x[d0*2 + 1] : memref<128xf32> -> f32
    %2 = arith.mulf %0, %1 : f32
    tk.store %2, %o[d0] : f32, memref<64xf32>
  }
}

// -----

// One of a pair is stored twice: the last one stays.

// CHECK-LABEL: @stored_twice
// CHECK-NOT: lanes 0 group
tk.func @stored_twice [2048] (%x: memref<2048xf32>, %y: memref<2048xf32>, %o: memref<4096xf32>) {
  %0 = tk.load %x[d0] : memref<2048xf32> -> f32
  %1 = tk.load %y[d0] : memref<2048xf32> -> f32
  tk.store %0, %o[d0*2] : f32, memref<4096xf32>
  tk.store %1, %o[d0*2] : f32, memref<4096xf32>
  tk.store %0, %o[d0*2 + 1] : f32, memref<4096xf32>
}
