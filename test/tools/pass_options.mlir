// RUN: tilewright-opt %s --load %S/Inputs/broken_rules.py -p 'prints-options{count=3 share=2 label="a b,c" kind=some exact=true sizes=1,2 limit=4},prints-options{share=1e-3 sizes=7 limit}' | filecheck %s
// RUN: not tilewright-opt %s --load %S/Inputs/broken_rules.py -p 'prints-options{count=2 share=much}' 2>&1 | filecheck %s --check-prefix=FLOAT
// RUN: not tilewright-opt %s --load %S/Inputs/broken_rules.py -p 'prints-options{count=2 sizes=1,x}' 2>&1 | filecheck %s --check-prefix=LIST
// RUN: not tilewright-opt %s --load %S/Inputs/broken_rules.py -p 'prints-options{exact=1}' 2>&1 | filecheck %s --check-prefix=BOOL
// RUN: not tilewright-opt %s --load %S/Inputs/broken_rules.py -p 'prints-options{count=2 shares=1}' 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not tilewright-opt %s --load %S/Inputs/broken_rules.py -p 'prints-options{count}' 2>&1 | filecheck %s --check-prefix=NOTHING
// RUN: not tilewright-opt %s --load %S/Inputs/broken_rules.py -p 'prints-options{kind=all}' 2>&1 | filecheck %s --check-prefix=KIND

// Integers and powers of ten are floats where a float is asked for.
// CHECK: // 3 2.0 a b,c some True (1, 2) 4
// CHECK-NEXT: // 1 0.001 x none False (7,) None

// Only the option that does not do is named.
// FLOAT: TW3902: `prints-options` does not take these options: share
// FLOAT-NEXT: why: `much` is no float
// LIST: does not take these options: sizes
// LIST-NEXT: why: `1,x` is no tuple[int, ...]
// BOOL: does not take these options: exact
// BOOL-NEXT: why: `1` is no bool
// NAME: does not take these options: shares
// NAME-NEXT: why: did you mean `share`?
// NOTHING: does not take these options: count
// NOTHING-NEXT: why: nothing is no int
// KIND: does not take these options: kind
// KIND-NEXT: why: `all` is none of none, some
// KIND-NEXT: fix: write prints-options{{.*}} kind=<none|some>
func.func @main() {
  func.return
}
