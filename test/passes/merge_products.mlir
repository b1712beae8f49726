// RUN: tilewright-opt %s -p merge-products --split-input-file | filecheck %s
// RUN: tilewright-opt %s -p merge-products --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s -p 'merge-products{apart=2}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=APART
// RUN: tilewright-opt %s -p merge-products --split-input-file --check-semantics -o /dev/null

// CHECK-LABEL: @joins_factors
func.func @joins_factors(%x: tensor<64x2xf32>, %u: tensor<2x48xf32>, %y: tensor<64x3xf32>, %v: tensor<3x48xf32>) -> tensor<64x48xf32> {
  // CHECK-NEXT: %[[L:.*]] = tw.concat %x, %y dim 1
  // CHECK-NEXT: %[[R:.*]] = tw.concat %u, %v dim 0
  // CHECK-NEXT: %[[M:.*]] = tw.matmul %[[L]], %[[R]] : (tensor<64x5xf32>, tensor<5x48xf32>)
  // CHECK-NEXT: return %[[M]]
  %a = tw.matmul %x, %u : (tensor<64x2xf32>, tensor<2x48xf32>) -> tensor<64x48xf32>
  %b = tw.matmul %y, %v : (tensor<64x3xf32>, tensor<3x48xf32>) -> tensor<64x48xf32>
  %s = tw.add %a, %b : tensor<64x48xf32>
  func.return %s : tensor<64x48xf32>
}

// -----

// The gradient of a recurrent weight: transposed factors are joined as they lie, in the order in which somebody
// joins them anyway; what else is added comes last.
// CHECK-LABEL: @steps_of_a_recurrence
func.func @steps_of_a_recurrence(%g0: tensor<2x64xf32>, %g1: tensor<2x64xf32>, %g2: tensor<2x64xf32>, %h0: tensor<2x48xf32>, %h1: tensor<2x48xf32>, %h2: tensor<2x48xf32>, %w: tensor<64x48xf32>) -> (tensor<64x48xf32>, tensor<6x64xf32>) {
  // CHECK-NEXT: %[[G:.*]] = tw.concat %g0, %g1, %g2 dim 0
  // CHECK-NEXT: %[[T:.*]] = tw.transpose %[[G]] by [1, 0]
  // CHECK-NEXT: %[[H:.*]] = tw.concat %h0, %h1, %h2 dim 0
  // CHECK-NEXT: %[[M:.*]] = tw.matmul %[[T]], %[[H]]
  // CHECK-NEXT: %[[S:.*]] = tw.add %w, %[[M]]
  // CHECK-NEXT: %[[J:.*]] = tw.concat %g0, %g1, %g2 dim 0
  // CHECK-NEXT: return %[[S]], %[[J]]
  %t2 = tw.transpose %g2 by [1, 0] : tensor<2x64xf32> -> tensor<64x2xf32>
  %m2 = tw.matmul %t2, %h2 : (tensor<64x2xf32>, tensor<2x48xf32>) -> tensor<64x48xf32>
  %s2 = tw.add %w, %m2 : tensor<64x48xf32>
  %t1 = tw.transpose %g1 by [1, 0] : tensor<2x64xf32> -> tensor<64x2xf32>
  %m1 = tw.matmul %t1, %h1 : (tensor<64x2xf32>, tensor<2x48xf32>) -> tensor<64x48xf32>
  %s1 = tw.add %s2, %m1 : tensor<64x48xf32>
  %t0 = tw.transpose %g0 by [1, 0] : tensor<2x64xf32> -> tensor<64x2xf32>
  %m0 = tw.matmul %t0, %h0 : (tensor<64x2xf32>, tensor<2x48xf32>) -> tensor<64x48xf32>
  %s0 = tw.add %s1, %m0 : tensor<64x48xf32>
  %j = tw.concat %g0, %g1, %g2 dim 0 : (tensor<2x64xf32>, tensor<2x64xf32>, tensor<2x64xf32>) -> tensor<6x64xf32>
  func.return %s0, %j : tensor<64x48xf32>, tensor<6x64xf32>
}

// -----

// CHECK-LABEL: @keeps_long_factors
// CHECK-NOT: tw.concat
// REMARK: tw.add at {{.*}}: products stay apart: to join their factors moves 288 elements and saves 32
func.func @keeps_long_factors(%x: tensor<4x9xf32>, %u: tensor<9x4xf32>) -> tensor<4x4xf32> {
  %a = tw.matmul %x, %u : (tensor<4x9xf32>, tensor<9x4xf32>) -> tensor<4x4xf32>
  %s = tw.add %a, %a : tensor<4x4xf32>
  %y = tw.exp %x : tensor<4x9xf32>
  %b = tw.matmul %x, %u : (tensor<4x9xf32>, tensor<9x4xf32>) -> tensor<4x4xf32>
  %c = tw.matmul %y, %u : (tensor<4x9xf32>, tensor<9x4xf32>) -> tensor<4x4xf32>
  %t = tw.add %b, %c : tensor<4x4xf32>
  %r = tw.mul %s, %t : tensor<4x4xf32>
  func.return %r : tensor<4x4xf32>
}

// -----

// A product that others read stays, and so does one with a bias.
// CHECK-LABEL: @keeps_what_others_read
// CHECK-NOT: tw.concat
func.func @keeps_what_others_read(%x: tensor<64x2xf32>, %u: tensor<2x48xf32>, %y: tensor<64x3xf32>, %v: tensor<3x48xf32>, %b: tensor<48xf32>) -> (tensor<64x48xf32>, tensor<64x48xf32>, tensor<64x48xf32>) {
  %p = tw.matmul %x, %u : (tensor<64x2xf32>, tensor<2x48xf32>) -> tensor<64x48xf32>
  %q = tw.matmul %y, %v : (tensor<64x3xf32>, tensor<3x48xf32>) -> tensor<64x48xf32>
  %s = tw.add %p, %q : tensor<64x48xf32>
  %d = tw.matmul %x, %u bias %b : (tensor<64x2xf32>, tensor<2x48xf32>, tensor<48xf32>) -> tensor<64x48xf32>
  %e = tw.matmul %y, %v : (tensor<64x3xf32>, tensor<3x48xf32>) -> tensor<64x48xf32>
  %t = tw.add %d, %e : tensor<64x48xf32>
  func.return %p, %s, %t : tensor<64x48xf32>, tensor<64x48xf32>, tensor<64x48xf32>
}

// -----

// One kernel of a GPU adds up a few products of halves: nothing is copied for it.
// CHECK-LABEL: @halves
// CHECK:       tw.concat
// APART:       products stay apart: one kernel adds up 2 of halves
func.func @halves(%x: tensor<64x2xbf16>, %u: tensor<2x48xbf16>, %y: tensor<64x3xbf16>, %v: tensor<3x48xbf16>) -> tensor<64x48xbf16> {
  %a = tw.matmul %x, %u : (tensor<64x2xbf16>, tensor<2x48xbf16>) -> tensor<64x48xbf16>
  %b = tw.matmul %y, %v : (tensor<64x3xbf16>, tensor<3x48xbf16>) -> tensor<64x48xbf16>
  %s = tw.add %a, %b : tensor<64x48xbf16>
  func.return %s : tensor<64x48xbf16>
}
