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
