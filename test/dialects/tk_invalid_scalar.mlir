// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tk.load: a mask needs an `else` value, and the reverse
tk.func @f [8] (%a: memref<8xf32>) {
  %m = arith.constant true
  %0 = "tk.load"(%a, %m) <{map = #tk.map<"d0">, operandSegmentSizes = array<i32: 1, 0, 1, 0>}> : (memref<8xf32>, i1) -> f32
}

// -----

// CHECK: tk.load: `else` value has type i64, expected f32
tk.func @f [8] (%a: memref<8xf32>) {
  %m = arith.constant true
  %z = arith.constant 0 : i64
  %0 = "tk.load"(%a, %m, %z) <{map = #tk.map<"d0">, operandSegmentSizes = array<i32: 1, 0, 1, 1>}> : (memref<8xf32>, i1, i64) -> f32
}

// -----

// CHECK: tk.index: the result is i64, i32 or index (per lane), got f32
tk.func @f [8] (%a: memref<8xf32>) {
  %0 = tk.index "d0" : f32
}

// -----

// CHECK: tk.index: expected one expression, got "d0, 1"
tk.func @f [8] (%a: memref<8xf32>) {
  %0 = "tk.index"() <{map = #tk.map<"d0, 1">}> : () -> i64
}

// -----

// CHECK: tk.local: expected one size and a rank-1 memref, got memref<4x4xf32>
tk.func @f [8] (%a: memref<8xf32>) {
  %0 = "tk.local"() <{size = #tk.map<"4, 4">}> : () -> memref<4x4xf32>
}

// -----

// CHECK: arith.sitofp: operand vector<4xi32> and result vector<8xf32> differ in lanes
tk.func @f [8] (%a: memref<8xf32>) {
  %x = "test.op"() : () -> vector<4xi32>
  %0 = "arith.sitofp"(%x) : (vector<4xi32>) -> vector<8xf32>
}

// -----

// CHECK: arith.extsi: cannot go from i32 to i16
tk.func @f [8] (%a: memref<8xf32>) {
  %x = "test.op"() : () -> i32
  %0 = "arith.extsi"(%x) : (i32) -> i16
}

// -----

// CHECK: arith.index_cast: exactly one side is index, got i32 to i64
tk.func @f [8] (%a: memref<8xf32>) {
  %x = "test.op"() : () -> i32
  %0 = "arith.index_cast"(%x) : (i32) -> i64
}

// -----

// CHECK: tk.call: knows fmod, erfc, lgamma, nextafter, hypot, got gamma
tk.func @f [8] (%a: memref<8xf32>) {
  %x = "test.op"() : () -> f32
  %0 = tk.call "gamma"(%x) : f32 -> f32
}

// -----

// CHECK: tk.call: fmod takes 2 arguments, got 1
tk.func @f [8] (%a: memref<8xf32>) {
  %x = "test.op"() : () -> f32
  %0 = tk.call "fmod"(%x) : f32 -> f32
}

// -----

// CHECK: tk.call: arguments and result are of one float type, got i32 and i32
tk.func @f [8] (%a: memref<8xf32>) {
  %x = "test.op"() : () -> i32
  %0 = tk.call "erfc"(%x) : i32 -> i32
}

// -----

// CHECK: tk.assert: condition is i1 (per lane), got i64
tk.func @f [8] (%a: memref<8xf32>) {
  %x = "test.op"() : () -> i64
  tk.assert %x "index out of range" : i64
}

// -----

// CHECK: tk.reduce must be inside tk.kernel or tk.func
%x = "test.op"() : () -> f32
%0 = "tk.reduce"(%x) <{kind = "add", axes = array<i64: 0>}> : (f32) -> f32

// -----

// CHECK: tk.reduce: result has type f64, expected f32
tk.func @f [8] (%a: memref<8xf32>) {
  %x = "test.op"() : () -> f32
  %0 = "tk.reduce"(%x) <{kind = "add", axes = array<i64: 0>}> : (f32) -> f64
}

// -----

// CHECK: tk.argreduce: result has type f64, expected f32
tk.func @f [8] (%a: memref<8xf32>) {
  %x, %i = "test.op"() : () -> (f32, i64)
  %0:2 = "tk.argreduce"(%x, %i) <{kind = "max", axes = array<i64: 0>}> : (f32, i64) -> (f64, i64)
}

// -----

// CHECK: tk.argreduce: position has type i32, expected i64
tk.func @f [8] (%a: memref<8xf32>) {
  %x, %i = "test.op"() : () -> (f32, i64)
  %0:2 = "tk.argreduce"(%x, %i) <{kind = "max", axes = array<i64: 0>}> : (f32, i64) -> (f32, i32)
}

// -----

// CHECK: tk.scan: result has type f64, expected f32
tk.func @f [8] (%a: memref<8xf32>) {
  %x = "test.op"() : () -> f32
  %0 = "tk.scan"(%x) <{kind = "add", axis = 0 : i64}> : (f32) -> f64
}

// -----

// CHECK: tk.scan: logaddexp combines floats, got i64
tk.func @f [8] (%a: memref<8xf32>) {
  %x = "test.op"() : () -> i64
  %0 = tk.scan logaddexp %x along 0 : i64
}

// -----

// CHECK: tk.scan: linear combines floats, got i64
tk.func @f [8] (%a: memref<8xf32>) {
  %x = "test.op"() : () -> i64
  %0 = tk.scan linear %x by %x along 0 : i64
}

// -----

// CHECK: tk.scan: linear alone takes a factor
tk.func @f [8] (%a: memref<8xf32>) {
  %x = "test.op"() : () -> f32
  %0 = tk.scan linear %x along 0 : f32
}

// -----

// CHECK: tk.scan: linear alone takes a factor
tk.func @f [8] (%a: memref<8xf32>) {
  %x = "test.op"() : () -> f32
  %0 = tk.scan add %x by %x along 0 : f32
}

// -----

// CHECK: tk.scan: factor has type f64, expected f32
tk.func @f [8] (%a: memref<8xf32>) {
  %x, %y = "test.op"() : () -> (f32, f64)
  %0 = "tk.scan"(%x, %y) <{kind = "linear", axis = 0 : i64}> : (f32, f64) -> f32
}

// -----

// CHECK: tk.random: counter vector<4xi64> and result f32 differ in lanes
tk.func @f [8] (%a: memref<8xf32>) {
  %s, %c = "test.op"() : () -> (i64, vector<4xi64>)
  %0 = "tk.random"(%s, %c) : (i64, vector<4xi64>) -> f32
}

// -----

// CHECK: tk.random: vector<2x6xi64> has no fours along 1
tk.func @f [8] (%a: memref<8xf32>) {
  %s, %c = "test.op"() : () -> (i64, vector<2x6xi64>)
  %0 = tk.random %s, %c {tk.quads = 1 : i64} : vector<2x6xf32>
}

// -----

// CHECK: tk.random: seed is i64 (per lane), got i32
tk.func @f [8] (%a: memref<8xf32>) {
  %s, %c = "test.op"() : () -> (i32, i64)
  %0 = "tk.random"(%s, %c) : (i32, i64) -> f32
}

// -----

// CHECK: tk.func: sizes are made of symbols, got d0
tk.func @f [d0] (%a: memref<8xf32>) {
}

// -----

// CHECK: tk.func: `symbols` lists plain symbols, got s0*2
tk.func @f [8] (%a: memref<8xf32>) symbols [s0*2] {
}

// -----

// CHECK: tk.load: a gather index has type index, got i64
tk.func @f [8] (%a: memref<8xf32>) {
  %i = "test.op"() : () -> i64
  %0 = "tk.load"(%a, %i) <{map = #tk.map<"i0">, operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (memref<8xf32>, i64) -> f32
}

// -----

// CHECK: tk.active must be inside tk.tail, or have `lanes` of a masked loop
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %m = tk.active : vector<4xi1>
}

// -----

// CHECK: tk.active: no masked loop over any of [0] is around it
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %m = tk.active lanes 0 : vector<4xi1>
}

// -----

// CHECK: tk.for: initial values [f32], block arguments [f64] and results [f32] must have equal types
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %z = "test.op"() : () -> f32
  %0 = "tk.for"(%z) <{axis = 0 : i64, lower = #tk.map<"0">, upper = #tk.map<"8">, step = 1 : i64, operandSegmentSizes = array<i32: 1, 0>}> ({
  ^bb0(%p: f64):
    tk.yield %p : f64
  }) : (f32) -> f32
}

// -----

// CHECK: tk.for: axis must not be negative, got -1
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  "tk.for"() <{axis = -1 : i64, lower = #tk.map<"0">, upper = #tk.map<"8">, step = 1 : i64, operandSegmentSizes = array<i32: 0, 0>}> ({
  ^bb0:
  }) : () -> ()
}

// -----

// CHECK: tk.for: step must be at least 1, got 0
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  tk.for 0 = "0" to "8" step 0 {
  }
}

// -----

// CHECK: tk.for: how often a parallel loop runs follows from sizes
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %n = "test.op"() : () -> index
  tk.for 0 = "0" to "i0"(%n) step 1 parallel {
  }
}

// -----

// CHECK: tk.for: how often a parallel loop runs follows from sizes
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  tk.for 0 = "0" to "8" step 1 once parallel {
  }
}

// -----

// CHECK: tk.for: where lanes of a masked loop end follows from sizes
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %n = "test.op"() : () -> index
  tk.for 0 = "0" to "i0"(%n) step 4 masked {
  }
}

// -----

// CHECK: tk.for: operands of bounds must be index, got i64
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %n = "test.op"() : () -> i64
  tk.for 0 = "0" to "i0"(%n) step 1 {
  }
}

// -----

// CHECK: tk.for: i1 has no operand, there are 1
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %n = "test.op"() : () -> index
  tk.for 0 = "i1" to "8"(%n) step 1 {
  }
}

// -----

// CHECK: tk.for: `if` belongs to a parallel loop
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  "tk.for"() <{axis = 0 : i64, lower = #tk.map<"0">, upper = #tk.map<"8">, step = 1 : i64, worth = #tk.map<"1">, operandSegmentSizes = array<i32: 0, 0>}> ({
  ^bb0:
  }) : () -> ()
}

// -----

// CHECK: tk.load: vector<4xf32> needs 1 different lane axes, got [0, 1]
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %0 = tk.load %a[0] lanes 0, 1 : memref<8xf32> -> vector<4xf32>
}

// -----

// CHECK: tk.collapse: dimensions of vector<4x8xf32> rise strictly from 0, got [1, 0]
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %x = "test.op"() : () -> vector<4x8xf32>
  %0 = tk.collapse add %x dims [1, 0] : vector<4x8xf32> -> f32
}

// -----

// CHECK: tk.collapse: result has type vector<4xf32>, expected vector<4x1xf32>
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %x = "test.op"() : () -> vector<4x8xf32>
  %0 = tk.collapse add %x dims [1] : vector<4x8xf32> -> vector<4xf32>
}

// -----

// CHECK: tk.collapse: logaddexp combines floats, got vector<4x8xi64>
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %x = "test.op"() : () -> vector<4x8xi64>
  %0 = tk.collapse logaddexp %x dims [1] : vector<4x8xi64> -> vector<4x1xi64>
}

// -----

// CHECK: tk.cumulate: linear alone takes a factor
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %x = "test.op"() : () -> vector<4x8xf32>
  %0 = tk.cumulate linear %x dim 0 : vector<4x8xf32>
}

// -----

// CHECK: tk.cumulate: result has type vector<4x4xf32>, expected vector<4x8xf32>
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %x = "test.op"() : () -> vector<4x8xf32>
  %0 = "tk.cumulate"(%x) <{kind = "add", dim = 0 : i64}> : (vector<4x8xf32>) -> vector<4x4xf32>
}

// -----

// CHECK: tk.share: takes a tile of two dimensions, got vector<8xf32>
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %x = "test.op"() : () -> vector<8xf32>
  %0 = tk.share %x : vector<8xf32>
}

// -----

// CHECK: tk.mma: shapes do not multiply: vector<4x8xf32>, vector<4x2xf32>, vector<3x8xf32>
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %c, %x, %y = "test.op"() : () -> (vector<4x8xf32>, vector<4x2xf32>, vector<3x8xf32>)
  %0 = tk.mma %c, %x, %y precision "ieee" : vector<4x8xf32>, vector<4x2xf32>, vector<3x8xf32> -> vector<4x8xf32>
}

// -----

// CHECK: tk.mma: factors are of one float type below f64, 8-bit floats or i8, got f32 and bf16
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %c, %x, %y = "test.op"() : () -> (vector<4x8xf32>, vector<4x2xf32>, vector<2x8xbf16>)
  %0 = tk.mma %c, %x, %y precision "ieee" : vector<4x8xf32>, vector<4x2xf32>, vector<2x8xbf16> -> vector<4x8xf32>
}

// -----

// CHECK: tk.mma: factors are of one float type below f64, 8-bit floats or i8, got f8E4M3FN and i8
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %c, %x, %y = "test.op"() : () -> (vector<4x8xf32>, vector<4x2xf8E4M3FN>, vector<2x8xi8>)
  %0 = tk.mma %c, %x, %y precision "ieee" : vector<4x8xf32>, vector<4x2xf8E4M3FN>, vector<2x8xi8> -> vector<4x8xf32>
}

// -----

// CHECK: tk.mma: sums of i8 are i32, got f32
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %c, %x, %y = "test.op"() : () -> (vector<4x8xf32>, vector<4x2xi8>, vector<2x8xi8>)
  %0 = tk.mma %c, %x, %y precision "ieee" : vector<4x8xf32>, vector<4x2xi8>, vector<2x8xi8> -> vector<4x8xf32>
}

// -----

// CHECK: tk.mma: sums of f8E5M2 are f32, got i32
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %c, %x, %y = "test.op"() : () -> (vector<4x8xi32>, vector<4x2xf8E5M2>, vector<2x8xf8E4M3FN>)
  %0 = tk.mma %c, %x, %y precision "ieee" : vector<4x8xi32>, vector<4x2xf8E5M2>, vector<2x8xf8E4M3FN> -> vector<4x8xi32>
}

// -----

// CHECK: tk.mma: precision is one of ieee, tf32, got half
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %c, %x, %y = "test.op"() : () -> (vector<4x8xf32>, vector<4x2xf32>, vector<2x8xf32>)
  %0 = tk.mma %c, %x, %y precision "half" : vector<4x8xf32>, vector<4x2xf32>, vector<2x8xf32> -> vector<4x8xf32>
}

// -----

// CHECK: tk.mma: result has type vector<4x4xf32>, expected vector<4x8xf32>
tk.func @f [8] (%a: memref<8xf32>) scheduled {
  %c, %x, %y = "test.op"() : () -> (vector<4x8xf32>, vector<4x2xf32>, vector<2x8xf32>)
  %0 = tk.mma %c, %x, %y precision "ieee" : vector<4x8xf32>, vector<4x2xf32>, vector<2x8xf32> -> vector<4x4xf32>
}

// -----

// CHECK: tk.moments: operands and results are all f32 or all f64, got f32, f64, f32, f32, f64, f32
tk.func @f [8] (%a: memref<8xf32>) {
  %x, %y = "test.op"() : () -> (f32, f64)
  %0, %1, %2 = tk.moments %x, %y, %x over [0] : f32
}

// -----

// CHECK: tk.moments: operands and results are all f32 or all f64, got bf16
tk.func @f [8] (%a: memref<8xf32>) {
  %x = "test.op"() : () -> bf16
  %0, %1, %2 = tk.moments %x, %x, %x over [0] : bf16
}

// -----

// CHECK: tk.moments: combines over one axis at least
tk.func @f [8] (%a: memref<8xf32>) {
  %x = "test.op"() : () -> f32
  %0, %1, %2 = tk.moments %x, %x, %x over [] : f32
}

// -----

// CHECK: tk.moments: axis 1 is outside of the iteration space of rank 1
tk.func @f [8] (%a: memref<8xf32>) {
  %x = "test.op"() : () -> f32
  %0, %1, %2 = tk.moments %x, %x, %x over [1] : f32
}

// -----

// CHECK: tk.sumexp: operands and results are all f32 or all f64, got f32, f64, f32, f64
tk.func @f [8] (%a: memref<8xf32>) {
  %x, %y = "test.op"() : () -> (f32, f64)
  %0, %1 = tk.sumexp %x, %y over [0] : f32
}

// -----

// CHECK: tk.sumexp: combines over one axis at least
tk.func @f [8] (%a: memref<8xf32>) {
  %x = "test.op"() : () -> f32
  %0, %1 = tk.sumexp %x, %x over [] : f32
}

// -----

// CHECK: tk.sumexp: axis 1 is outside of the iteration space of rank 1
tk.func @f [8] (%a: memref<8xf32>) {
  %x = "test.op"() : () -> f32
  %0, %1 = tk.sumexp %x, %x over [1] : f32
}
