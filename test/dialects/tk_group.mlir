// RUN: tilewright-opt %s | tilewright-opt | filecheck %s
// RUN: tilewright-opt %s --print-generic | tilewright-opt | filecheck %s

// CHECK-LABEL: tk.func @step
// CHECK-LABEL: tk.group @steps (%a: memref<64xf32>, %b: memref<?xf32>) symbols [s0] attributes {tk.warps = 4 : i64} {
// CHECK-NEXT:    tk.part @step(%a) symbols [64]
// CHECK-NEXT:    tk.part @step(%b) symbols [s0*2]
// CHECK-NEXT:    tk.part @one(%a) {note = 1 : i64}
// CHECK-NEXT:  }
tk.func @step [s0] (%a: memref<?xf32>) symbols [s0] {
  %0 = tk.load %a[d0] : memref<?xf32> -> f32
  tk.store %0, %a[d0] : f32, memref<?xf32>
}
tk.group @steps (%a: memref<64xf32>, %b: memref<?xf32>) symbols [s0] attributes {tk.warps = 4 : i64} {
  tk.part @step(%a) symbols [64]
  tk.part @step(%b) symbols [s0*2]
  tk.part @one(%a) {note = 1 : i64}
}
