// RUN: tilewright reduce %s -p canonicalize,swap-sub --load %S/Inputs/swap_sub.py -o %t.mlir 2>&1 | filecheck %s --check-prefix=SAID
// RUN: filecheck %s --input-file %t.mlir
// RUN: not tilewright-opt %t.mlir --load %S/Inputs/swap_sub.py -p canonicalize,swap-sub --check-semantics 2>&1 | filecheck %s --check-prefix=AGAIN
// RUN: tilewright reduce %s --test %S/Inputs/same.sh | filecheck %s --check-prefix=SCRIPT
// RUN: not tilewright reduce %s -p dce 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not tilewright reduce %s --test %S/Inputs/absent.sh 2>&1 | filecheck %s --check-prefix=ABSENT
// RUN: tilewright bisect %s -p canonicalize,swap-sub --load %S/Inputs/swap_sub.py | filecheck %s --check-prefix=BISECT
// RUN: not tilewright bisect %s --pipeline=cpu 2>&1 | filecheck %s --check-prefix=GOOD

// SAID: reducing: TW3921: pass 2 `swap-sub` changed what @main computes
// SAID-NEXT: 9 ops became 4

// CHECK: // TW3921: pass 2 `swap-sub`
// CHECK: // RUN: not tilewright-opt %s --load {{.*}}swap_sub.py -p 'canonicalize,swap-sub' --check-semantics
// CHECK: func.func @main({{.*}}tensor<1x1xf32>{{.*}}tensor<1x1xf32>{{.*}}) -> tensor<1x1xf32>
// CHECK-NEXT: tw.sub {{.*}} loc("bad.py":6:0)
// CHECK-NEXT: func.return

// AGAIN: TW3921: pass 2 `swap-sub` changed what @main computes

// SCRIPT: same.sh exits with 3
// SCRIPT: func.func @main
// SCRIPT-COUNT-2: = tw.
// SCRIPT-NEXT: func.return

// NONE: TW1921: reduce: nothing fails on {{.*}}reduce.mlir
// NONE-NEXT: why: the pipeline `dce` runs, verifies and keeps the meaning of the module
// NONE-NEXT: fix: give the pipeline that fails (-p), or a script that tells good from bad (--test)

// ABSENT: TW1922: cannot run the test script {{.*}}absent.sh
// ABSENT-NEXT: why: {{.*}}No such file
// ABSENT-NEXT: fix: give an executable file

// BISECT: pass 2 `swap-sub` leaves a bad module
// BISECT-NEXT: rewrite 3 of 3: tw.sub at loc("bad.py":6:0): rewritten
// BISECT: -    %d = tw.sub %c, %x
// BISECT: +    %d = tw.sub %x, %c

// GOOD: TW1921: bisect: nothing fails

func.func @main(%x: tensor<4x5xf32>, %y: tensor<4x5xf32>, %z: tensor<7xf32>) -> (tensor<4xf32>, tensor<7xf32>) {
  %k = tw.exp %z : tensor<7xf32>
  %a = tw.sub %x, %y : tensor<4x5xf32> loc("m.py":3:0)
  %b = tw.exp %a : tensor<4x5xf32> loc("m.py":4:0)
  %c = tw.sub %b, %y : tensor<4x5xf32> loc("m.py":5:0)
  %d = tw.sub %c, %x : tensor<4x5xf32> loc("bad.py":6:0)
  %e = tw.sum %d over [1] : tensor<4x5xf32> -> tensor<4xf32> loc("m.py":7:0)
  func.return %e, %k : tensor<4xf32>, tensor<7xf32>
}
