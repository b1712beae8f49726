// RUN: tilewright-translate %s --to=triton -p schedule-gpu,apply-schedule | filecheck %s

// What a grid calls stands in the module, too: how many blocks there are of a size that is a difference.
// CHECK: def _floor_div(a, b):
// CHECK: def turned(a0, a1, s0, s1):
// CHECK: d0 = p // _floor_div(s0 - s1 + 127, 128)
// CHECK-NEXT: d1 = (p % _floor_div(s0 - s1 + 127, 128)) * 128
tk.func @turned [s0 - s1, s0 - s1] (%x: memref<?xf32>, %o: memref<?xf32>) symbols [s0, s1] {
  %0 = tk.load %x[d1*s0 - d1*s1 + d0] : memref<?xf32> -> f32
  tk.store %0, %o[d0*s0 - d0*s1 + d1] : f32, memref<?xf32>
}
