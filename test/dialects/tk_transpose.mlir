// RUN: tilewright-opt %s | tilewright-opt | filecheck %s
// RUN: tilewright-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: tilewright-opt %s --print-op-generic | tilewright-opt | filecheck %s

// CHECK-LABEL: @of_tiles
// CHECK: tk.transpose %{{.*}} : vector<2x8xbf16> -> vector<8x2xbf16>
// CHECK: tk.transpose %{{.*}} {a = 1 : i64} : vector<8x2xbf16> -> vector<2x8xbf16>
// GENERIC: "tk.transpose"(%{{.*}}) : (vector<2x8xbf16>) -> vector<8x2xbf16>
tk.func @of_tiles [8] (%a: memref<8xf32>) scheduled {
  %0 = "test.op"() : () -> vector<2x8xbf16>
  %1 = tk.transpose %0 : vector<2x8xbf16> -> vector<8x2xbf16>
  %2 = tk.transpose %1 {a = 1 : i64} : vector<8x2xbf16> -> vector<2x8xbf16>
}
