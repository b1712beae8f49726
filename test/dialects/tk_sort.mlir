// RUN: tilewright-opt %s | tilewright-opt | filecheck %s
// RUN: tilewright-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: tilewright-opt %s --print-op-generic | tilewright-opt | filecheck %s

// CHECK-LABEL: @along_axes
// CHECK: %{{.*}}, %{{.*}} = tk.sort %{{.*}} along 1 : f32
// CHECK: %{{.*}}, %{{.*}} = tk.sort %{{.*}} along 0 descending first 3 {a = 1 : i64} : i64
// GENERIC: "tk.sort"(%{{.*}}) <{axis = 1 : i64}> : (f32) -> (f32, i32)
// GENERIC: "tk.sort"(%{{.*}}) <{axis = 0 : i64, descending, first = 3 : i64}> {a = 1 : i64} : (i64) -> (i64, i32)
tk.func @along_axes [4, 6] (%x: memref<24xf32>, %k: memref<4xi64>) {
  %0 = tk.load %x[d0*6 + d1] : memref<24xf32> -> f32
  %1, %2 = tk.sort %0 along 1 : f32
  %3 = tk.load %k[d0] : memref<4xi64> -> i64
  %4, %5 = tk.sort %3 along 0 descending first 3 {a = 1 : i64} : i64
}

// CHECK-LABEL: @of_tiles
// CHECK: %{{.*}}, %{{.*}} = tk.arrange %{{.*}} dim 1 : vector<2x8xf64>
// CHECK: %{{.*}}, %{{.*}} = tk.arrange %{{.*}} dim 0 descending {a = 1 : i64} : vector<2x8xi32>
// GENERIC: "tk.arrange"(%{{.*}}) <{dim = 1 : i64}> : (vector<2x8xf64>) -> (vector<2x8xf64>, vector<2x8xi32>)
tk.func @of_tiles [8] (%a: memref<8xf32>) scheduled {
  %0 = "test.op"() : () -> vector<2x8xf64>
  %1, %2 = tk.arrange %0 dim 1 : vector<2x8xf64>
  %3, %4 = tk.arrange %2 dim 0 descending {a = 1 : i64} : vector<2x8xi32>
}

// CHECK-LABEL: @of_scratch
// CHECK: tk.order %{{.*}} into %{{.*}} count "s0" : memref<?xf32>, memref<?xi32>
// CHECK: tk.order %{{.*}} into %{{.*}} count "4" descending first 2 {a = 1 : i64} : memref<?xf32>, memref<?xi32>
// GENERIC: "tk.order"(%{{.*}}, %{{.*}}) <{count = #tk.map<"s0">}> : (memref<?xf32>, memref<?xi32>) -> ()
tk.func @of_scratch [s0] (%a: memref<?xf32>) symbols [s0] scheduled {
  %v = tk.local "s0" : memref<?xf32>
  %p = tk.local "s0" : memref<?xi32>
  tk.order %v into %p count "s0" : memref<?xf32>, memref<?xi32>
  tk.order %v into %p count "4" descending first 2 {a = 1 : i64} : memref<?xf32>, memref<?xi32>
}
