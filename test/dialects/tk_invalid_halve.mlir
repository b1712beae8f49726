// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tk.halve: a tile of rows and an even number of columns, got vector<8xf32>
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %x = "test.op"() : () -> vector<8xf32>
  %0, %1 = tk.halve %x : vector<8xf32> -> vector<4xf32>, vector<4xf32>
}

// -----

// CHECK: tk.halve: a tile of rows and an even number of columns, got vector<4x3xf32>
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %x = "test.op"() : () -> vector<4x3xf32>
  %0, %1 = tk.halve %x : vector<4x3xf32> -> vector<4x1xf32>, vector<4x1xf32>
}

// -----

// CHECK: tk.halve: a half has type vector<2x8xf32>, expected vector<4x4xf32>
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %x = "test.op"() : () -> vector<4x8xf32>
  %0, %1 = tk.halve %x : vector<4x8xf32> -> vector<4x4xf32>, vector<2x8xf32>
}
