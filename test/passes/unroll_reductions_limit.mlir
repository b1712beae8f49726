// RUN: tilewright-opt %s -p 'unroll-reductions{ops=7}' --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p 'unroll-reductions{ops=7}' --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// Four loads and four sums: one op too many.
// CHECK-LABEL: tk.func @too_many_ops [64, 4]
// CHECK: tk.reduce add
// REMARK: tk.func at {{.*}}: its few terms are too many ops
tk.func @too_many_ops [64, 4] (%x: memref<256xf32>, %o: memref<64xf32>) {
  %0 = tk.load %x[d1*64 + d0] : memref<256xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  tk.store %1, %o[d0] : f32, memref<64xf32>
}

// CHECK-LABEL: tk.func @few_enough [64, 1]
// CHECK-NOT: tk.reduce
tk.func @few_enough [64, 3] (%x: memref<192xf32>, %o: memref<64xf32>) {
  %0 = tk.load %x[d1*64 + d0] : memref<192xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
  tk.store %1, %o[d0] : f32, memref<64xf32>
}
