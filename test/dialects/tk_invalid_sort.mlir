// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tk.sort: sorts f32, f64, i32, i64, got i1
tk.func @f [8] (%a: memref<8xf32>) {
  %x = "test.op"() : () -> i1
  %0, %1 = tk.sort %x along 0 : i1
}

// -----

// CHECK: tk.sort: axis 1 is outside of the iteration space of rank 1
tk.func @f [8] (%a: memref<8xf32>) {
  %x = "test.op"() : () -> f32
  %0, %1 = tk.sort %x along 1 : f32
}

// -----

// CHECK: tk.sort cannot be in a scheduled function, its loops are explicit
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %x = "test.op"() : () -> f32
  %0, %1 = tk.sort %x along 0 : f32
}

// -----

// CHECK: tk.sort: the first 1 at least, got 0
tk.func @f [8] (%a: memref<8xf32>) {
  %x = "test.op"() : () -> f32
  %0, %1 = tk.sort %x along 0 first 0 : f32
}

// -----

// CHECK: Expected attribute i32 but got i64
tk.func @f [8] (%a: memref<8xf32>) {
  %x = "test.op"() : () -> f32
  %0, %1 = "tk.sort"(%x) <{axis = 0 : i64}> : (f32) -> (f32, i64)
}

// -----

// CHECK: tk.arrange: sorts f32, f64, i32, i64, got bf16
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %x = "test.op"() : () -> vector<4x8xbf16>
  %0, %1 = tk.arrange %x dim 0 : vector<4x8xbf16>
}

// -----

// CHECK: tk.arrange: vector<4x8xf32> has no dimension 2
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %x = "test.op"() : () -> vector<4x8xf32>
  %0, %1 = tk.arrange %x dim 2 : vector<4x8xf32>
}

// -----

// CHECK: tk.arrange: positions have type vector<4x4xi32>, expected vector<4x8xi32>
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %x = "test.op"() : () -> vector<4x8xf32>
  %0, %1 = "tk.arrange"(%x) <{dim = 0 : i64}> : (vector<4x8xf32>) -> (vector<4x8xf32>, vector<4x4xi32>)
}

// -----

// CHECK: tk.order: sorts f32, f64, i32, i64, got bf16
tk.func @f [8] (%a: memref<8xbf16>, %p: memref<8xi32>) scheduled {
  tk.order %a into %p count "8" : memref<8xbf16>, memref<8xi32>
}

// -----

// CHECK: tk.order: positions are i32, got i64
tk.func @f [8] (%a: memref<8xf32>, %p: memref<8xi64>) scheduled {
  tk.order %a into %p count "8" : memref<8xf32>, memref<8xi64>
}

// -----

// CHECK: tk.order: the first 1 at least, got 0
tk.func @f [8] (%a: memref<8xf32>, %p: memref<8xi32>) scheduled {
  tk.order %a into %p count "8" first 0 : memref<8xf32>, memref<8xi32>
}

// -----

// CHECK: s0
tk.func @f [8] (%a: memref<8xf32>, %p: memref<8xi32>) scheduled {
  tk.order %a into %p count "s0" : memref<8xf32>, memref<8xi32>
}
