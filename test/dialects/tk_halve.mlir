// RUN: tilewright-opt %s | tilewright-opt | filecheck %s
// RUN: tilewright-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: tilewright-opt %s --print-op-generic | tilewright-opt | filecheck %s

// CHECK-LABEL: @of_tiles
// CHECK: %{{.*}}, %{{.*}} = tk.halve %{{.*}} : vector<2x8xf32> -> vector<2x4xf32>, vector<2x4xf32>
// CHECK: %{{.*}}, %{{.*}} = tk.halve %{{.*}} {a = 1 : i64} : vector<2x4xf32> -> vector<2x2xf32>, vector<2x2xf32>
// GENERIC: "tk.halve"(%{{.*}}) : (vector<2x8xf32>) -> (vector<2x4xf32>, vector<2x4xf32>)
tk.func @of_tiles [8] (%a: memref<8xf32>) scheduled {
  %0 = "test.op"() : () -> vector<2x8xf32>
  %1, %2 = tk.halve %0 : vector<2x8xf32> -> vector<2x4xf32>, vector<2x4xf32>
  %3, %4 = tk.halve %2 {a = 1 : i64} : vector<2x4xf32> -> vector<2x2xf32>, vector<2x2xf32>
}
