// REQUIRES: upstream
// RUN: tilewright-opt %s -p 'upstream{pipeline="cse"}' --print-debuginfo | filecheck %s
// RUN: not tilewright-opt %s -p 'upstream{pipeline="no-such-pass"}' 2>&1 | filecheck %s --check-prefix=ERROR
// RUN: not tilewright-opt %s -p upstream 2>&1 | filecheck %s --check-prefix=OPTION

// Upstream's CSE works on our ops, because our dialects tell it which are pure.
// CHECK-LABEL: func.func @merges_equal_ops
// CHECK-NEXT: %[[E:.*]] = tw.exp %{{.*}} : tensor<4x?xf32, #tw.shape<"4, s0">> loc("m.py":3:1)
// CHECK-NEXT: %[[A:.*]] = tw.add %[[E]], %[[E]]
// CHECK-NEXT: %[[C:.*]] = tw.compare lt %[[A]], %[[E]]
// CHECK-NEXT: return %[[C]]

// ERROR: TW3909: upstream MLIR rejects the module (pipeline no-such-pass)
// ERROR: 'no-such-pass' does not refer to a registered pass

// OPTION: TW3902: `upstream` does not take these options: (none)
// OPTION: upstream{pipeline=<str>}
func.func @merges_equal_ops(%x: tensor<4x?xf32, #tw.shape<"4, s0">>, %s0: index {tw.symbol = "s0"}) -> tensor<4x?xi1, #tw.shape<"4, s0">> {
  %0 = tw.exp %x : tensor<4x?xf32, #tw.shape<"4, s0">> loc("m.py":3:1)
  %1 = tw.exp %x : tensor<4x?xf32, #tw.shape<"4, s0">> loc("m.py":4:1)
  %2 = tw.add %0, %1 : tensor<4x?xf32, #tw.shape<"4, s0">>
  %3 = tw.compare lt %2, %1 : tensor<4x?xf32, #tw.shape<"4, s0">> -> tensor<4x?xi1, #tw.shape<"4, s0">>
  func.return %3 : tensor<4x?xi1, #tw.shape<"4, s0">>
}

// CHECK-LABEL: func.func @operands_of_different_types
// CHECK-NEXT: tw.concat %{{.*}}, %{{.*}} dim 0 : (tensor<4x6xf32>, tensor<?x6xf32, #tw.shape<"s0, 6">>) -> tensor<?x6xf32, #tw.shape<"s0 + 4, 6">>
// CHECK-NEXT: return
func.func @operands_of_different_types(%x: tensor<4x6xf32>, %y: tensor<?x6xf32, #tw.shape<"s0, 6">>) -> tensor<?x6xf32, #tw.shape<"s0 + 4, 6">> {
  %0 = tw.concat %x, %y dim 0 : (tensor<4x6xf32>, tensor<?x6xf32, #tw.shape<"s0, 6">>) -> tensor<?x6xf32, #tw.shape<"s0 + 4, 6">>
  func.return %0 : tensor<?x6xf32, #tw.shape<"s0 + 4, 6">>
}
