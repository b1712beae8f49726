// Sums of blocks of 64 additions, sums of 64 of these, and the sum of those: too large to run here.
// RUN: tilewright-opt %s -p apply-schedule --split-input-file | filecheck %s

// What is left over is a block by itself.
// CHECK-LABEL: @three_levels
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK:      %[[ALL:.*]] = tk.for 1 = "0" to "39936" step 8192 iter
// CHECK-NEXT:   %[[SOME:.*]] = tk.for 2 = "d1" to "min(39936, d1 + 8192)" step 128 iter
// CHECK-NEXT:     tk.for 0 = "d2" to "d2 + 128" step 2 iter
// CHECK:      %[[A:.*]], %[[B:.*]] = tk.for 0 = "39936" to "40000" step 2 iter(%{{.*}} = %[[ZERO]] : f32, %{{.*}} = %[[ZERO]] : f32)
// CHECK:      %[[REST:.*]] = arith.addf %[[A]], %[[B]]
// CHECK-NEXT: arith.addf %[[ALL]], %[[REST]]
tk.func @three_levels [40000] (%x: memref<40000xf32>, %o: memref<1xf32>)
    attributes {tk.order = array<i64: 0>, tk.unroll = array<i64: 2>} {
  %0 = tk.load %x[d0] : memref<40000xf32> -> f32
  %1 = tk.reduce add %0 over [0] : f32
  tk.store %1, %o[0] : f32, memref<1xf32>
}

// -----

// Two levels where there are few blocks; what divides evenly has no `min`.

// CHECK-LABEL: @two_levels
// CHECK:      tk.for 1 = "0" to "32768" step 128 iter
// CHECK-NEXT:   tk.for 0 = "d1" to "d1 + 128" step 2 iter
// CHECK-NOT:  tk.for
// CHECK-LABEL: @even
// CHECK:      tk.for 1 = "0" to "65536" step 8192 iter
// CHECK-NEXT:   tk.for 2 = "d1" to "d1 + 8192" step 128 iter
// CHECK-NEXT:     tk.for 0 = "d2" to "d2 + 128" step 2 iter
tk.func @two_levels [32768] (%x: memref<32768xf32>, %o: memref<1xf32>)
    attributes {tk.order = array<i64: 0>, tk.unroll = array<i64: 2>} {
  %0 = tk.load %x[d0] : memref<32768xf32> -> f32
  %1 = tk.reduce add %0 over [0] : f32
  tk.store %1, %o[0] : f32, memref<1xf32>
}
tk.func @even [65536] (%x: memref<65536xf32>, %o: memref<1xf32>)
    attributes {tk.order = array<i64: 0>, tk.unroll = array<i64: 2>} {
  %0 = tk.load %x[d0] : memref<65536xf32> -> f32
  %1 = tk.reduce add %0 over [0] : f32
  tk.store %1, %o[0] : f32, memref<1xf32>
}

// -----

// Tiles of rows are added up in an array each; 64 of them make another.

// CHECK-LABEL: @groups_of_tiles
// CHECK:      tk.local
// CHECK:      tk.for 3 = "0" to "2100" step 512
// CHECK:        tk.local
// CHECK:        tk.for 2 = "d3" to "d3 + min(-d3 + 2100, 512)" step 8
// CHECK:          tk.local
// CHECK-LABEL: @few_tiles
// CHECK:      tk.local
// CHECK:      tk.for 2 = "0" to "2048" step 8
// CHECK:        tk.local
// CHECK-NOT:      tk.local
tk.func @groups_of_tiles [2100, 5] (%x: memref<10500xf32>, %o: memref<5xf32>)
    attributes {tk.tiles = array<i64: 0, 8>, tk.order = array<i64: 2, 0, 1>, tk.arrays} {
  %0 = tk.load %x[d0*5 + d1] : memref<10500xf32> -> f32
  %1 = tk.reduce add %0 over [0] : f32
  tk.store %1, %o[d1] : f32, memref<5xf32>
}
tk.func @few_tiles [2048, 5] (%x: memref<10240xf32>, %o: memref<5xf32>)
    attributes {tk.tiles = array<i64: 0, 8>, tk.order = array<i64: 2, 0, 1>, tk.arrays} {
  %0 = tk.load %x[d0*5 + d1] : memref<10240xf32> -> f32
  %1 = tk.reduce add %0 over [0] : f32
  tk.store %1, %o[d1] : f32, memref<5xf32>
}
