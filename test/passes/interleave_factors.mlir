// RUN: tilewright-opt %s -p interleave-factors --split-input-file --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p interleave-factors --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// CHECK-LABEL: @pairs
// CHECK:      tk.for 2
// CHECK-NEXT:   %[[X:.*]] = tk.load %x[d0*64 + d2*2] lanes 0, 2 group 2 : memref<1024xbf16> -> vector<16x32xbf16> loc("m.py":1:0)
// CHECK-NEXT:   %[[A:.*]] = tk.load %a
// CHECK-NEXT:   %[[B:.*]] = tk.load %b
// CHECK-NEXT:   %[[AT:.*]] = tk.transpose %[[A]] : vector<16x32xbf16> -> vector<32x16xbf16> loc("m.py":2:0)
// CHECK-NEXT:   %[[BT:.*]] = tk.transpose %[[B]] : vector<16x32xbf16> -> vector<32x16xbf16>
// CHECK-NEXT:   %[[T:.*]] = tk.interleave %[[AT]], %[[BT]] : vector<32x16xbf16>, vector<32x16xbf16> -> vector<32x32xbf16>
// CHECK-NEXT:   %[[R:.*]] = tk.transpose %[[T]]
// CHECK-NEXT:   %[[S:.*]] = tk.mma %{{.*}}, %[[X]], %[[R]] precision "ieee" : vector<16x32xf32>, vector<16x32xbf16>, vector<32x32xbf16> -> vector<16x32xf32> loc("m.py":2:0)
// CHECK-NEXT:   tk.yield %[[S]]
tk.func @pairs [16, 32, 32] (%x: memref<1024xbf16>, %a: memref<1024xbf16>, %b: memref<1024xbf16>, %o: memref<512xf32>) scheduled {
  %zero = arith.constant 0.0 : f32
  %none = vector.broadcast %zero : f32 to vector<16x32xf32>
  tk.for 0 = "0" to "16" step 16 parallel {
    tk.for 1 = "0" to "32" step 32 parallel {
      %sum = tk.for 2 = "0" to "32" step 16 iter(%0 = %none : vector<16x32xf32>) {
        %1 = tk.load %x[d0*64 + d2*2 + 1] lanes 0, 2 : memref<1024xbf16> -> vector<16x16xbf16> loc("m.py":1:0)
        %2 = tk.load %x[d0*64 + d2*2] lanes 0, 2 : memref<1024xbf16> -> vector<16x16xbf16> loc("m.py":1:0)
        %3 = tk.load %a[d1*32 + d2] lanes 2, 1 : memref<1024xbf16> -> vector<16x32xbf16>
        %4 = tk.load %b[d1*32 + d2] lanes 2, 1 : memref<1024xbf16> -> vector<16x32xbf16>
        %5 = tk.share %3 : vector<16x32xbf16>
        %6 = tk.mma %0, %2, %5 precision "ieee" : vector<16x32xf32>, vector<16x16xbf16>, vector<16x32xbf16> -> vector<16x32xf32>
        %7 = tk.mma %6, %1, %4 precision "ieee" : vector<16x32xf32>, vector<16x16xbf16>, vector<16x32xbf16> -> vector<16x32xf32> loc("m.py":2:0)
        tk.yield %7 : vector<16x32xf32>
      }
      tk.store %sum, %o[d0*32 + d1] lanes 0, 1 : vector<16x32xf32>, memref<512xf32>
    }
  }
}

// -----

// Neighbours that lie below one another are no rows of a tile; what differs by more than a place is none.

// CHECK-LABEL: @below
// CHECK:     tk.mma
// CHECK:     tk.mma
// CHECK-NOT: tk.interleave
// REMARK: remark: tk.mma at {{.*}}: what it multiplies is no neighbour of what those after it do
tk.func @below [16, 32, 32] (%x: memref<1024xbf16>, %a: memref<1024xbf16>, %o: memref<512xf32>) scheduled {
  %zero = arith.constant 0.0 : f32
  %none = vector.broadcast %zero : f32 to vector<16x32xf32>
  tk.for 0 = "0" to "16" step 16 parallel {
    tk.for 1 = "0" to "32" step 32 parallel {
      %sum = tk.for 2 = "0" to "32" step 16 iter(%0 = %none : vector<16x32xf32>) {
        %1 = tk.load %x[d2*32 + d0*2] lanes 0, 2 : memref<1024xbf16> -> vector<16x16xbf16>
        %2 = tk.load %x[d2*32 + d0*2 + 1] lanes 0, 2 : memref<1024xbf16> -> vector<16x16xbf16>
        %3 = tk.load %a[d1*32 + d2] lanes 2, 1 : memref<1024xbf16> -> vector<16x32xbf16>
        %4 = tk.mma %0, %1, %3 precision "ieee" : vector<16x32xf32>, vector<16x16xbf16>, vector<16x32xbf16> -> vector<16x32xf32>
        %5 = tk.mma %4, %2, %3 precision "ieee" : vector<16x32xf32>, vector<16x16xbf16>, vector<16x32xbf16> -> vector<16x32xf32>
        tk.yield %5 : vector<16x32xf32>
      }
      tk.store %sum, %o[d0*32 + d1] lanes 0, 1 : vector<16x32xf32>, memref<512xf32>
    }
  }
}

// -----

// CHECK-LABEL: @apart
// CHECK-NOT: tk.interleave
tk.func @apart [16, 32, 32] (%x: memref<1024xbf16>, %a: memref<1024xbf16>, %o: memref<512xf32>) scheduled {
  %zero = arith.constant 0.0 : f32
  %none = vector.broadcast %zero : f32 to vector<16x32xf32>
  tk.for 0 = "0" to "16" step 16 parallel {
    tk.for 1 = "0" to "32" step 32 parallel {
      %sum = tk.for 2 = "0" to "32" step 16 iter(%0 = %none : vector<16x32xf32>) {
        %1 = tk.load %x[d0*64 + d2] lanes 0, 2 : memref<1024xbf16> -> vector<16x16xbf16>
        %2 = tk.load %x[d0*64 + d2 + 32] lanes 0, 2 : memref<1024xbf16> -> vector<16x16xbf16>
        %3 = tk.load %a[d1*32 + d2] lanes 2, 1 : memref<1024xbf16> -> vector<16x32xbf16>
        %4 = tk.mma %0, %1, %3 precision "ieee" : vector<16x32xf32>, vector<16x16xbf16>, vector<16x32xbf16> -> vector<16x32xf32>
        %5 = tk.mma %4, %2, %3 precision "ieee" : vector<16x32xf32>, vector<16x16xbf16>, vector<16x32xbf16> -> vector<16x32xf32>
        tk.yield %5 : vector<16x32xf32>
      }
      tk.store %sum, %o[d0*32 + d1] lanes 0, 1 : vector<16x32xf32>, memref<512xf32>
    }
  }
}
