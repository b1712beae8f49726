// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tk.load: memref<8xf32> has rank 1, but there are 2 subscripts
tk.func @f [8] (%a: memref<8xf32>) {
  %0 = tk.load %a[d0, 0] : memref<8xf32> -> f32
}

// -----

// CHECK: tk.load: axis d1 is not bound here, bound are [0]
tk.func @f [8] (%a: memref<8xf32>) {
  %0 = tk.load %a[d1] : memref<8xf32> -> f32
}

// -----

// CHECK: tk.load: axis d0 is not bound here, bound are []
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %0 = tk.load %a[d0] : memref<8xf32> -> f32
}

// -----

// CHECK: tk.load: i0 has no operand, there are 0
tk.func @f [8] (%a: memref<8xf32>) {
  %0 = tk.load %a[i0] : memref<8xf32> -> f32
}

// -----

// CHECK: tk.load: symbol s1 is not among the function's ['s0']
tk.func @f [s0] (%a: memref<?xf32>) symbols [s0] {
  %0 = tk.load %a[d0 + s1] : memref<?xf32> -> f32
}

// -----

// CHECK: tk.load: element of memref<8xbf16> does not match value type f32
tk.func @f [8] (%a: memref<8xbf16>) {
  %0 = tk.load %a[d0] : memref<8xbf16> -> f32
}

// -----

// CHECK: tk.load: `lanes` is given exactly for vectors, value type is vector<4xf32>
tk.func @f [8] (%a: memref<8xf32>) {
  %0 = tk.load %a[d0] : memref<8xf32> -> vector<4xf32>
}

// -----

// CHECK: tk.load: mask of f32 is i1 per lane, got i64
tk.func @f [8] (%a: memref<8xf32>) {
  %z = arith.constant 0.0 : f32
  %m = arith.constant 1 : i64
  %0 = tk.load %a[d0] if %m else %z : memref<8xf32> -> f32
}

// -----

// CHECK: tk.store: `combine` is one of add, mul, max, min, any, got sub
tk.func @f [8] (%a: memref<8xf32>) {
  %z = arith.constant 0.0 : f32
  tk.store %z, %a[d0] combine sub : f32, memref<8xf32>
}

// -----

// CHECK: tk.store: axis 1 is outside of the iteration space of rank 1
tk.func @f [8] (%a: memref<8xf32>) {
  %z = arith.constant 0.0 : f32
  tk.store %z, %a[0] over [1] combine add : f32, memref<8xf32>
}

// -----

// CHECK: tk.store cannot be in a scheduled function, its loops are explicit
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %z = arith.constant 0.0 : f32
  tk.for 0 = "0" to "8" step 1 {
    tk.store %z, %a[0] over [0] combine add : f32, memref<8xf32>
  }
}

// -----

// CHECK: tk.store: `after` cannot be in a scheduled function: loops are explicit
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %z = arith.constant 0.0 : f32
  tk.for 0 = "0" to "8" step 1 {
    tk.store %z, %a[d0] after (%z) : f32, memref<8xf32>
  }
}

// -----

// CHECK: tk.store: target is not a destination, those are block arguments 1 and on
func.func @f(%x: tensor<8xf32>) {
  %r = tk.kernel [8] ins(%x : tensor<8xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>, %o: tensor<8xf32>):
    %0 = tk.load %a[d0] : tensor<8xf32> -> f32
    tk.store %0, %a[d0] : f32, tensor<8xf32>
  }
  func.return
}

// -----

// CHECK: tk.kernel: nothing is stored to the destination of result 0
func.func @f(%x: tensor<8xf32>) {
  %r = tk.kernel [8] ins(%x : tensor<8xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>, %o: tensor<8xf32>):
    %0 = tk.load %a[d0] : tensor<8xf32> -> f32
  }
  func.return
}

// -----

// CHECK: tk.kernel: block arguments are the inputs, then the destinations: expected ['tensor<8xf32>', 'tensor<8xf32>'], got ['tensor<8xf32>']
func.func @f(%x: tensor<8xf32>) {
  %r = tk.kernel [8] ins(%x : tensor<8xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %0 = tk.load %a[d0] : tensor<8xf32> -> f32
  }
  func.return
}

// -----

// CHECK: tk.reduce: axis 1 is outside of the iteration space of rank 1
tk.func @f [8] (%a: memref<8xf32>) {
  %0 = tk.load %a[d0] : memref<8xf32> -> f32
  %1 = tk.reduce add %0 over [1] : f32
}

// -----

// CHECK: tk.reduce: axes must rise strictly, got [1, 0]
tk.func @f [8, 8] (%a: memref<8xf32>) {
  %0 = tk.load %a[d0] : memref<8xf32> -> f32
  %1 = tk.reduce add %0 over [1, 0] : f32
}

// -----

// CHECK: tk.reduce: kind is one of add, mul, max, min, and, or, got sub
tk.func @f [8] (%a: memref<8xf32>) {
  %0 = tk.load %a[d0] : memref<8xf32> -> f32
  %1 = tk.reduce sub %0 over [0] : f32
}

// -----

// CHECK: tk.reduce cannot be in a scheduled function, its loops are explicit
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %0 = arith.constant 1.0 : f32
  %1 = tk.reduce add %0 over [0] : f32
}

// -----

// CHECK: tk.for: a parallel loop carries no values
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %z = arith.constant 1.0 : f32
  %0 = tk.for 0 = "0" to "8" step 1 parallel iter(%p = %z : f32) {
    tk.yield %p : f32
  }
}

// -----

// CHECK: tk.for: yields [], expected [f32]
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %z = arith.constant 1.0 : f32
  %0 = tk.for 0 = "0" to "8" step 1 iter(%p = %z : f32) {
  }
}

// -----

// CHECK: tk.active must be inside tk.tail
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %m = tk.active : vector<4xi1>
}

// -----

// CHECK: tk.local: size "4" does not match memref<8xf32>
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %m = tk.local "4" : memref<8xf32>
}

// -----

// CHECK: tk.func: arguments are rank-1 memrefs, got memref<8x8xf32>
tk.func @f [8] (%a: memref<8x8xf32>) {
}

// -----

// CHECK: tk.func: symbol s0 of the sizes is not among []
tk.func @f [s0] (%a: memref<8xf32>) {
}

// -----

// CHECK: tk.map: "d0 + 0" is not canonical, write "d0"
tk.func @f [8] (%a: memref<8xf32>) {
  %0 = "tk.load"(%a) <{map = #tk.map<"d0 + 0">, operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (memref<8xf32>) -> f32
}

// -----

// CHECK: arith.select: condition for vector<4xf32> is i1, or i1 per lane, got vector<8xi1>
func.func @f(%c: vector<8xi1>, %x: vector<4xf32>) {
  %0 = arith.select %c, %x, %x : vector<8xi1>, vector<4xf32>
  func.return
}

// -----

// CHECK: %b is used before its definition
tk.func @f [8] (%a: memref<8xf32>) {
  %0 = tk.load %b[d0] : memref<8xf32> -> f32
}

// -----

// CHECK: tk.load: group 2 has a vector of 2 elements, got vector<4xbf16>
tk.func @f [8] (%a: memref<8xbf16>) {
  %0 = tk.load %a[d0] group 2 : memref<8xbf16> -> vector<4xbf16>
}

// -----

// CHECK: tk.load: group 3 has a vector with a multiple of 3 elements, got vector<8xbf16>
tk.func @f [8] (%a: memref<32xbf16>) {
  %0 = tk.load %a[d0*3] lanes 0 group 3 : memref<32xbf16> -> vector<8xbf16>
}

// -----

// CHECK: tk.load: a group lies in a flat buffer, with no mask, tail or combination
tk.func @f [8] (%a: memref<8x8xbf16>) {
  %0 = tk.load %a[d0, 0] group 2 : memref<8x8xbf16> -> vector<2xbf16>
}

// -----

// CHECK: tk.dot: groups for 4 lanes are a vector of bf16 or f16 with a multiple of 4 elements, got vector<6xbf16>
func.func @f(%c: vector<4xf32>, %x: vector<6xbf16>, %y: vector<2xbf16>) {
  %0 = tk.dot %c, %x by (%y) : vector<4xf32>, vector<6xbf16>, vector<2xbf16>
  func.return
}

// -----

// CHECK: tk.dot: expected vector<2xbf16>, or 2 of bf16, got bf16, bf16, bf16
func.func @f(%c: vector<4xf32>, %x: vector<8xbf16>, %y: bf16) {
  %0 = tk.dot %c, %x by (%y, %y, %y) : vector<4xf32>, vector<8xbf16>, bf16, bf16, bf16
  func.return
}

// -----

// CHECK: tk.dot: result has type vector<8xf32>, expected vector<4xf32>
func.func @f(%c: vector<4xf32>, %x: vector<8xbf16>, %y: vector<2xbf16>) {
  %0 = "tk.dot"(%c, %x, %y) : (vector<4xf32>, vector<8xbf16>, vector<2xbf16>) -> vector<8xf32>
  func.return
}

// -----

// CHECK: tk.turn: memref<16xf32> and memref<16xf64> have different elements
tk.func @f [4] (%a: memref<16xf32>, %o: memref<16xf64>) scheduled {
  tk.turn %a[d0 + d1*4] into %o[d0*4 + d1] over 0 = "0" count "4", 1 = "0" count "4" : memref<16xf32>, memref<16xf64>
}

// -----

// CHECK: tk.turn: expected two different axes with their places, got [0, 0]
tk.func @f [4] (%a: memref<16xf32>, %o: memref<16xf32>) scheduled {
  tk.turn %a[d0] into %o[d0] over 0 = "0" count "4", 0 = "0" count "4" : memref<16xf32>, memref<16xf32>
}

// -----

// CHECK: tk.turn: buffers are flat, each has one subscript
tk.func @f [4] (%a: memref<16xf32>, %o: memref<16xf32>) scheduled {
  "tk.turn"(%a, %o) <{axes = array<i64: 0, 1>, source_map = #tk.map<"d0, d1">, target_map = #tk.map<"d1">,
    starts = #tk.map<"0, 0">, counts = #tk.map<"4, 4">}> : (memref<16xf32>, memref<16xf32>) -> ()
}

// -----

// CHECK: tk.turn: binds axes [0, 1], but [1] are bound already
tk.func @f [4] (%a: memref<16xf32>, %o: memref<16xf32>) scheduled {
  tk.for 1 = "0" to "4" step 1 {
    tk.turn %a[d0 + d1*4] into %o[d0*4 + d1] over 0 = "0" count "4", 1 = "0" count "4" : memref<16xf32>, memref<16xf32>
  }
}

// -----

// CHECK: tk.turn: [d0 + d1*4] must rise by 1 along axis 1 and [d0*4 + d1] along axis 0
tk.func @f [4] (%a: memref<16xf32>, %o: memref<16xf32>) scheduled {
  tk.turn %a[d0 + d1*4] into %o[d0*4 + d1] over 1 = "0" count "4", 0 = "0" count "4" : memref<16xf32>, memref<16xf32>
}

// -----

// CHECK: tk.turn: [d0 + (d1 floordiv 2)] and [d0*4 + d1] must be linear in both axes
tk.func @f [4] (%a: memref<16xf32>, %o: memref<16xf32>) scheduled {
  tk.turn %a[d0 + d1 floordiv 2] into %o[d0*4 + d1] over 0 = "0" count "4", 1 = "0" count "4" : memref<16xf32>, memref<16xf32>
}

// -----

// CHECK: tk.turn: axis d2 is not bound here, bound are []
tk.func @f [4] (%a: memref<16xf32>, %o: memref<16xf32>) scheduled {
  tk.turn %a[d0 + d1*4] into %o[d0*4 + d1 + d2] over 0 = "0" count "4", 1 = "0" count "4" : memref<16xf32>, memref<16xf32>
}
