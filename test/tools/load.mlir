// RUN: tilewright-opt %s --load %S/Inputs/fold_double_neg.py -p fold-double-neg,dce | filecheck %s
// RUN: tilewright-opt --load %S/Inputs/fold_double_neg.py --list-passes | filecheck %s --check-prefix=LIST

// LIST: fold-double-neg
// LIST-NEXT: Drop a negation of a negation.
// LIST-NEXT: `fold-double-neg` takes no options

// CHECK-LABEL: @drops_both
// CHECK-NEXT: return %x
func.func @drops_both(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tw.neg %x : tensor<4xf32>
  %1 = tw.neg %0 : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
