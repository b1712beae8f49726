// RUN: tilewright-translate %s --to=triton -p schedule-gpu,apply-schedule | filecheck %s

// Parts of one function share a call, so many at a time, and text and machine code have it once; sizes that only
// the run knows add up. What has no elements has no programs. A function that is launched alone, too, is a
// kernel of its own as well.
// CHECK:      def _part_half(a0, a1, s0, program):
// CHECK:        d0 = program * 128
// CHECK:      def _part_checked(a0, a1, failure, program):
// CHECK:        tl.store(failure + tl.zeros
// CHECK:      def half(a0, a1, s0):
// CHECK:        d0 = tl.program_id(0) * 128
// CHECK:      @triton.jit
// CHECK-NEXT: def steps(a0, a1, a2, a3, a4, a5, failure):
// CHECK-NEXT:   # 5 parts
// CHECK-NEXT:   program = tl.program_id(0)
// CHECK-NEXT:   if program < 3:
// CHECK-NEXT:     v0, v1, v2, v3 = tl.full([], 0, tl.int32), a0, a1, tl.full([], 16, tl.int32)
// CHECK-NEXT:     if program >= 2:
// CHECK-NEXT:       v0, v1, v2, v3 = tl.full([], 2, tl.int32), a2, a2, tl.full([], 4, tl.int32)
// CHECK-NEXT:     _part_half(v1, v2, v3, program - v0)
// CHECK-NEXT:   else:
// CHECK-NEXT:     v4, v5 = tl.full([], 3, tl.int32), a4
// CHECK-NEXT:     if program >= 5:
// CHECK-NEXT:       v4, v5 = tl.full([], 5, tl.int32), a5
// CHECK-NEXT:     _part_checked(v5, v5, failure, program - v4)
// CHECK:      def longer(a0, a1, a2, a3, s0, s1):
// CHECK-NEXT:   # 2 parts
// CHECK-NEXT:   program = tl.program_id(0)
// CHECK-NEXT:   e0 = ((s0 + 127) // 128)
// CHECK-NEXT:   e1 = e0 + ((s1 + 127) // 128)
// CHECK-NEXT:   v0, v1, v2, v3 = tl.full([], 0, tl.int64), a0, a1, s0
// CHECK-NEXT:   if program >= e0:
// CHECK-NEXT:     v0, v1, v2, v3 = e0, a2, a3, s1
// CHECK-NEXT:   _part_negate(v1, v2, v3, (program - v0).to(tl.int32))
func.func @main(%a: memref<256xf32>, %b: memref<256xf32>, %c: memref<64xf32>, %e: memref<0xf32>, %i: memref<256xi64>, %j: memref<256xi64>, %x: memref<?xf32> {th.sizes = "s0", th.strides = "1"}, %y: memref<?xf32> {th.sizes = "s1", th.strides = "1"}, %v: memref<?xf32> {th.sizes = "s0", th.strides = "1"}, %w: memref<?xf32> {th.sizes = "s1", th.strides = "1"}) {
  th.launch @steps(%a) into(%b, %c, %e, %i, %j) : (memref<256xf32>) into (memref<256xf32>, memref<64xf32>, memref<0xf32>, memref<256xi64>, memref<256xi64>)
  th.launch @half(%c) into(%c) symbols "4" : (memref<64xf32>) into (memref<64xf32>)
  th.launch @longer(%x, %v) into(%y, %w) symbols "s0, s1" : (memref<?xf32>, memref<?xf32>) into (memref<?xf32>, memref<?xf32>)
  func.return
}
tk.group @steps (%a: memref<256xf32>, %b: memref<256xf32>, %c: memref<64xf32>, %e: memref<0xf32>, %i: memref<256xi64>, %j: memref<256xi64>) {
  tk.part @half(%a, %b) symbols [16]
  tk.part @half(%c, %c) symbols [4]
  tk.part @nothing(%e)
  tk.part @checked(%i, %i)
  tk.part @checked(%j, %j)
}
tk.group @longer (%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>, %d: memref<?xf32>) symbols [s0, s1] {
  tk.part @negate(%a, %b) symbols [s0]
  tk.part @negate(%c, %d) symbols [s1]
}
tk.func @half [s0*16] (%a: memref<?xf32>, %o: memref<?xf32>) symbols [s0] attributes {tk.most = 256 : i64} {
  %0 = tk.load %a[d0] : memref<?xf32> -> f32
  %1 = arith.constant 0.5 : f32
  %2 = arith.mulf %0, %1 : f32
  tk.store %2, %o[d0] : f32, memref<?xf32>
}
tk.func @nothing [0] (%o: memref<0xf32>) {
  %0 = arith.constant 0.5 : f32
  tk.store %0, %o[d0] : f32, memref<0xf32>
}
tk.func @checked [256] (%a: memref<256xi64>, %o: memref<256xi64>) {
  %0 = tk.load %a[d0] : memref<256xi64> -> i64
  %1 = arith.constant 7 : i64
  %2 = arith.andi %0, %1 : i64
  %3 = arith.cmpi sle, %2, %1 : i64
  tk.assert %3 "index out of range" : i1
  tk.store %2, %o[d0] : i64, memref<256xi64>
}
tk.func @negate [s0] (%a: memref<?xf32>, %o: memref<?xf32>) symbols [s0] {
  %0 = tk.load %a[d0] : memref<?xf32> -> f32
  %1 = arith.negf %0 : f32
  tk.store %1, %o[d0] : f32, memref<?xf32>
}
