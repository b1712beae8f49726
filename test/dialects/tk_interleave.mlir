// RUN: tilewright-opt %s | tilewright-opt | filecheck %s
// RUN: tilewright-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: tilewright-opt %s --print-op-generic | tilewright-opt | filecheck %s

// CHECK-LABEL: @pairs
// CHECK: tk.load %a[d0*2] lanes 0 group 2 : memref<16xf32> -> vector<16xf32>
// CHECK: %{{.*}}, %{{.*}} = tk.deinterleave %{{.*}} : vector<16xf32> -> vector<8xf32>, vector<8xf32>
// CHECK: tk.interleave %{{.*}}, %{{.*}} {a = 1 : i64} : vector<8xf32>, vector<8xf32> -> vector<16xf32>
// CHECK: tk.store %{{.*}}, %o[d0*2] lanes 0 group 2 : vector<16xf32>, memref<16xf32>
// GENERIC: "tk.deinterleave"(%{{.*}}) : (vector<16xf32>) -> (vector<8xf32>, vector<8xf32>)
// GENERIC: "tk.interleave"(%{{.*}}) {a = 1 : i64} : (vector<8xf32>, vector<8xf32>) -> vector<16xf32>
tk.func @pairs [8] (%a: memref<16xf32>, %o: memref<16xf32>) scheduled {
  tk.for 0 = "0" to "8" step 8 {
    %0 = tk.load %a[d0*2] lanes 0 group 2 : memref<16xf32> -> vector<16xf32>
    %1, %2 = tk.deinterleave %0 : vector<16xf32> -> vector<8xf32>, vector<8xf32>
    %3 = tk.interleave %2, %1 {a = 1 : i64} : vector<8xf32>, vector<8xf32> -> vector<16xf32>
    tk.store %3, %o[d0*2] lanes 0 group 2 : vector<16xf32>, memref<16xf32>
  }
}

// Of the rows of a tile, which are along the last axis.
// CHECK-LABEL: @rows
// CHECK: tk.load %a[d0*8 + d1*2] lanes 0, 1 group 2 : memref<32xf32> -> vector<4x8xf32>
// CHECK: %{{.*}}, %{{.*}} = tk.deinterleave %{{.*}} : vector<4x8xf32> -> vector<4x4xf32>, vector<4x4xf32>
// CHECK: tk.interleave %{{.*}}, %{{.*}} : vector<4x4xf32>, vector<4x4xf32> -> vector<4x8xf32>
// CHECK: tk.store %{{.*}}, %o[d0*8 + d1*2] lanes 0, 1 group 2 : vector<4x8xf32>, memref<32xf32>
tk.func @rows [4, 4] (%a: memref<32xf32>, %o: memref<32xf32>) scheduled {
  tk.for 0 = "0" to "4" step 4 {
    tk.for 1 = "0" to "4" step 4 {
      %0 = tk.load %a[d0*8 + d1*2] lanes 0, 1 group 2 : memref<32xf32> -> vector<4x8xf32>
      %1, %2 = tk.deinterleave %0 : vector<4x8xf32> -> vector<4x4xf32>, vector<4x4xf32>
      %3 = tk.interleave %2, %1 : vector<4x4xf32>, vector<4x4xf32> -> vector<4x8xf32>
      tk.store %3, %o[d0*8 + d1*2] lanes 0, 1 group 2 : vector<4x8xf32>, memref<32xf32>
    }
  }
}
