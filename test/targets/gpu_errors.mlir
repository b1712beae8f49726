// RUN: not tilewright-translate %s --to=triton 2>&1 | filecheck %s

// CHECK: TW2202: gpu_triton got kernel @f without explicit loops
// CHECK-NEXT: where: loc("m.py":3:0)
// CHECK-NEXT: why:   only a `tk.func ... scheduled` on tiles says what one program computes
// CHECK-NEXT: fix:   run flatten-axes, schedule-gpu and apply-schedule first
tk.func @f [4] (%x: memref<4xf32>, %o: memref<4xf32>) {
  %0 = tk.load %x[d0] : memref<4xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<4xf32>
} loc("m.py":3:0)
