// RUN: not tilewright-opt %s --load %S/Inputs/swap_sub.py -p canonicalize,swap-sub,dce --check-semantics 2>&1 | filecheck %s
// RUN: tilewright-opt %s --pipeline=cpu --check-semantics -o /dev/null 2>&1 | filecheck %s --check-prefix=WHOLE
// RUN: not tilewright-opt %s -p cse,swap-sub --load %S/Inputs/swap_sub.py --check-semantics --check-seed 7 2>&1 | filecheck %s --check-prefix=SEED
// RUN: echo 'func.func private @f(tensor<4xf32>)' | not tilewright-opt -p dce --check-semantics 2>&1 | filecheck %s --check-prefix=NOTHING

// CHECK:      TW3921: pass 2 `swap-sub` changed what @main computes
// CHECK-NEXT: where: loc("bad.py":6:0)
// CHECK-NEXT: why: result 0: in float64 4 of 4 elements differ, the largest difference is {{[0-9.]+}}; at [0] {{.*}} became
// CHECK-NEXT: inputs: normal floats, integers 0 to 2, seed 0
// CHECK-NEXT: culprit: rewrite 3 of 3: tw.sub at loc("bad.py":6:0): rewritten
// CHECK-NEXT: first value that was not there before: `tw.sub` at loc("bad.py":6:0)
// CHECK-NEXT: fix: report this bug with the module before the pass
// CHECK-NEXT: ir: %d = tw.sub %x, %c {marked} : tensor<4x5xf32>

// WHOLE: meaning checked: 5 inputs, {{[0-9]+}} comparisons
// WHOLE-NOT: not run

// SEED: pass 2 `swap-sub`
// SEED: inputs: normal floats, integers 0 to 2, seed 7

// NOTHING:      TW3923: cannot check the meaning of <stdin>: nothing in it was run
// NOTHING-NEXT: why: it has no function with a body
// NOTHING-NEXT: fix: give a module with a closed function

func.func @main(%x: tensor<4x5xf32>, %y: tensor<4x5xf32>) -> tensor<4xf32> {
  %a = tw.sub %x, %y : tensor<4x5xf32> loc("m.py":3:0)
  %b = tw.exp %a : tensor<4x5xf32> loc("m.py":4:0)
  %c = tw.sub %b, %y : tensor<4x5xf32> loc("m.py":5:0)
  %d = tw.sub %c, %x : tensor<4x5xf32> loc("bad.py":6:0)
  %e = tw.sum %d over [1] : tensor<4x5xf32> -> tensor<4xf32> loc("m.py":7:0)
  func.return %e : tensor<4xf32>
}
