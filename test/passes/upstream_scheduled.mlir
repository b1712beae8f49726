// REQUIRES: upstream
// RUN: tilewright-opt %s -p 'upstream{pipeline="canonicalize"}' --check-semantics | filecheck %s
// RUN: tilewright-opt %s -p 'upstream{pipeline="sccp"}' --check-semantics | filecheck %s
// RUN: tilewright-opt %s -p 'upstream{pipeline="cse"}' --check-semantics | filecheck %s --check-prefix=DEAD
// RUN: tilewright-opt %s -p 'upstream{pipeline="trivial-dce"}' --check-semantics | filecheck %s --check-prefix=DEAD
// RUN: not tilewright-opt %s -p 'upstream{pipeline="convert-math-to-llvm"}' 2>&1 | filecheck %s --check-prefix=UNREAD
// RUN: not tilewright-opt %s -p 'upstream{pipeline="cse,func.func(loop-invariant-code-motion)"}' 2>&1 | filecheck %s --check-prefix=IDLE
// RUN: not tilewright-opt %s -p 'upstream{pipeline="mem2reg{region-simplify=false},cse"}' 2>&1 | filecheck %s --check-prefix=MEMORY

// Folded splats come back as schedules write them: a scalar that is broadcast.
// CHECK-LABEL: tk.func @double
// CHECK-NOT: arith.constant dense
// CHECK: arith.constant 2.000000e+00 : f32
// CHECK-NEXT: vector.broadcast %{{.*}} : f32 to vector<4xf32>
// CHECK-NOT: arith.constant dense
// CHECK: tk.for 0
// CHECK: math.exp

// DEAD: tk.for 0
// DEAD-NOT: math.sqrt
// DEAD: tk.store

// UNREAD: TW3914: what upstream MLIR's pipeline convert-math-to-llvm leaves cannot be read back
// UNREAD: Operation llvm.{{.*}} is not registered
// UNREAD: fix: leave out passes that lower to other dialects; `tilewright translate --to=linalg` goes there

// IDLE: TW3915: upstream MLIR's pass `loop-invariant-code-motion` cannot work on tilewright's ops
// IDLE: why: it looks for loops with LoopLikeOpInterface, an interface in C++ that IRDL cannot give to an op
// IDLE: fix: leave it out; canonicalize, cse, sccp, int-range-optimizations and trivial-dce work in kernels

// MEMORY: TW3915: upstream MLIR's pass `mem2reg` cannot work
func.func @main(%x: memref<8xf32> {th.sizes = "8", th.strides = "1"}) -> memref<8xf32> {
  %r = th.empty sizes "8" strides "1" : memref<8xf32>
  th.launch @double(%x) into(%r) : (memref<8xf32>) into(memref<8xf32>)
  func.return %r : memref<8xf32>
}
tk.func @double [8] (%a: memref<8xf32>, %o: memref<8xf32>) scheduled {
  %one = arith.constant 1.0 : f32
  %two = arith.addf %one, %one : f32
  %spread = vector.broadcast %two : f32 to vector<4xf32>
  tk.for 0 = "0" to "8" step 4 {
    %0 = tk.load %a[d0] lanes 0 : memref<8xf32> -> vector<4xf32>
    %1 = math.exp %0 : vector<4xf32>
    %dead = math.sqrt %0 : vector<4xf32>
    %2 = arith.mulf %1, %spread : vector<4xf32>
    tk.store %2, %o[d0] lanes 0 : vector<4xf32>, memref<8xf32>
  }
}
