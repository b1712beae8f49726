// RUN: tilewright-translate %s --to=triton -p 'coalesce-axes,flatten-axes,schedule-gpu{descriptors=true units=core cores=1},apply-schedule' | filecheck %s
// RUN: not tilewright-translate %S/Inputs/no_descriptor.mlir --to=triton 2>&1 | filecheck %s --check-prefix=REFUSED

// A descriptor begins where the program's block does: what is left of the rows, and all of the sum. Neither the places
// nor the masks of pointers are left in the loop.
// CHECK: def product(a0, a1, a2):
// CHECK: x1 = d1 + tl.arange(0, 128)[None, :]
// CHECK-NEXT: g0 = tl.make_tensor_descriptor(a0 + (d0 * 2008), [tl.minimum(-d0 + 2000, 128), 2001], [2008, 1], [128, 64])
// CHECK-NEXT: g1 = tl.make_tensor_descriptor(a1 + d1, [2001, 128], [2048, 1], [64, 128])
// CHECK-NEXT: acc{{[0-9]+}} = tl.full([128, 128], 0.0, tl.float32)
// CHECK-NEXT: for d2 in range(0, 2001, 64):
// CHECK-NEXT: v4 = g0.load([0, d2])
// CHECK-NEXT: v5 = g1.load([d2, 0])
// CHECK-NEXT: acc3 = tl.dot(v4, v5, acc3)
tk.func @product [2000, 2048, 2001] (%a: memref<4016000xbf16>, %b: memref<4098048xbf16>, %o: memref<4096000xf32>) {
  %0 = tk.load %a[d0*2008 + d2] : memref<4016000xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d2*2048 + d1] : memref<4098048xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] : f32
  tk.store %5, %o[d0*2048 + d1] : f32, memref<4096000xf32>
}

// Turned factors; batches stand in the base; a size of the run, which is 64 bits wide, but what is left of it is not.
// CHECK: def turned(a0, a1, a2, s0):
// CHECK: g0 = tl.make_tensor_descriptor(a0 + (d0 * s0 * 2048 + d1 * 2048), [tl.minimum(-d1 + s0, [[R:[0-9]+]]).to(tl.int32), 2048], [2048, 1], {{\[}}[[R]], 64])
// CHECK-NEXT: g1 = tl.make_tensor_descriptor(a1 + (d0 * 131072), {{\[}}[[C:[0-9]+]], 2048], [2048, 1], {{\[}}[[C]], 64])
// CHECK: for d3 in range(0, 2048, 64):
// CHECK-NEXT: v{{[0-9]+}} = g0.load([0, d3])
// CHECK-NEXT: v{{[0-9]+}} = tl.trans(g1.load([0, d3]))
tk.func @turned [12, s0, 64, 2048] (%a: memref<?xf16>, %b: memref<1572864xf16>, %o: memref<?xf32>) symbols [s0] {
  %0 = tk.load %a[d0*s0*2048 + d1*2048 + d3] : memref<?xf16> -> f16
  %1 = arith.extf %0 : f16 to f32
  %2 = tk.load %b[d0*131072 + d2*2048 + d3] : memref<1572864xf16> -> f16
  %3 = arith.extf %2 : f16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [3] : f32
  tk.store %5, %o[d0*s0*64 + d1*64 + d2] : f32, memref<?xf32>
}

// What was marked by hand is looked at again.
// REFUSED:      TW2201: gpu_triton cannot lower `tk.load`
// REFUSED-NEXT:   where: loc("m.py":4:0)
// REFUSED-NEXT:   why:   no tensor descriptor brings it: rows of 33 elements are not known to be multiples of 16 bytes
