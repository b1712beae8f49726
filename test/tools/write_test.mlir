// RUN: tilewright-opt %s -p cse --diff | filecheck %s --check-prefix=DIFF
// RUN: tilewright-opt %s -p cse --write-test %t.mlir -o /dev/null
// RUN: filecheck %s --input-file %t.mlir --check-prefix=TEST
// RUN: tilewright-opt %t.mlir -p cse | filecheck %t.mlir

// DIFF: +++ after cse
// DIFF: - %1 = tw.exp %x
// DIFF: - %2 = tw.add %0, %1
// DIFF: + %1 = tw.add %0, %0

// TEST: // {{R}}UN: tilewright-opt %s -p 'cse' | filecheck %s
// TEST: // CHECK-LABEL: func.func @merges
// TEST-NEXT: // CHECK-NEXT: %{{\[\[V0:.*\]\]}} = tw.exp %x
// TEST-NEXT: // CHECK-NEXT: %{{\[\[V1:.*\]\]}} = tw.add %{{\[\[V0\]\], %\[\[V0\]\]}}
func.func @merges(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tw.exp %x : tensor<4xf32>
  %1 = tw.exp %x : tensor<4xf32>
  %2 = tw.add %0, %1 : tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
