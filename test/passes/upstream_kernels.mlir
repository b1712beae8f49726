// REQUIRES: upstream
// RUN: tilewright-opt %s -p 'upstream{pipeline="canonicalize"}' | filecheck %s --check-prefixes=CHECK,FOLD
// RUN: tilewright-opt %s -p 'upstream{pipeline="cse"}' | filecheck %s --check-prefixes=CHECK,CSE
// RUN: tilewright-opt %s -p 'upstream{pipeline="sccp"}' | filecheck %s --check-prefixes=CHECK,SCCP

// Upstream's passes see the arith and math ops in kernel bodies.
// CHECK-LABEL: func.func @main
// FOLD: tk.kernel
// FOLD: %[[X:.*]] = tk.load
// FOLD-NEXT: %[[E:.*]] = math.exp %[[X]]
// FOLD-NEXT: math.exp %[[X]]
// FOLD-NOT: arith.mulf
// FOLD: tk.store
// CSE: math.exp
// CSE-NOT: math.exp
// CSE: tk.store
// SCCP: arith.constant 3.000000e+00 : f32
// SCCP: tk.store
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = tk.kernel [4] ins(%x : tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>, %o: tensor<4xf32>):
    %0 = tk.load %a[d0] : tensor<4xf32> -> f32
    %one = arith.constant 1.0 : f32
    %two = arith.constant 2.0 : f32
    %three = arith.addf %one, %two : f32
    %1 = math.exp %0 : f32
    %2 = math.exp %0 : f32
    %3 = arith.mulf %1, %one : f32
    %4 = arith.addf %3, %2 : f32
    %5 = arith.addf %4, %three : f32
    tk.store %5, %o[d0] : f32, tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
