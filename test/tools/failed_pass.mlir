// RUN: not tilewright-opt %s --load %S/Inputs/broken_rules.py -p dce,looks-up 2>&1 | filecheck %s --check-prefix=RAISES
// RUN: not tilewright-opt %s --load %S/Inputs/broken_rules.py -p returns-op 2>&1 | filecheck %s --check-prefix=RETURNS
// RUN: not tilewright-opt %s --load %S/Inputs/broken_rules.py -p changes-type 2>&1 | filecheck %s --check-prefix=TYPE
// RUN: not tilewright-opt %s --load %S/Inputs/broken_rules.py -p returns-itself 2>&1 | filecheck %s --check-prefix=ITSELF
// RUN: not tilewright-opt %s --load %S/Inputs/broken_rules.py -p forgets-to-insert 2>&1 | filecheck %s --check-prefix=NOWHERE
// RUN: not tilewright-opt %s --load %S/Inputs/broken_rules.py -p stops 2>&1 | filecheck %s --check-prefix=MODULE
// RUN: tilewright bisect %s --load %S/Inputs/broken_rules.py -p dce,looks-up | filecheck %s --check-prefix=BISECT
// RUN: tilewright reduce %s --load %S/Inputs/broken_rules.py -p dce,looks-up | filecheck %s --check-prefix=REDUCE

// RAISES: TW3910: pass 2 `looks-up` failed
// RAISES-NEXT: where: loc("m.py":3:4)
// RAISES-NEXT: why: KeyError: 'nothing'
// RAISES-NEXT: in looks_up, {{.*}}broken_rules.py:21
// RAISES-NEXT: fix: mend the pass, or report it with the module before it
// RAISES-NEXT: ir: %{{.*}} = tw.exp

// RETURNS: where: loc("m.py":3:4)
// RETURNS-NEXT: why: TypeError: a rule returns a value for each result of the op, or None; this is NegOp

// TYPE: where: loc("m.py":3:4)
// TYPE-NEXT: values of types (tensor<9xf64>) cannot replace results of types (tensor<4xf32>)

// ITSELF: where: loc("m.py":3:4)
// ITSELF-NEXT: why: TypeError: an op cannot take its own place: return None to leave it as it is

// NOWHERE: where: loc("m.py":3:4)
// NOWHERE-NEXT: why: TypeError: tw.neg is in no block: `rewrite.value(NegOp(...))` puts it there

// MODULE: TW3910: pass 1 `stops` failed
// MODULE-NEXT: why: RuntimeError: stopped
// MODULE-NEXT: in stops, {{.*}}broken_rules.py:51

// BISECT: pass 2 `looks-up` fails
// BISECT-NEXT: TW3910: pass 2 `looks-up` failed
// BISECT: KeyError: 'nothing'

// The command in a reduced file is whole: it loads the pass that fails.
// REDUCE: // RUN: not tilewright-opt %s --load {{.*}}broken_rules.py -p 'dce,looks-up' --check-semantics
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tw.neg %x : tensor<4xf32> loc("m.py":2:4)
  %1 = tw.exp %0 : tensor<4xf32> loc("m.py":3:4)
  func.return %1 : tensor<4xf32>
}
