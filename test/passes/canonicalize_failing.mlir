// RUN: tilewright-opt %s -p canonicalize | filecheck %s
// RUN: tilewright-opt %s -p canonicalize --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// A place outside is an error of each call: there is no literal for it.
// REMARK: tw.gather at {{.*}}: it would fail at run time, and has to do so there
// CHECK-LABEL: @keeps_a_place_outside
// CHECK:  tw.gather
func.func @keeps_a_place_outside() -> tensor<1xi64> {
  %t = tw.constant dense<[4, 5]> : tensor<2xi64>
  %i = tw.full 2 : i64 -> tensor<1xi64>
  %g = tw.gather %t[%i] dims [0] at 0 : (tensor<2xi64>, tensor<1xi64>) -> tensor<1xi64>
  func.return %g : tensor<1xi64>
}
