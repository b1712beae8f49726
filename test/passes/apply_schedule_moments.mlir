// RUN: tilewright-opt %s -p apply-schedule --split-input-file --print-debuginfo | filecheck %s

// A row in a loop: each lane joins one number at a time, lanes are joined in the end. Lanes beyond the
// end count nothing. How many numbers a row has is known.

// CHECK-LABEL: @looped_row
// CHECK: %[[S:.*]], %[[Q:.*]], %[[N:.*]] = tk.for 1 = "0" to "100" step 16 masked iter(%[[A:.*]] = %{{.*}} : vector<16xf32>, %[[B:.*]] = %{{.*}} : vector<16xf32>, %[[C:.*]] = %{{.*}} : vector<16xf32>) {
// CHECK-NEXT: %[[X:.*]] = tk.load %x[d0*100 + d1] lanes 1
// CHECK-NEXT: %[[M:.*]] = tk.active lanes 1
// CHECK-NEXT: %[[K:.*]] = arith.select %[[M]], %{{.*}}, %{{.*}}
// CHECK-NEXT: %[[N2:.*]] = arith.addf %[[C]], %[[K]]
// CHECK-NEXT: %[[L:.*]] = arith.maximumf %[[N2]]
// CHECK-NEXT: %[[R:.*]] = arith.divf %[[K]], %[[L]]
// CHECK-NEXT: %[[D:.*]] = arith.subf %[[X]], %[[A]]
// CHECK-NEXT: %[[DR:.*]] = arith.mulf %[[D]], %[[R]]
// CHECK-NEXT: %[[W:.*]] = arith.mulf %[[DR]], %[[C]]
// CHECK-NEXT: %[[DW:.*]] = arith.mulf %[[D]], %[[W]]
// CHECK-NEXT: %[[Q2:.*]] = arith.addf %[[B]], %[[DW]]
// CHECK-NEXT: %[[S2:.*]] = arith.addf %[[A]], %[[DR]] fastmath<contract> : vector<16xf32> loc("m.py":2:0)
// CHECK-NEXT: tk.yield %[[S2]], %[[Q2]], %[[N2]]
// CHECK: %[[G:.*]] = arith.mulf %[[S]], %[[N]]
// CHECK: %[[T:.*]] = tk.collapse add %[[G]] dims [0]
// CHECK: %[[MEAN:.*]] = arith.divf %[[T]], %{{.*}} : f32
// CHECK: %[[LEFT:.*]] = tk.collapse add %{{.*}} dims [0]
// CHECK: %[[ERROR:.*]] = arith.divf %[[LEFT]], %{{.*}} : f32
// CHECK: %[[V:.*]] = tk.collapse add %{{.*}} dims [0]
// CHECK: %[[M:.*]] = arith.addf %[[MEAN]], %[[ERROR]]
// CHECK: tk.store %{{.*}}, %o[d0]
// CHECK: tk.store %[[M]], %m[d0]
tk.func @looped_row [3, 100] (%x: memref<300xf32>, %o: memref<3xf32>, %m: memref<3xf32>)
    attributes {tk.blocks = array<i64: 0, 1, 1, 16>, tk.grid = 1 : i64} {
  %0 = tk.load %x[d0*100 + d1] : memref<300xf32> -> f32 loc("m.py":1:0)
  %z = arith.constant 0.0 : f32
  %u = arith.constant 1.0 : f32
  %s, %q, %n = tk.moments %0, %z, %u over [1] : f32 loc("m.py":2:0)
  tk.store %q, %o[d0] : f32, memref<3xf32>
  tk.store %s, %m[d0] : f32, memref<3xf32>
}

// -----

// Blocks that divide the row: all lanes have met equally many numbers, one scalar counts them. Each is one more.

// CHECK-LABEL: @counts_once
// CHECK: tk.for 1 = "0" to "64" step 16 iter(%{{.*}} : vector<2x16xf32>, %{{.*}} : vector<2x16xf32>, %[[C:.*]] = %{{.*}} : f32) {
// CHECK: %[[N:.*]] = arith.addf %[[C]], %{{.*}} : f32
// CHECK-NEXT: %[[L:.*]] = arith.maximumf %[[N]]
// CHECK-NEXT: arith.divf %u, %[[L]] : f32
tk.func @counts_once [4, 64] (%x: memref<256xf32>, %o: memref<4xf32>)
    attributes {tk.blocks = array<i64: 0, 2, 1, 16>, tk.grid = 1 : i64} {
  %0 = tk.load %x[d0*64 + d1] : memref<256xf32> -> f32
  %z = arith.constant 0.0 : f32
  %u = arith.constant 1.0 : f32
  %s, %q, %n = tk.moments %0, %z, %u over [1] : f32
  tk.store %q, %o[d0] : f32, memref<4xf32>
}

// -----

// A row that a program holds needs no formula: its mean, then the deviations from it, whose mean corrects both.

// CHECK-LABEL: @held_row
// CHECK: %[[X:.*]] = tk.load
// CHECK: %[[S:.*]] = tk.collapse add %[[X]] dims [1] : vector<2x16xf32> -> vector<2x1xf32>
// CHECK: %[[M:.*]] = arith.divf %[[S]]
// CHECK: %[[B:.*]] = vector.broadcast %[[M]]
// CHECK-NEXT: %[[D:.*]] = arith.subf %[[X]], %[[B]]
// CHECK: %[[K:.*]] = arith.select %{{.*}}, %[[D]], %{{.*}}
// CHECK: %[[Q:.*]] = arith.mulf %[[K]], %[[K]]
// CHECK-NEXT: %[[L:.*]] = tk.collapse add %[[K]] dims [1]
// CHECK-NEXT: %[[E:.*]] = arith.divf %[[L]]
// CHECK-NEXT: %[[V:.*]] = tk.collapse add %[[Q]] dims [1]
// CHECK-NEXT: %[[LE:.*]] = arith.mulf %[[L]], %[[E]]
// CHECK-NEXT: %[[C:.*]] = arith.subf %[[V]], %[[LE]]
// CHECK: %[[P:.*]] = arith.maximumf %[[C]]
// CHECK-NEXT: tk.store %[[P]], %o[d0]
tk.func @held_row [4, 13] (%x: memref<52xf32>, %o: memref<4xf32>)
    attributes {tk.blocks = array<i64: 0, 2, 1, 16>, tk.grid = 1 : i64} {
  %0 = tk.load %x[d0*13 + d1] : memref<52xf32> -> f32
  %z = arith.constant 0.0 : f32
  %u = arith.constant 1.0 : f32
  %s, %q, %n = tk.moments %0, %z, %u over [1] : f32
  tk.store %q, %o[d0] : f32, memref<4xf32>
}

// -----

// Groups of several numbers have means and deviations of their own; what nobody knows is counted.

// CHECK-LABEL: @groups
// CHECK: %[[S:.*]] = tk.load %s[d0] lanes 0
// CHECK: %[[Q:.*]] = tk.load %q[d0] lanes 0
// CHECK: %[[K:.*]] = arith.addf
// CHECK: %[[N:.*]] = arith.select %{{.*}}, %[[K]], %{{.*}} : vector<8xi1>, vector<8xf64>
// CHECK: %[[C:.*]] = tk.collapse add %[[N]] dims [0]
// CHECK: %[[W:.*]] = arith.mulf %[[S]], %[[N]]
// CHECK: %[[A:.*]] = tk.collapse add %[[W]] dims [0]
// CHECK: %[[L:.*]] = arith.maximumf %[[C]]
// CHECK: arith.divf %[[A]], %[[L]]
// CHECK: %[[T:.*]] = arith.addf %{{.*}}, %[[Q]]
// CHECK: tk.collapse add %[[T]] dims [0]
tk.func @groups [5] (%s: memref<5xf64>, %q: memref<5xf64>, %n: memref<5xf64>, %o: memref<1xf64>)
    attributes {tk.blocks = array<i64: 0, 8>, tk.grid = 0 : i64} {
  %0 = tk.load %s[d0] : memref<5xf64> -> f64
  %1 = tk.load %q[d0] : memref<5xf64> -> f64
  %2 = tk.load %n[d0] : memref<5xf64> -> f64
  %u = arith.constant 1.0 : f64
  %p = math.absf %2 : f64
  %c = arith.addf %p, %u : f64
  %3, %4, %5 = tk.moments %0, %1, %c over [0] : f64
  tk.store %4, %o[0] : f64, memref<1xf64>
}

// -----

// Of groups that all have the same number, it is known how many that are in a row; no number is compared with one.

// CHECK-LABEL: @groups_of_one_size
// CHECK-NEXT: %[[C:.*]] = arith.constant 4.800000e+01 : f32
// CHECK: %[[N:.*]] = arith.constant 3.072000e+03 : f32
// CHECK-NEXT: %[[EACH:.*]] = vector.broadcast %[[C]] : f32 to vector<2x64xf32>
// CHECK-NEXT: %[[ALL:.*]] = vector.broadcast %[[N]] : f32 to vector<2x1xf32>
// CHECK: arith.mulf %{{.*}}, %[[EACH]] : vector<2x64xf32>
// CHECK-NOT: arith.maximumf
// CHECK: arith.divf %{{.*}}, %[[ALL]] : vector<2x1xf32>
// CHECK: arith.divf %{{.*}}, %[[ALL]] : vector<2x1xf32>
// CHECK: tk.store
tk.func @groups_of_one_size [4, 64] (%s: memref<256xf32>, %q: memref<256xf32>, %o: memref<4xf32>)
    attributes {tk.blocks = array<i64: 0, 2, 1, 64>, tk.grid = 1 : i64} {
  %0 = tk.load %s[d0*64 + d1] : memref<256xf32> -> f32
  %1 = tk.load %q[d0*64 + d1] : memref<256xf32> -> f32
  %c = arith.constant 48.0 : f32
  %3, %4, %5 = tk.moments %0, %1, %c over [1] : f32
  tk.store %4, %o[d0] : f32, memref<4xf32>
}

// -----

// A mask leaves groups out: they are counted.

// CHECK-LABEL: @masked_groups_of_one_size
// CHECK: %[[N:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : vector<1x64xi1>, vector<1x64xf32>
// CHECK: %[[C:.*]] = tk.collapse add %[[N]] dims [1]
// CHECK: arith.maximumf %[[C]]
tk.func @masked_groups_of_one_size [4, 63] (%s: memref<252xf32>, %q: memref<252xf32>, %o: memref<4xf32>)
    attributes {tk.blocks = array<i64: 0, 2, 1, 64>, tk.grid = 1 : i64} {
  %0 = tk.load %s[d0*63 + d1] : memref<252xf32> -> f32
  %1 = tk.load %q[d0*63 + d1] : memref<252xf32> -> f32
  %c = arith.constant 48.0 : f32
  %3, %4, %5 = tk.moments %0, %1, %c over [1] : f32
  tk.store %4, %o[d0] : f32, memref<4xf32>
}

// -----

// Lanes of vectors, for CPUs.

// CHECK-LABEL: @vectors
// CHECK: %[[S:.*]], %[[Q:.*]], %[[N:.*]] = tk.for 0 = "0" to "16" step 4 iter(
// CHECK: %[[S2:.*]], %[[Q2:.*]], %[[N2:.*]] = tk.tail 0 = "16" count "3" iter(
// CHECK: vector.reduction <add>, %[[N2]] : vector<4xf32> into f32
// CHECK: %[[W:.*]] = arith.mulf %[[S2]], %[[N2]]
// CHECK: %[[T:.*]] = vector.reduction <add>, %[[W]] : vector<4xf32> into f32
// CHECK: %[[D:.*]] = vector.reduction <add>, %{{.*}} : vector<4xf32> into f32
tk.func @vectors [19] (%x: memref<19xf32>, %o: memref<1xf32>) attributes {tk.vector = array<i64: 0, 4>} {
  %0 = tk.load %x[d0] : memref<19xf32> -> f32
  %z = arith.constant 0.0 : f32
  %u = arith.constant 1.0 : f32
  %s, %q, %n = tk.moments %0, %z, %u over [0] : f32
  tk.store %q, %o[0] : f32, memref<1xf32>
}
