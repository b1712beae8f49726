// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tk.group: it has no parts
tk.group @g (%a: memref<8xf32>) {
}

// -----

// CHECK: tk.group: holds `tk.part`s only, got arith.constant
tk.group @g (%a: memref<8xf32>) {
  %0 = arith.constant 0.0 : f32
}

// -----

// CHECK: tk.group: symbol s1 of a part is not among ['s0']
tk.group @g (%a: memref<8xf32>) symbols [s0] {
  tk.part @f(%a) symbols [s0 + s1]
}

// -----

// CHECK: tk.group: `symbols` lists plain symbols, got s0*2
tk.group @g (%a: memref<8xf32>) symbols [s0*2] {
  tk.part @f(%a)
}

// -----

// CHECK: tk.group: arguments are rank-1 memrefs, got memref<8x8xf32>
tk.group @g (%a: memref<8x8xf32>) {
  tk.part @f(%a)
}
