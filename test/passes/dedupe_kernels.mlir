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

// -----

// The steps of a recurrence differ in where they read and write: one symbol for each way to differ.

// CHECK-LABEL: @steps
// CHECK-NEXT: th.launch @step(%x) into(%y) symbols "0, 0"
// CHECK-NEXT: th.launch @step(%x) into(%y) symbols "8, 4"
// CHECK-NEXT: th.launch @step(%x) into(%y) symbols "24, 8"
// CHECK: tk.func @step [4] (%a: memref<32xf32>, %o: memref<16xf32>) symbols [s0, s1] {
// CHECK-NEXT: tk.load %a[d0 + s0]
// CHECK-NEXT: tk.load %a[d0 + s0 + 4]
// CHECK: tk.store %{{.*}}, %o[d0 + s1]
// CHECK-NOT: tk.func
func.func @steps(%x: memref<32xf32>, %y: memref<16xf32>) {
  th.launch @step(%x) into (%y) : (memref<32xf32>) into (memref<16xf32>)
  th.launch @step_1(%x) into (%y) : (memref<32xf32>) into (memref<16xf32>)
  th.launch @step_2(%x) into (%y) : (memref<32xf32>) into (memref<16xf32>)
  func.return
}
tk.func @step [4] (%a: memref<32xf32>, %o: memref<16xf32>) {
  %0 = tk.load %a[d0] : memref<32xf32> -> f32
  %1 = tk.load %a[d0 + 4] : memref<32xf32> -> f32
  %2 = arith.addf %0, %1 : f32
  tk.store %2, %o[d0] : f32, memref<16xf32>
}
tk.func @step_1 [4] (%a: memref<32xf32>, %o: memref<16xf32>) {
  %0 = tk.load %a[d0 + 8] : memref<32xf32> -> f32
  %1 = tk.load %a[d0 + 12] : memref<32xf32> -> f32
  %2 = arith.addf %0, %1 : f32
  tk.store %2, %o[d0 + 4] : f32, memref<16xf32>
}
tk.func @step_2 [4] (%a: memref<32xf32>, %o: memref<16xf32>) {
  %0 = tk.load %a[d0 + 24] : memref<32xf32> -> f32
  %1 = tk.load %a[d0 + 28] : memref<32xf32> -> f32
  %2 = arith.addf %0, %1 : f32
  tk.store %2, %o[d0 + 8] : f32, memref<16xf32>
}

// -----

// Five ways to differ would take five symbols, which is no longer simpler than two functions.

// CHECK-LABEL: @too_different
// CHECK-NEXT: th.launch @five(
// CHECK-NEXT: th.launch @five_1(
func.func @too_different(%x: memref<99xf32>, %y: memref<4xf32>) {
  th.launch @five(%x) into (%y) : (memref<99xf32>) into (memref<4xf32>)
  th.launch @five_1(%x) into (%y) : (memref<99xf32>) into (memref<4xf32>)
  func.return
}
tk.func @five [4] (%a: memref<99xf32>, %o: memref<4xf32>) {
  %0 = tk.load %a[d0] : memref<99xf32> -> f32
  %1 = tk.load %a[d0] : memref<99xf32> -> f32
  %2 = tk.load %a[d0] : memref<99xf32> -> f32
  %3 = tk.load %a[d0] : memref<99xf32> -> f32
  %4 = tk.load %a[d0] : memref<99xf32> -> f32
  %5 = arith.addf %0, %1 : f32
  %6 = arith.addf %2, %3 : f32
  %7 = arith.addf %5, %6 : f32
  %8 = arith.addf %7, %4 : f32
  tk.store %8, %o[d0] : f32, memref<4xf32>
}
tk.func @five_1 [4] (%a: memref<99xf32>, %o: memref<4xf32>) {
  %0 = tk.load %a[d0 + 1] : memref<99xf32> -> f32
  %1 = tk.load %a[d0 + 3] : memref<99xf32> -> f32
  %2 = tk.load %a[d0 + 7] : memref<99xf32> -> f32
  %3 = tk.load %a[d0 + 15] : memref<99xf32> -> f32
  %4 = tk.load %a[d0 + 31] : memref<99xf32> -> f32
  %5 = arith.addf %0, %1 : f32
  %6 = arith.addf %2, %3 : f32
  %7 = arith.addf %5, %6 : f32
  %8 = arith.addf %7, %4 : f32
  tk.store %8, %o[d0] : f32, memref<4xf32>
}

// -----

// Where constants stand does not matter; which are which does.

// CHECK-LABEL: @constants_anywhere
// CHECK-NEXT: th.launch @scaled(
// CHECK-NEXT: th.launch @scaled(
// CHECK-NEXT: th.launch @shifted(
func.func @constants_anywhere(%x: memref<4xf32>, %y: memref<4xf32>) {
  th.launch @scaled(%x) into (%y) : (memref<4xf32>) into (memref<4xf32>)
  th.launch @scaled_1(%x) into (%y) : (memref<4xf32>) into (memref<4xf32>)
  th.launch @shifted(%x) into (%y) : (memref<4xf32>) into (memref<4xf32>)
  func.return
}
tk.func @scaled [4] (%a: memref<4xf32>, %o: memref<4xf32>) {
  %0 = tk.load %a[d0] : memref<4xf32> -> f32
  %2 = arith.constant 2.0 : f32
  %1 = arith.mulf %0, %2 : f32
  %3 = arith.constant 3.0 : f32
  %4 = arith.addf %1, %3 : f32
  tk.store %4, %o[d0] : f32, memref<4xf32>
}
tk.func @scaled_1 [4] (%a: memref<4xf32>, %o: memref<4xf32>) {
  %3 = arith.constant 3.0 : f32
  %2 = arith.constant 2.0 : f32
  %0 = tk.load %a[d0] : memref<4xf32> -> f32
  %1 = arith.mulf %0, %2 : f32
  %4 = arith.addf %1, %3 : f32
  tk.store %4, %o[d0] : f32, memref<4xf32>
}
tk.func @shifted [4] (%a: memref<4xf32>, %o: memref<4xf32>) {
  %2 = arith.constant 3.0 : f32
  %3 = arith.constant 2.0 : f32
  %0 = tk.load %a[d0] : memref<4xf32> -> f32
  %1 = arith.mulf %0, %2 : f32
  %4 = arith.addf %1, %3 : f32
  tk.store %4, %o[d0] : f32, memref<4xf32>
}

// -----

// Symbols are taken to be positive: they count from the least offset.

// CHECK-LABEL: @backwards
// CHECK-NEXT: th.launch @step(%x) into(%y) symbols "16"
// CHECK-NEXT: th.launch @step(%x) into(%y) symbols "0"
// CHECK: tk.func @step
// CHECK-NEXT: tk.load %a[d0 + s0 + 3]
func.func @backwards(%x: memref<32xf32>, %y: memref<4xf32>) {
  th.launch @step(%x) into (%y) : (memref<32xf32>) into (memref<4xf32>)
  th.launch @step_1(%x) into (%y) : (memref<32xf32>) into (memref<4xf32>)
  func.return
}
tk.func @step [4] (%a: memref<32xf32>, %o: memref<4xf32>) {
  %0 = tk.load %a[d0 + 19] : memref<32xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<4xf32>
}
tk.func @step_1 [4] (%a: memref<32xf32>, %o: memref<4xf32>) {
  %0 = tk.load %a[d0 + 3] : memref<32xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<4xf32>
}
