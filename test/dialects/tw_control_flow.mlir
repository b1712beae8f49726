// RUN: tilewright-opt %s --split-input-file | tilewright-opt --split-input-file | filecheck %s

// CHECK-LABEL: @one_of_two
func.func @one_of_two(%p: tensor<i1>, %x: tensor<?xf32, #tw.shape<"s1">>, %s1: index {tw.symbol = "s1"}) -> tensor<?xf32, #tw.shape<"s1">> {
  // CHECK: tw.cond @then else @otherwise(%p, %x) symbols "s1" : (tensor<i1>, tensor<?xf32, #tw.shape<"s1">>) -> tensor<?xf32, #tw.shape<"s1">>
  %r = tw.cond @then else @otherwise(%p, %x) symbols "s1" : (tensor<i1>, tensor<?xf32, #tw.shape<"s1">>) -> tensor<?xf32, #tw.shape<"s1">>
  func.return %r : tensor<?xf32, #tw.shape<"s1">>
}
// A function has symbols of its own: here s0 is what its caller calls s1.
func.func @then(%x: tensor<?xf32, #tw.shape<"s0">>, %s0: index {tw.symbol = "s0"}) -> tensor<?xf32, #tw.shape<"s0">> {
  %r = tw.sin %x : tensor<?xf32, #tw.shape<"s0">>
  func.return %r : tensor<?xf32, #tw.shape<"s0">>
}
func.func @otherwise(%x: tensor<?xf32, #tw.shape<"s1">>, %s1: index {tw.symbol = "s1"}) -> tensor<?xf32, #tw.shape<"s1">> {
  func.return %x : tensor<?xf32, #tw.shape<"s1">>
}

// -----

// CHECK-LABEL: @until_three
func.func @until_three(%i: tensor<i64>, %x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: tw.while @more do @body(%i, %x, %w) : (tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>)
  %n, %r = tw.while @more do @body(%i, %x, %w) : (tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>)
  func.return %r : tensor<4xf32>
}
func.func @more(%i: tensor<i64>, %x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<i1> {
  %n = tw.full 3 : i64 -> tensor<i64>
  %r = tw.compare lt %i, %n : tensor<i64> -> tensor<i1>
  func.return %r : tensor<i1>
}
func.func @body(%i: tensor<i64>, %x: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) {
  %one = tw.full 1 : i64 -> tensor<i64>
  %n = tw.add %i, %one : tensor<i64>
  %r = tw.add %x, %w : tensor<4xf32>
  func.return %n, %r : tensor<i64>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @rows
func.func @rows(%init: tensor<4xf32>, %xs: tensor<3x4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  // CHECK: tw.scan @step(%init, %xs, %w) carrying 1 over 1 impure : (tensor<4xf32>, tensor<3x4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>)
  %last, %all = tw.scan @step(%init, %xs, %w) carrying 1 over 1 impure : (tensor<4xf32>, tensor<3x4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>)
  func.return %last, %all : tensor<4xf32>, tensor<3x4xf32>
}
func.func @step(%c: tensor<4xf32>, %x: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %r = tw.mul %x, %w : tensor<4xf32>
  %s = tw.add %c, %r : tensor<4xf32>
  func.return %s, %r : tensor<4xf32>, tensor<4xf32>
}
