// RUN: tilewright-translate %s --to=cpp | filecheck %s

// CHECK: static void order(f32* a0, i64 s0) {
// CHECK-NEXT: tw::Scratch<i32> m1_memory(s0);
// CHECK: tw::sort(a0, m1, s0, s0, false);
// CHECK: tw::sort(a0, m1, 8, 3, true);
tk.func @order [s0] (%a: memref<?xf32>) symbols [s0] scheduled {
  %p = tk.local "s0" : memref<?xi32>
  tk.order %a into %p count "s0" : memref<?xf32>, memref<?xi32>
  tk.order %a into %p count "8" descending first 3 : memref<?xf32>, memref<?xi32>
}
