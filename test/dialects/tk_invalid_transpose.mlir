// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tk.transpose: a tile of rows and columns, got vector<8xf32>
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %x = "test.op"() : () -> vector<8xf32>
  %0 = tk.transpose %x : vector<8xf32> -> vector<8xf32>
}

// -----

// CHECK: tk.transpose: result has type vector<4x8xf32>, expected vector<8x4xf32>
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %x = "test.op"() : () -> vector<4x8xf32>
  %0 = tk.transpose %x : vector<4x8xf32> -> vector<4x8xf32>
}
