// RUN: tilewright irdl tw | filecheck %s --check-prefix=IRDL
// RUN: tilewright translate --to=upstream %s | filecheck %s
// RUN: not tilewright irdl nowhere 2>&1 | filecheck %s --check-prefix=UNKNOWN

// IRDL: irdl.dialect @tw {
// IRDL: irdl.operation @exp {

// UNKNOWN: TW3901: no dialect is named `nowhere`

// A group of values of different types says how many there are, as its declaration asks for.
// CHECK: // tilewright irdl --arity 16
// CHECK: "tw.concat"
// CHECK-SAME: operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>
func.func @main(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<5xf32> {
  %0 = tw.concat %a, %b dim 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  func.return %0 : tensor<5xf32>
}
