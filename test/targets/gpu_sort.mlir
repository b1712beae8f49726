// RUN: tilewright-translate %s --to=triton -p coalesce-axes,flatten-axes,schedule-gpu,apply-schedule | filecheck %s

// One key of 32 bits and its position are one number, of 64 bits two.
// CHECK: def _sorted_pairs_32(high, low, log: tl.constexpr):
// CHECK-NEXT: both = tl.sort(
// CHECK: def _exchange(
// CHECK: def _sorted_pairs_64(high, low, log: tl.constexpr):
// CHECK: def _arrange_floats_32(x, descending: tl.constexpr, log: tl.constexpr):
// CHECK-NOT: def _sort_key_64
// CHECK: def _arrange_integers_64(x, descending: tl.constexpr, log: tl.constexpr):

// What is sorted lies along the last dimension.
// CHECK: def sorts(a0, a1, a2, a3):
// CHECK: v[[V:[0-9]+]], v[[P:[0-9]+]] = _arrange_floats_32(v{{[0-9]+}}, True, 4)
// CHECK: v[[W:[0-9]+]], v[[Q:[0-9]+]] = _arrange_integers_64(tl.permute(v{{[0-9]+}}, [1, 0]), False, 3)
// CHECK-NEXT: v[[W]] = tl.permute(v[[W]], [1, 0])
// CHECK-NEXT: v[[Q]] = tl.permute(v[[Q]], [1, 0])
tk.func @sorts [8, 16] (%x: memref<128xf32>, %y: memref<128xi64>, %o: memref<128xf32>, %p: memref<128xi32>) {
  %0 = tk.load %x[d0*16 + d1] : memref<128xf32> -> f32
  %1, %2 = tk.sort %0 along 1 descending : f32
  tk.store %1, %o[d0*16 + d1] : f32, memref<128xf32>
  %3 = tk.load %y[d0*16 + d1] : memref<128xi64> -> i64
  %4, %5 = tk.sort %3 along 0 : i64
  tk.store %5, %p[d0*16 + d1] : i32, memref<128xi32>
}
