// RUN: not tilewright-opt %s -p canonicalise 2>&1 | filecheck %s --check-prefix=PASS
// RUN: not tilewright-opt %s --pipeline=cpuu 2>&1 | filecheck %s --check-prefix=PIPELINE
// RUN: not tilewright-opt %s -p 'cse{depth=3}' 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not tilewright-opt %s -p 'cse{{' 2>&1 | filecheck %s --check-prefix=MALFORMED
// RUN: not tilewright-opt %s --frobnicate 2>&1 | filecheck %s --check-prefix=FLAG
// RUN: not tilewright-opt %s.missing 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not tilewright-opt %s -o /nonexistent/x 2>&1 | filecheck %s --check-prefix=OUTPUT
// RUN: not tilewright-opt %s --load nowhere.py 2>&1 | filecheck %s --check-prefix=LOAD

// PASS: TW3901: no pass is named `canonicalise`
// PASS-NEXT: why: did you mean `canonicalize`?
// PASS-NEXT: fix: the pass names are: {{.*}}canonicalize

// PIPELINE: TW3901: no pipeline is named `cpuu`
// PIPELINE-NEXT: why: did you mean `cpu`?

// OPTION: TW3902: `cse` does not take these options: depth
// OPTION: fix: `cse` takes no options

// MALFORMED: TW3903: cannot read the pipeline `cse{{[{][{]}}`
// MALFORMED: fix: separate names by commas, put options in braces: fuse{max-ops=64},cse

// FLAG: TW1904: tilewright-opt: unrecognized arguments: --frobnicate
// FLAG: fix: usage: tilewright-opt

// MISSING: TW1901: cannot read {{.*}}opt_errors.mlir.missing
// MISSING-NOT: Traceback

// OUTPUT: TW1902: cannot write /nonexistent/x

// LOAD: TW1905: cannot load passes from nowhere.py
func.func @main() {
  func.return
}
