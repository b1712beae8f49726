// RUN: tilewright-opt %s -p dedupe-kernels --split-input-file | filecheck %s

// CHECK-LABEL: @same_but_for_names
// CHECK-NEXT: th.launch @exp(%x) into(%y) symbols "s4, s2"
// CHECK-NEXT: th.launch @exp(%y) into(%x) symbols "s3, s5"
// CHECK: tk.func @exp [s0, s1] (%a: memref<?xf32>, %o: memref<?xf32>) symbols [s0, s1] {
// CHECK-NEXT: tk.load %a[d0*s1 + d1]
// CHECK-NOT: tk.func
func.func @same_but_for_names(%x: memref<?xf32>, %y: memref<?xf32>) {
  th.launch @exp(%x) into (%y) symbols "s2, s4" : (memref<?xf32>) into (memref<?xf32>)
  th.launch @exp_1(%y) into (%x) symbols "s3, s5" : (memref<?xf32>) into (memref<?xf32>)
  func.return
}
tk.func @exp [s4, s2] (%a: memref<?xf32>, %o: memref<?xf32>) symbols [s2, s4] {
  %0 = tk.load %a[d0*s2 + d1] : memref<?xf32> -> f32
  %1 = math.exp %0 : f32
  tk.store %1, %o[d0*s2 + d1] : f32, memref<?xf32>
}
tk.func @exp_1 [s3, s5] (%b: memref<?xf32>, %p: memref<?xf32>) symbols [s3, s5] {
  %0 = tk.load %b[d0*s5 + d1] : memref<?xf32> -> f32
  %1 = math.exp %0 : f32
  tk.store %1, %p[d0*s5 + d1] : f32, memref<?xf32>
}

// -----

// Zero and minus zero, another operand, another size, another type: all different.

// CHECK-LABEL: @different
// CHECK-NEXT: th.launch @k0
// CHECK-NEXT: th.launch @k1
// CHECK-NEXT: th.launch @k2
// CHECK-NEXT: th.launch @k3
// CHECK-NEXT: th.launch @k0
func.func @different(%x: memref<4xf32>, %y: memref<4xf32>) {
  th.launch @k0(%x) into (%y) : (memref<4xf32>) into (memref<4xf32>)
  th.launch @k1(%x) into (%y) : (memref<4xf32>) into (memref<4xf32>)
  th.launch @k2(%x) into (%y) : (memref<4xf32>) into (memref<4xf32>)
  th.launch @k3(%x) into (%y) : (memref<4xf32>) into (memref<4xf32>)
  th.launch @k4(%x) into (%y) : (memref<4xf32>) into (memref<4xf32>)
  func.return
}
tk.func @k0 [4] (%a: memref<4xf32>, %o: memref<4xf32>) {
  %0 = tk.load %a[d0] : memref<4xf32> -> f32
  %z = arith.constant 0.0 : f32
  %1 = arith.subf %z, %0 : f32
  tk.store %1, %o[d0] : f32, memref<4xf32>
}
tk.func @k1 [4] (%a: memref<4xf32>, %o: memref<4xf32>) {
  %0 = tk.load %a[d0] : memref<4xf32> -> f32
  %z = arith.constant -0.0 : f32
  %1 = arith.subf %z, %0 : f32
  tk.store %1, %o[d0] : f32, memref<4xf32>
}
tk.func @k2 [4] (%a: memref<4xf32>, %o: memref<4xf32>) {
  %0 = tk.load %a[d0] : memref<4xf32> -> f32
  %z = arith.constant 0.0 : f32
  %1 = arith.subf %0, %z : f32
  tk.store %1, %o[d0] : f32, memref<4xf32>
}
tk.func @k3 [3] (%a: memref<4xf32>, %o: memref<4xf32>) {
  %0 = tk.load %a[d0] : memref<4xf32> -> f32
  %z = arith.constant 0.0 : f32
  %1 = arith.subf %z, %0 : f32
  tk.store %1, %o[d0] : f32, memref<4xf32>
}
tk.func @k4 [4] (%a: memref<4xf32>, %o: memref<4xf32>) {
  %0 = tk.load %a[d0] : memref<4xf32> -> f32
  %z = arith.constant 0.0 : f32
  %1 = arith.subf %z, %0 : f32
  tk.store %1, %o[d0] : f32, memref<4xf32>
}
