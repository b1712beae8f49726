// RUN: tilewright-opt %s -p cse,dce --print-debuginfo | filecheck %s
// RUN: tilewright-opt %s -p cse,dce --print-generic | filecheck %s --check-prefix=GENERIC
// RUN: tilewright-opt %s -p cse --print-ir-after-all 2>&1 >/dev/null | filecheck %s --check-prefix=AFTER
// RUN: tilewright-opt %s -p cse,dce --timing 2>&1 >/dev/null | filecheck %s --check-prefix=TIMING
// RUN: tilewright-opt %s -p cse,dce --verify-locations | filecheck %s --check-prefix=QUIET
// RUN: rm -rf %t && tilewright-opt %s -p cse,dce --dump %t -o /dev/null && tilewright-opt %t/01-cse.mlir -p dce --print-debuginfo | filecheck %s

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[S:.*]] = arith.addf %x, %x : f32 loc("m.py":3:4)
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[S]], %[[S]] : f32 loc("m.py":5:4)
// CHECK-NEXT: return %[[P]] : f32

// GENERIC: "arith.addf"(%{{.*}}, %{{.*}})
// GENERIC: "func.return"

// AFTER: // IR after 1 cse
// AFTER-NEXT: builtin.module

// TIMING: ms  cse
// TIMING-NEXT: ms  dce
// TIMING-NEXT: ms  total

// QUIET-NOT: loc(
func.func @main(%x: f32) -> f32 {
  %0 = arith.addf %x, %x : f32 loc("m.py":3:4)
  %1 = arith.addf %x, %x : f32 loc("m.py":4:4)
  %2 = arith.subf %x, %x : f32 loc("m.py":6:4)
  %3 = arith.mulf %0, %1 : f32 loc("m.py":5:4)
  func.return %3 : f32
}
