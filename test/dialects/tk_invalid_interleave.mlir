// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tk.deinterleave: a vector of rows of an even number of elements, got vector<7xf32>
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %x = "test.op"() : () -> vector<7xf32>
  %0, %1 = tk.deinterleave %x : vector<7xf32> -> vector<3xf32>, vector<3xf32>
}

// -----

// CHECK: tk.deinterleave: a vector of rows of an even number of elements, got vector<4x3xf32>
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %x = "test.op"() : () -> vector<4x3xf32>
  %0, %1 = tk.deinterleave %x : vector<4x3xf32> -> vector<4x1xf32>, vector<4x1xf32>
}

// -----

// CHECK: tk.deinterleave: every other element has type vector<2x4xf32>, expected vector<4x2xf32>
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %x = "test.op"() : () -> vector<4x4xf32>
  %0, %1 = tk.deinterleave %x : vector<4x4xf32> -> vector<2x4xf32>, vector<2x4xf32>
}

// -----

// CHECK: tk.deinterleave: every other element has type vector<4xf16>, expected vector<4xf32>
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %x = "test.op"() : () -> vector<8xf32>
  %0, %1 = tk.deinterleave %x : vector<8xf32> -> vector<4xf32>, vector<4xf16>
}

// -----

// CHECK: tk.interleave: every other element has type vector<8xf32>, expected vector<4xf32>
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %x = "test.op"() : () -> vector<8xf32>
  %0 = tk.interleave %x, %x : vector<8xf32>, vector<8xf32> -> vector<8xf32>
}

// -----

// CHECK: tk.store: group 2 has a vector with a multiple of 2 elements, got vector<7xf32>
tk.func @f [8] (%a: memref<16xf32>) scheduled {
  %x = "test.op"() : () -> vector<7xf32>
  tk.for 0 = "0" to "8" step 8 {
    tk.store %x, %a[d0*2] lanes 0 group 2 : vector<7xf32>, memref<16xf32>
  }
}

// -----

// CHECK: tk.load: vector<4x8xf32> needs 2 different lane axes, got [0]
tk.func @f [4, 4] (%a: memref<32xf32>) scheduled {
  tk.for 0 = "0" to "4" step 4 {
    %0 = tk.load %a[d0*8] lanes 0 group 2 : memref<32xf32> -> vector<4x8xf32>
  }
}

// -----

// CHECK: tk.store: a group lies in a flat buffer, with no mask, tail or combination
tk.func @f [8] (%a: memref<16xf32>) scheduled {
  %x = "test.op"() : () -> vector<16xf32>
  tk.for 0 = "0" to "8" step 8 {
    tk.store %x, %a[d0*2] combine add lanes 0 group 2 : vector<16xf32>, memref<16xf32>
  }
}
