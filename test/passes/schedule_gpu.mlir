// RUN: tilewright-opt %s -p schedule-gpu --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p schedule-gpu,apply-schedule --split-input-file | filecheck %s --check-prefix=APPLY
// RUN: tilewright-opt %s -p 'schedule-gpu{shared=64}' --split-input-file | filecheck %s --check-prefix=LITTLE
// RUN: tilewright-opt %s -p 'schedule-gpu{shared=160 tf32=true}' --split-input-file | filecheck %s --check-prefix=MUCH
// RUN: tilewright-opt %s -p 'schedule-gpu{units=group shared=160 tf32=true}' --split-input-file | filecheck %s --check-prefix=SHARED
// RUN: tilewright-opt %s -p 'schedule-gpu{candidates=true}' --split-input-file | filecheck %s --check-prefix=OTHERS
// RUN: tilewright-opt %s -p 'schedule-gpu{candidates=true},apply-schedule' --split-input-file | filecheck %s --check-prefix=TAKEN
// RUN: tilewright-opt %s -p 'schedule-gpu{cores=8}' --split-input-file | filecheck %s --check-prefix=FEW
// RUN: tilewright-opt %s -p schedule-gpu --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// Other choices are named after the one that is taken, which they do not change; scheduled functions name none.
// OTHERS-LABEL: tk.func @elementwise
// OTHERS-SAME: tk.blocks = array<i64: 0, 1024>
// OTHERS-SAME: tk.candidates = [{tk.blocks = array<i64: 0, 1024>{{[^}]*}}tk.warps = 4
// OTHERS-SAME: {tk.blocks = array<i64: 0, 2048>{{[^}]*}}tk.warps = 4
// OTHERS-SAME: {tk.blocks = array<i64: 0, 512>{{[^}]*}}tk.warps = 4
// OTHERS-SAME: {tk.blocks = array<i64: 0, 2048>{{[^}]*}}tk.warps = 8
// TAKEN-LABEL: tk.func @elementwise
// TAKEN-NOT: tk.candidates
// TAKEN: tk.for 0 = "0" to "s0*4096" step 1024 parallel {
// CHECK-LABEL: tk.func @elementwise
// CHECK-SAME: tk.blocks = array<i64: 0, 1024>, tk.grid = 1 : i64, tk.warps = 4 : i64, tk.stages = 1 : i64, tk.index = 64
// APPLY-LABEL: tk.func @elementwise
// APPLY-SAME: scheduled attributes {tk.warps = 4 : i64, tk.stages = 1 : i64, tk.index = 64 : i64}
// APPLY-NEXT: tk.for 0 = "0" to "s0*4096" step 1024 parallel {
// APPLY-NEXT:   tk.load %x[d0] lanes 0 : memref<?xf32> -> vector<1024xf32>
tk.func @elementwise [s0*4096] (%x: memref<?xf32>, %o: memref<?xf32>) symbols [s0] {
  %0 = tk.load %x[d0] : memref<?xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<?xf32>
}

// -----

// Few elements: small blocks, for more programs (unless there are few cores); the last one hangs over.
// FEW-LABEL: tk.func @small
// FEW-SAME: tk.blocks = array<i64: 0, 128>
// CHECK-LABEL: tk.func @small
// CHECK-SAME: tk.blocks = array<i64: 0, 128>, tk.grid = 1 : i64, tk.warps = 1 : i64, tk.stages = 1 : i64, tk.index = 32
// APPLY-LABEL: tk.func @small
// APPLY: tk.for 0 = "0" to "1000" step 128 masked parallel {
tk.func @small [1000] (%x: memref<1000xf32>, %o: memref<1000xf32>) {
  %0 = tk.load %x[d0] : memref<1000xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<1000xf32>
}

// -----

// CHECK-LABEL: tk.func @transpose
// CHECK-SAME: tk.blocks = array<i64: 0, 64, 1, 64>, tk.grid = 2 : i64, tk.warps = 8
// APPLY-LABEL: tk.func @transpose
// APPLY: tk.load %x[d0 + d1*2048] lanes 0, 1 : memref<4194304xbf16> -> vector<64x64xbf16>
tk.func @transpose [2048, 2048] (%x: memref<4194304xbf16>, %o: memref<4194304xbf16>) {
  %0 = tk.load %x[d0 + d1*2048] : memref<4194304xbf16> -> bf16
  tk.store %0, %o[d0*2048 + d1] : bf16, memref<4194304xbf16>
}

// -----

// A row stays in registers between its reductions.
// CHECK-LABEL: tk.func @held_rows
// CHECK-SAME: tk.blocks = array<i64: 0, 2, 1, 1024>, tk.grid = 1 : i64
// APPLY-LABEL: tk.func @held_rows
// APPLY: tk.for 0 = "0" to "4096" step 2 parallel {
// APPLY-NEXT: tk.for 1 = "0" to "768" step 1024 masked {
// APPLY-NEXT: %[[X:.*]] = tk.load %x[d0*768 + d1] lanes 0, 1
// APPLY-NEXT: %[[S:.*]] = tk.collapse add %[[X]] dims [1] : vector<2x1024xf32> -> vector<2x1xf32>
// APPLY-NEXT: %[[B:.*]] = vector.broadcast %[[S]] : vector<2x1xf32> to vector<2x1024xf32>
// APPLY-NEXT: arith.subf %[[X]], %[[B]]
tk.func @held_rows [4096, 768] (%x: memref<3145728xf32>, %o: memref<3145728xf32>) {
  %0 = tk.load %x[d0*768 + d1] : memref<3145728xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  %2 = arith.subf %0, %1 : f32
  tk.store %2, %o[d0*768 + d1] : f32, memref<3145728xf32>
}

// -----

// Of symbolic length: looped; a maximum needs the mask.
// CHECK-LABEL: tk.func @looped_rows
// CHECK-SAME: tk.blocks = array<i64: 0, 1, 1, 2048>, tk.grid = 1 : i64
// REMARK: tk.func at {{.*}}: rows do not stay in registers: reductions are loops over blocks
// APPLY-LABEL: tk.func @looped_rows
// APPLY: tk.for 1 = "0" to "s0" step 2048 masked iter
// APPLY: %[[M:.*]] = tk.active lanes 1 : vector<2048xi1>
// APPLY-NEXT: arith.select %[[M]]
// APPLY: tk.collapse max
tk.func @looped_rows [4096, s0] (%x: memref<?xf32>, %o: memref<4096xf32>) symbols [s0] {
  %0 = tk.load %x[d0*s0 + d1] : memref<?xf32> -> f32
  %1 = tk.reduce max %0 over [1] : f32
  tk.store %1, %o[d0] : f32, memref<4096xf32>
}

// -----

// Lanes along columns where these are contiguous.
// CHECK-LABEL: tk.func @columns
// CHECK-SAME: tk.blocks = array<i64: 0, 32, 1, 64>, tk.grid = 1 : i64
// APPLY-LABEL: tk.func @columns
// APPLY: tk.collapse add %{{.*}} dims [1] : vector<32x64xf32> -> vector<32x1xf32>
tk.func @columns [10000, 512] (%x: memref<5120000xf32>, %o: memref<10000xf32>) {
  %0 = tk.load %x[d0 + d1*10000] : memref<5120000xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  tk.store %1, %o[d0] : f32, memref<10000xf32>
}

// -----

// CHECK-LABEL: tk.func @product
// CHECK-SAME: tk.blocks = array<i64: 0, 128, 1, 128, 2, 64>, tk.grid = 2 : i64, tk.warps = 8 : i64, tk.stages = 3 : i64, tk.index = 32 : i64, tk.swizzle = 8 : i64, tk.product = "ieee"
// LITTLE-LABEL: tk.func @product
// LITTLE-SAME: tk.blocks = array<i64: 0, 128, 1, 128, 2, 64>, tk.grid = 2 : i64, tk.warps = 8 : i64, tk.stages = 2 : i64
// MUCH-LABEL: tk.func @product
// MUCH-SAME: tk.blocks = array<i64: 0, 128, 1, 256, 2, 64>
// APPLY-LABEL: tk.func @product
// APPLY: %[[S:.*]] = tk.for 2 = "0" to "1000" step 64 masked iter(%[[P:.*]] = %{{.*}} : vector<128x128xf32>) {
// APPLY-NEXT: %[[A:.*]] = tk.load %a[d0*1000 + d2] lanes 0, 2 : memref<2048000xbf16> -> vector<128x64xbf16>
// APPLY-NEXT: %[[B:.*]] = tk.load %b[d1 + d2*2048] lanes 2, 1 : memref<2048000xbf16> -> vector<64x128xbf16>
// APPLY-NEXT: %[[N:.*]] = tk.mma %[[P]], %[[A]], %[[B]] precision "ieee"
// APPLY-NEXT: tk.yield %[[N]]
// APPLY: tk.store %{{.*}}, %o[d0*2048 + d1] lanes 0, 1 : vector<128x128xbf16>, memref<4194304xbf16>
tk.func @product [2048, 2048, 1000] (%a: memref<2048000xbf16>, %b: memref<2048000xbf16>, %o: memref<4194304xbf16>) {
  %0 = tk.load %a[d0*1000 + d2] : memref<2048000xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d2*2048 + d1] : memref<2048000xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] : f32
  %6 = arith.truncf %5 : f32 to bf16
  tk.store %6, %o[d0*2048 + d1] : bf16, memref<4194304xbf16>
}

// -----

// CHECK-LABEL: tk.func @too_thin
// CHECK-NOT: tk.product
// REMARK: tk.func at {{.*}}: a matrix product without tiles: of sizes [2, 64, 64], one is below 8
tk.func @too_thin [2, 64, 64] (%a: memref<128xf32>, %b: memref<4096xf32>, %o: memref<128xf32>) {
  %0 = tk.load %a[d0*64 + d2] : memref<128xf32> -> f32
  %1 = tk.load %b[d2*64 + d1] : memref<4096xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [2] : f32
  tk.store %3, %o[d0*64 + d1] : f32, memref<128xf32>
}

// -----

// CHECK-LABEL: tk.func @short_sum
// CHECK-NOT:   tk.product
// REMARK: tk.func at {{.*}}: a matrix product without tiles: of sizes [64, 4096, 4], one is below 8
tk.func @short_sum [64, 4096, 4] (%a: memref<256xbf16>, %b: memref<16384xbf16>, %o: memref<262144xbf16>) {
  %0 = tk.load %a[d0*4 + d2] : memref<256xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d1*4 + d2] : memref<16384xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] : f32
  %6 = arith.truncf %5 : f32 to bf16
  tk.store %6, %o[d0*4096 + d1] : bf16, memref<262144xbf16>
}

// -----

// CHECK-LABEL: tk.func @two_row_axes
// REMARK: tk.func at {{.*}}: a matrix product without tiles: run flatten-axes first
tk.func @two_row_axes [8, 8, 64, 64] (%a: memref<4096xf32>, %b: memref<4096xf32>, %o: memref<4096xf32>) {
  %0 = tk.load %a[d0*512 + d1*64 + d3] : memref<4096xf32> -> f32
  %1 = tk.load %b[d3*64 + d2] : memref<4096xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [3] : f32
  tk.store %3, %o[d0*512 + d1*64 + d2] : f32, memref<4096xf32>
}

// -----

// Enough of them for every multiprocessor, and memory for three stages: wider tiles.
// CHECK-LABEL: tk.func @large_product
// MUCH-LABEL: tk.func @large_product
// MUCH-SAME: tk.blocks = array<i64: 0, 128, 1, 256, 2, 64>
tk.func @large_product [8192, 8192, 512] (%a: memref<4194304xf16>, %b: memref<4194304xf16>, %o: memref<67108864xf32>) {
  %0 = tk.load %a[d0*512 + d2] : memref<4194304xf16> -> f16
  %1 = arith.extf %0 : f16 to f32
  %2 = tk.load %b[d2*8192 + d1] : memref<4194304xf16> -> f16
  %3 = arith.extf %2 : f16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] : f32
  tk.store %5, %o[d0*8192 + d1] : f32, memref<67108864xf32>
}

// -----

// Precision is stated; only f32 has a choice.
// CHECK-LABEL: tk.func @single
// CHECK-SAME: tk.product = "ieee"
// MUCH-LABEL: tk.func @single
// MUCH-SAME: tk.product = "tf32"
tk.func @single [256, 256, 256] (%a: memref<65536xf32>, %b: memref<65536xf32>, %o: memref<65536xf32>) {
  %0 = tk.load %a[d0*256 + d2] : memref<65536xf32> -> f32
  %1 = tk.load %b[d2*256 + d1] : memref<65536xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [2] : f32
  tk.store %3, %o[d0*256 + d1] : f32, memref<65536xf32>
}

// -----

// CHECK-LABEL: tk.func @more_than_31_bits
// CHECK-SAME: tk.index = 64
tk.func @more_than_31_bits [2147483648] (%x: memref<2147483648xbf16>, %o: memref<2147483648xbf16>) {
  %0 = tk.load %x[d0] : memref<2147483648xbf16> -> bf16
  tk.store %0, %o[d0] : bf16, memref<2147483648xbf16>
}

// -----

// What is divided may be larger than any buffer.
// CHECK-LABEL: tk.func @wide_division
// CHECK-SAME: tk.index = 64
tk.func @wide_division [1000000] (%x: memref<1000000xf32>, %o: memref<1000000xf32>) {
  %0 = tk.load %x[((d0*4096) floordiv 4097)] : memref<1000000xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<1000000xf32>
}

// -----

// No block is larger than its axis or smaller than matrix units take.
// OTHERS-LABEL: tk.func @small_product
// OTHERS-SAME: tk.blocks = array<i64: 0, 32, 1, 16, 2, 16>
// OTHERS-SAME: tk.candidates = [{tk.blocks = array<i64: 0, 32, 1, 16, 2, 16>{{[^}]*}}tk.stages = 3
// OTHERS-SAME: {tk.blocks = array<i64: 0, 32, 1, 16, 2, 16>{{[^}]*}}tk.stages = 4
// OTHERS-SAME: {tk.blocks = array<i64: 0, 32, 1, 16, 2, 16>{{[^}]*}}tk.stages = 2
// OTHERS-SAME: {tk.blocks = array<i64: 0, 16, 1, 16, 2, 16>{{[^}]*}}tk.warps = 2
// OTHERS-SAME: {tk.blocks = array<i64: 0, 32, 1, 16, 2, 16>, tk.grid = 2 : i64, tk.warps = 1{{[^}]*}}}]}
tk.func @small_product [32, 16, 16] (%x: memref<512xbf16>, %y: memref<256xbf16>, %o: memref<512xf32>) {
  %0 = tk.load %x[d0*16 + d2] : memref<512xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %y[d2*16 + d1] : memref<256xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
  tk.store %5, %o[d0*16 + d1] : f32, memref<512xf32>
}

// -----

// One element: nothing to choose.
// OTHERS-LABEL: tk.func @scalar
// OTHERS-NOT: tk.candidates
tk.func @scalar [] (%x: memref<1xf32>, %o: memref<1xf32>) {
  %0 = tk.load %x[0] : memref<1xf32> -> f32
  tk.store %0, %o[0] : f32, memref<1xf32>
}

// -----

// The axes beside count, too: rows of 768 in 128 programs each are enough for long blocks on few cores.
// OTHERS-LABEL: tk.func @gathered_rows
// CHECK-LABEL: tk.func @gathered_rows
// CHECK-SAME: tk.blocks = array<i64: 0, 1, 1, 256>
// FEW-LABEL: tk.func @gathered_rows
// FEW-SAME: tk.blocks = array<i64: 0, 1, 1, 512>
tk.func @gathered_rows [128, 768] (%i: memref<128xi64>, %x: memref<?xf32>, %o: memref<98304xf32>) {
  %0 = tk.load %i[d0] : memref<128xi64> -> i64
  %1 = arith.index_cast %0 : i64 to index
  %2 = tk.load %x[d1 + i0*768](%1) : memref<?xf32> -> f32
  tk.store %2, %o[d0*768 + d1] : f32, memref<98304xf32>
}

// -----

// What is done with a sum takes registers, too: a costly function and a tile that is read want a smaller tile.
// MUCH-LABEL: tk.func @costly_epilogue
// MUCH-SAME: tk.blocks = array<i64: 0, 64, 1, 128, 2, 64>, tk.grid = 2 : i64, tk.warps = 8
tk.func @costly_epilogue [8192, 8192, 512] (%a: memref<4194304xf16>, %b: memref<4194304xf16>, %c: memref<67108864xf16>, %o: memref<67108864xf32>) {
  %0 = tk.load %a[d0*512 + d2] : memref<4194304xf16> -> f16
  %1 = arith.extf %0 : f16 to f32
  %2 = tk.load %b[d2*8192 + d1] : memref<4194304xf16> -> f16
  %3 = arith.extf %2 : f16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] : f32
  %6 = tk.load %c[d0*8192 + d1] : memref<67108864xf16> -> f16
  %7 = arith.extf %6 : f16 to f32
  %8 = math.tanh %7 : f32
  %9 = arith.mulf %8, %5 : f32
  tk.store %9, %o[d0*8192 + d1] : f32, memref<67108864xf32>
}

// -----

// One costly function: half of what is otherwise possible.
// MUCH-LABEL: tk.func @activation
// MUCH-SAME: tk.blocks = array<i64: 0, 128, 1, 128, 2, 64>, tk.grid = 2 : i64, tk.warps = 8
tk.func @activation [8192, 8192, 512] (%a: memref<4194304xf16>, %b: memref<4194304xf16>, %o: memref<67108864xf32>) {
  %0 = tk.load %a[d0*512 + d2] : memref<4194304xf16> -> f16
  %1 = arith.extf %0 : f16 to f32
  %2 = tk.load %b[d2*8192 + d1] : memref<4194304xf16> -> f16
  %3 = arith.extf %2 : f16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] : f32
  %6 = math.erf %5 : f32
  tk.store %6, %o[d0*8192 + d1] : f32, memref<67108864xf32>
}

// -----

// A vector of each batch, times columns: it is short, though each of its elements is read for all columns.
// CHECK-LABEL: tk.func @vectors_of_batches
// CHECK-SAME: tk.blocks = array<i64: 0, 16, 1, 256>
tk.func @vectors_of_batches [260, 300] (%v: memref<1200xf32>, %m: memref<78000xf32>, %o: memref<260xf32>) {
  %0 = tk.load %v[d1 + (d0 floordiv 65)*300] : memref<1200xf32> -> f32
  %1 = tk.load %m[d1*65 + (d0 floordiv 65)*19500 + d0 mod 65] : memref<78000xf32> -> f32
  %2 = arith.mulf %0, %1 : f32
  %3 = tk.reduce add %2 over [1] : f32
  tk.store %3, %o[d0] : f32, memref<260xf32>
}

// Rows that lie side by side in runs (two axes were merged) are columns: a program takes neighbours.
// CHECK-LABEL: tk.func @columns_in_runs
// CHECK-SAME: tk.blocks = array<i64: 0, 16, 1, 512>, tk.grid = 1 : i64, tk.warps = 16
tk.func @columns_in_runs [1568, 512] (%x: memref<802816xf32>, %o: memref<802816xf32>) {
  %0 = tk.load %x[d1*196 + (d0 floordiv 196)*100352 + (d0 mod 196)] : memref<802816xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  %2 = arith.subf %0, %1 : f32
  tk.store %2, %o[d0*512 + d1] : f32, memref<802816xf32>
}

// -----

// Runs of 3 are not worth it.
// CHECK-LABEL: tk.func @short_runs
// CHECK-SAME: tk.blocks = array<i64: 0, {{[0-9]+}}, 1, 512>
// CHECK-SAME: tk.warps = 8
tk.func @short_runs [1536, 512] (%x: memref<786432xf32>, %o: memref<1536xf32>) {
  %0 = tk.load %x[d1*3 + (d0 floordiv 3)*1536 + (d0 mod 3)] : memref<786432xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  tk.store %1, %o[d0] : f32, memref<1536xf32>
}

// -----

// A step takes as many bytes of i8 as of halves; a wide tile only where factors come from shared memory.
// CHECK-LABEL: tk.func @integers
// CHECK-SAME: tk.blocks = array<i64: 0, 128, 1, 128, 2, 128>
// MUCH-LABEL: tk.func @integers
// MUCH-SAME: tk.blocks = array<i64: 0, 128, 1, 128, 2, 128>
// SHARED-LABEL: tk.func @integers
// SHARED-SAME: tk.blocks = array<i64: 0, 128, 1, 256, 2, 128>
// APPLY-LABEL: tk.func @integers
// APPLY: tk.for 2 = "0" to "1000" step 128 masked iter(%[[P:.*]] = %{{.*}} : vector<128x128xi32>) {
// APPLY-NEXT: %[[A:.*]] = tk.load %a[d0*1000 + d2] lanes 0, 2 : memref<8192000xi8> -> vector<128x128xi8>
// APPLY-NEXT: %[[B:.*]] = tk.load %b[d1 + d2*8192] lanes 2, 1 : memref<8192000xi8> -> vector<128x128xi8>
// APPLY-NEXT: %[[N:.*]] = tk.mma %[[P]], %[[A]], %[[B]] precision "ieee" : vector<128x128xi32>, vector<128x128xi8>, vector<128x128xi8>
// APPLY-NEXT: tk.yield %[[N]]
tk.func @integers [8192, 8192, 1000] (%a: memref<8192000xi8>, %b: memref<8192000xi8>, %o: memref<67108864xi32>) {
  %0 = tk.load %a[d0*1000 + d2] : memref<8192000xi8> -> i8
  %1 = arith.extsi %0 : i8 to i32
  %2 = tk.load %b[d2*8192 + d1] : memref<8192000xi8> -> i8
  %3 = arith.extsi %2 : i8 to i32
  %4 = arith.muli %1, %3 : i32
  %5 = tk.reduce add %4 over [2] {tk.factors = i8} : i32
  tk.store %5, %o[d0*8192 + d1] : i32, memref<67108864xi32>
}

// -----

// Without a note these are numbers of 32 bits, for which there are no units.
// CHECK-LABEL: tk.func @wide_integers
// CHECK-NOT: tk.product
tk.func @wide_integers [64, 64, 64] (%a: memref<4096xi32>, %b: memref<4096xi32>, %o: memref<4096xi32>) {
  %0 = tk.load %a[d0*64 + d2] : memref<4096xi32> -> i32
  %1 = tk.load %b[d2*64 + d1] : memref<4096xi32> -> i32
  %2 = arith.muli %0, %1 : i32
  %3 = tk.reduce add %2 over [2] : i32
  tk.store %3, %o[d0*64 + d1] : i32, memref<4096xi32>
}

// -----

// What was computed as i8 is multiplied as such, and is zero beyond the end of the sum.
// CHECK-LABEL: tk.func @computed_integers
// APPLY-LABEL: tk.func @computed_integers
// APPLY: %[[X:.*]] = arith.addi %{{.*}} : vector<32x64xi32>
// APPLY: %[[N:.*]] = arith.trunci %[[X]] : vector<32x64xi32> to vector<32x64xi8>
// APPLY: %[[Z:.*]] = arith.select %{{.*}}, %[[N]], %{{.*}} : vector<32x64xi1>, vector<32x64xi8>
// APPLY: tk.mma %{{.*}}, %[[Z]], %{{.*}} : vector<32x32xi32>, vector<32x64xi8>, vector<64x32xi8>
tk.func @computed_integers [64, 64, 60] (%a: memref<3840xi8>, %b: memref<3840xi8>, %o: memref<4096xi32>) {
  %c = arith.constant 1 : i32
  %0 = tk.load %a[d0*60 + d2] : memref<3840xi8> -> i8
  %1 = arith.extsi %0 : i8 to i32
  %2 = arith.addi %1, %c : i32
  %w = arith.trunci %2 : i32 to i8
  %n = arith.extsi %w : i8 to i32
  %3 = tk.load %b[d2*64 + d1] : memref<3840xi8> -> i8
  %4 = arith.extsi %3 : i8 to i32
  %5 = arith.muli %n, %4 : i32
  %6 = tk.reduce add %5 over [2] {tk.factors = i8} : i32
  tk.store %6, %o[d0*64 + d1] : i32, memref<4096xi32>
}

// -----

// 8-bit floats go as they are, two kinds as well; beside the sums of a step there is no room for a wide tile.
// SHARED-LABEL: tk.func @floats_of_8_bits
// SHARED-SAME: tk.blocks = array<i64: 0, 128, 1, 128, 2, 128>
// APPLY-LABEL: tk.func @floats_of_8_bits
// APPLY: tk.mma %{{.*}} : vector<128x128xf32>, vector<128x128xf8E4M3FN>, vector<128x128xf8E5M2>
tk.func @floats_of_8_bits [8192, 8192, 1024] (%a: memref<8388608xi8>, %b: memref<8388608xi8>, %o: memref<67108864xf32>) {
  %0 = tk.load %a[d0*1024 + d2] : memref<8388608xi8> -> i8
  %1 = arith.bitcast %0 : i8 to f8E4M3FN
  %2 = arith.extf %1 : f8E4M3FN to f32
  %3 = tk.load %b[d2*8192 + d1] : memref<8388608xi8> -> i8
  %4 = arith.bitcast %3 : i8 to f8E5M2
  %5 = arith.extf %4 : f8E5M2 to f32
  %6 = arith.mulf %2, %5 : f32
  %7 = tk.reduce add %6 over [2] {tk.factors = f16} : f32
  tk.store %7, %o[d0*8192 + d1] : f32, memref<67108864xf32>
}
