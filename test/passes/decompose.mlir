// RUN: tilewright-opt %s -p decompose --print-debuginfo | filecheck %s

// CHECK-LABEL: @normal_from_two_draws
func.func @normal_from_two_draws(%seed: tensor<i64>) -> tensor<3x?xf32, #tw.shape<"3, s0">> {
  // CHECK-NEXT: %[[U:.*]] = tw.rng_uniform %seed offset "5" : tensor<i64> -> tensor<3x?xf32, #tw.shape<"3, s0">> loc("m.py":1:2)
  // CHECK-NEXT: %[[V:.*]] = tw.rng_uniform %seed offset "s0*3 + 5"
  // CHECK-NEXT: %[[N:.*]] = tw.neg %[[U]]
  // CHECK-NEXT: tw.log1p %[[N]]
  // CHECK: tw.sqrt
  // CHECK: tw.cos
  // CHECK-NEXT: tw.mul {{.*}} loc("m.py":1:2)
  // CHECK-NOT: tw.rng_normal
  %n = tw.rng_normal %seed offset "5" : tensor<i64> -> tensor<3x?xf32, #tw.shape<"3, s0">> loc("m.py":1:2)
  func.return %n : tensor<3x?xf32, #tw.shape<"3, s0">>
}

// CHECK-LABEL: @leaves_primitives
func.func @leaves_primitives(%seed: tensor<i64>) -> tensor<3xf32> {
  // CHECK-NEXT: tw.rng_uniform
  // CHECK-NEXT: func.return
  %n = tw.rng_uniform %seed offset "0" : tensor<i64> -> tensor<3xf32>
  func.return %n : tensor<3xf32>
}
