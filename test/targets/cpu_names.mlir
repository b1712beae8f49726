// RUN: tilewright-translate %s --to cpp | filecheck %s

// Kernels are called by what they compute; words of C++ and of the prelude are set apart.
// CHECK: static void k_or(bool* a0, bool* a1) {
tk.func @or [1] (%a: memref<1xi1>, %o: memref<1xi1>) scheduled {
  %0 = tk.load %a[0] : memref<1xi1> -> i1
  tk.store %0, %o[0] : i1, memref<1xi1>
}

// CHECK: static void k_f32x16(bool* a0, bool* a1) {
tk.func @f32x16 [1] (%a: memref<1xi1>, %o: memref<1xi1>) scheduled {
  %0 = tk.load %a[0] : memref<1xi1> -> i1
  tk.store %0, %o[0] : i1, memref<1xi1>
}

// CHECK: static void or_1(bool* a0, bool* a1) {
tk.func @or_1 [1] (%a: memref<1xi1>, %o: memref<1xi1>) scheduled {
  %0 = tk.load %a[0] : memref<1xi1> -> i1
  tk.store %0, %o[0] : i1, memref<1xi1>
}

// Sizes are called s0, s1, ...: scratch memory has other names.
// CHECK-LABEL: static void scratch(f32* a0, f32* a1, i64 s2) {
// CHECK:   alignas(64) f32 m2[4];
// CHECK:   a1[0] = v{{[0-9]+}};
tk.func @scratch [s2] (%a: memref<4xf32>, %o: memref<1xf32>) symbols [s2] scheduled {
  %l = tk.local "4" : memref<4xf32>
  %0 = tk.load %a[0] : memref<4xf32> -> f32
  tk.store %0, %l[0] : f32, memref<4xf32>
  %1 = tk.load %l[0] : memref<4xf32> -> f32
  tk.store %1, %o[0] : f32, memref<1xf32>
}
